"""--label-input: the similarity of out-neighbours, against sets."""

from collections.abc import Callable

import numpy as np
import pytest

from cgnn_cli.graph import Graph
from cgnn_cli.models.cgnn import CgnnConfig
from cgnn_cli.operators import twins
from tests.graphs import FAMILIES, Edges, graph_of, random_edges


def dense_cosines(graph: Graph) -> np.ndarray:
    """Over pairs of sets."""
    dense = graph.adjacency.toarray()
    sets = [{int(j) for j in np.flatnonzero(row) if j != i} for i, row in enumerate(dense)]
    cosines = np.zeros(dense.shape)
    for i, mine in enumerate(sets):
        for j, other in enumerate(sets):
            if i != j and mine & other:
                cosines[i, j] = len(mine & other) / np.sqrt(len(mine) * len(other))
    return np.where(cosines >= twins.LEAST, cosines, 0)


def made(graph: Graph) -> np.ndarray:
    return twins.make(graph, None, CgnnConfig())["twins"].toarray()


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES.keys())
def test_against_sets(family: Callable[[int], Edges]) -> None:
    graph = graph_of(60, family(60))
    np.testing.assert_allclose(made(graph), dense_cosines(graph), atol=1e-15)


@pytest.mark.parametrize("limit", [1, 50, 700])
def test_the_size_of_a_block_changes_nothing(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    graph = graph_of(60, FAMILIES["hubs"](60))
    whole = made(graph)
    monkeypatch.setattr(twins, "BLOCK_ENTRIES", limit)
    np.testing.assert_array_equal(made(graph), whole)


def test_twins_have_exactly_one_and_weights_and_self_loops_do_not_matter() -> None:
    edges = [(0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (1, 4), (5, 2), (5, 5)]
    found = made(graph_of(6, edges, weights=[1, 7, 3, 2, 2, 9, 4, 4]))
    assert found[0, 1] == found[1, 0] == 1.0
    assert found[5, 0] == pytest.approx(1 / np.sqrt(3))
    assert not found.diagonal().any()


def test_small_cosines_are_left_out() -> None:
    shared = [(0, 0), (1, 0)]
    edges = [(i + 1, j) for i, j in shared] + [(1, j) for j in range(3, 403)] + [(2, 500)]
    assert made(graph_of(600, edges))[1, 2] == 0  # 1 / sqrt(401 * 2) is 0.035


def test_entries_are_bounded() -> None:
    for mean_degree in (1, 5, 30):
        graph = graph_of(80, random_edges(80, mean_degree, seed=5))
        assert np.count_nonzero(made(graph)) <= twins.entries(graph, CgnnConfig()) <= 80**2
