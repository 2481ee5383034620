"""Tables as files: the same columns and values in CSV and Parquet."""

import dataclasses
import io
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from cgnn_cli.artifact_tables import COLUMNS, edge_columns, export_artifact, write_csv, write_table
from cgnn_cli.datasets.files.import_options import ImportOptions
from cgnn_cli.datasets.files.importing import import_graph
from cgnn_cli.graph import Graph
from cgnn_cli.pipeline import STAGES
from cgnn_cli.store import artifact as files
from cgnn_cli.store.provenance import shareable
from cgnn_cli.store.store import Store
from tests.golden.test_store_of_0_1_0 import GOLDEN

TABLE: dict[str, Any] = {
    "id": np.array(["007", "é"]),
    "predicted": ["x", ""],
    "epoch": range(2),
    "loss": [np.float64(0.1), np.float64(1e-300)],
    "weight": np.array([1.5, np.nan]),
}


def test_parquet_holds_text_as_strings_and_numbers_as_numbers() -> None:
    table = pq.read_table(io.BytesIO(write_table(TABLE, "parquet")))
    assert table.column_names == list(TABLE)
    assert [str(field.type) for field in table.schema] == ["string", "string", "int64", "double", "double"]
    assert table.column("id").to_pylist() == ["007", "é"]
    assert table.column("loss").to_pylist() == [0.1, 1e-300]


def test_other_kinds_are_csv() -> None:
    assert write_table(TABLE, "csv") == write_table(TABLE, "") == write_csv(TABLE)
    assert write_csv(TABLE).decode().splitlines()[1] == "007,x,0,0.1,1.5"


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_exported_edges_come_back_as_the_same_graph(tmp_path: Path, kind: str) -> None:
    (tmp_path / "edges.txt").write_text("a b 2\nb c 0.1\nc a 3\n07 a 1\n")
    graph = import_graph(ImportOptions(tmp_path / "edges.txt", weight_column="3"))
    path = tmp_path / f"edges.{kind}"
    path.write_bytes(write_table(edge_columns(graph.to_elements(), graph), kind))
    back: Graph = import_graph(ImportOptions(path, weight_column="weight"))
    assert back.ids().tolist() == graph.ids().tolist()
    np.testing.assert_array_equal(back.adjacency.toarray(), graph.adjacency.toarray())


def test_every_stage_has_its_columns_and_every_column_function_a_stage() -> None:
    assert set(COLUMNS) == {stage.columns for stage in STAGES.values()}


def test_an_artifact_is_exported_by_the_library(tmp_path: Path) -> None:
    store = Store(Path(shutil.copytree(GOLDEN / "store", tmp_path / "store")))
    for stage in STAGES:
        header = store.latest(stage)
        assert header is not None
        artifact = store.load(stage, header.key)
        table = export_artifact(store, artifact, "csv").decode().splitlines()
        assert len(table) > 1 and len({line.count(",") for line in table}) == 1
        (tmp_path / "copy.npz").write_bytes(export_artifact(store, artifact, "npz"))
        told = dataclasses.replace(header, provenance=shareable(header.provenance))
        assert files.read(tmp_path / "copy.npz").header == told
