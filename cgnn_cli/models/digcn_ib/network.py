"""DiGCN with inception blocks (Tong et al., NeurIPS 2020), over the operators of operators/inception.py.

    H' = H W_0 + L_1 H W_1 + L_2 H W_2

Each term has its bias. There is no activation between the blocks; dropout falls on each term and again on their sum.
"""

from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from cgnn_cli.models.digcn_ib import DigcnIbConfig
from cgnn_cli.models.gcn.network import ConvolutionLayer
from cgnn_cli.models.parts.classifier import Classifier, Output, Shape, dropout
from cgnn_cli.models.parts.propagate import Input, Propagator, multiply


class InceptionBlock(nn.Module):
    """The three terms of one block."""

    def __init__(self, inputs: int, outputs: int, first: Propagator, second: Propagator) -> None:
        super().__init__()
        self.own = nn.Linear(inputs, outputs)
        self.first = ConvolutionLayer(inputs, outputs, first)
        self.second = ConvolutionLayer(inputs, outputs, second)

    def forward(self, x: Input) -> tuple[Tensor, Tensor, Tensor]:
        return multiply(x, self.own.weight) + self.own.bias, self.first(x), self.second(x)


class InceptionNetwork(Classifier):
    """A chain of blocks, from the features to the classes."""

    def __init__(self, operators: tuple[Propagator, Propagator], shape: Shape, config: DigcnIbConfig) -> None:
        super().__init__()
        self.config = config
        widths = [shape.features, *[config.hidden] * (config.layers - 1), shape.classes]
        self.blocks = nn.ModuleList(InceptionBlock(a, b, *operators) for a, b in pairwise(widths))

    def forward(self, x: Input) -> Output:
        state: Input = x
        hidden: Tensor | None = None
        for block in self.blocks[:-1]:
            state = hidden = self._drop(self._sum(block(state)))
        logits = self._sum(self.blocks[-1](state))
        return Output(logits, logits if hidden is None else hidden)

    def _sum(self, terms: tuple[Tensor, Tensor, Tensor]) -> Tensor:
        own, first, second = map(self._drop, terms)
        return own + first + second

    def _drop(self, x: Tensor) -> Tensor:
        return dropout(x, self.config.dropout, self.training)


def build(operators: dict[str, Any], shape: Shape, config: DigcnIbConfig, device: torch.device) -> Classifier:
    """A DiGCN of `--layers` inception blocks."""
    both = Propagator(operators["first"], device), Propagator(operators["second"], device)
    return InceptionNetwork(both, shape, config).to(device)
