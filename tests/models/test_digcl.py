"""DiGCL: encoder and masks against dense products, pacing, frozen embeddings, and training in the harness."""

import dataclasses
import itertools
import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.functional import elu

from cgnn_cli.graph import Graph
from cgnn_cli.models.digcl import GRID, DigclConfig, view_name
from cgnn_cli.models.digcl.network import Contrasted, teleport_at
from cgnn_cli.models.parts.propagate import as_input
from cgnn_cli.stages.operators import make_operators
from cgnn_cli.stages.train import collect, fit, forward
from tests.models.samples import CPU, build, communities, features_of, logits, random_graph, randomised, tensor
from tests.models.test_contrast import whole
from tests.operators.test_pagerank import dense_operator

OPTIONS: dict[str, Any] = {"model": "digcl", "layers": 2, "hidden": 4, "activation": "elu"}
OPTIONS |= {"projection": 3, "pretrain_epochs": 5}


def digcl(graph: Graph, **options: Any) -> Contrasted:
    network = randomised(build(graph, None, **{**OPTIONS, **options}))
    assert isinstance(network, Contrasted)
    return network


def dense_encoder(network: Contrasted, graph: Graph, teleport: float, kept: Tensor | None = None) -> Tensor:
    operator = tensor(dense_operator(graph, teleport))
    state = features_of(graph) if kept is None else features_of(graph) * kept
    encoder: Any = network.encoder
    for linear in encoder:
        state = elu(operator @ state @ linear.weight.T + linear.bias)
    return state


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_class_scores_are_linear_in_embeddings_of_one_length(layers: int) -> None:
    graph = random_graph()
    network = digcl(graph, layers=layers)
    encoder: Any = network.encoder
    assert [linear.out_features for linear in encoder] == [8] * (layers - 1) + [4]
    with torch.no_grad():
        state = dense_encoder(network, graph, 0.1)
        length = state.norm(dim=1, keepdim=True)
        expected = network.classifier(4 * state / length)  # the width
    torch.testing.assert_close(logits(network, graph), expected, rtol=1e-4, atol=1e-4)


def test_the_loss_is_that_of_two_masked_views() -> None:
    graph = random_graph()
    network = digcl(graph, mask_first=0.3, mask_second=0.5)
    torch.manual_seed(7)
    loss = network.pretrain_loss(features_of(graph), 0)
    torch.manual_seed(7)
    with torch.no_grad():
        first = dense_encoder(network, graph, 0.1, (torch.rand(6) >= 0.3).float())
        second = dense_encoder(network, graph, 0.9, (torch.rand(6) >= 0.5).float())
        one, other = (elu(view @ _w(network, 0) + _b(network, 0)) for view in (first, second))
        expected = whole(one @ _w(network, 2) + _b(network, 2), other @ _w(network, 2) + _b(network, 2), 0.4)
    torch.testing.assert_close(loss, expected, rtol=1e-4, atol=1e-5)


def _w(network: Contrasted, place: int) -> Tensor:
    weight: Any = network.projection[place].weight
    return weight.T


def _b(network: Contrasted, place: int) -> Tensor:
    bias: Any = network.projection[place].bias
    return bias


def test_sparse_features_are_masked_alike() -> None:
    graph = random_graph()
    features = np.maximum(np.asarray(graph.features) - 1, 0).astype(np.float32)
    network = digcl(graph)
    losses = []
    for x in (as_input(features, CPU), torch.from_numpy(features)):
        torch.manual_seed(3)
        losses.append(network.pretrain_loss(x, 2))
    assert not isinstance(as_input(features, CPU), Tensor)
    torch.testing.assert_close(*losses)


@pytest.mark.parametrize("pacing", ["linear", "exp", "log"])
def test_the_second_view_moves_from_first_to_last(pacing: str) -> None:
    teleports = [teleport_at(epoch, 300, pacing) for epoch in range(301)]
    assert teleports[0] == pytest.approx(0.9)
    assert teleports[-1] == pytest.approx(0.1, abs=0.02)
    assert all(before > after for before, after in itertools.pairwise(teleports))
    assert {view_name(teleport) for teleport in teleports} == {view_name(teleport) for teleport in GRID}


def test_pacing_formulas() -> None:
    third = 100 / 301
    assert teleport_at(100, 300, "linear") == pytest.approx(0.9 - 0.8 * third)
    assert teleport_at(100, 300, "exp") == pytest.approx(0.9 - 0.8 * (math.exp(3 * third) - 1) / (math.exp(3) - 1))
    assert teleport_at(100, 300, "log") == pytest.approx(0.9 - 0.8 * (1 + math.log(third + math.exp(-3)) / 3))


def test_anchors_are_compared_among_themselves() -> None:
    graph = random_graph()
    network = digcl(graph, anchors=6, mask_first=0.0, mask_second=0.0)
    torch.manual_seed(5)
    loss = network.pretrain_loss(features_of(graph), 0)
    torch.manual_seed(5)
    chosen = torch.randperm(25)[:6]
    with torch.no_grad():
        one, other = (network.projection(dense_encoder(network, graph, teleport)[chosen]) for teleport in (0.1, 0.9))
        expected = whole(one, other, 0.4)
    torch.testing.assert_close(loss, expected, rtol=1e-4, atol=1e-5)
    everyone = digcl(graph, anchors=25, mask_first=0.0, mask_second=0.0).pretrain_loss(features_of(graph), 0)
    torch.testing.assert_close(
        everyone, digcl(graph, mask_first=0.0, mask_second=0.0).pretrain_loss(features_of(graph), 0)
    )


def test_embeddings_follow_the_encoder() -> None:
    graph = random_graph()
    network = digcl(graph)
    x = features_of(graph)
    before = network(x).hidden
    assert network(x).hidden is before and not before.requires_grad  # kept while the encoder stays
    loss = network.pretrain_loss(x, 0)
    loss.backward()
    with torch.no_grad():
        for parameter in network.encoder.parameters():
            assert parameter.grad is not None
            parameter.sub_(0.1 * parameter.grad)
    assert not torch.allclose(network(x).hidden, before)
    other = digcl(graph)
    assert torch.equal(other(x).hidden, before)
    other.load_state_dict(network.state_dict())
    assert torch.equal(other(x).hidden, network(x).hidden)
    assert network.classifier.weight.grad is None


def test_training_learns_first_without_labels_and_then_leaves_the_encoder_alone() -> None:
    graph = communities(shift=0.5)
    config = DigclConfig(hidden=8, pretrain_epochs=30, epochs=60, patience=60, lr=0.02)
    operators = make_operators(graph, None, config)
    trained = fit(graph, operators, config, 0)
    history = trained.history
    assert history["loss"][25:30].mean() < history["loss"][:5].mean()
    assert not history["validation_accuracy"][:30].any() and trained.summary["best_epoch"] >= 30
    longer = fit(graph, operators, dataclasses.replace(config, epochs=5), 0)
    for name, weights in trained.weights.items():
        assert np.array_equal(weights, longer.weights[name]) == (not name.startswith("classifier"))
    scores = forward(graph, operators, collect({0: trained}), config, 0).logits
    assert graph.labels is not None
    assert (scores.argmax(dim=1).numpy() == graph.labels).mean() > 0.8
