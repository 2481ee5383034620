"""GraphSAGE: the equation over dense operators, and torch-geometric."""

from typing import Any

import pytest
import torch

from tests.models.samples import (
    DIRECTIONS,
    FEATURES,
    build,
    dense_mean,
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
    network = randomised(build(graph, None, model="sage", direction=direction, hidden=5, l2_norm=True))
    w = network.state_dict()
    step = tensor(dense_mean(graph, direction))
    state = features_of(graph)
    for layer in ("layers.0", "layers.1"):
        message = step @ state @ w[f"{layer}.from_neighbours.weight"].T + w[f"{layer}.from_neighbours.bias"]
        state = torch.relu(state @ w[f"{layer}.from_self.weight"].T + message)
        state = state / state.norm(dim=1, keepdim=True).clamp_min(1e-12)
    expected = state @ w["head.0.weight"].T + w["head.0.bias"]
    torch.testing.assert_close(logits(network, graph), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("direction", ["out", "in", "undirected"])
def test_a_layer_equals_torch_geometric(direction: str) -> None:
    from torch_geometric.nn import SAGEConv

    graph = random_graph()
    network: Any = randomised(build(graph, None, model="sage", direction=direction, layers=1, hidden=9))
    layer = network.layers[0]
    conv = SAGEConv(FEATURES, 9)
    with torch.no_grad():
        conv.lin_l.weight.copy_(layer.from_neighbours.weight)
        conv.lin_l.bias.copy_(layer.from_neighbours.bias)
        conv.lin_r.weight.copy_(layer.from_self.weight)
        expected = conv(features_of(graph), edge_index(graph, direction))
        torch.testing.assert_close(layer(features_of(graph)), expected, rtol=1e-5, atol=1e-5)
