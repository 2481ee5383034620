"""Sparse propagation with autograd: a fixed matrix P held with its transpose, multiplied onto dense panels."""

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from scipy.sparse import csr_array
from torch import Tensor

DENSE_FROM = 0.25


class Propagator:
    """y = P x for a fixed sparse P. Keeps N x width floats for the backward pass, never edges x width."""

    def __init__(self, matrix: csr_array, device: torch.device, dtype: torch.dtype = torch.float32) -> None:
        self.shape = (int(matrix.shape[0]), int(matrix.shape[1]))
        self.forward = _Kernel(csr_array(matrix), device, dtype)
        self.backward = _Kernel(csr_array(csr_array(matrix).T.tocsr()), device, dtype)

    def __call__(self, x: Tensor) -> Tensor:
        product: Tensor = _Propagate.apply(x, self)
        return product


class _Kernel:
    """One sparse-times-dense product: embedding bags on CPU (much faster than CSR there), CSR elsewhere."""

    def __init__(self, matrix: csr_array, device: torch.device, dtype: torch.dtype) -> None:
        self.rows = int(matrix.shape[0])
        self.indices = torch.from_numpy(matrix.indices.astype(np.int64)).to(device)
        self.offsets = torch.from_numpy(matrix.indptr.astype(np.int64)).to(device)
        self.values = torch.from_numpy(np.array(matrix.data)).to(device, dtype)
        self.matrix = None
        if device.type != "cpu":
            self.matrix = torch.sparse_csr_tensor(self.offsets, self.indices, self.values, size=tuple(matrix.shape))

    def __call__(self, x: Tensor) -> Tensor:
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
        context.operator = operator
        return operator.forward(x.contiguous())

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return context.operator.backward(gradients[0].contiguous()), None


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
