"""Sparse propagation with autograd: a fixed matrix P held with its transpose, multiplied onto dense panels."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from scipy.sparse import csr_array, hstack
from torch import Tensor, nn

DENSE_FROM = 0.25
ENTRY_COST = 4  # of an entry times a number, in multiplications of a dense product
MOST_FILLED = 0.9


class Propagator:
    """y = P x for a fixed sparse P. Keeps N x width floats for the backward pass, never edges x width.

    While `part` is set, that operator works in its place (sampling.py).
    """

    part: Propagator | None = None

    def __init__(self, matrix: csr_array, device: torch.device, dtype: torch.dtype = torch.float32) -> None:
        self.shape = (int(matrix.shape[0]), int(matrix.shape[1]))
        number = np.float64 if dtype == torch.float64 else np.float32  # before it is turned, not after
        self.matrix, self.device, self.dtype = csr_array(matrix).astype(number, copy=False), device, dtype
        self.forward = Kernel.of(self.matrix, device, dtype)

    @cached_property
    def backward(self) -> Kernel:
        """P^T, made when a gradient is first asked for."""
        return Kernel.of(csr_array(self.matrix.T.tocsr()), self.device, self.dtype)

    def __call__(self, x: Tensor) -> Tensor:
        product: Tensor = _Propagate.apply(x, self.part or self)
        return product

    def after(self, x: Input, weight: Tensor) -> Tensor:
        """P (x W^T), multiplied in the cheaper order, and the dense product for no more rows than P reads or fills.

        In a digraph many nodes have no in-edges or no out-edges: an empty column of P needs no row of x W^T, and an
        empty row of P no product of its own.
        """
        if self.part is not None:
            return self.part.after(x, weight)
        if isinstance(x, Propagator):
            return self(multiply(x, weight))
        (outputs, inputs), entries = weight.shape, len(self.forward.indices)
        weight_first = ENTRY_COST * entries * outputs + len(self.read) * inputs * outputs
        features_first = ENTRY_COST * entries * inputs + len(self.filled) * inputs * outputs
        if weight_first <= features_first:
            choose, inner = self.by_columns
            return inner(choose(x) @ weight.t())
        inner, spread = self.by_rows
        return spread(inner(x) @ weight.t())

    @cached_property
    def read(self) -> Tensor:
        """The columns that have entries."""
        return self.backward.filled_rows()

    @cached_property
    def filled(self) -> Tensor:
        """The rows that have entries."""
        return self.forward.filled_rows()

    @cached_property
    def by_columns(self) -> tuple[Callable[[Tensor], Tensor], Propagator]:
        """Factors C and Q with P = Q C: C takes the rows that are read, and Q has no empty column."""
        if len(self.read) > MOST_FILLED * self.shape[1]:
            return _same, self
        inner = _of_kernels(self.forward.renumbered(self.read), self.backward.compacted())
        return _choice(self.read, self.shape[1], self.forward.values.dtype), inner

    @cached_property
    def by_rows(self) -> tuple[Propagator, Callable[[Tensor], Tensor]]:
        """Factors Q and S with P = S Q: Q has no empty row, and S puts its rows in their places."""
        if len(self.filled) > MOST_FILLED * self.shape[0]:
            return self, _same
        inner = _of_kernels(self.forward.compacted(), self.backward.renumbered(self.filled))
        return inner, _choice(self.filled, self.shape[0], self.forward.values.dtype).transposed

    @cached_property
    def order(self) -> Tensor:
        """The entries by column, as places among the entries by row."""
        return torch.argsort(self.forward.indices, stable=True)

    @cached_property
    def transposed(self) -> Propagator:
        """The product with P^T, over the same arrays."""
        return _of_kernels(self.backward, self.forward)

    def with_dropout(self, share: float) -> Propagator:
        """A copy in which each entry is zero with probability `share`, and the others are scaled up."""
        values = self.forward.values
        kept = (torch.rand_like(values) >= share).to(values.dtype) / (1 - share)
        forward = self.forward.with_values(values * kept)
        return _of_kernels(forward, self.backward.with_values(self.backward.values * kept[self.order]))


def _of_kernels(forward: Kernel, backward: Kernel) -> Propagator:
    made = object.__new__(Propagator)
    made.shape, made.forward, made.backward = (forward.rows, forward.columns), forward, backward
    return made


def _choice(rows: Tensor, count: int, dtype: torch.dtype) -> Propagator:
    """The operator that takes some of `count` rows."""
    places = torch.arange(len(rows) + 1, dtype=rows.dtype, device=rows.device)
    ones = torch.ones(len(rows), dtype=dtype, device=rows.device)
    holds = torch.zeros(count + 1, dtype=rows.dtype, device=rows.device)
    holds[rows.long() + 1] = 1
    offsets = holds.cumsum(0, dtype=rows.dtype)
    return _of_kernels(Kernel(rows, places, ones, count), Kernel(places[:-1], offsets, ones, len(rows)))


def _same(x: Tensor) -> Tensor:
    return x


class Kernel:
    """One sparse-times-dense product: embedding bags on CPU (much faster than CSR there), CSR elsewhere."""

    def __init__(self, indices: Tensor, offsets: Tensor, values: Tensor, columns: int) -> None:
        self.indices, self.offsets, self.values, self.columns = indices, offsets, values, columns
        self.rows = len(offsets) - 1
        self.matrix = None
        if values.device.type != "cpu":
            self.matrix = torch.sparse_csr_tensor(offsets, indices, values, size=(self.rows, columns))

    @classmethod
    def of(cls, matrix: csr_array, device: torch.device, dtype: torch.dtype) -> Kernel:
        """Arrays of the right type are shared with the matrix, not copied."""
        integer = np.int32 if max(matrix.nnz, *matrix.shape) < 2**31 else np.int64
        indices, offsets = (
            torch.from_numpy(array.astype(integer, copy=False)).to(device) for array in (matrix.indices, matrix.indptr)
        )
        return cls(indices, offsets, torch.from_numpy(matrix.data).to(device, dtype), int(matrix.shape[1]))

    def with_values(self, values: Tensor) -> Kernel:
        """The same pattern with other values."""
        return Kernel(self.indices, self.offsets, values, self.columns)

    def filled_rows(self) -> Tensor:
        """The rows that have entries."""
        return torch.nonzero(self.offsets.diff()).ravel().to(self.indices.dtype)

    def compacted(self) -> Kernel:
        """The same without empty rows."""
        offsets = torch.cat([self.offsets[self.filled_rows().long()], self.offsets[-1:]])
        return Kernel(self.indices, offsets, self.values, self.columns)

    def renumbered(self, columns: Tensor) -> Kernel:
        """The same with these columns only, which hold all entries."""
        number = torch.zeros(self.columns, dtype=columns.dtype, device=columns.device)
        number[columns.long()] = torch.arange(len(columns), dtype=columns.dtype, device=columns.device)
        return Kernel(number.index_select(0, self.indices), self.offsets, self.values, len(columns))

    def __call__(self, x: Tensor) -> Tensor:
        x = x.to(self.values.dtype)
        if not len(self.indices):
            return x.new_zeros(self.rows, x.shape[1])
        if self.matrix is not None:
            return self.matrix @ x
        return F.embedding_bag(
            self.indices, x, self.offsets, mode="sum", per_sample_weights=self.values, include_last_offset=True
        )


class _Propagate(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, x: Tensor, operator: Propagator) -> Tensor:
        context.operator, context.dtype = operator, x.dtype
        return operator.forward(x.detach().contiguous())  # a plain tensor takes the faster kernel

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return context.operator.backward(gradients[0].contiguous()).to(context.dtype), None


Input = Tensor | Propagator


def as_input(features: np.ndarray | csr_array, device: torch.device) -> Input:
    """Features as a dense tensor, or as a sparse operator where most of them are zero."""
    entries = features.shape[0] * features.shape[1]
    nonzero = np.count_nonzero(features) if isinstance(features, np.ndarray) else features.nnz
    if nonzero < DENSE_FROM * entries:
        return Propagator(csr_array(features), device)
    dense = features if isinstance(features, np.ndarray) else features.toarray()
    return torch.from_numpy(np.ascontiguousarray(dense, dtype=np.float32)).to(device)


def beside(x: Input, columns: np.ndarray) -> Input:
    """The input with dense columns after its own; beside sparse ones every entry of these is kept, 0 too."""
    if not isinstance(x, Propagator):
        return torch.cat([x, torch.from_numpy(columns).to(x.device)], dim=1)
    rows, count = columns.shape
    parts = columns.ravel(), np.tile(np.arange(count), rows), np.arange(0, rows * count + 1, count)
    return Propagator(csr_array(hstack([x.matrix, csr_array(parts, shape=columns.shape)], format="csr")), x.device)


def with_last(x: Input, columns: Tensor) -> Input:
    """The input with other values in the columns that `beside` put there."""
    count = columns.shape[1]
    if not isinstance(x, Propagator):
        return torch.cat([x[:, :-count], columns], dim=1)
    by_row, by_column = x.forward.values.clone(), x.backward.values.clone()
    places = x.forward.offsets[1:, None].long() + torch.arange(-count, 0, device=columns.device)
    by_row[places], by_column[-columns.numel() :] = columns, columns.t().ravel()
    return _of_kernels(x.forward.with_values(by_row), x.backward.with_values(by_column))


def lay_out(parameters: Iterable[nn.Parameter], x: object) -> None:
    """Keep the weights that meet sparse features by columns, as that product reads them, not to turn them each time."""
    if isinstance(x, Propagator):
        for weight in parameters:
            if weight.ndim == 2 and weight.shape[1] == x.shape[1]:
                weight.data = weight.data.t().contiguous().t()


def multiply(x: Input, weight: Tensor) -> Tensor:
    """x W^T, where x may be sparse."""
    return x(weight.t()) if isinstance(x, Propagator) else x @ weight.t()
