"""GraphSAGE: h' = W_self h + W mean(h of the neighbours) + b (Hamilton et al., NeurIPS 2017)."""

from typing import Any

import torch
from torch import Tensor, nn

from cgnn_cli.models.parts.classifier import Classifier, Network, Shape
from cgnn_cli.models.parts.layout import Term
from cgnn_cli.models.parts.propagate import Input, Propagator, multiply
from cgnn_cli.models.sage import SageConfig


class SageLayer(nn.Module):
    """h' = W_self h + P W h + b."""

    def __init__(self, inputs: int, outputs: int, step: Propagator) -> None:
        super().__init__()
        self.step = step
        self.from_self = nn.Linear(inputs, outputs, bias=False)
        self.from_neighbours = nn.Linear(inputs, outputs)

    def forward(self, x: Input) -> Tensor:
        messages = self.step.after(x, self.from_neighbours.weight)
        return multiply(x, self.from_self.weight) + messages + self.from_neighbours.bias

    def terms(self, name: str) -> tuple[Term, ...]:
        """The same in plain terms, for the weights of a layer of some name."""
        neighbours = Term(f"{name}.from_neighbours.weight", "step", f"{name}.from_neighbours.bias")
        return Term(f"{name}.from_self.weight"), neighbours


def build(operators: dict[str, Any], shape: Shape, config: SageConfig, device: torch.device) -> Classifier:
    """A GraphSAGE over the mean of the neighbours."""
    step = Propagator(operators["step"], device)
    return Network(lambda inputs, outputs: SageLayer(inputs, outputs, step), shape, config).to(device)
