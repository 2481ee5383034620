"""Steps to and from sets of nodes of a graph, where the walk covers all of it, a part, or none of a set."""

import numpy as np
import pytest

from cgnn_cli.analysis.node_sets import SetSteps, members_in, named_sets, steps_from, steps_to
from cgnn_cli.configs import RewireConfig
from cgnn_cli.errors import DataError, UsageError
from cgnn_cli.graph import Dilap
from cgnn_cli.numerics.fundamental import fundamental
from cgnn_cli.stages.dilap import dilap
from cgnn_cli.stages.rewire import rewire
from tests.graphs import absorbing_hitting, graph_of, rational_absorption

# 0, 1, 2, 3 reach each other; 4 and 5 are outside of their component.
EDGES = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 0), (3, 4), (5, 0)]
GRAPH = graph_of(6, EDGES)


def walk_on(method: str) -> Dilap:
    return dilap(rewire(GRAPH, RewireConfig.from_dict({"method": method})))


def steps(method: str, **sets: list[str]) -> SetSteps:
    return steps_to(GRAPH, walk_on(method), named_sets(GRAPH, sets))


@pytest.mark.parametrize("method", ["path", "teleport"])
def test_all_nodes_of_a_walk_over_all(method: str) -> None:
    found = steps(method, one=["0", "4"], two=["2"])
    dense = walk_on(method).walk().to_dense()
    sets = [np.array([0, 4]), np.array([2])]
    for column, members in enumerate(sets):
        expected = rational_absorption(dense, [members])[0]
        np.testing.assert_allclose(found.steps[:, column], expected, rtol=1e-9)
    assert found.first is not None
    np.testing.assert_allclose(found.first, rational_absorption(dense, sets)[1], atol=1e-9)
    assert found.notes == () and found.summary["outside_walk"] == 0
    assert [row["reached"] for row in found.summary["sets"]] == [True, True]
    outside = found.steps[[1, 2, 3, 5], 0]
    assert found.summary["sets"][0]["mean"] == pytest.approx(outside.mean())
    assert found.summary["sets"][0]["largest"] == outside.max()


def test_nodes_outside_the_walk_have_no_steps_and_sets_outside_are_never_reached() -> None:
    found = steps("none", here=["1", "5"], there=["4"])
    np.testing.assert_array_equal(np.isnan(found.steps[:, 0]), [False] * 4 + [True, False])
    assert found.steps[5, 0] == found.steps[1, 0] == found.steps[4, 1] == 0
    np.testing.assert_array_equal(found.steps[:4, 1], np.inf)
    assert np.isnan(found.steps[5, 1])
    np.testing.assert_array_equal(found.first, [[1, 0]] * 4 + [[0, 1], [1, 0]])
    expected = rational_absorption(walk_on("none").walk().to_dense(), [np.array([1])])[0]
    np.testing.assert_allclose(found.steps[:4, 0], expected, rtol=1e-9)
    assert found.notes == (
        "the set 'here' has 1 of its 2 nodes outside the walk",
        "the set 'there' is outside the walk, which never reaches it",
    )
    assert [row["reached"] for row in found.summary["sets"]] == [True, False]
    assert found.summary["sets"][1]["mean"] is None


def test_no_set_is_reached() -> None:
    found = steps("none", one=["4"], two=["5"])
    np.testing.assert_array_equal(found.steps[:4], np.inf)
    np.testing.assert_array_equal(found.first[:4], 0)  # type: ignore[index]
    columns = found.columns()
    assert list(columns["first"]) == ["", "", "", "", "one", "two"]
    assert len(found.nearest(9)) == 4


def test_columns_and_the_nearest() -> None:
    one = steps("path", only=["3"])
    assert list(one.columns()) == ["id", "steps"]
    two = steps("path", a=["3"], b=["0"]).columns()
    assert list(two) == ["id", "steps_a", "first_a", "steps_b", "first_b", "first"]
    order = one.nearest(3)
    assert 3 not in order and (np.diff(one.steps[order, 0]) >= 0).all()


def test_a_set_of_all_nodes_is_refused() -> None:
    with pytest.raises(DataError, match="has all nodes of the walk"):
        steps("none", most=["0", "1", "2", "3"])
    with pytest.raises(DataError, match="has all nodes of the walk"):
        steps("path", all=list("012345"))


@pytest.mark.parametrize("probes", [None, 200])
def test_steps_from_a_set(probes: int | None) -> None:
    walk = walk_on("none")
    known = fundamental(walk.walk(), walk.perron, probes)
    found = steps_from(GRAPH, walk, named_sets(GRAPH, {"a": ["0", "2", "5"], "b": ["1"]}), known)
    hitting = absorbing_hitting(walk.transition)
    np.testing.assert_allclose(found.steps[:4, 0], (hitting[0] + hitting[2]) / 2, rtol=1e-5)
    np.testing.assert_allclose(found.steps[:4, 1], hitting[1], rtol=1e-5, atol=1e-12)
    np.testing.assert_array_equal(found.steps[4:], np.inf)
    assert found.notes == ("the set 'a' has 1 of its 3 nodes outside the walk",)
    assert list(found.columns()) == ["id", "steps_a", "error_a", "steps_b", "error_b"]
    assert found.summary["probes"] == (probes or 0)
    with pytest.raises(DataError, match="starts from none of its nodes"):
        steps_from(GRAPH, walk, named_sets(GRAPH, {"a": ["4"]}), known)


def named(*words: str, known: set[str]) -> list[tuple[str, str]]:
    return [(member.set_name, member.node) for member in members_in(words, known)]


def test_words() -> None:
    known = {"a", "b", "x,y", "p=q"}
    assert named("a", "b", known=known) == named("a,b", known=known) == [("set", "a"), ("set", "b")]
    assert named("one=a,b", "a", known=known) == [("one", "a"), ("one", "b"), ("set", "a")]
    assert named("x,y", "p=q", known=known) == [("set", "x,y"), ("set", "p=q")]
    assert named("one=p=q", known=known) == [("one", "p=q")]


@pytest.mark.parametrize("word", ["", "one=", "=a", "a,,b", "one=a,", ","])
def test_words_that_name_nothing(word: str) -> None:
    with pytest.raises(UsageError, match="names a"):
        members_in([word], {"a", "b"})


def test_nodes_that_are_not_there_or_in_two_sets() -> None:
    with pytest.raises(DataError, match="no node '7'"):
        named_sets(GRAPH, {"a": ["7"]})
    with pytest.raises(DataError, match="'1' is in two sets, 'a' and 'b'"):
        named_sets(GRAPH, {"a": ["1"], "b": ["0", "1"]})
    with pytest.raises(UsageError, match="empty"):
        named_sets(GRAPH, {"a": []})
    found = named_sets(GRAPH, {"a": ["3", "1", "3"]})
    np.testing.assert_array_equal(found["a"], [1, 3])
