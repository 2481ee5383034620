"""DiGCN and its inception blocks: their equations with dense operators, dropout, and a published implementation."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from cgnn_cli.graph import Graph
from cgnn_cli.models.digcn_ib.network import InceptionNetwork
from tests.models.samples import build, features_of, logits, neighbours, random_graph, randomised, tensor
from tests.operators.test_inception import dense_second
from tests.operators.test_pagerank import dense_operator


def published() -> Any:
    return pytest.importorskip(
        "torch_geometric_signed_directed.nn.directed", reason="torch-geometric-signed-directed is not installed"
    )


def weighted_edges(dense: np.ndarray) -> tuple[Tensor, Tensor]:
    """A symmetric operator as torch-geometric wants it."""
    pairs = np.nonzero(dense)
    return torch.from_numpy(np.stack(pairs)), torch.from_numpy(dense[pairs].astype(np.float32))


@pytest.mark.parametrize(("direction", "way"), [("both", "out"), ("undirected", "undirected")])
def test_digcn_is_its_equation(direction: str, way: str) -> None:
    graph = random_graph()
    network: Any = randomised(build(graph, None, model="digcn", teleport=0.3, layers=2, hidden=5, direction=direction))
    operator = tensor(dense_operator(graph, 0.3, way))
    with torch.no_grad():
        state = features_of(graph)
        for layer in network.layers:
            state = torch.relu(operator @ state @ layer.linear.weight.T + layer.bias)
        expected = network.head[0](state)
    torch.testing.assert_close(logits(network, graph), expected, rtol=1e-4, atol=1e-4)


def test_digcn_against_a_published_implementation() -> None:
    directed, graph = published(), random_graph()
    network: Any = randomised(build(graph, None, model="digcn", layers=2, head_layers=0, hidden=5))
    theirs = directed.DiGCN_node_classification(6, 5, 3).eval()
    with torch.no_grad():
        for layer, conv in zip(network.layers, (theirs.conv1, theirs.conv2), strict=True):
            conv.weight.copy_(layer.linear.weight.T)
            conv.bias.copy_(layer.bias)
        expected = theirs(features_of(graph), *weighted_edges(dense_operator(graph, 0.1)))
    ours = torch.log_softmax(logits(network, graph), dim=1)
    torch.testing.assert_close(ours, expected, rtol=1e-4, atol=1e-4)


def dense_blocks(network: InceptionNetwork, graph: Graph) -> Tensor:
    first, second = tensor(dense_operator(graph, 0.1)), tensor(dense_second(graph))
    state = features_of(graph)
    blocks: Any = network.blocks
    for block in blocks:
        own = block.own(state)
        by_first = first @ state @ block.first.linear.weight.T + block.first.bias
        state = own + by_first + second @ state @ block.second.linear.weight.T + block.second.bias
    return state


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_inception_is_its_equation(layers: int) -> None:
    graph = random_graph()
    network = randomised(build(graph, None, model="digcn-ib", layers=layers, hidden=5))
    assert isinstance(network, InceptionNetwork)
    with torch.no_grad():
        torch.testing.assert_close(logits(network, graph), dense_blocks(network, graph), rtol=1e-4, atol=1e-4)
    assert neighbours(graph, "out")[0].sum() == 0  # an isolated node is among them


def test_dropout_falls_on_each_term_and_on_their_sum() -> None:
    graph = random_graph()
    network = randomised(build(graph, None, model="digcn-ib", layers=1, hidden=5, dropout=0.5))
    assert isinstance(network, InceptionNetwork)
    network.train()
    scores = torch.stack([network(features_of(graph)).logits for _ in range(400)])
    terms = torch.stack(network.blocks[0](features_of(graph)))
    # Each of three terms is dropped or doubled, so a score takes one of 8 values; the last block has no second dropout.
    subsets = torch.tensor([[a, b, c] for a in (0, 2) for b in (0, 2) for c in (0, 2)], dtype=torch.float32)
    values = torch.einsum("st,tnc->snc", subsets, terms)
    distance = (scores[:, None] - values).abs().amin(dim=1)
    assert distance.max() < 1e-4
    torch.testing.assert_close(scores.mean(dim=0), terms.sum(dim=0), rtol=0.3, atol=1.0)


def test_inception_against_a_published_implementation() -> None:
    directed, graph = published(), random_graph()
    network: Any = randomised(build(graph, None, model="digcn-ib", layers=3, hidden=5))
    theirs = directed.DiGCN_Inception_Block_node_classification(6, 5, 3).eval()
    with torch.no_grad():
        for block, other in zip(network.blocks, (theirs.ib1, theirs.ib2, theirs.ib3), strict=True):
            other.ln.load_state_dict(block.own.state_dict())
            for layer, conv in ((block.first, other.conv1), (block.second, other.conv2)):
                conv.weight.copy_(layer.linear.weight.T)
                conv.bias.copy_(layer.bias)
        edges = zip(weighted_edges(dense_operator(graph, 0.1)), weighted_edges(dense_second(graph)), strict=True)
        expected = theirs(features_of(graph), *edges)
    ours = torch.log_softmax(logits(network, graph), dim=1)
    torch.testing.assert_close(ours, expected, rtol=1e-4, atol=1e-4)
