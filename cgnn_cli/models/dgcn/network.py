"""DGCN: first- and second-order proximities side by side (Tong et al., Directed Graph Convolutional Network, 2020).

    H' = [P_F H W | a P_Sin H W | b P_Sout H W],   one W and one bias for the three, a and b learnt from 1 on

P_Sin and P_Sout come as roots, P = R^T R (operators/second_order.py), and are applied as two sparse products.
"""

from typing import Any

import torch
from torch import Tensor, nn

from cgnn_cli.models.dgcn import DgcnConfig
from cgnn_cli.models.parts.classifier import Classifier, Network, Shape
from cgnn_cli.models.parts.propagate import Input, Propagator, multiply


class ProximityLayer(nn.Module):
    """The three parts of one layer, side by side, by P_F and the roots of P_Sin and P_Sout."""

    def __init__(self, inputs: int, outputs: int, proximities: list[Propagator]) -> None:
        super().__init__()
        self.proximities = proximities
        self.linear = nn.Linear(inputs, outputs, bias=False)
        self.bias = nn.Parameter(torch.zeros(outputs))
        self.share_in, self.share_out = nn.Parameter(torch.ones(())), nn.Parameter(torch.ones(()))

    def forward(self, x: Input) -> Tensor:
        panel, (first, shared_in, shared_out) = multiply(x, self.linear.weight), self.proximities
        second_in = shared_in.transposed(shared_in(panel))
        second_out = shared_out.transposed(shared_out(panel))
        parts = (first(panel), self.share_in * second_in, self.share_out * second_out)
        return torch.cat([part + self.bias for part in parts], dim=1)


def build(operators: dict[str, Any], shape: Shape, config: DgcnConfig, device: torch.device) -> Classifier:
    """A DGCN over its three proximities."""
    proximities = [Propagator(operators[name], device) for name in ("first", "shared-in", "shared-out")]
    return Network(lambda inputs, outputs: ProximityLayer(inputs, outputs, proximities), shape, config).to(device)
