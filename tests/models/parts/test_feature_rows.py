"""Rows of features that are scaled when they are asked for: the bits that they have among all rows."""

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch

from cgnn_cli.models.model_table import train_config
from cgnn_cli.models.parts import feature_rows
from cgnn_cli.models.parts.feature_rows import FeatureRows
from cgnn_cli.models.parts.propagate import as_input
from cgnn_cli.stages import features as stage
from cgnn_cli.stages.features import input_of, scale_features
from cgnn_cli.stages.operators import make_operators
from cgnn_cli.stages.train import fit
from tests.models.parts.test_sampling import learnable_graph

CPU = torch.device("cpu")
BATCHED: dict[str, Any] = {"model": "gcn", "batch_nodes": 20, "hidden": 4, "epochs": 2}


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the graph of a few nodes were large."""
    monkeypatch.setattr(stage, "CHUNK_ROWS", 100)
    monkeypatch.setattr(feature_rows, "BLOCK_ROWS", 32)


@pytest.mark.parametrize("scaling", ["none", "row", "l2", "standard"])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_rows_have_the_bits_that_they_have_among_all(scaling: str, kind: type) -> None:
    graph = learnable_graph()
    own: np.ndarray = np.asarray(graph.features).astype(kind) * 3 + 1
    own[:, 1], own[7] = 2, 0
    graph = dataclasses.replace(graph, features=own)
    config = train_config(**BATCHED, feature_scaling=scaling)
    rows = input_of(graph, make_operators(graph, None, config), config, None, CPU)
    assert isinstance(rows, FeatureRows) == (scaling != "none" or kind == np.float64)
    nodes = np.random.default_rng(0).permutation(150)[:40]
    found = rows.of(nodes) if isinstance(rows, FeatureRows) else rows[nodes]  # type: ignore[index]
    whole = as_input(scale_features(own, scaling), CPU)
    assert isinstance(whole, torch.Tensor) and torch.equal(found, whole[nodes])


def test_a_training_on_rows_is_that_on_a_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, config = learnable_graph(), train_config(**BATCHED, feature_scaling="standard")
    operators = make_operators(graph, None, config)
    found = fit(graph, operators, config, 0)
    monkeypatch.setattr(stage, "in_rows", lambda *_: None)
    expected = fit(graph, operators, config, 0)
    for name, weights in expected.weights.items():
        np.testing.assert_array_equal(found.weights[name], weights)


@pytest.mark.parametrize("options", [{"encoding": "structural"}, {"batch_nodes": 0}, {"feature_scaling": "none"}])
def test_what_needs_all_features_takes_them(options: dict[str, Any]) -> None:
    graph, config = learnable_graph(), train_config(**{**BATCHED, "feature_scaling": "row", **options})
    found = input_of(graph, make_operators(graph, None, config), config, None, CPU)
    assert isinstance(found, torch.Tensor)


def test_features_with_many_zeros_stay_sparse() -> None:
    graph, config = learnable_graph(), train_config(**BATCHED, feature_scaling="l2")
    features = np.asarray(graph.features) * (np.arange(12) < 2)
    graph = dataclasses.replace(graph, features=features)
    found = input_of(graph, make_operators(graph, None, config), config, None, CPU)
    assert not isinstance(found, FeatureRows | torch.Tensor)
