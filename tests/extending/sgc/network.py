"""SGC: Z = P^K X W + b (Wu et al., ICML 2019), with the operator of operators/convolution.py."""

from typing import Any

import torch
from torch import nn

from cgnn_cli.models.parts.classifier import Classifier, Output, Shape
from cgnn_cli.models.parts.propagate import Input, Propagator, multiply
from tests.extending.sgc import SgcConfig


class Sgc(Classifier):
    """One linear layer, whose scores are spread over the neighbours K times."""

    def __init__(self, step: Propagator, shape: Shape, config: SgcConfig) -> None:
        super().__init__()
        self.step, self.config = step, config
        self.linear = nn.Linear(shape.features, shape.classes)

    def forward(self, x: Input) -> Output:
        state = multiply(x, self.linear.weight)
        for _ in range(self.config.sgc_steps):
            state = self.step(state)
        logits = state + self.linear.bias
        return Output(logits, logits)


def build(operators: dict[str, Any], shape: Shape, config: SgcConfig, device: torch.device) -> Classifier:
    """An SGC over its normalised adjacency."""
    return Sgc(Propagator(operators["step"], device), shape, config).to(device)
