"""Times of chosen pairs of nodes, and the closest edges."""

import dataclasses

import numpy as np
import pytest

from cgnn_cli.analysis.node_pairs import closest_edges, exact_times
from cgnn_cli.configs import CommuteConfig, RewireConfig
from cgnn_cli.errors import DataError
from cgnn_cli.graph import Dilap
from cgnn_cli.stages.commute import commute
from cgnn_cli.stages.dilap import dilap
from cgnn_cli.stages.rewire import rewire
from tests.graphs import absorbing_hitting, graph_of, random_edges

GRAPH = graph_of(7, [(0, 2), (2, 4), (4, 0), (4, 2), (5, 0), (2, 6)])


def component() -> Dilap:
    """The walk on the nodes 0, 2 and 4."""
    return dilap(rewire(GRAPH, RewireConfig(method="none")))


def test_times_are_those_of_the_states_of_the_nodes() -> None:
    walk = component()
    hitting = absorbing_hitting(walk.transition)
    found = exact_times(GRAPH, walk, np.array([0, 4, 2, 2]), np.array([2, 0, 2, 4]))
    np.testing.assert_allclose(found.there, [hitting[0, 1], hitting[2, 0], 0, hitting[1, 2]], rtol=1e-9)
    np.testing.assert_allclose(found.back, [hitting[1, 0], hitting[0, 2], 0, hitting[2, 1]], rtol=1e-9)
    np.testing.assert_allclose(found.times, found.there + found.back)
    assert found.residual < 1e-6


def test_pairs_outside_the_walk_have_none() -> None:
    found = exact_times(GRAPH, component(), np.array([0, 5, 6]), np.array([2, 0, 6]))
    assert np.isnan(found.times).tolist() == np.isnan(found.there).tolist() == [False, True, True]
    nothing = exact_times(GRAPH, component(), np.zeros(0, np.int64), np.zeros(0, np.int64))
    assert len(nothing.times) == 0 and nothing.residual == 0


@pytest.mark.parametrize("node", [-1, 7])
def test_a_number_of_no_node_is_refused(node: int) -> None:
    with pytest.raises(DataError, match="not among 0 to 6"):
        exact_times(GRAPH, component(), np.array([0, node]), np.array([2, 2]))


def test_progress_is_told_for_each_distinct_node() -> None:
    graph = graph_of(2500, random_edges(2500, 3, seed=2))  # too large for a dense inverse
    heard: list[tuple[int, int]] = []
    walk, pairs = dilap(rewire(graph)), (np.array([0, 0]), np.array([3, 9]))
    exact_times(graph, walk, *pairs, progress=lambda done, total: heard.append((done, total)))
    assert heard[-1] == (3, 3)


def test_the_closest_edges_come_first_and_those_without_a_time_never() -> None:
    times = commute(GRAPH, component(), CommuteConfig(solver="exact"))
    order = closest_edges(times, 10)
    assert len(order) == 4 and (np.diff(times.commute[order]) >= 0).all()
    np.testing.assert_array_equal(closest_edges(times, 2), order[:2])
    equal = dataclasses.replace(times, commute=np.ones(6))
    assert closest_edges(equal, 3).tolist() == [0, 1, 2]
