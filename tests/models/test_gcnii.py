"""GCNII: the equation over dense operators, and torch-geometric."""

import math
from typing import Any

import pytest
import torch

from tests.models.samples import (
    DIRECTIONS,
    build,
    communities,
    dense_convolution,
    edge_index,
    features_of,
    logits,
    random_graph,
    randomised,
    tensor,
)

OPTIONS = {"layers": 3, "hidden": 5, "initial_share": 0.2, "identity_decay": 1.5}


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_is_the_equation(direction: str) -> None:
    graph = random_graph()
    network: Any = randomised(build(graph, None, model="gcnii", direction=direction, **OPTIONS))
    step = tensor(dense_convolution(graph, direction))
    with torch.no_grad():
        first = state = torch.relu(network.first(features_of(graph)))
        for number, weight in enumerate(network.maps, start=1):
            share = math.log(1.5 / number + 1)
            mixed = 0.8 * step @ state + 0.2 * first
            state = torch.relu((1 - share) * mixed + share * mixed @ weight.T)
        expected = network.last(state)
    torch.testing.assert_close(logits(network, graph), expected, rtol=1e-5, atol=1e-5)


def test_layers_equal_torch_geometric() -> None:
    from torch_geometric.nn import GCN2Conv

    graph = random_graph()
    network: Any = randomised(build(graph, None, model="gcnii", **OPTIONS))
    edges = edge_index(graph, "undirected")
    with torch.no_grad():
        first = state = torch.relu(network.first(features_of(graph)))
        for number, weight in enumerate(network.maps, start=1):
            conv = GCN2Conv(5, alpha=0.2, theta=1.5, layer=number, shared_weights=True)
            conv.weight1.copy_(weight.T)
            state = torch.relu(conv(state, first, edges))
        expected = network.last(state)
    torch.testing.assert_close(logits(network, graph), expected, rtol=1e-5, atol=1e-5)


def test_many_layers_still_tell_nodes_apart() -> None:
    """Without the return to the first layer, 64 propagations leave one direction: the square root of the degrees."""
    graph = communities(1.0)
    spread = {}
    for share in (0.0, 0.2):
        network = build(graph, None, model="gcnii", layers=64, hidden=16, initial_share=share)
        sizes = torch.linalg.svdvals(network(features_of(graph)).hidden.detach())
        spread[share] = (sizes[1] / sizes[0]).item()
    assert spread[0.0] < 0.01 and spread[0.2] > 0.05
