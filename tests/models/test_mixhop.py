"""MixHop: the powers of a dense operator, both orders of multiplying, and torch-geometric."""

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
@pytest.mark.parametrize("hops", [1, 3])
@pytest.mark.parametrize("hidden", [2, 7])
def test_two_layers_and_a_head_are_the_equation(direction: str, hops: int, hidden: int) -> None:
    graph = random_graph()
    network: Any = randomised(build(graph, None, model="mixhop", direction=direction, hidden=hidden, hops=hops))
    step, state = tensor(dense_convolution(graph, direction)), features_of(graph)
    with torch.no_grad():
        for layer in network.layers:
            parts = zip(layer.linear.weight.split(hidden), layer.linear.bias.split(hidden), strict=True)
            powers = [
                torch.linalg.matrix_power(step, power) @ state @ weight.T + bias
                for power, (weight, bias) in enumerate(parts)
            ]
            assert len(powers) == hops + 1
            state = torch.relu(torch.cat(powers, dim=1))
        torch.testing.assert_close(logits(network, graph), network.head[0](state), rtol=1e-4, atol=1e-4)


def test_both_orders_give_the_same_and_take_as_many_products_as_hops() -> None:
    graph = random_graph()
    network: Any = randomised(build(graph, None, model="mixhop", hidden=4))
    layer, x = network.layers[0], features_of(graph)
    plain, widths = layer.step, []

    def counting(panel: torch.Tensor) -> torch.Tensor:
        widths.append(panel.shape[1])
        return plain(panel)

    layer.step = counting
    with torch.no_grad():
        torch.testing.assert_close(layer._features_first(x), layer._weights_first(x), rtol=1e-5, atol=1e-5)
        assert widths == [FEATURES, FEATURES, 8, 4]
        widths.clear()
        layer(x)
        assert sum(widths) == min(2 * FEATURES, 8 + 4)


def test_powers_of_the_last_layer_are_averaged() -> None:
    graph = random_graph()
    network: Any = randomised(build(graph, None, model="mixhop", layers=1, head_layers=0))
    with torch.no_grad():
        powers = network.layers[0](features_of(graph)).split(graph.class_count, dim=1)
    torch.testing.assert_close(logits(network, graph), sum(powers) / 3)


def test_a_layer_equals_torch_geometric() -> None:
    from torch_geometric.nn import MixHopConv

    graph = random_graph()
    network: Any = randomised(build(graph, None, model="mixhop", direction="undirected", hidden=4))
    layer = network.layers[0]
    conv = MixHopConv(FEATURES, 4, powers=[0, 1, 2])
    with torch.no_grad():
        for linear, weight in zip(conv.lins, layer.linear.weight.split(4), strict=True):
            linear.weight.copy_(weight)
        conv.bias.copy_(layer.linear.bias)
        expected = conv(features_of(graph), edge_index(graph, "undirected"))
        torch.testing.assert_close(layer(features_of(graph)), expected, rtol=1e-5, atol=1e-5)
