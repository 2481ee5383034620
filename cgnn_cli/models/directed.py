"""The layer with two directed message channels that CGNN and DirGNN share."""

import torch
from torch import Tensor, nn

from cgnn_cli.models.propagate import Input, Propagator, apply_linear


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
        from_out = self.out_op(apply_linear(self.from_out, x)) + self.bias_out
        from_in = self.in_op(apply_linear(self.from_in, x)) + self.bias_in
        message = self.message_share * (self.alpha * from_out + (1 - self.alpha) * from_in)
        return message if self.from_self is None else message + self.self_share * apply_linear(self.from_self, x)
