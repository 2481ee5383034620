"""Attention over the entries of a sparse pattern, without a panel of edges x width.

    a_ij = softmax over the entries j of row i of LeakyReLU(s_j + t_i)        Pattern.softmax
    y_i  = sum over the entries j of row i of a_ij x_j                        Pattern.weighted_sum

Each head has its own s, t, a and slice of x. For the backward pass only panels of nodes and heads x entries floats are
kept: the gradient of x is a product with the transposed pattern, that of a_ij is <g_i, x_j>, computed entry by entry.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from scipy.sparse import csr_array
from torch import Tensor
from torch.autograd.function import once_differentiable

from cgnn_cli.models.parts.panels import at_least_single
from cgnn_cli.models.parts.propagate import Kernel
from cgnn_cli.numerics.csr import row_of_entries

SLOPE = 0.2


class Pattern:
    """The entries of a sparse matrix, by row and by column. Its values are left aside.

    `order` gives, for the entries by column, their places among the entries by row; `rows` the row of each entry.
    """

    def __init__(self, matrix: csr_array, device: torch.device) -> None:
        self.shape = (int(matrix.shape[0]), int(matrix.shape[1]))
        numbered = csr_array((np.arange(matrix.nnz), matrix.indices, matrix.indptr), shape=matrix.shape)
        by_column = csr_array(numbered.T.tocsr())
        ones = np.ones(matrix.nnz, dtype=np.float32)
        self.by_row, self.by_column = (
            Kernel.of(csr_array((ones, part.indices, part.indptr), shape=part.shape), device, torch.float32)
            for part in (numbered, by_column)
        )
        integer = self.by_row.indices.dtype
        self.order = torch.from_numpy(by_column.data).to(device, integer)
        self.rows = torch.from_numpy(row_of_entries(matrix)).to(device, integer)
        self.entries = int(matrix.nnz)

    def softmax(
        self, of_neighbour: Tensor, of_node: Tensor, slope: float = SLOPE, copies: Tensor | None = None
    ) -> Tensor:
        """Weights a of heads x entries, from s (columns x heads) and t (rows x heads); each row sums to 1.

        With `copies`, an entry stands for so many equal ones, and its weight is the sum of theirs.
        """
        scores = at_least_single(of_neighbour), at_least_single(of_node)
        weights: Tensor = _Softmax.apply(*scores, self, slope, copies)
        return weights

    def weighted_sum(self, weights: Tensor, x: Tensor) -> Tensor:
        """y of rows x (heads * width), from weights of heads x entries and x of columns x (heads * width)."""
        total: Tensor = _WeightedSum.apply(weights, x.to(weights.dtype), self)
        return total

    def by_neighbour(self, panel: Tensor) -> Tensor:
        """A panel of columns x heads at the column of each entry, as heads x entries."""
        return panel.t().contiguous().index_select(1, self.by_row.indices)

    def by_node(self, panel: Tensor) -> Tensor:
        """A panel of rows x heads at the row of each entry, as heads x entries."""
        return panel.t().contiguous().index_select(1, self.rows)

    def row_sums(self, values: Tensor) -> Tensor:
        """Sums of heads x entries over the entries of each row, as rows x heads."""
        ones = values.new_ones(self.shape[1], 1)
        return torch.cat([self.by_row.with_values(head)(ones) for head in values], dim=1)

    def column_sums(self, values: Tensor) -> Tensor:
        """Sums of heads x entries over the entries of each column, as columns x heads."""
        ones = values.new_ones(self.shape[0], 1)
        return torch.cat([self.by_column.with_values(head.index_select(0, self.order))(ones) for head in values], dim=1)

    def row_maxima(self, panel: Tensor) -> Tensor:
        """The largest values of a panel among the entries of each row; 0 for a row without."""
        if not self.entries:
            return panel.new_zeros(self.shape[0], panel.shape[1])
        return F.embedding_bag(self.by_row.indices, panel, self.by_row.offsets, mode="max", include_last_offset=True)

    def products(self, of_node: Tensor, of_neighbour: Tensor) -> Tensor:
        """<u_i, v_j> for each entry (i, j)."""
        if not self.entries:
            return of_node.new_zeros(0)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sparse", category=UserWarning)  # torch calls its CSR a beta
            mask = torch.sparse_csr_tensor(
                self.by_row.offsets, self.by_row.indices, self.by_row.values.to(of_node.dtype), size=self.shape
            )
        return torch.sparse.sampled_addmm(mask, of_node, of_neighbour.t(), beta=0.0).values()


class _Softmax(torch.autograd.Function):
    @staticmethod
    def forward(
        context: Any, of_neighbour: Tensor, of_node: Tensor, pattern: Pattern, slope: float, copies: Tensor | None
    ) -> Tensor:
        # LeakyReLU grows with its argument, so the largest score of a row is that of its largest neighbour.
        largest = F.leaky_relu(pattern.row_maxima(of_neighbour) + of_node, slope)
        scores = F.leaky_relu(pattern.by_neighbour(of_neighbour).add_(pattern.by_node(of_node)), slope)
        weights = scores.sub_(pattern.by_node(largest)).exp_()
        weights = weights if copies is None else weights.mul_(copies)
        weights.div_(pattern.by_node(pattern.row_sums(weights)))
        context.save_for_backward(of_neighbour, of_node, weights)
        context.pattern, context.slope = pattern, slope
        return weights

    @staticmethod
    @once_differentiable
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None, None]:
        of_neighbour, of_node, weights = context.saved_tensors
        pattern: Pattern = context.pattern
        mean = pattern.row_sums(weights * gradients[0])
        change = (gradients[0] - pattern.by_node(mean)).mul_(weights)
        negative = pattern.by_neighbour(of_neighbour).add_(pattern.by_node(of_node)) <= 0
        change = torch.where(negative, context.slope * change, change)
        return pattern.column_sums(change), pattern.row_sums(change), None, None, None


class _WeightedSum(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, weights: Tensor, x: Tensor, pattern: Pattern) -> Tensor:
        context.save_for_backward(weights, x)
        context.pattern = pattern
        parts = zip(weights, _slices(x, len(weights)), strict=True)
        return torch.cat([pattern.by_row.with_values(head.contiguous())(part) for head, part in parts], dim=1)

    @staticmethod
    @once_differentiable
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        weights, x = context.saved_tensors
        pattern: Pattern = context.pattern
        slices = _slices(gradients[0], len(weights))
        of_weights = of_x = None
        if context.needs_input_grad[0]:
            pairs = zip(slices, _slices(x, len(weights)), strict=True)
            of_weights = torch.stack([pattern.products(gradient, part) for gradient, part in pairs])
        if context.needs_input_grad[1]:
            pairs = zip(weights, slices, strict=True)
            of_x = torch.cat(
                [pattern.by_column.with_values(head.index_select(0, pattern.order))(part) for head, part in pairs],
                dim=1,
            )
        return of_weights, of_x, None


def _slices(panel: Tensor, heads: int) -> list[Tensor]:
    return [part.contiguous() for part in panel.chunk(heads, dim=1)]
