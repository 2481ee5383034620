"""The layer with two directed message channels that CGNN and DirGNN share."""

from functools import reduce
from typing import Any

import torch
from torch import Tensor, nn

from cgnn_cli.models.parts.layout import Term
from cgnn_cli.models.parts.propagate import Input, Propagator, multiply

Ways = dict[str, Propagator]


def both_ways(operators: dict[str, Any], device: torch.device) -> Ways:
    """The operators of the directions that are used."""
    return {name: Propagator(operators[name], device) for name in ("out", "in") if name in operators}


class DirectedLayer(nn.Module):
    """h' = s W_self h + m (alpha (P_out W_out h + b_out) + (1 - alpha) (P_in W_in h + b_in)).

    `self_share` is s, `message_share` is m; with s = 0 there is no self term and no W_self.
    """

    def __init__(
        self, inputs: int, outputs: int, ways: Ways, *, alpha: float, self_share: float, message_share: float = 1.0
    ) -> None:
        super().__init__()
        self.ways = ways
        self.alpha, self.self_share, self.message_share = alpha, self_share, message_share
        self.from_out = nn.Linear(inputs, outputs, bias=False)
        self.from_in = nn.Linear(inputs, outputs, bias=False)
        self.bias_out = nn.Parameter(torch.zeros(outputs))
        self.bias_in = nn.Parameter(torch.zeros(outputs))
        self.from_self = nn.Linear(inputs, outputs) if self_share else None

    def forward(self, x: Input) -> Tensor:
        """The shares scale the small weight matrices, not the large panels; all biases are added as one vector."""
        share_out, share_in = self.message_share * self.alpha, self.message_share * (1 - self.alpha)
        bias, terms = share_out * self.bias_out + share_in * self.bias_in, []
        if self.from_self is not None:
            terms.append(multiply(x, _scaled(self.from_self.weight, self.self_share)))
            bias = bias + self.self_share * self.from_self.bias
        for name, linear, share in (("out", self.from_out, share_out), ("in", self.from_in, share_in)):
            if share:
                terms.append(self.ways[name].after(x, _scaled(linear.weight, share)))
        return reduce(Tensor.add_, terms).add_(bias)

    def terms(self, name: str) -> tuple[Term, ...]:
        """The same in plain terms, for the weights of a layer of some name."""
        shares = {"out": self.message_share * self.alpha, "in": self.message_share * (1 - self.alpha)}
        messages = [
            Term(f"{name}.from_{way}.weight", way, f"{name}.bias_{way}", share)
            for way, share in shares.items()
            if share
        ]
        own = [Term(f"{name}.from_self.weight", None, f"{name}.from_self.bias", self.self_share)]
        return (*(own if self.self_share else ()), *messages)


def _scaled(weight: Tensor, share: float) -> Tensor:
    return weight if share == 1 else share * weight
