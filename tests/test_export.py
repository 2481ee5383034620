"""Tables as files: the same columns and values in CSV and Parquet."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from cgnn_cli.datasets.importing import ImportOptions, import_graph
from cgnn_cli.export import TABLES, write_csv, write_table
from cgnn_cli.graph import Graph

COLUMNS: dict[str, Any] = {
    "id": np.array(["007", "é"]),
    "predicted": ["x", ""],
    "epoch": range(2),
    "loss": [np.float64(0.1), np.float64(1e-300)],
    "weight": np.array([1.5, np.nan]),
}


def test_parquet_holds_text_as_strings_and_numbers_as_numbers() -> None:
    table = pq.read_table(io.BytesIO(write_table(COLUMNS, "parquet")))
    assert table.column_names == list(COLUMNS)
    assert [str(field.type) for field in table.schema] == ["string", "string", "int64", "double", "double"]
    assert table.column("id").to_pylist() == ["007", "é"]
    assert table.column("loss").to_pylist() == [0.1, 1e-300]


def test_other_kinds_are_csv() -> None:
    assert write_table(COLUMNS, "csv") == write_table(COLUMNS, "") == write_csv(COLUMNS)
    assert write_csv(COLUMNS).decode().splitlines()[1] == "007,x,0,0.1,1.5"


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_exported_edges_come_back_as_the_same_graph(tmp_path: Path, kind: str) -> None:
    (tmp_path / "edges.txt").write_text("a b 2\nb c 0.1\nc a 3\n07 a 1\n")
    graph = import_graph(ImportOptions(tmp_path / "edges.txt", weight_column="3"))
    path = tmp_path / f"edges.{kind}"
    path.write_bytes(write_table(TABLES["graph"](graph.to_elements(), graph), kind))
    back: Graph = import_graph(ImportOptions(path, weight_column="weight"))
    assert back.ids().tolist() == graph.ids().tolist()
    np.testing.assert_array_equal(back.adjacency.toarray(), graph.adjacency.toarray())
