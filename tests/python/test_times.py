"""`commute_times` and `hitting_times` beside dense answers, and beside the command line."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from cgnn_cli import commute_times, hitting_times
from cgnn_cli.errors import UsageError
from tests.front_door import FrontDoor

RING = pd.DataFrame({"payer": list("abcda"), "payee": list("bcdac"), "amount": [1.0, 2.0, 3.0, 4.0, 5.0]})
WALK: dict[str, Any] = {"method": "none", "verbose": False}


def dense_hitting(weighted: bool) -> pd.DataFrame:
    """h(i, j) of the walk on the ring with a chord, from (I - P without j) h = 1."""
    steps = np.zeros((4, 4))
    for row in RING.itertuples():
        steps["abcd".index(row.payer), "abcd".index(row.payee)] = row.amount if weighted else 1
    steps /= steps.sum(axis=1, keepdims=True)
    times = np.zeros((4, 4))
    for goal in range(4):
        others = [node for node in range(4) if node != goal]
        times[others, goal] = np.linalg.solve(np.eye(3) - steps[np.ix_(others, others)], np.ones(3))
    return pd.DataFrame(times, list("abcd"), list("abcd"))


@pytest.mark.parametrize("weighted", [False, True])
def test_times_of_edges_are_those_of_a_dense_solution(weighted: bool) -> None:
    found = commute_times(RING, weight="amount" if weighted else None, **WALK)
    expected = dense_hitting(weighted)
    there = [expected.loc[row.source, row.target] for row in found.itertuples()]
    back = [expected.loc[row.target, row.source] for row in found.itertuples()]
    assert list(found)[:6] == ["source", "target", "commute", "popularity", "direct", "indirect"]
    np.testing.assert_allclose(found["hitting"], there)
    np.testing.assert_allclose(found["hitting_back"], back)
    np.testing.assert_allclose(found["commute"], np.add(there, back))
    np.testing.assert_allclose(found["popularity"] - found["direct"] - found["indirect"], found["commute"])


def test_times_of_pairs_and_sets_are_those_of_a_dense_solution() -> None:
    expected, pairs = dense_hitting(False), [("a", "d"), ("d", "b")]
    for given in (pairs, np.array(pairs), pl.DataFrame({"target": ["d", "b"], "source": ["a", "d"]})):
        found = hitting_times(RING, pairs=given, **WALK)
        np.testing.assert_allclose(found["hitting"], [expected.loc[pair] for pair in pairs])
        np.testing.assert_allclose(found["hitting_back"], [expected.loc[pair[::-1]] for pair in pairs])
    to = hitting_times(RING, to="d", **WALK).set_index("id")
    np.testing.assert_allclose(to["steps"], expected["d"])
    start = hitting_times(RING, from_=["b"], **WALK).set_index("id")
    np.testing.assert_allclose(start["steps"], expected.loc["b"])
    both = hitting_times(RING, to={"x": ["a"], "y": ["c", "d"]}, **WALK)
    assert both["first"].tolist() == ["x", "y", "y", "y"]


def test_the_command_line_finds_the_same_times(cgnn: FrontDoor) -> None:
    RING.to_csv("edges.csv", index=False)
    cgnn.ok("data", "import", "ring", "--edges", "edges.csv")
    cgnn.ok("commute", "--dataset", "ring", "--solver", "exact")
    found = commute_times(RING, verbose=True)
    key = cgnn.ok("commute", "--dataset", "ring", "--solver", "exact", "--json").json["key"]
    cgnn.ok("export", key, "--to", "csv", "--output", "times.csv")
    table = pd.read_csv("times.csv")
    for name in table:
        assert found[name].tolist() == table[name].tolist()


def test_numbers_stay_numbers_and_datasets_have_names() -> None:
    found = commute_times(np.array([[0, 1], [1, 2], [2, 0]]), verbose=False)
    assert found["source"].dtype == np.int64 and found["source"].tolist() == [0, 1, 2]
    assert len(commute_times("demo", solver="pi-only", verbose=False)) > 1000


def test_slips_are_told() -> None:
    with pytest.raises(UsageError, match="commute_times has no option sovler; did you mean solver"):
        commute_times(RING, sovler="exact")
    with pytest.raises(UsageError, match="no option epochs"):
        hitting_times(RING, to="a", epochs=3)
    slips: list[dict[str, Any]] = [{}, {"to": "a", "pairs": [("a", "b")]}]
    for asked in slips:
        with pytest.raises(UsageError, match="one of three questions"):
            hitting_times(RING, **asked)
    with pytest.raises(UsageError, match="a pair is two nodes"):
        hitting_times(RING, pairs=[("a", "b", "c")], verbose=False)
