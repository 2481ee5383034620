"""`cgnn hitting`: steps to and from sets of nodes; Kemeny's constant and resistances, which go with them."""

import csv
import math
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pyarrow.parquet as pq
import pytest

from cgnn_cli.graph import Dilap, Rewired
from cgnn_cli.store import artifact as files
from tests.front_door import FrontDoor
from tests.graphs import absorbing_hitting, rational_absorption, sparse

EDGES = 'ann,bob\nbob,ann\nbob,cat\ncat,ann\ncat,dan\ndan,ann\ndan,eve\neve,bob\ngus,ann\n"x,y",ann\nann,"x,y"\n'
IDS = ["ann", "bob", "cat", "dan", "eve", "gus", "x,y"]
FRIENDS = ("--dataset", "friends")


@pytest.fixture
def friends(cgnn: FrontDoor) -> FrontDoor:
    """Seven nodes, one of them with a comma in its id; gus has no in-edges."""
    Path("edges.csv").write_text(EDGES)
    cgnn.ok("data", "import", "friends", "--edges", "edges.csv", "--no-header", "-q")
    return cgnn


def walk_of(cgnn: FrontDoor, *options: object) -> tuple[Dilap, np.ndarray]:
    found = Dilap(**files.read(Path(cgnn.ok("dilap", *FRIENDS, *options, "-q").path)).elements)
    return found, found.walk().to_dense()


def table(path: str = "steps.csv") -> dict[str, dict[str, str]]:
    with open(path, newline="", encoding="utf-8") as file:
        return {row["id"]: row for row in csv.DictReader(file)}


def numbers(rows: dict[str, dict[str, str]], name: str) -> list[float]:
    return [float(row[name]) for row in rows.values()]


@pytest.mark.parametrize("options", [(), ("--method", "teleport", "--gamma", 0.7), ("--walk", "symmetric")])
def test_steps_to_a_set_and_which_is_met_first(friends: FrontDoor, options: tuple[object, ...]) -> None:
    _, dense = walk_of(friends, *options)
    result = friends.ok("hitting", *FRIENDS, *options, "--to", "ann", "--to", "eve", "--output", "steps.csv")
    assert result.out == "steps.csv\n"
    rows = table()
    assert list(rows) == IDS and list(rows["ann"]) == ["id", "steps"]
    np.testing.assert_allclose(numbers(rows, "steps"), rational_absorption(dense, [np.array([0, 4])])[0], rtol=1e-9)

    friends.ok("hitting", *FRIENDS, *options, "--to", "one=ann,eve", "--to", "two=dan", "--output", "steps.csv")
    rows = table()
    _, chances = rational_absorption(dense, [np.array([0, 4]), np.array([3])])
    np.testing.assert_allclose(numbers(rows, "first_one"), chances[:, 0], atol=1e-9)
    np.testing.assert_allclose(numbers(rows, "first_two"), chances[:, 1], atol=1e-9)
    expected = rational_absorption(dense, [np.array([3])])[0]
    np.testing.assert_allclose(numbers(rows, "steps_two"), expected, rtol=1e-9)
    assert [row["first"] for row in rows.values()] == ["one" if a > b else "two" for a, b in chances]


def test_sets_in_a_file_and_parquet(friends: FrontDoor) -> None:
    Path("sets.csv").write_text('node,set\n"x,y","r, s"\ngus,t=1\nann,t=1\n')
    friends.ok("hitting", *FRIENDS, "--to-file", "sets.csv", "-o", "steps.parquet")
    friends.ok("hitting", *FRIENDS, "--to-file", "sets.csv", "-o", "steps.csv")
    found = pq.read_table("steps.parquet").to_pydict()
    assert list(found) == ["id", "steps_r, s", "first_r, s", "steps_t=1", "first_t=1", "first"]
    assert found["id"] == IDS and found["first"][-1] == "r, s" and found["first"][0] == "t=1"
    rows = table()
    assert list(rows["ann"]) == list(found)
    assert numbers(rows, "steps_r, s") == found["steps_r, s"]


def test_an_id_with_a_comma_is_a_node(friends: FrontDoor) -> None:
    friends.ok("hitting", *FRIENDS, "--to", "x,y", "-o", "steps.csv")
    assert float(table()["x,y"]["steps"]) == 0 < float(table()["ann"]["steps"])


