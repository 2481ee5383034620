"""Sparse propagation with autograd: a fixed matrix P held with its transpose, multiplied onto dense panels."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from scipy.sparse import csr_array
from torch import Tensor

DENSE_FROM = 0.25


class Propagator:
    """y = P x for a fixed sparse P. Keeps N x width floats for the backward pass, never edges x width.

    While `part` is set, that operator works in its place (sampling.py).
    """

    part: Propagator | None = None

    def __init__(self, matrix: csr_array, device: torch.device, dtype: torch.dtype = torch.float32) -> None:
        self.shape = (int(matrix.shape[0]), int(matrix.shape[1]))
        self.matrix, self.device, self.dtype = csr_array(matrix), device, dtype
        self.forward = Kernel.of(self.matrix, device, dtype)

    @cached_property
    def backward(self) -> Kernel:
        """P^T, made when a gradient is first asked for."""
        return Kernel.of(csr_array(self.matrix.T.tocsr()), self.device, self.dtype)

    def __call__(self, x: Tensor) -> Tensor:
        product: Tensor = _Propagate.apply(x, self.part or self)
        return product

    def after(self, x: Input, weight: Tensor) -> Tensor:
        """P (x W^T), multiplied in the cheaper order: P meets the narrower panel."""
        if isinstance(x, Propagator) or weight.shape[0] <= weight.shape[1]:
            return self(multiply(x, weight))
        return self(x) @ weight.t()

    @cached_property
    def order(self) -> Tensor:
        """The entries by column, as places among the entries by row."""
        return torch.argsort(self.forward.indices, stable=True)

    @cached_property
    def transposed(self) -> Propagator:
        """The product with P^T, over the same arrays."""
        copy = object.__new__(Propagator)
        copy.shape = (self.shape[1], self.shape[0])
        copy.forward, copy.backward = self.backward, self.forward
        return copy

    def with_dropout(self, share: float) -> Propagator:
        """A copy in which each entry is zero with probability `share`, and the others are scaled up."""
        values = self.forward.values
        kept = (torch.rand_like(values) >= share).to(values.dtype) / (1 - share)
        copy = object.__new__(Propagator)
        copy.shape = self.shape
        copy.forward = self.forward.with_values(values * kept)
        copy.backward = self.backward.with_values(self.backward.values * kept[self.order])
        return copy


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
        return operator.forward(x.contiguous())

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


def multiply(x: Input, weight: Tensor) -> Tensor:
    """x W^T, where x may be sparse."""
    return x(weight.t()) if isinstance(x, Propagator) else x @ weight.t()
