"""The magnetic Laplacian: Hermitian, equal to its definition in complex numbers, and undirected without charge."""

import cmath

import numpy as np
import pytest

from cgnn_cli.graph import Graph
from cgnn_cli.models.magnet import MagnetConfig
from cgnn_cli.operators import magnetic
from tests.graphs import FAMILIES, both_ways, graph_of
from tests.models.samples import neighbours, random_graph

CHARGES = [0.0, 0.1, 0.25, 0.5]


def dense_magnetic(graph: Graph, charge: float, direction: str = "out") -> np.ndarray:
    """H entry by entry; a node without edges has none."""
    edges = neighbours(graph, direction)
    weight = (edges + edges.T) / 2
    degree = weight.sum(axis=1)
    result = np.zeros(edges.shape, dtype=complex)
    for i, j in np.argwhere(weight):
        turn = cmath.exp(2j * cmath.pi * charge * (edges[i, j] - edges[j, i]))
        result[i, j] = weight[i, j] / np.sqrt(degree[i] * degree[j]) * turn
    return result


def minus_h(graph: Graph, charge: float, direction: str = "both") -> np.ndarray:
    config = MagnetConfig(charge=charge, direction=direction)  # type: ignore[arg-type]
    made = magnetic.make(graph, None, config)
    assert made["real"].nnz + made["imaginary"].nnz <= magnetic.entries(graph, config)
    dense: np.ndarray = made["real"].toarray() + 1j * made["imaginary"].toarray()
    return dense


@pytest.mark.parametrize("charge", CHARGES)
@pytest.mark.parametrize(("direction", "way"), [("both", "out"), ("undirected", "undirected")])
def test_definition(charge: float, direction: str, way: str) -> None:
    graph = random_graph()
    np.testing.assert_allclose(-minus_h(graph, charge, direction), dense_magnetic(graph, charge, way), atol=1e-14)


@pytest.mark.parametrize("family", FAMILIES)
def test_families_are_hermitian_with_eigenvalues_of_at_most_one(family: str) -> None:
    matrix = minus_h(graph_of(40, FAMILIES[family](40)), 0.15)
    np.testing.assert_allclose(matrix, matrix.conj().T, atol=1e-14)
    assert np.abs(np.linalg.eigvalsh(matrix)).max() <= 1 + 1e-12


def test_zero_entries_are_left_out() -> None:
    graph = random_graph()
    edges = neighbours(graph, "out")
    one_way, mutual = int((edges != edges.T).sum()), int((edges * edges.T).sum())
    assert one_way and mutual
    sizes = {}
    for charge in (0.0, 0.1, 0.25):
        made = magnetic.make(graph, None, MagnetConfig(charge=charge))
        sizes[charge] = made["real"].nnz, made["imaginary"].nnz
    assert sizes == {0.0: (one_way + mutual, 0), 0.1: (one_way + mutual, one_way), 0.25: (mutual, one_way)}


def test_mutual_pairs_have_no_phase() -> None:
    graph = graph_of(20, both_ways([(i, (7 * i + 3) % 20) for i in range(20) if i != (7 * i + 3) % 20]))
    assert not minus_h(graph, 0.25).imag.any()
    np.testing.assert_array_equal(minus_h(graph, 0.25), minus_h(graph, 0.0))
