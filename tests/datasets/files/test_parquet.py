"""Parquet files: the same graph as from text, and errors of one line."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cgnn_cli.datasets.files.import_options import ImportOptions
from cgnn_cli.datasets.files.importing import import_graph
from cgnn_cli.errors import DataError, UsageError
from cgnn_cli.graph import Graph
from cgnn_cli.store.elements import checksum


def save(folder: Path, role: str, columns: dict[str, Any]) -> Path:
    path = folder / f"{role}.parquet"
    pq.write_table(pa.table(columns), path)
    return path


def load(folder: Path, options: dict[str, Any] | None = None, **files: dict[str, Any]) -> Graph:
    paths: dict[str, Any] = {role: save(folder, role, columns) for role, columns in files.items()}
    return import_graph(ImportOptions(**paths, **(options or {})))


def fails(folder: Path, message: str, options: dict[str, Any] | None = None, **files: dict[str, Any]) -> None:
    with pytest.raises((DataError, UsageError)) as caught:
        load(folder, options, **files)
    assert message in caught.value.message
    assert "\n" not in caught.value.message


EDGES = {"when": [1, 2, 3, 4], "source": ["b", "a", "c", "b"], "target": ["a", "c", "b", "a"], "w": [1.5, 2, 3, 0.5]}


def test_the_same_graph_as_from_text(tmp_path: Path) -> None:
    splits = {"id": ["a", "b", "d"], "s": ["train", "val", "test"]}
    labels = {"id": ["a", "b", "d"], "label": ["x", "y", "x"]}
    features = {"id": ["c", "a", "b", "d"], "f": [1, 2, 3, 4], "g": np.array([0.5, 1, 2, 3], dtype=np.float32)}
    files: dict[str, Any] = {"edges": EDGES, "labels": labels, "features": features, "splits": splits}
    binary = load(tmp_path, {"weight_column": "w"}, **files)
    paths: dict[str, Any] = {}
    for role, columns in files.items():
        paths[role] = tmp_path / f"{role}.csv"
        rows = zip(*(list(values) for values in columns.values()), strict=True)
        paths[role].write_text("\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)]))
    text = import_graph(ImportOptions(**paths, weight_column="w"))
    assert checksum(binary.to_elements()) == checksum(text.to_elements())
    assert "column 1 (when) is ignored" in "".join(binary.summary["notes"])
    by_number = load(tmp_path, {"source_column": "3", "target_column": "source", "header": False}, edges=EDGES)
    assert by_number.adjacency.toarray().tolist() == [[0, 1, 0], [0, 0, 1], [1, 0, 0]]


@pytest.mark.parametrize(
    "kind", [pa.int8(), pa.uint64(), pa.string(), pa.large_string(), pa.binary(), pa.dictionary(pa.int8(), pa.string())]
)
def test_ids_of_any_exact_type_are_opaque_text(tmp_path: Path, kind: pa.DataType) -> None:
    texts = pa.array(["20", "3", "100", "20"])
    column = texts.dictionary_encode() if pa.types.is_dictionary(kind) else texts.cast(kind)
    graph = load(tmp_path, edges={"a": column, "b": pa.array(["3", "100", "20", "3"])})
    assert graph.ids().tolist() == ["3", "20", "100"]
    assert graph.summary["repeats"] == 1


def test_nulls_are_empty_fields(tmp_path: Path) -> None:
    fails(tmp_path, "edges.parquet, row 2: the node id in column 1 is empty", edges={"a": [1, None], "b": [2, 3]})
    fails(tmp_path, "row 1: the node id in column 2 is empty", edges={"a": ["x"], "b": pa.array([None], pa.string())})
    square = {"a": [0, 1, 2, 3], "b": [1, 2, 3, 0]}
    labels = {"id": [0, 1, 2, 3], "y": [7, 7, None, 7]}
    graph = load(tmp_path, edges=square, labels=labels)
    assert graph.labels is not None
    assert (graph.labels.tolist(), graph.class_labels()) == ([0, 0, -1, 0], ["7"])
    fails(tmp_path, "row 2: column 2 holds ''", edges=square, features={"id": [0, 1, 2, 3], "f": [1, None, 2, 3]})
    weights = {"a": [0, 1], "b": [1, 0], "w": [1.0, None]}
    fails(tmp_path, "row 2: the weight '' is not a number", {"weight_column": "w"}, edges=weights)


def test_what_parquet_cannot_be(tmp_path: Path) -> None:
    pair = {"a": [0, 1], "b": [1, 0]}
    fails(tmp_path, "column 1 (a) has the type double, which node ids cannot", edges={**pair, "a": [0.0, 1.0]})
    fails(tmp_path, "which labels cannot", edges=pair, labels={"id": [0, 1], "y": [0.5, 1]})
    fails(tmp_path, "'a' cannot be read", edges={**pair, "a": [[0], [1]]})
    fails(tmp_path, "NUL character", edges={**pair, "a": ["x\0", "y"]})
    fails(tmp_path, "'a' cannot be read", edges={**pair, "a": pa.array([b"\xff", b"a"])})
    fails(tmp_path, "one column", edges={"a": [1]})
    fails(tmp_path, "no rows", edges={"a": pa.array([], pa.int64()), "b": pa.array([], pa.int64())})
    fails(tmp_path, "no such column", {"source_column": "z"}, edges=pair)
    fails(tmp_path, "row 2: the weight '-1'", {"weight_column": "b"}, edges={"s": [0, 1], "t": [1, 0], "b": [1, -1]})
    graph = load(tmp_path, edges={**pair, "ignored": [[0], [1]]})
    assert graph.node_count == 2
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    pq.write_table(twice, tmp_path / "twice.parquet")
    with pytest.raises(DataError, match="several columns called 'a'"):
        import_graph(ImportOptions(tmp_path / "twice.parquet"))


def test_told_by_its_content(tmp_path: Path) -> None:
    path = save(tmp_path, "edges", {"source": ["a"], "target": ["b"]})
    assert import_graph(ImportOptions(path.rename(tmp_path / "edges.csv"))).ids().tolist() == ["a", "b"]
    path.write_text("PAR1,b\n")
    with pytest.raises(DataError, match="not a Parquet file, in spite of its name"):
        import_graph(ImportOptions(path))
    assert import_graph(ImportOptions(path.rename(tmp_path / "genes.csv"))).ids().tolist() == ["PAR1", "b"]
    whole = (tmp_path / "edges.csv").read_bytes()
    path.write_bytes(whole[:-20])
    with pytest.raises(DataError, match="cannot be read as a Parquet file"):
        import_graph(ImportOptions(path))
