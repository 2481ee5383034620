"""--precision bfloat16: dense products in 16 bits train as well, in every layer, and evaluation honours it."""

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch

from cgnn_cli.analysis.prediction import predict_classes
from cgnn_cli.configs import CommuteConfig, DilapConfig, RewireConfig
from cgnn_cli.graph import CommuteTimes, Graph
from cgnn_cli.models.model_table import learners, train_config
from cgnn_cli.operators.operator_table import uses_weights
from cgnn_cli.stages.commute import commute
from cgnn_cli.stages.dilap import dilap
from cgnn_cli.stages.evaluate import evaluate
from cgnn_cli.stages.operators import make_operators
from cgnn_cli.stages.rewire import rewire
from cgnn_cli.stages.task import prepare
from cgnn_cli.stages.train import collect, fit, forward
from tests.models.parts.test_sampling import learnable_graph

CPU = torch.device("cpu")
SMALL: dict[str, Any] = {"hidden": 16, "epochs": 25, "patience": 25, "dropout": 0.1, "precision": "bfloat16"}
VARIANTS: list[dict[str, Any]] = [
    {"model": "cgnn", "batch_norm": True, "jumping_knowledge": "cat"},
    {"model": "cgnn", "propagation": "ppr"},
    {"model": "dirgnn", "variant": "gcn", "l2_norm": True, "jumping_knowledge": "max"},
    {"model": "dirgnn", "variant": "gat"},
    {"model": "dirgnn", "batch_nodes": 20, "fanout": 5},
    {"model": "gcn", "label_input": True, "degree_features": True, "knn": 3},
]


EVERY_LAYER: list[dict[str, Any]] = [{"model": name} for name in learners()] + VARIANTS


@pytest.fixture(scope="module", params=[False, True], ids=["dense", "sparse"])
def graph(request: pytest.FixtureRequest) -> Graph:
    return learnable_graph(as_sparse=request.param)


@pytest.fixture(scope="module")
def times(graph: Graph) -> CommuteTimes:
    walk = dilap(rewire(graph, RewireConfig()), DilapConfig())
    return commute(graph, walk, CommuteConfig(solver="exact", proximity="ratio"))


def named(options: dict[str, Any]) -> str:
    return " ".join(map(str, options.values()))


@pytest.mark.parametrize("options", EVERY_LAYER, ids=named)
def test_every_kind_of_layer_has_finite_gradients_close_to_those_of_32_bits(
    graph: Graph, times: CommuteTimes, options: dict[str, Any]
) -> None:
    config = train_config(**{**SMALL, **options, "dropout": 0.0, "branch_dropout": 0.0})
    operators = make_operators(graph, times if uses_weights(config.model) else None, config)
    found = []
    for precision in ("bfloat16", "float32"):
        task = prepare(graph, operators, dataclasses.replace(config, precision=precision), 0, CPU)
        task.network.train()
        for epoch in sorted({0, task.network.pretrain_epochs}):  # without labels, then with them
            for loss in (loss for _, parts in task.steps(epoch) for _, loss in parts):
                assert loss.dtype == torch.float32
                loss.backward()
        gradients = [value.grad.flatten() for value in task.network.parameters() if value.grad is not None]
        assert all(gradient.dtype == torch.float32 for gradient in gradients)
        found.append(torch.cat(gradients))
    assert torch.isfinite(found[0]).all()
    assert float(torch.cosine_similarity(found[0], found[1], dim=0)) > 0.98
    assert options["model"] == "linear" or not torch.equal(found[0], found[1])


@pytest.mark.parametrize("options", VARIANTS, ids=named)
def test_accuracy_is_close_and_evaluation_honours_the_precision(
    graph: Graph, times: CommuteTimes, options: dict[str, Any]
) -> None:
    config = train_config(**SMALL, **options)
    operators = make_operators(graph, times if uses_weights(config.model) else None, config)
    checkpoint = collect({0: fit(graph, operators, config, 0)})
    full = dataclasses.replace(config, precision="float32")
    reference = collect({0: fit(graph, operators, full, 0)})
    low, high = checkpoint.summary["validation_accuracy"]["mean"], reference.summary["validation_accuracy"]["mean"]
    assert abs(low - high) <= 0.12
    scores = evaluate(graph, operators, checkpoint, config)
    assert scores.validation_accuracy[0] == low  # evaluated as it was trained, so the very same figure
    in_16, in_32 = (forward(graph, operators, checkpoint, each, 0).logits for each in (config, full))
    assert in_16.dtype == torch.float32 and not torch.equal(in_16, in_32)
    torch.testing.assert_close(in_16, in_32, rtol=0.1, atol=0.15)
    predicted = predict_classes(graph, operators, checkpoint, config, [0])
    assert predicted.hidden.dtype == np.float32 and np.isfinite(predicted.hidden).all()
