"""Panels, of a row a node: what follows a layer, and the maximum over layers, with their gradients written out.

They give what F.relu, dropout, F.normalize and a maximum over stacked layers give, bit for bit, and keep less for the
backward pass. On a CPU a block of rows goes through all of it before the next: it stays in the cache meanwhile, and a
large panel is read and written once.
"""

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any

import torch
from torch import Tensor

LEAST_LENGTH = 1e-12
BLOCK = 1 << 17  # numbers of a block of rows: half a MiB


class _UnitRows(torch.autograd.Function):
    """y = x / |x|; its gradient is (g - y (g . y)) / |x|. A row of zeros stays, and has no gradient."""

    @staticmethod
    def forward(context: Any, x: Tensor) -> Tensor:
        length = _lengths(x)
        unit = x / length
        context.save_for_backward(unit, length)
        return unit

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> Tensor:
        return _across(gradients[0], *context.saved_tensors)


class _Rectified(torch.autograd.Function):
    """y = relu(x), with dropout, and with rows of length 1 if `unit`. Where y is 0, there is no gradient."""

    @staticmethod
    def forward(context: Any, x: Tensor, share: float, unit: bool) -> Tensor:
        made = torch.empty_like(x)
        lengths = x.new_empty(len(x), 1) if unit else None
        for rows in _blocks(x):
            block = torch.clamp_min(x[rows], 0, out=made[rows])
            if share:
                draws = torch.rand_like(block)
                block.mul_(torch.ge(draws, share, out=draws).div_(1 - share))
            if lengths is not None:
                lengths[rows] = _lengths(block)
                block.div_(lengths[rows])
        context.save_for_backward(made, lengths)
        context.scale = float(x.new_ones(1).div_(1 - share)) if share else 1.0
        return made

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        made, lengths = context.saved_tensors
        found = torch.empty_like(made)
        for rows in _blocks(made):
            block = gradients[0][rows]
            if lengths is not None:
                block = _across(block, made[rows], lengths[rows])
            if context.scale != 1:
                block = block * context.scale
            torch.ops.aten.threshold_backward.grad_input(block, made[rows], 0, grad_input=found[rows])
        return found, None, None


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
        shares = tuple(torch.empty_like(panel) for panel in panels)
        for rows in _blocks(largest):
            left = gradients[0][rows]
            for panel, share in zip(panels, shares, strict=True):
                has_it = torch.eq(panel[rows], largest[rows], out=torch.empty_like(left))  # as floats: faster
                left = left - torch.mul(left, has_it, out=share[rows])
        return shares


def _blocks(panel: Tensor) -> Iterator[slice]:
    """Blocks of rows; all rows on a device of another kind, where a pass for each would cost more."""
    size = max(1, BLOCK // max(1, panel.shape[1])) if panel.device.type == "cpu" else max(1, len(panel))
    return (slice(start, start + size) for start in range(0, len(panel), size))


def _lengths(x: Tensor) -> Tensor:
    """The lengths of rows, infinite for a row of zeros."""
    length = torch.linalg.vector_norm(x, dim=1, keepdim=True)
    return length.masked_fill_(length < LEAST_LENGTH, torch.inf)


def _across(gradient: Tensor, unit: Tensor, length: Tensor) -> Tensor:
    """The gradient of x / |x|: its part across the row, by the length of the row."""
    along = torch.linalg.vecdot(gradient, unit).unsqueeze_(1)
    return torch.addcmul(gradient, unit, along, value=-1).div_(length)


def rectified(x: Tensor, share: float, *, unit: bool) -> Tensor:
    """relu, dropout by a share, and rows of length 1 if `unit`."""
    made: Tensor = _Rectified.apply(x, share, unit)
    return made


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
