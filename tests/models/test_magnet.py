"""MagNet: complex arithmetic, no charge as an undirected Chebyshev net, and a published implementation."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from cgnn_cli.graph import Graph
from cgnn_cli.models.magnet.network import complex_relu
from tests.graphs import graph_of
from tests.models.samples import build, edge_index, features_of, logits, neighbours, random_graph, randomised
from tests.operators.test_magnetic import dense_magnetic


def chebyshev(matrix: Tensor, panel: Tensor, order: int) -> list[Tensor]:
    """T_0 Z, T_1 Z, ... by the three-term recurrence, in complex numbers."""
    terms = [panel, matrix @ panel]
    for _ in range(order - 1):
        terms.append(2 * matrix @ terms[-1] - terms[-2])
    return terms[: order + 1]


def dense_forward(network: Any, graph: Graph, charge: float, order: int, way: str = "out") -> Tensor:
    matrix = torch.from_numpy(-dense_magnetic(graph, charge, way)).to(torch.complex64)
    state = features_of(graph) * (1 + 1j)
    for layer in network.layers:
        terms = chebyshev(matrix, state, order)
        state = sum(term @ weight.T.to(torch.complex64) for term, weight in zip(terms, layer.weight, strict=True))
        state = state + layer.bias * (1 + 1j)
        state = torch.where(state.real >= 0, state, torch.zeros_like(state))
    return network.head(torch.cat([state.real, state.imag], dim=1))


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("charge", [0.1, 0.25])
@pytest.mark.parametrize(("direction", "way"), [("both", "out"), ("undirected", "undirected")])
def test_complex_arithmetic(order: int, charge: float, direction: str, way: str) -> None:
    graph = random_graph()
    options: dict[str, Any] = {"order": order, "charge": charge, "direction": direction}
    network = randomised(build(graph, None, model="magnet", layers=2, hidden=5, **options))
    with torch.no_grad():
        expected = dense_forward(network, graph, charge, order, way)
    torch.testing.assert_close(logits(network, graph), expected, rtol=1e-3, atol=1e-3)


def test_gradients_are_those_of_complex_arithmetic() -> None:
    graph = random_graph()
    network = randomised(build(graph, None, model="magnet", order=2, charge=0.1, hidden=5))
    gradients = []
    for run in (lambda: network(features_of(graph)).logits, lambda: dense_forward(network, graph, 0.1, 2)):
        network.zero_grad()
        run().square().mean().backward()
        gradients.append([parameter.grad for parameter in network.parameters()])
    torch.testing.assert_close(*gradients, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_without_charge_it_is_the_undirected_chebyshev_net(order: int) -> None:
    from torch_geometric.nn import ChebConv

    graph = random_graph()
    network: Any = randomised(
        build(graph, None, model="magnet", order=order, layers=1, hidden=4, direction="undirected")
    )
    conv = ChebConv(6, 4, K=order + 1)  # K counts the terms there
    with torch.no_grad():
        for linear, weight in zip(conv.lins, network.layers[0].weight, strict=True):
            linear.weight.copy_(weight)
        conv.bias.copy_(network.layers[0].bias)
        # torch-geometric's operator of a node without edges is that of L = I, ours that of H = 0: both are 0.
        edges = edge_index(graph, "undirected")
        expected = torch.relu(conv(features_of(graph), edges, lambda_max=torch.tensor(2.0)))
        hidden = network(features_of(graph)).hidden
    torch.testing.assert_close(hidden[:, :4], expected, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(hidden[:, :4], hidden[:, 4:])


def test_no_charge_and_no_direction_are_the_same_on_a_graph_of_mutual_pairs() -> None:
    graph = random_graph()
    dense = neighbours(graph, "undirected")
    mutual = graph_of(25, [(int(i), int(j)) for i, j in np.argwhere(dense)], features=np.asarray(graph.features))
    mutual = Graph(adjacency=mutual.adjacency, features=graph.features, class_names=graph.class_names)
    networks = [
        build(mutual, None, model="magnet", charge=0.25, order=2),
        build(graph, None, model="magnet", charge=0.1, order=2, direction="undirected"),
    ]
    torch.testing.assert_close(*(logits(network, graph) for network in networks))


def test_complex_relu_keeps_the_right_half_plane() -> None:
    z = torch.tensor([1 + 2j, -1 + 2j, 0 - 3j, -0.5 - 1j])
    real, imaginary = complex_relu(z.real, z.imag)
    assert (real + 1j * imaginary).tolist() == [1 + 2j, 0, -3j, 0]


@pytest.mark.parametrize("order", [1, 2, 3])
def test_against_a_published_implementation(order: int) -> None:
    directed = pytest.importorskip(
        "torch_geometric_signed_directed.nn.directed", reason="torch-geometric-signed-directed is not installed"
    )
    graph = random_graph()
    network: Any = randomised(build(graph, None, model="magnet", order=order, charge=0.2, layers=2, hidden=5))
    theirs = directed.MagNet_node_classification(6, 5, q=0.2, K=order, label_dim=3, activation=True, layer=2).eval()
    with torch.no_grad():
        for layer, conv in zip(network.layers, theirs.Chebs, strict=True):
            conv.weight.copy_(layer.weight.transpose(1, 2))
            conv.bias.copy_(layer.bias)
        theirs.Conv.weight.copy_(network.head.weight[:, :, None])
        theirs.Conv.bias.copy_(network.head.bias)
        x = features_of(graph)
        expected = theirs(x, x, torch.from_numpy(np.stack(np.nonzero(neighbours(graph, "out")))))
    ours = torch.log_softmax(logits(network, graph), dim=1)
    torch.testing.assert_close(ours, expected, rtol=1e-3, atol=1e-3)
