"""GCN: the equation over dense operators, and torch-geometric."""

from typing import Any

import pytest
import torch

from tests.models.samples import (
    DIRECTIONS,
    FEATURES,
    build,
    dense_convolution,
    edge_index,
    features_of,
    logits,
    random_graph,
    randomised,
    tensor,
)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_two_layers_and_a_head_are_the_equation(direction: str) -> None:
    graph = random_graph()
    network = randomised(build(graph, None, model="gcn", direction=direction, hidden=5))
    w = network.state_dict()
    step = tensor(dense_convolution(graph, direction))
    state = features_of(graph)
    for layer in ("layers.0", "layers.1"):
        state = torch.relu(step @ state @ w[f"{layer}.linear.weight"].T + w[f"{layer}.bias"])
    expected = state @ w["head.0.weight"].T + w["head.0.bias"]
    torch.testing.assert_close(logits(network, graph), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("direction", "loops"), [("undirected", True), ("out", False), ("in", False)])
@pytest.mark.parametrize("wide", [2, 9])
def test_a_layer_equals_torch_geometric(direction: str, loops: bool, wide: int) -> None:
    from torch_geometric.nn import GCNConv

    graph = random_graph()
    network: Any = randomised(build(graph, None, model="gcn", direction=direction, layers=1, hidden=wide))
    layer = network.layers[0]
    conv = GCNConv(FEATURES, wide, add_self_loops=loops)
    with torch.no_grad():
        conv.lin.weight.copy_(layer.linear.weight)
        conv.bias.copy_(layer.bias)
        expected = conv(features_of(graph), edge_index(graph, direction))
        torch.testing.assert_close(layer(features_of(graph)), expected, rtol=1e-5, atol=1e-5)
