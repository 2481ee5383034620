"""A floor without a graph: linear layers over the features alone. Other models propagate what it gives."""

from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from cgnn_cli.models.option_groups import PerceptronOptions
from cgnn_cli.models.parts.classifier import Classifier, Output, Shape, activated, dropout, linear_layers
from cgnn_cli.models.parts.layout import Layout
from cgnn_cli.models.parts.propagate import Input, multiply


class Perceptron(Classifier):
    """Linear layers with activation and dropout between them."""

    def __init__(self, widths: list[int], config: PerceptronOptions) -> None:
        super().__init__()
        self.config = config
        self.linears = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(widths))

    def forward(self, x: Input) -> Output:
        state: Input = x
        hidden: Tensor | None = None
        for number, linear in enumerate(self.linears):
            assert isinstance(linear, nn.Linear)
            made = multiply(state, linear.weight) + linear.bias
            if number == len(self.linears) - 1:
                return Output(made, made if hidden is None else hidden)
            state = hidden = dropout(activated(made, self.config), self.config.dropout, self.training)
        raise AssertionError("a perceptron has layers")

    def layout(self) -> Layout:
        return Layout(head=linear_layers("linears", len(self.linears), self.config.activation))


def perceptron(shape: Shape, config: PerceptronOptions) -> Perceptron:
    """`--layers` linear layers of width `--hidden`, from the features to the classes."""
    return Perceptron([shape.features, *[config.hidden] * (config.layers - 1), shape.classes], config)


def build(operators: dict[str, Any], shape: Shape, config: PerceptronOptions, device: torch.device) -> Classifier:
    """A perceptron."""
    return perceptron(shape, config).to(device)
