"""GPRGNN: Z = sum over k = 0..K of g_k P^k MLP(X), with learnt coefficients g (Chien et al., ICLR 2021).

The coefficients start as `--gpr-start` says, t being `--teleport`, and are not shrunk by weight decay. Dropout of what
is propagated falls on the output of the MLP, once.
"""

from typing import Any

import torch
from torch import Tensor, nn

from cgnn_cli.models.gprgnn import GprgnnConfig
from cgnn_cli.models.mlp.network import perceptron
from cgnn_cli.models.parts.classifier import Classifier, Output, Shape, dropout
from cgnn_cli.models.parts.propagate import Input, Propagator


class GeneralisedPageRank(Classifier):
    """A perceptron whose class scores are spread by learnt coefficients."""

    def __init__(self, step: Propagator, shape: Shape, config: GprgnnConfig) -> None:
        super().__init__()
        self.step, self.config = step, config
        self.perceptron = perceptron(shape, config)
        self.coefficients = nn.Parameter(start(config.gpr_start, config.teleport, config.propagation_steps))
        self.undecayed = (self.coefficients,)

    def forward(self, x: Input) -> Output:
        scores, hidden = self.perceptron(x)
        state = dropout(scores, self.config.propagation_dropout, self.training)
        total = self.coefficients[0] * state
        for coefficient in self.coefficients[1:]:
            state = self.step(state)
            total = total + coefficient * state
        return Output(total, hidden)


def start(kind: str, teleport: float, steps: int) -> Tensor:
    """The first coefficients g_0..g_K.

    ppr: t (1 - t)^k, and (1 - t)^K at the end; one-hot: the last step alone; nppr: t^k; random: uniform. The sizes of
    the last two sum to 1.
    """
    powers = torch.arange(steps + 1, dtype=torch.float32)
    if kind == "ppr":
        values = teleport * (1 - teleport) ** powers
        values[-1] = (1 - teleport) ** steps
        return values
    if kind == "one-hot":
        return (powers == steps).float()
    values = teleport**powers if kind == "nppr" else 2 * torch.rand(steps + 1) - 1
    return values / values.abs().sum()


def build(operators: dict[str, Any], shape: Shape, config: GprgnnConfig, device: torch.device) -> Classifier:
    """A GPRGNN over its normalised adjacency."""
    return GeneralisedPageRank(Propagator(operators["step"], device), shape, config).to(device)
