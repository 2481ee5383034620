"""Logistic regression: a perceptron of one layer."""

from typing import Any

import torch

from cgnn_cli.models.linear import LinearConfig
from cgnn_cli.models.mlp import MlpConfig
from cgnn_cli.models.mlp.network import perceptron
from cgnn_cli.models.parts.classifier import Classifier, Shape


def build(operators: dict[str, Any], shape: Shape, config: LinearConfig, device: torch.device) -> Classifier:
    """A linear layer from the features to the classes."""
    return perceptron(shape, MlpConfig(layers=1)).to(device)
