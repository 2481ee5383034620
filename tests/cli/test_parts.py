"""Popularity, direct and indirect parts of commute times: in artifacts, exports and `cgnn explain`."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cgnn_cli.store import artifact as files
from cgnn_cli.store.artifact import Artifact, Header
from cgnn_cli.store.store import Store
from tests.front_door import FrontDoor

EDGES = "source,target\nann,bob\nbob,ann\nbob,cat\ncat,ann\nann,cat\ncat,dan\ndan,ann\ndan,eve\nzoe,zac\n"
PARTS = ("popularity", "direct", "indirect")


@pytest.fixture
def friends(cgnn: FrontDoor) -> FrontDoor:
    Path("edges.csv").write_text(EDGES)
    cgnn.ok("data", "import", "friends", "--edges", "edges.csv", "-q")
    return cgnn


def exported(cgnn: FrontDoor, key: str, kind: str) -> dict[str, np.ndarray]:
    cgnn.ok("export", key, "--to", kind, "--output", f"times.{kind}")
    if kind == "npz":
        return dict(np.load("times.npz"))
    if kind == "csv":
        rows = list(csv.reader(Path("times.csv").read_text().splitlines()))
        return {name: np.array(column) for name, column in zip(rows[0], zip(*rows[1:], strict=True), strict=True)}
    table = pytest.importorskip("pyarrow.parquet").read_table("times.parquet")
    return {name: table[name].to_numpy() for name in table.column_names}


@pytest.mark.parametrize("options", [("exact",), ("series",), ("series", "--steps", 6)])
@pytest.mark.parametrize("method", ["path", "none"])
def test_exports_have_the_parts_of_every_edge(friends: FrontDoor, options: tuple[Any, ...], method: str) -> None:
    made = friends.ok("commute", "--dataset", "friends", "--method", method, "--solver", *options, "--json").json
    for kind in ("csv", "parquet", "npz"):
        columns = exported(friends, made["key"], kind)
        popularity, direct, indirect, times = (columns[name].astype(float) for name in (*PARTS, "commute"))
        known = np.isfinite(times)
        assert known.sum() == made["summary"]["edges"] - made["summary"]["edges_without_value"] > 0
        off = np.abs(popularity - direct - indirect - times)[known]
        assert (off <= 1e-10 * popularity[known]).all()
        for part in (popularity, direct, indirect):
            np.testing.assert_array_equal(np.isfinite(part), known)


@pytest.mark.parametrize(
    "options",
    [("--solver", "svd"), ("--solver", "pi-only"), ("--solver", "sketch"), ("--solver", "series", "--steps", 1)],
)
def test_other_solvers_have_none(friends: FrontDoor, options: tuple[Any, ...]) -> None:
    made = friends.ok("commute", "--dataset", "friends", *options, "--json").json
    assert not set(PARTS) & set(files.read(Path(made["artifact"])).elements)
    friends.ok("export", made["key"], "--to", "csv", "--output", "times.csv")
    assert not set(PARTS) & set(Path("times.csv").read_text().splitlines()[0].split(","))
    result = friends.ok("explain", "ann", "--json")
    assert {row[name] for row in result.json["summary"]["out"] for name in PARTS} == {None}
    assert "--force" not in result.err


def test_explain_shows_them(friends: FrontDoor) -> None:
    friends.ok("commute", "--dataset", "friends", "--solver", "exact")
    for row in friends.ok("explain", "ann", "--json").json["summary"]["out"]:
        assert row["commute"] == pytest.approx(row["popularity"] - row["direct"] - row["indirect"])
    shown = friends.ok("explain", "ann").out
    assert all(name in shown for name in PARTS)


def as_of_0_1_0(path: Path) -> Header:
    """Put what 0.1.0 would have written in the place of an artifact."""
    made = files.read(path)
    elements = {name: value for name, value in made.elements.items() if name not in PARTS}
    return Store(path.parent.parent).publish(Artifact(made.header, elements))


def test_case_20_times_of_0_1_0_are_found_and_used_and_force_adds_the_parts(friends: FrontDoor) -> None:
    command = ("commute", "--dataset", "friends", "--solver", "exact", "--json")
    made = friends.ok(*command).json
    path = Path(made["artifact"])
    assert files.version_of(path) == 2
    header = as_of_0_1_0(path)
    assert files.version_of(path) == 1
    assert friends.ok(*command).json["cache"] == "hit"
    said = friends.ok("explain", "ann", "--json")
    assert said.json["summary"]["out"][0]["indirect"] is None and "`cgnn commute --force`" in said.err
    assert "`cgnn commute --force`" in friends.ok("export", header.key, "--to", "csv", "--output", "old.csv").err
    again = friends.ok(*command, "--force").json
    assert again["key"] == header.key and set(PARTS) <= set(files.read(path).elements)
    said = friends.ok("explain", "ann", "--json")
    assert said.json["summary"]["out"][0]["indirect"] is not None and "--force" not in said.err