@pytest.mark.parametrize("probes", [(), ("--probes", 300, "--seed", 2)])
def test_steps_from_a_set(friends: FrontDoor, probes: tuple[object, ...]) -> None:
    _, dense = walk_of(friends)
    friends.ok("hitting", *FRIENDS, "--from", "ann,gus", *probes, "-o", "steps.csv")
    hitting = absorbing_hitting(sparse(dense))
    rows = table()
    assert list(rows["ann"]) == ["id", "steps", "error"]
    np.testing.assert_allclose(numbers(rows, "steps"), (hitting[0] + hitting[5]) / 2, rtol=1e-5)
    summary = friends.ok("hitting", *FRIENDS, "--from", "ann,gus", *probes, "--json").json["summary"]
    assert summary["direction"] == "from" and summary["probes"] == (300 if probes else 0)
    Path("start.txt").write_text("ann\ngus\n")
    friends.ok("hitting", *FRIENDS, "--from-file", "start.txt", *probes, "-o", "again.csv")
    assert Path("again.csv").read_text() == Path("steps.csv").read_text()


def test_what_the_walk_does_not_cover(friends: FrontDoor) -> None:
    options = (*FRIENDS, "--method", "none")
    result = friends.ok("hitting", *options, "--to", "here=ann", "--to", "there=gus", "-o", "steps.csv", "--json")
    rows = table()
    assert rows["gus"] == {
        **{"id": "gus", "steps_here": "nan", "first_here": "0.0"},
        **{"steps_there": "0.0", "first_there": "1.0", "first": "there"},
    }
    assert rows["bob"]["steps_there"] == "inf" and rows["bob"]["first"] == "here"
    assert "the set 'there' is outside the walk, which never reaches it" in result.json["warnings"]
    assert [found["reached"] for found in result.json["summary"]["sets"]] == [True, False]
    nearest = friends.ok("hitting", *options, "--to", "gus", "--json").json["summary"]["nearest"]
    assert nearest and {row["steps"] for row in nearest} == {None}
    friends.ok("hitting", *options, "--from", "ann", "-o", "steps.csv")
    assert table()["gus"]["steps"] == "inf"
    assert "starts from none of its nodes" in friends.fails(3, "hitting", *options, "--from", "gus")


def test_the_table_and_the_summary(friends: FrontDoor) -> None:
    shown = friends.ok("hitting", *FRIENDS, "--to", "a=ann", "--to", "b=eve", "--top", 2).out
    assert "in walk" in shown and "steps_a" in shown and "and 3 more; --output writes all nodes" in shown
    found = friends.ok("hitting", *FRIENDS, "--to", "a=ann", "--to", "b=eve", "--top", 2, "--json").json
    summary: dict[str, Any] = found["summary"]
    assert (found["artifact"], found["cache"]) == (None, "hit")
    assert found["key"] == friends.ok("dilap", *FRIENDS, "--json").json["key"]
    assert summary["nodes"] == 7 and summary["direction"] == "to" and summary["first_error"] < 1e-8
    assert [row["set"] for row in summary["sets"]] == ["a", "b"] and len(summary["nearest"]) == 2
    assert all(row["error"] < 1e-8 and math.isfinite(row["mean"]) for row in summary["sets"])


def test_where_it_starts(friends: FrontDoor) -> None:
    assert "no dilap artifact" in friends.fails(4, "hitting", "--to", "ann", "--store", "empty")
    forecast = friends.ok("hitting", *FRIENDS, "--to", "ann", "--dry-run").out
    assert [line.split()[0] for line in forecast.splitlines()] == ["graph", "rewire", "dilap"]
    friends.ok("dilap", *FRIENDS, "-q")
    key = friends.ok("hitting", *FRIENDS, "--method", "teleport", "--to", "ann", "--json").json["key"]
    newest = friends.ok("hitting", "--to", "ann", "-o", "steps.csv")
    assert f"taking the newest dilap artifact, {key[:12]}" in newest.err
    times = friends.ok("commute", *FRIENDS, "--method", "teleport", "-q").path
    friends.ok("hitting", "--input", times, "--to", "ann", "-o", "again.csv")
    assert Path("again.csv").read_text() == Path("steps.csv").read_text()


