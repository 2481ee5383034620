"""GCNII: a deep GCN that returns to its first layer and stays near the identity (Chen et al., ICML 2020).

    H^0 = act(X W_in),  H^l = act(((1 - a) P H^{l-1} + a H^0) ((1 - b_l) I + b_l W_l)),  b_l = ln(lambda / l + 1)

and a linear layer at the end. a is `--initial-share`, lambda `--identity-decay`; P as in operators/convolution.py.
"""

import math
from typing import Any

import torch
from torch import Tensor, nn

from cgnn_cli.configs import TrainConfig
from cgnn_cli.models.network import Classifier, Output, activated, dropout
from cgnn_cli.models.propagate import Input, Propagator, multiply
from cgnn_cli.models.table import Shape


class Deep(Classifier):
    """`--layers` propagations between two linear layers; dropout before each of them, never on H^0 itself."""

    def __init__(self, step: Propagator, shape: Shape, config: TrainConfig) -> None:
        super().__init__()
        self.step, self.config = step, config
        self.first = nn.Linear(shape.features, config.hidden)
        self.maps = nn.ParameterList(_square(config.hidden) for _ in range(config.layers))
        self.last = nn.Linear(config.hidden, shape.classes)

    def forward(self, x: Input) -> Output:
        initial = activated(multiply(x, self.first.weight) + self.first.bias, self.config)
        state, restart = initial, self.config.initial_share * initial
        for number, weight in enumerate(self.maps, start=1):
            mixed = (1 - self.config.initial_share) * self.step(self._drop(state)) + restart
            state = activated(mixed @ self._near_identity(weight, number).t(), self.config)
        state = self._drop(state)
        return Output(self.last(state), state)

    def _near_identity(self, weight: Tensor, number: int) -> Tensor:
        share = math.log(self.config.identity_decay / number + 1)
        return share * weight + (1 - share) * torch.eye(len(weight), dtype=weight.dtype, device=weight.device)

    def _drop(self, x: Tensor) -> Tensor:
        return dropout(x, self.config.dropout, self.training)


def _square(width: int) -> Tensor:
    """A weight matrix as a linear layer starts it."""
    return nn.Linear(width, width, bias=False).weight


def build(operators: dict[str, Any], shape: Shape, config: TrainConfig, device: torch.device) -> Classifier:
    """A GCNII over its normalised adjacency."""
    return Deep(Propagator(operators["step"], device), shape, config).to(device)
