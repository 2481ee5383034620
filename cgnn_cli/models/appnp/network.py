"""APPNP: Z0 = MLP(X), then Z <- (1 - t) P Z + t Z0, K times (Gasteiger et al., ICLR 2019).

Also CGNN's `--propagation ppr`, over the weighted operator.
"""

from typing import Any

import torch

from cgnn_cli.models.mlp.network import perceptron
from cgnn_cli.models.option_groups import SteppingOptions
from cgnn_cli.models.parts.classifier import Classifier, Output, Shape, dropout, linear_layers
from cgnn_cli.models.parts.layout import Layout
from cgnn_cli.models.parts.propagate import Input, Propagator


class Propagated(Classifier):
    """A perceptron whose class scores are spread by personalised PageRank."""

    def __init__(self, step: Propagator, shape: Shape, config: SteppingOptions) -> None:
        super().__init__()
        self.step, self.config = step, config
        self.perceptron = perceptron(shape, config)

    def forward(self, x: Input) -> Output:
        start, hidden = self.perceptron(x)
        teleport, share = self.config.teleport, self.config.propagation_dropout
        state, restart = start, teleport * start
        for _ in range(self.config.propagation_steps):
            state = (1 - teleport) * self.step(dropout(state, share, self.training)) + restart
        return Output(state, hidden)

    def layout(self) -> Layout:
        head = linear_layers("perceptron.linears", len(self.perceptron.linears), self.config.activation)
        return Layout(head=head, operator="step", steps=self.config.propagation_steps, teleport=self.config.teleport)


def build(operators: dict[str, Any], shape: Shape, config: SteppingOptions, device: torch.device) -> Classifier:
    """An APPNP over its normalised adjacency."""
    return Propagated(Propagator(operators["step"], device), shape, config).to(device)
