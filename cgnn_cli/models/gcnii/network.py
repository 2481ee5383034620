"""GCNII: a deep GCN that returns to its first layer and stays near the identity (Chen et al., ICML 2020).

    H^0 = act(X W_in),  H^l = act(((1 - a) P H^{l-1} + a H^0) ((1 - b_l) I + b_l W_l)),  b_l = ln(lambda / l + 1)

and a linear layer at the end. a is `--initial-share`, lambda `--identity-decay`; P as in operators/convolution.py.
"""

import math
from typing import Any

import torch
from torch import nn

from cgnn_cli.models.gcnii import GcniiConfig
from cgnn_cli.models.parts.classifier import Classifier, Output, Shape, activated, dropout
from cgnn_cli.models.parts.propagate import Input, Propagator, multiply


class Deep(Classifier):
    """`--layers` propagations between two linear layers; dropout before each of them, never on H^0 itself."""

    def __init__(self, step: Propagator, shape: Shape, config: GcniiConfig) -> None:
        super().__init__()
        self.step, self.config = step, config
        self.first = nn.Linear(shape.features, config.hidden)
        squares = (nn.Linear(config.hidden, config.hidden, bias=False) for _ in range(config.layers))
        self.maps = nn.ParameterList(square.weight for square in squares)  # as linear layers start
        self.last = nn.Linear(config.hidden, shape.classes)

    def forward(self, x: Input) -> Output:
        initial = activated(multiply(x, self.first.weight) + self.first.bias, self.config)
        state, restart = initial, self.config.initial_share * initial
        for number, weight in enumerate(self.maps, start=1):
            state = dropout(state, self.config.dropout, self.training)
            mixed = (1 - self.config.initial_share) * self.step(state) + restart
            share = math.log(self.config.identity_decay / number + 1)
            identity = torch.eye(len(weight), dtype=weight.dtype, device=weight.device)
            state = activated(mixed @ (share * weight + (1 - share) * identity).t(), self.config)
        state = dropout(state, self.config.dropout, self.training)
        return Output(self.last(state), state)


def build(operators: dict[str, Any], shape: Shape, config: GcniiConfig, device: torch.device) -> Classifier:
    """A GCNII over its normalised adjacency."""
    return Deep(Propagator(operators["step"], device), shape, config).to(device)
