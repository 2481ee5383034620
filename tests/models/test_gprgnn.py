"""GPRGNN: the sum over dense powers, its first coefficients, and their freedom from weight decay."""

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch

from cgnn_cli.models.gprgnn import GprgnnConfig
from cgnn_cli.models.gprgnn.network import start
from cgnn_cli.stages.operators import make_operators
from cgnn_cli.stages.train import fit
from tests.models.samples import (
    DIRECTIONS,
    build,
    communities,
    dense_convolution,
    features_of,
    logits,
    random_graph,
    randomised,
    tensor,
)
from tests.models.test_appnp import perceptron


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_against_dense_powers(direction: str) -> None:
    graph = random_graph()
    network: Any = randomised(build(graph, None, model="gprgnn", direction=direction, hidden=5, propagation_steps=4))
    scores = perceptron(network.state_dict(), features_of(graph))
    step = tensor(dense_convolution(graph, direction))
    coefficients = network.coefficients.detach()
    expected = sum(coefficients[k] * torch.linalg.matrix_power(step, k) @ scores for k in range(5))
    torch.testing.assert_close(logits(network, graph), expected, rtol=1e-5, atol=1e-5)


def test_pagerank_coefficients_start_as_appnp() -> None:
    graph = random_graph()
    ours, theirs = (build(graph, None, model=name, hidden=5, teleport=0.2) for name in ("gprgnn", "appnp"))
    ours.load_state_dict({**theirs.state_dict(), "coefficients": start("ppr", 0.2, 10)})
    torch.testing.assert_close(logits(ours, graph), logits(theirs, graph), rtol=1e-5, atol=1e-5)


def test_first_coefficients() -> None:
    torch.testing.assert_close(start("ppr", 0.1, 2), torch.tensor([0.1, 0.09, 0.81]))
    assert start("ppr", 1.0, 3).tolist() == [1, 0, 0, 0] and start("ppr", 0.0, 3).tolist() == [0, 0, 0, 1]
    assert start("one-hot", 0.4, 3).tolist() == [0, 0, 0, 1]
    torch.testing.assert_close(start("nppr", 0.5, 2), torch.tensor([4.0, 2.0, 1.0]) / 7)
    torch.manual_seed(0)
    drawn = start("random", 0.5, 9)
    assert drawn.abs().sum().item() == pytest.approx(1) and drawn.min() < 0 < drawn.max()
    assert all(start(kind, 0.1, 5).dtype == torch.float32 for kind in ("ppr", "one-hot", "nppr", "random"))


def test_weight_decay_leaves_the_coefficients_alone() -> None:
    graph = communities(0.5)
    config = GprgnnConfig(hidden=4, epochs=1, dropout=0.0)
    moved = {}
    for decay in (0.0, 1e3):
        changed = dataclasses.replace(config, weight_decay=decay)
        moved[decay] = fit(graph, make_operators(graph, None, changed), changed, 0).weights
    np.testing.assert_array_equal(moved[0.0]["coefficients"], moved[1e3]["coefficients"])
    assert not np.array_equal(moved[0.0]["perceptron.linears.0.weight"], moved[1e3]["perceptron.linears.0.weight"])
