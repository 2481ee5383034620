"""DGCN's proximities against loops over triples of nodes, and against a published implementation."""

import itertools

import numpy as np
import pytest

from cgnn_cli.graph import Graph
from cgnn_cli.models.dgcn import DgcnConfig
from cgnn_cli.operators import second_order
from tests.graphs import graph_of, hub_edges, star_edges
from tests.models.samples import neighbours, random_graph


def dense_proximities(
    graph: Graph, direction: str, *, swapped: bool = False, limit: float = np.inf
) -> list[np.ndarray]:
    """A_Sin and A_Sout: for each node k, all pairs of its out-neighbours and all pairs of its in-neighbours."""
    edges = neighbours(graph, "undirected" if direction == "undirected" else "out")
    count = len(edges)
    out, into = edges.sum(axis=1), edges.sum(axis=0)
    shared_in, shared_out = np.zeros((count, count)), np.zeros((count, count))
    for k, i, j in itertools.product(range(count), repeat=3):
        if edges[k, i] and edges[k, j] and out[k] <= limit:
            shared_in[i, j] += 1 / max(1, into[k] if swapped else out[k])
        if edges[i, k] and edges[j, k] and into[k] <= limit:
            shared_out[i, j] += 1 / max(1, out[k] if swapped else into[k])
    return [shared_in, shared_out]


def normalised(proximity: np.ndarray) -> np.ndarray:
    looped = proximity + np.eye(len(proximity))
    return looped / np.sqrt(np.outer(looped.sum(axis=1), looped.sum(axis=1)))


def made(graph: Graph, **options: object) -> list[np.ndarray]:
    """P_F, P_Sin and P_Sout, the latter two from their roots."""
    matrices = second_order.make(graph, None, DgcnConfig(**options))  # type: ignore[arg-type]
    roots = [matrices[name].toarray() for name in ("shared-in", "shared-out")]
    return [matrices["first"].toarray(), *(root.T @ root for root in roots)]


@pytest.mark.parametrize("direction", ["both", "undirected"])
@pytest.mark.parametrize("degree", ["paper", "swapped"])
@pytest.mark.parametrize("limit", [0, 3])
def test_against_loops(direction: str, degree: str, limit: int) -> None:
    graph = random_graph()
    first, *second = made(graph, direction=direction, dgcn_degree=degree, dgcn_max_degree=limit)
    np.testing.assert_allclose(first, normalised(neighbours(graph, "undirected")), atol=1e-12)
    dense = dense_proximities(graph, direction, swapped=degree == "swapped", limit=limit or np.inf)
    for ours, proximity in zip(second, dense, strict=True):
        np.testing.assert_allclose(ours, normalised(proximity), atol=1e-12)


def test_a_limit_leaves_hubs_out_and_nothing_else() -> None:
    graph = graph_of(30, hub_edges(30))
    unlimited, limited, none = made(graph), made(graph, dgcn_max_degree=12), made(graph, dgcn_max_degree=1000)
    assert not np.allclose(unlimited[2], limited[2])
    np.testing.assert_array_equal(unlimited[0], limited[0])
    for a, b in zip(unlimited, none, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_hub_costs_its_edges_and_not_their_square() -> None:
    graph = graph_of(3001, star_edges(3001))
    config = DgcnConfig()
    matrices = second_order.make(graph, None, config)
    entries = sum(matrix.nnz for matrix in matrices.values())
    assert entries <= second_order.entries(graph, config) <= 10 * 3001
    leaves = matrices["shared-out"][:, [1]].toarray().ravel()
    # All 3000 leaves point at the hub: each pair is joined by 1/3000, a leaf by 1 + 1/3000 with itself, so D = 2.
    np.testing.assert_allclose(
        matrices["shared-out"].T @ leaves, [0, (1 + 1 / 3000) / 2, *[1 / 6000] * 2999], atol=1e-12
    )


def test_the_swapped_degrees_are_those_of_a_published_code() -> None:
    published = pytest.importorskip(
        "torch_geometric_signed_directed.utils", reason="torch-geometric-signed-directed is not installed"
    )
    import torch

    graph = random_graph()
    count = graph.node_count
    edge_index = torch.from_numpy(np.stack(np.nonzero(neighbours(graph, "out"))))
    _, *parts = published.directed_features_in_out(edge_index, count)
    _, *second = made(graph, dgcn_degree="swapped")
    for ours, pairs, weights in zip(second, parts[0::2], parts[1::2], strict=True):
        theirs = np.zeros((count, count))
        np.add.at(theirs, tuple(pairs.numpy()), weights.numpy())
        np.testing.assert_allclose(ours, normalised(theirs), atol=1e-6)
