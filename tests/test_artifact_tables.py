"""Tables as files: the same columns and values in CSV and Parquet."""

import dataclasses
import io
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from cgnn_cli.artifact_tables import COLUMNS, edge_columns, export_artifact, write_csv, write_table
from cgnn_cli.datasets.files.import_options import ImportOptions
from cgnn_cli.datasets.files.importing import import_graph
from cgnn_cli.datasets.files.tables import Reading, parse_table
from cgnn_cli.errors import DataError
from cgnn_cli.graph import Graph
from cgnn_cli.pipeline import STAGES
from cgnn_cli.store import artifact as files
from cgnn_cli.store.elements import checksum
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


HOSTILE = [
    "#a",
    "%b",
    '"',
    '""',
    'a"b',
    '"a"',
    " a",
    "a ",
    "a",
    "\u00a0a",
    "a\u3000",
    "\t",
    "a\tb",
    "a;b",
    "a,b",
    "NaN",
    "nan",
]
HOSTILE += [
    "None",
    "007",
    "7",
    "1e3",
    "0x1",
    "=1+1",
    "@x",
    "-1",
    "x" * 1000,
    "\u2028",
    "\x85",
    "é",
    "e\u0301",
    "\ufeff",
    "//",
    "'",
]
HOSTILE += [
    "source",
    "target",
    "id",
    "# a",
    " #a",
    "\x1c",
    "\x0b",
    "\U0001f600",
    "train",
    "\\",
    "a b",
    "0",
    "<NA>",
    "null",
]
IDS = st.lists(
    st.sampled_from(HOSTILE)
    | st.text(st.characters(codec="utf-8", exclude_characters="\n\r\0"), min_size=1, max_size=5),
    min_size=2,
    max_size=8,
    unique=True,
)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ids=IDS, weighted=st.booleans(), sign=st.sampled_from([None, "#", "%", "none"]))
@example(ids=HOSTILE, weighted=True, sign="#")
@example(ids=["9", "10", "007"], weighted=False, sign=None)
@example(ids=["9", "10", "99999999999999999999"], weighted=False, sign=None)
def test_f02_an_export_comes_back_equal_whatever_the_ids(
    tmp_path: Path, kind: str, ids: list[str], weighted: bool, sign: str | None
) -> None:
    edges, labels = tmp_path / f"edges.{kind}", tmp_path / f"labels.{kind}"
    ends = {"source": ids, "target": [*ids[1:], ids[0]]}
    edges.write_bytes(write_table({**ends, **({"weight": np.arange(1.0, len(ids) + 1)} if weighted else {})}, kind))
    more = ["1000000", "1000001", "1000002"]
    labels.write_bytes(write_table({"id": [*ids, *more], "label": [*ids[1:], "", *["three"] * 3]}, kind))
    weight = "weight" if weighted else None
    first = import_graph(ImportOptions(edges, labels=labels, weight_column=weight))
    whole = all(name.isascii() and name.isdecimal() and str(int(name)) == name for name in ids)
    assert first.ids().tolist() == sorted([*ids, *more], key=(lambda name: (len(name), name)) if whole else None)
    assert set(first.class_labels()) == {*ids[1:], "three"}
    exported = write_table(edge_columns(first.to_elements(), first), kind)
    edges.write_bytes(exported)
    second = import_graph(ImportOptions(edges, labels=labels, weight_column="weight", comment=sign))
    assert checksum(second.to_elements()) == checksum(first.to_elements())
    assert write_table(edge_columns(second.to_elements(), second), kind) == exported


@settings(max_examples=100, deadline=None)
@given(ids=IDS)
def test_f02_predictions_and_times_come_back_whatever_the_ids(ids: list[str]) -> None:
    times = np.arange(len(ids)) / 3
    predictions: dict[str, Any] = {"id": ids, "predicted": ids[::-1], "probability": times}
    pairs: dict[str, Any] = {"source": ids, "target": ids, "commute": times}
    for columns in (predictions, pairs):
        table = parse_table(write_csv(columns), Path("t.csv"), Reading()).with_header()
        assert table.header == list(columns)
        assert [list(column) for column in table.columns[:2]] == list(columns.values())[:2]
        assert table.numbers(2).tolist() == times.tolist()


@pytest.mark.parametrize("name", ["a\nb", "a\r", "\0a"])
def test_f02_what_csv_cannot_hold_is_refused(name: str) -> None:
    with pytest.raises(DataError, match="line break or a NUL") as caught:
        write_csv({"id": ["a", name]})
    assert "\n" not in caught.value.message and "Parquet" in caught.value.hint


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
