"""What files are thought to hold, before they are parsed: near what they do, and never an error."""

import gzip
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.sparse import random_array, save_npz

from cgnn_cli import estimates
from cgnn_cli.datasets.files.import_memory import Size, import_memory, size_of
from cgnn_cli.datasets.files.import_options import ImportOptions
from cgnn_cli.graph import Graph
from tests.front_door import FrontDoor

ROWS = 20_000


def rows_of(count: int) -> bytes:
    return b"source,target\n" + b"".join(b"%d,%d\n" % (row // 8, row * 7919 % count) for row in range(count))


@pytest.mark.parametrize("packed", [False, True])
def test_rows_and_columns_of_text(tmp_path: Path, packed: bool) -> None:
    text, path = rows_of(ROWS), tmp_path / "edges"
    path.write_bytes(gzip.compress(text) if packed else text)
    found = size_of(path)
    assert found.columns == 2
    assert found.rows == pytest.approx(ROWS, rel=0.1) and found.text == pytest.approx(len(text), rel=0.1)


def test_rows_and_columns_of_binary_files(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": np.arange(ROWS), "b": np.arange(ROWS), "c": np.arange(ROWS)}), tmp_path / "p")
    np.save(tmp_path / "x.npy", np.zeros((ROWS, 5), dtype=np.float32))
    np.save(tmp_path / "e.npy", np.zeros((2, ROWS), dtype=np.int64))
    matrix = random_array((ROWS, ROWS), density=5 / ROWS, rng=np.random.default_rng(0), format="csr")
    save_npz(tmp_path / "m.npz", matrix)
    sizes = [size_of(tmp_path / name) for name in ("p", "x.npy", "e.npy")]
    assert [(size.rows, size.columns) for size in sizes] == [(ROWS, 3), (ROWS, 5), (ROWS, 2)]
    assert size_of(tmp_path / "m.npz").rows == pytest.approx(matrix.nnz, rel=0.1)


@pytest.mark.parametrize(
    "content", [b"", b"PAR1\0\0", b"PK\x03\x04no", b"\x93NUMPY\1\0zz", b"\x1f\x8bno", b'"a,b\n"c\n', b"a"]
)
def test_damaged_files_are_left_to_their_readers(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    assert size_of(path).text <= len(content)
    assert import_memory(ImportOptions(edges=path)) == estimates.LEAST


def test_pipes_are_not_touched(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert size_of(tmp_path / "pipe") == size_of(tmp_path / "not there") == size_of(tmp_path) == Size()


def test_an_import_that_would_not_fit_is_refused_before_it_reads(cgnn: FrontDoor) -> None:
    Path("edges.csv").write_bytes(rows_of(600_000) + b"an error in the last line\n")
    line = cgnn.fails(7, "data", "import", "large", "--edges", "edges.csv", "--memory-limit", "70M")
    assert "the import needs about" in line and "70.0 MiB may be used" in line and "--memory-limit overrides" in line
    assert "last line" not in line and not Path(".cgnn/graph").exists()
    assert "600002" in cgnn.fails(3, "data", "import", "large", "--edges", "edges.csv", "--memory-limit", "2G")


def test_an_update_counts_the_graph_so_far(tmp_path: Path) -> None:
    """Its arrays, its edges as text beside the new ones, and its features: all are there at the peak."""
    more = tmp_path / "more.csv"
    more.write_bytes(rows_of(1000))
    pattern = random_array((ROWS, ROWS), density=30 / ROWS, rng=np.random.default_rng(0), format="csr")
    ids = np.array([f"account{node:09d}".encode() for node in range(ROWS)])
    before = Graph(adjacency=pattern, node_ids=ids)
    alone, plain = import_memory(ImportOptions(more)), import_memory(ImportOptions(more), before)
    assert plain > alone == estimates.LEAST and plain > pattern.nnz * 2 * 16
    features = np.zeros((ROWS, 100), dtype=np.float32)
    featured = Graph(adjacency=pattern, node_ids=ids, features=features)
    assert import_memory(ImportOptions(more), featured) > plain + features.nbytes


def test_an_update_that_would_not_fit_is_refused(cgnn: FrontDoor) -> None:
    Path("edges.csv").write_bytes(rows_of(300_000))
    Path("more.csv").write_bytes(rows_of(100))
    cgnn.ok("data", "import", "large", "--edges", "edges.csv", "-q")
    line = cgnn.fails(7, "data", "update", "large", "--edges", "more.csv", "--memory-limit", "66M")
    assert "the import needs about" in line
