"""APPNP and CGNN's PageRank: the recursion over dense operators, and torch-geometric."""

import numpy as np
import pytest
import torch

from tests.models.samples import (
    DIRECTIONS,
    build,
    dense_convolution,
    edge_index,
    features_of,
    logits,
    random_graph,
    randomised,
    tensor,
    times_of,
)

OPTIONS = {"propagation_steps": 4, "teleport": 0.15, "hidden": 5}


def perceptron(weights: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    hidden = torch.relu(x @ weights["perceptron.linears.0.weight"].T + weights["perceptron.linears.0.bias"])
    return hidden @ weights["perceptron.linears.1.weight"].T + weights["perceptron.linears.1.bias"]


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_against_the_closed_sum(direction: str) -> None:
    """Z = (1-t)^K P^K Z0 + t sum_{k<K} (1-t)^k P^k Z0, the recursion written out."""
    graph = random_graph()
    network = randomised(build(graph, None, model="appnp", direction=direction, **OPTIONS))
    start = perceptron(network.state_dict(), features_of(graph))
    step = tensor(dense_convolution(graph, direction))
    powers = [torch.linalg.matrix_power(step, k) @ start for k in range(5)]
    expected = 0.85**4 * powers[4] + sum(0.15 * 0.85**k * powers[k] for k in range(4))
    torch.testing.assert_close(logits(network, graph), expected, rtol=1e-5, atol=1e-5)


def test_equals_torch_geometric() -> None:
    from torch_geometric.nn import APPNP

    graph = random_graph()
    network = randomised(build(graph, None, model="appnp", **OPTIONS))
    start = perceptron(network.state_dict(), features_of(graph))
    expected = APPNP(K=4, alpha=0.15)(start, edge_index(graph, "undirected"))
    torch.testing.assert_close(logits(network, graph), expected, rtol=1e-5, atol=1e-5)


def test_weighted_pagerank_rests_on_the_weighted_step() -> None:
    graph = random_graph()
    times = times_of(graph, solver="exact", proximity="inverse")
    network = randomised(build(graph, times, propagation="ppr", direction="out", **OPTIONS))
    weights = np.eye(graph.node_count)
    for i, j, weight in zip(times.source, times.target, times.weight_out, strict=True):
        weights[i, j] = weight
    step = tensor(weights / weights.sum(axis=1, keepdims=True))
    start = state = perceptron(network.state_dict(), features_of(graph))
    for _ in range(4):
        state = 0.85 * step @ state + 0.15 * start
    torch.testing.assert_close(logits(network, graph), state, rtol=1e-5, atol=1e-5)
