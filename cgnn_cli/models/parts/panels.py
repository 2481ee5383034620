"""Panels, of a row a node: row normalisation and the maximum over layers, with their gradients written out.

They give what F.normalize and a maximum over stacked layers give, in a third of the passes over the panels, and keep
less for the backward pass.
"""

from collections.abc import Sequence
from functools import reduce
from typing import Any

import torch
from torch import Tensor

LEAST_LENGTH = 1e-12


class _UnitRows(torch.autograd.Function):
    """y = x / |x|; its gradient is (g - y (g . y)) / |x|. A row of zeros stays, and has no gradient."""

    @staticmethod
    def forward(context: Any, x: Tensor) -> Tensor:
        length = torch.linalg.vector_norm(x, dim=1, keepdim=True)
        length.masked_fill_(length < LEAST_LENGTH, torch.inf)
        unit = x / length
        context.save_for_backward(unit, length)
        return unit

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> Tensor:
        unit, length = context.saved_tensors
        along = torch.linalg.vecdot(gradients[0], unit).unsqueeze_(1)
        return torch.addcmul(gradients[0], unit, along, value=-1).div_(length)


class _Largest(torch.autograd.Function):
    """The largest of several panels, entry by entry; the gradient goes to the first that has it."""

    @staticmethod
    def forward(context: Any, *panels: Tensor) -> Tensor:
        largest = reduce(torch.maximum, panels)
        context.save_for_backward(largest, *panels)
        return largest

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor, ...]:
        largest, *panels = context.saved_tensors
        left, shares = gradients[0], []
        for panel in panels:
            has_it = torch.eq(panel, largest, out=torch.empty_like(left))  # 0 and 1 as floats: faster than a choice
            shares.append(left * has_it)
            left = left - shares[-1]
        return tuple(shares)


def unit_rows(x: Tensor) -> Tensor:
    """Rows scaled to length 1; a row of zeros stays."""
    unit: Tensor = _UnitRows.apply(x)
    return unit


def largest(panels: Sequence[Tensor]) -> Tensor:
    """max over the panels."""
    found: Tensor = _Largest.apply(*panels)
    return found


def at_least_single(panel: Tensor) -> Tensor:
    """Scores of a reduced precision in 32 bits: sums over many neighbours need them."""
    return panel.to(torch.promote_types(panel.dtype, torch.float32))
