"""The second operator of an inception block against dense products, in any blocks, within its size estimate."""

import numpy as np
import pytest

from cgnn_cli.graph import Graph
from cgnn_cli.models.digcn import DigcnConfig
from cgnn_cli.models.digcn_ib import DigcnIbConfig
from cgnn_cli.operators import inception, pagerank
from cgnn_cli.operators.normalise import edges_of, with_self_loops
from tests.graphs import FAMILIES, both_ways, graph_of, star_edges
from tests.models.samples import neighbours, random_graph

CONFIG = DigcnIbConfig()


def dense_second(graph: Graph) -> np.ndarray:
    looped = neighbours(graph, "out") + np.eye(graph.node_count)
    step = looped / looped.sum(axis=1, keepdims=True)
    out, into = step @ step.T, step.T @ step
    operator = np.where((out > 0) & (into > 0), (out + into) / 2, 0)
    totals = operator.sum(axis=1)
    return operator / np.sqrt(np.outer(totals, totals))


@pytest.mark.parametrize("family", FAMILIES)
def test_families(family: str) -> None:
    graph = graph_of(40, FAMILIES[family](40))
    made = inception.make(graph, None, CONFIG)
    np.testing.assert_allclose(made["second"].toarray(), dense_second(graph), atol=1e-12)
    assert made["first"].nnz + made["second"].nnz <= inception.entries(graph, CONFIG)


def test_the_first_operator_is_that_of_digcn() -> None:
    graph = random_graph()
    config = DigcnIbConfig(teleport=0.3, direction="undirected")
    step = pagerank.make(graph, None, DigcnConfig(teleport=0.3, direction="undirected"))["step"]
    np.testing.assert_array_equal(inception.make(graph, None, config)["first"].toarray(), step.toarray())


@pytest.mark.parametrize("block_entries", [1, 7, 100, 10**6])
def test_blocks_do_not_show(block_entries: int) -> None:
    graph = random_graph()
    blocked = inception.common_neighbours(edges_of(graph, CONFIG), block_entries)
    np.testing.assert_allclose(blocked.toarray(), dense_second(graph), atol=1e-12)


def test_the_estimate_sees_a_hub_of_both_kinds_and_not_one_that_is_only_pointed_at() -> None:
    only_in = graph_of(2001, star_edges(2001))
    mutual = graph_of(2001, both_ways(star_edges(2001)))
    assert inception.common_neighbours(edges_of(only_in, CONFIG)).nnz < 10 * 2001
    most_out, most_in = inception.most_of_rows(with_self_loops(edges_of(only_in, CONFIG)))
    assert np.minimum(most_out, most_in).sum() < 10 * 2001
    assert inception.entries(mutual, CONFIG) >= 2001**2


def test_against_a_published_implementation() -> None:
    published = pytest.importorskip(
        "torch_geometric_signed_directed.utils", reason="torch-geometric-signed-directed is not installed"
    )
    import torch

    graph = random_graph()
    edge_index = torch.from_numpy(np.stack(np.nonzero(neighbours(graph, "out"))))
    pairs, weights = published.get_second_directed_adj(edge_index, graph.node_count, torch.float32)
    theirs = np.zeros((graph.node_count, graph.node_count))
    np.add.at(theirs, tuple(pairs.numpy()), weights.numpy())
    np.testing.assert_allclose(inception.make(graph, None, CONFIG)["second"].toarray(), theirs, atol=1e-6)
