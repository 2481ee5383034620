"""The PageRank operator against a dense eigenvector of the paper's chain, and against a published implementation."""

import numpy as np
import pytest

from cgnn_cli.errors import UsageError
from cgnn_cli.graph import Graph
from cgnn_cli.models.digcn import DigcnConfig
from cgnn_cli.models.digcn_ib import DigcnIbConfig
from cgnn_cli.models.option_groups import TeleportOption
from cgnn_cli.operators import pagerank
from tests.graphs import FAMILIES, graph_of
from tests.models.samples import neighbours, random_graph


def dense_pagerank(step: np.ndarray, teleport: float) -> np.ndarray:
    """The stationary distribution of the chain with an extra node, by `numpy.linalg.eig`, on the nodes proper."""
    count = len(step)
    chain = np.zeros((count + 1, count + 1))
    chain[:count, :count], chain[:count, count], chain[count, :count] = (1 - teleport) * step, teleport, 1 / count
    values, vectors = np.linalg.eig(chain.T)
    vector = np.abs(np.real(vectors[:, np.argmax(values.real)]))[:count]
    return vector / vector.sum()


def dense_operator(graph: Graph, teleport: float, direction: str = "out") -> np.ndarray:
    looped = neighbours(graph, direction) + np.eye(graph.node_count)
    step = looped / looped.sum(axis=1, keepdims=True)
    root = np.diag(np.sqrt(dense_pagerank(step, teleport)))
    inverse = np.linalg.inv(root)
    operator = (root @ step @ inverse + inverse @ step.T @ root) / 2
    totals = operator.sum(axis=1)
    return operator / np.sqrt(np.outer(totals, totals))


@pytest.mark.parametrize("teleport", [0.05, 0.1, 0.5, 0.9])
@pytest.mark.parametrize(("direction", "way"), [("both", "out"), ("undirected", "undirected")])
def test_against_a_dense_eigenvector(teleport: float, direction: str, way: str) -> None:
    graph = random_graph(count=60, density=0.05)
    config = DigcnConfig(teleport=teleport, direction=direction)  # type: ignore[arg-type]
    ours = pagerank.make(graph, None, config)["step"]
    np.testing.assert_allclose(ours.toarray(), dense_operator(graph, teleport, way), atol=1e-9)
    assert ours.nnz <= pagerank.entries(graph, config)


@pytest.mark.parametrize("family", FAMILIES)
def test_families(family: str) -> None:
    graph = graph_of(40, FAMILIES[family](40))
    ours = pagerank.make(graph, None, DigcnConfig())["step"].toarray()
    np.testing.assert_allclose(ours, dense_operator(graph, 0.1), atol=1e-8)
    np.testing.assert_allclose(ours, ours.T, atol=1e-14)


def test_a_walk_that_only_jumps_visits_all_nodes_alike() -> None:
    graph = random_graph()
    looped = neighbours(graph, "out") + np.eye(graph.node_count)
    step = looped / looped.sum(axis=1, keepdims=True)
    symmetric = (step + step.T) / 2
    totals = symmetric.sum(axis=1)
    ours = pagerank.make(graph, None, DigcnConfig(teleport=1.0))["step"].toarray()
    np.testing.assert_allclose(ours, symmetric / np.sqrt(np.outer(totals, totals)), atol=1e-12)


@pytest.mark.parametrize("config", [DigcnConfig(teleport=0.0), DigcnIbConfig(teleport=0.0)])
def test_without_jumps_it_is_refused(config: TeleportOption) -> None:
    with pytest.raises(UsageError, match="PageRank of every node"):
        pagerank.check_teleport(config)


def test_against_a_published_implementation() -> None:
    published = pytest.importorskip(
        "torch_geometric_signed_directed.utils", reason="torch-geometric-signed-directed is not installed"
    )
    import torch

    graph = random_graph()
    edge_index = torch.from_numpy(np.stack(np.nonzero(neighbours(graph, "out"))))
    pairs, weights = published.get_appr_directed_adj(0.1, edge_index, graph.node_count, torch.float32)
    theirs = np.zeros((graph.node_count, graph.node_count))
    np.add.at(theirs, tuple(pairs.numpy()), weights.numpy())
    ours = pagerank.make(graph, None, DigcnConfig())["step"].toarray()
    np.testing.assert_allclose(ours, theirs, atol=1e-5)
