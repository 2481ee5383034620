"""The contrastive loss of DiGCL, with its gradient, in memory of nodes x width.

    l_i = -u(h_i, g_i) + log( exp u(h_i, g_i) + sum_(j != i) exp u(h_i, h_j) ),   u(x, y) = cos(x, y) / temperature

h is the view of the anchor, g the other one: the positive stands across the views, the negatives within a view.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from cgnn_cli.models.parts.panels import at_least_single

CHUNK_ENTRIES = 1 << 19


def contrastive_loss(first: Tensor, second: Tensor, temperature: float, chunk_entries: int = CHUNK_ENTRIES) -> Tensor:
    """The mean of l_i over the nodes and both orders of the views."""
    first, second = (F.normalize(at_least_single(view), dim=1) for view in (first, second))
    positive = (first * second).sum(dim=1) / temperature
    rows = max(1, chunk_entries // max(1, len(first)))
    total = sum(_Contrast.apply(view, positive, temperature, rows) for view in (first, second))
    loss: Tensor = total / (2 * len(first))
    return loss


class _Contrast(torch.autograd.Function):
    """sum_i l_i for rows of length 1; a chunk of rows meets all others at a time, and leaves its part of the gradient.

    With the weights p_ij = softmax of row i, whose diagonal stands for the positive:
    d/du_ij = p_ij,  d/dpositive_i = p_ii - 1.
    """

    @staticmethod
    def forward(context: Any, view: Tensor, positive: Tensor, temperature: float, rows: int) -> Tensor:
        of_view, of_positive = torch.zeros_like(view), torch.empty_like(positive)
        total = view.new_zeros(())
        with torch.autocast(view.device.type, enabled=False):  # small differences of large sums need all bits
            scaled = view / temperature
            for start in range(0, len(view), rows):
                chunk = slice(start, start + rows)
                scores = scaled[chunk] @ view.t()
                diagonal = scores.diagonal(start)
                diagonal.copy_(positive[chunk])
                largest = scores.amax(dim=1)
                parts = scores.sub_(largest[:, None]).exp_()
                inverse = 1 / parts.sum(dim=1)  # of the softmax; it scales narrow panels, and never a whole chunk
                of_positive[chunk] = diagonal * inverse - 1
                diagonal.zero_()
                of_view[chunk] += (parts @ scaled) * inverse[:, None]
                of_view.addmm_(parts.t(), scaled[chunk] * inverse[:, None])
                total += (largest - inverse.log() - positive[chunk]).sum()
        context.save_for_backward(of_view, of_positive)
        return total

    @staticmethod
    @once_differentiable
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None]:
        of_view, of_positive = context.saved_tensors
        return gradients[0] * of_view, gradients[0] * of_positive, None, None