@pytest.mark.parametrize(
    ("code", "said", "arguments"),
    [
        (2, "hitting needs nodes", ()),
        (2, "two questions", ("--to", "ann", "--from", "bob")),
        (2, "names an empty set", ("--to", "one=")),
        (2, "names an empty set", ("--to", "")),
        (2, "a set without a name", ("--to", "=ann")),
        (2, "--probes and --seed are for --from", ("--to", "ann", "--probes", 5)),
        (2, "--probes and --seed are for --from", ("--to", "ann", "--seed", 0)),
        (2, "--top is for the table", ("--to", "ann", "--top", 3, "--output", "steps.csv")),
        (2, ".csv or .parquet", ("--to", "ann", "--output", "steps.txt")),
        (2, "no such folder", ("--to", "ann", "--output", "nix/steps.csv")),
        (3, "no node 'Ann' among its 7 (did you mean ann", ("--to", "Ann")),
        (3, "no node 'zoe'", ("--from", "zoe")),
        (3, "the node 'ann' is in two sets, 'one' and 'two'", ("--to", "one=ann", "--to", "two=bob,ann")),
        (3, "sets.csv, line 3: the graph has no node 'zoe'", ("--to-file", "sets.csv")),
        (3, "empty.csv", ("--to-file", "empty.csv")),
        (3, "nix.csv", ("--to-file", "nix.csv")),
    ],
)
def test_errors_are_one_line_and_nothing_is_computed_for_them(
    friends: FrontDoor, code: int, said: str, arguments: tuple[object, ...]
) -> None:
    Path("sets.csv").write_text("node,set\nann,one\nzoe,two\n")
    Path("empty.csv").write_text("")
    error = friends.fails(code, "hitting", *FRIENDS, *arguments)
    assert said in error
    assert not Path(".cgnn/dilap").exists()


def test_a_set_of_all_nodes(friends: FrontDoor) -> None:
    Path("all.csv").write_text("".join(f'"{node}"\n' for node in IDS))
    assert "has all nodes of the walk" in friends.fails(3, "hitting", *FRIENDS, "--to-file", "all.csv")


@pytest.mark.parametrize("options", [(), ("--method", "teleport"), ("--method", "none")])
def test_kemeny(friends: FrontDoor, options: tuple[object, ...]) -> None:
    plain = friends.ok("dilap", *FRIENDS, *options, "--json").json
    found, dense = walk_of(friends, *options)
    result = friends.ok("dilap", *FRIENDS, *options, "--kemeny")
    assert "Kemeny's constant" in result.err and result.path
    more = friends.ok("dilap", *FRIENDS, *options, "--kemeny", "--json").json
    assert more["key"] == plain["key"] and more["cache"] == "hit"
    kemeny = more["summary"].pop("kemeny")
    assert more["summary"] == plain["summary"] and kemeny["probes"] == 0
    np.testing.assert_allclose(kemeny["constant"], absorbing_hitting(sparse(dense))[0] @ found.perron, rtol=1e-9)
    assert "Kemeny" not in friends.ok("dilap", *FRIENDS, *options, "--kemeny", "--dry-run").out


@pytest.mark.parametrize("method", ["path", "none"])
def test_resistances_of_a_symmetric_walk(friends: FrontDoor, method: str) -> None:
    options = (*FRIENDS, "--walk", "symmetric", "--method", method)
    key = friends.ok("commute", *options, "--solver", "exact", "--json").json["key"]
    friends.ok("export", key, "--to", "csv", "--output", "times.csv")
    rewired = Rewired(**files.read(Path(friends.ok("rewire", *options, "-q").path)).elements)
    dense = rewired.adjacency.toarray()
    resistance = nx.resistance_distance(
        nx.from_numpy_array(dense - np.diag(np.diag(dense))), weight="weight", invert_weight=False
    )
    place = {IDS[node]: state for state, node in enumerate(rewired.nodes)}
    with open("times.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 11
    for row in rows:
        expected = resistance[place[row["source"]]][place[row["target"]]]
        np.testing.assert_allclose(float(row["resistance"]), expected, rtol=1e-9)


@pytest.mark.parametrize(
    "options",
    [
        ("--solver", "exact"),
        ("--solver", "exact", "--walk", "symmetric", "--method", "teleport"),
        ("--solver", "pi-only", "--walk", "symmetric", "--proximity", "inverse"),
        ("--solver", "svd", "--walk", "symmetric"),
    ],
)
def test_no_resistances_elsewhere(friends: FrontDoor, options: tuple[object, ...]) -> None:
    key = friends.ok("commute", *FRIENDS, *options, "--json").json["key"]
    friends.ok("export", key, "--to", "csv", "--output", "times.csv")
    assert "resistance" not in Path("times.csv").read_text()
