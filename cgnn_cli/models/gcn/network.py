"""GCN: h' = P W h + b, with the operator of operators/convolution.py (Kipf and Welling, ICLR 2017)."""

from typing import Any

import torch
from torch import Tensor, nn

from cgnn_cli.models.option_groups import StackOptions
from cgnn_cli.models.parts.classifier import Classifier, Network, Shape
from cgnn_cli.models.parts.layout import Term
from cgnn_cli.models.parts.propagate import Input, Propagator


class ConvolutionLayer(nn.Module):
    """h' = P W h + b."""

    def __init__(self, inputs: int, outputs: int, step: Propagator) -> None:
        super().__init__()
        self.step = step
        self.linear = nn.Linear(inputs, outputs, bias=False)
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x: Input) -> Tensor:
        return self.step.after(x, self.linear.weight) + self.bias

    def terms(self, name: str) -> tuple[Term, ...]:
        """The same in plain terms, for the weights of a layer of some name."""
        return (Term(f"{name}.linear.weight", "step", f"{name}.bias"),)


def build(operators: dict[str, Any], shape: Shape, config: StackOptions, device: torch.device) -> Classifier:
    """A GCN over its normalised adjacency."""
    step = Propagator(operators["step"], device)
    return Network(lambda inputs, outputs: ConvolutionLayer(inputs, outputs, step), shape, config).to(device)
