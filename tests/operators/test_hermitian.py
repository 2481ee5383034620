"""DUPLEX's pattern against the list of edges, their reversals and self-loops that it stands for."""

from collections import defaultdict

import numpy as np
import pytest

from cgnn_cli.graph import Graph
from cgnn_cli.models.duplex import DuplexConfig
from cgnn_cli.operators import hermitian
from tests.graphs import FAMILIES, graph_of
from tests.models.samples import neighbours, random_graph


def listed(graph: Graph, direction: str) -> dict[tuple[int, int], list[tuple[float, float]]]:
    """(node, neighbour) -> the amplitude and phase weights of each time the pair is in the list."""
    edges = {(int(i), int(j)) for i, j in np.argwhere(neighbours(graph, direction))}
    entries: dict[tuple[int, int], list[tuple[float, float]]] = defaultdict(list)
    for i, j in sorted(edges):
        entries[j, i].append((1, 1))  # j takes from its in-neighbour i
        entries[i, j].append((0 if (j, i) in edges else 1, -1))  # i takes from its out-neighbour j
    for node in range(graph.node_count):
        entries[node, node].append((0, 0))
    return entries


def check(graph: Graph, direction: str, way: str) -> None:
    config = DuplexConfig(direction=direction)  # type: ignore[arg-type]
    made = hermitian.make(graph, None, config)
    entries = listed(graph, way)
    rows = np.repeat(np.arange(graph.node_count), np.diff(made["copies"].indptr))
    assert sum(matrix.nnz for matrix in made.values()) == 3 * len(entries) <= hermitian.entries(graph, config)
    for name in ("amplitude", "phase"):
        np.testing.assert_array_equal(made[name].indices, made["copies"].indices)
        np.testing.assert_array_equal(made[name].indptr, made["copies"].indptr)
    values = zip(
        rows, made["copies"].indices, *(made[name].data for name in ("copies", "amplitude", "phase")), strict=True
    )
    for i, j, copies, amplitude, phase in values:
        weights = entries[int(i), int(j)]
        assert (copies, amplitude, phase) == (len(weights), *np.mean(weights, axis=0))


@pytest.mark.parametrize(("direction", "way"), [("both", "out"), ("undirected", "undirected")])
def test_against_the_list(direction: str, way: str) -> None:
    check(random_graph(), direction, way)


@pytest.mark.parametrize("family", FAMILIES)
def test_families(family: str) -> None:
    check(graph_of(30, FAMILIES[family](30)), "both", "out")
