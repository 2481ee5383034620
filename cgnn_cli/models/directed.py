"""The layer with two directed message channels that CGNN and DirGNN share."""

from collections.abc import Iterator
from functools import reduce

import torch
from torch import Tensor, nn

from cgnn_cli.models.propagate import Input, Propagator, multiply


class DirectedLayer(nn.Module):
    """h' = s W_self h + m (alpha (P_out W_out h + b_out) + (1 - alpha) (P_in W_in h + b_in)).

    `self_share` is s, `message_share` is m; with s = 0 there is no self term and no W_self.
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        out_op: Propagator,
        in_op: Propagator,
        *,
        alpha: float,
        self_share: float,
        message_share: float = 1.0,
    ) -> None:
        super().__init__()
        self.out_op, self.in_op = out_op, in_op
        self.alpha, self.self_share, self.message_share = alpha, self_share, message_share
        self.from_out = nn.Linear(inputs, outputs, bias=False)
        self.from_in = nn.Linear(inputs, outputs, bias=False)
        self.bias_out = nn.Parameter(torch.zeros(outputs))
        self.bias_in = nn.Parameter(torch.zeros(outputs))
        self.from_self = nn.Linear(inputs, outputs) if self_share else None

    def forward(self, x: Input) -> Tensor:
        return reduce(torch.add, self._terms(x))

    def _terms(self, x: Input) -> Iterator[Tensor]:
        """What is summed; the shares scale the small weight matrices, not the large panels."""
        if self.from_self is not None:
            yield multiply(x, self.self_share * self.from_self.weight) + self.self_share * self.from_self.bias
        share_out, share_in = self.message_share * self.alpha, self.message_share * (1 - self.alpha)
        if share_out:
            yield self.out_op(multiply(x, share_out * self.from_out.weight)) + share_out * self.bias_out
        if share_in:
            yield self.in_op(multiply(x, share_in * self.from_in.weight)) + share_in * self.bias_in
