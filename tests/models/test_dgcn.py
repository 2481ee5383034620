"""DGCN: its equation with dense products, learnt shares, and a published implementation."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from cgnn_cli.graph import Graph
from cgnn_cli.models.parts.classifier import Classifier
from tests.graphs import graph_of, star_edges
from tests.models.samples import build, features_of, logits, neighbours, random_graph, randomised, tensor
from tests.operators.test_second_order import dense_proximities, normalised


def dense_forward(network: Classifier, graph: Graph, direction: str, *, swapped: bool) -> torch.Tensor:
    first = normalised(neighbours(graph, "undirected"))
    second = [normalised(part) for part in dense_proximities(graph, direction, swapped=swapped)]
    operators = [tensor(matrix) for matrix in (first, *second)]
    state = features_of(graph)
    layers: Any = network.layers
    for layer in layers:
        shares = (1, layer.share_in, layer.share_out)
        panel = state @ layer.linear.weight.T
        parts = [share * (matrix @ panel) + layer.bias for share, matrix in zip(shares, operators, strict=True)]
        state = torch.relu(torch.cat(parts, dim=1))
    head: Any = network.head
    return head[0](state)


@pytest.mark.parametrize("direction", ["both", "undirected"])
@pytest.mark.parametrize("degree", ["paper", "swapped"])
@pytest.mark.parametrize("layers", [1, 3])
def test_the_equation(direction: str, degree: str, layers: int) -> None:
    graph = random_graph()
    options: dict[str, Any] = {"direction": direction, "dgcn_degree": degree, "layers": layers, "hidden": 5}
    network = randomised(build(graph, None, model="dgcn", **options))
    with torch.no_grad():
        expected = dense_forward(network, graph, direction, swapped=degree == "swapped")
    torch.testing.assert_close(logits(network, graph), expected, rtol=1e-4, atol=1e-4)


def test_gradients_are_those_of_the_dense_network() -> None:
    graph = random_graph()
    network = randomised(build(graph, None, model="dgcn", hidden=5))
    gradients = []
    for run in (
        lambda: network(features_of(graph)).logits,
        lambda: dense_forward(network, graph, "both", swapped=False),
    ):
        network.zero_grad()
        run().square().mean().backward()
        gradients.append([parameter.grad for parameter in network.parameters()])
    torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-4)


def test_shares_start_at_one_and_are_learnt() -> None:
    layer: Any = build(random_graph(), None, model="dgcn").layers[0]  # type: ignore[index]
    assert isinstance(layer.share_in, nn.Parameter) and layer.share_in.item() == layer.share_out.item() == 1


def test_a_star_of_many_leaves_passes() -> None:
    features = np.ones((20001, 3), dtype=np.float32)
    graph = graph_of(20001, star_edges(20001), features=features)  # the product would have 4e8 entries
    graph = Graph(adjacency=graph.adjacency, features=features, class_names=np.array([b"a", b"b"]))
    scores = logits(build(graph, None, model="dgcn", hidden=4), graph)
    assert scores.shape == (20001, 2) and torch.isfinite(scores).all()
    torch.testing.assert_close(scores[1:], scores[1].expand(20000, 2), rtol=1e-4, atol=1e-4)


def test_against_a_published_implementation() -> None:
    directed = pytest.importorskip(
        "torch_geometric_signed_directed.nn.directed", reason="torch-geometric-signed-directed is not installed"
    )
    utils = pytest.importorskip("torch_geometric_signed_directed.utils")
    graph = random_graph()
    count = graph.node_count
    edges = torch.from_numpy(np.stack(np.nonzero(neighbours(graph, "out"))))
    both, pairs_in, in_weights, pairs_out, out_weights = utils.directed_features_in_out(edges, count)
    theirs = directed.DGCN_node_classification(6, 5, 3).eval()
    network: Any = randomised(build(graph, None, model="dgcn", dgcn_degree="swapped", hidden=5))
    with torch.no_grad():
        for number, layer in enumerate(network.layers, start=1):
            layer.share_in.fill_(1)
            layer.share_out.fill_(1)
            getattr(theirs, f"lin{number}").weight.copy_(layer.linear.weight)
            getattr(theirs, f"bias{number}").copy_(layer.bias)
        theirs.Conv.weight.copy_(network.head[0].weight[:, :, None])
        theirs.Conv.bias.copy_(network.head[0].bias)
        # Their normalisation adds a self-loop only to nodes that have none; the paper adds one to each.
        loops = torch.arange(count).expand(2, -1)
        shared_in, shared_out = (
            torch.sparse_coo_tensor(torch.cat([pairs, loops], 1), torch.cat([weights, torch.ones(count)])).coalesce()
            for pairs, weights in ((pairs_in, in_weights), (pairs_out, out_weights))
        )
        expected = theirs(
            features_of(graph),
            both,
            shared_in.indices(),
            shared_out.indices(),
            shared_in.values(),
            shared_out.values(),
        )
    ours = torch.log_softmax(logits(network, graph), dim=1)
    torch.testing.assert_close(ours, expected, rtol=1e-4, atol=1e-4)
