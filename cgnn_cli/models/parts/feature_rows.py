"""Features of a large graph, made for some nodes at a time: the file that they lie in is mapped, never copied whole."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from cgnn_cli.models.parts.propagate import DENSE_FROM
from cgnn_cli.operators.normalise import inverse_or_zero

BLOCK_ROWS = 1 << 14


class FeatureRows:
    """Rows of dense features, scaled and in 32 bits, with the bits that they have among all rows."""

    device = None  # it is no tensor

    def __init__(self, features: np.ndarray, scale: Callable[[np.ndarray], np.ndarray]) -> None:
        self.features, self.shape, self._scale = features, features.shape, scale

    def of(self, nodes: np.ndarray) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(self._scale(self.features[nodes]), dtype=np.float32))

    def are_dense(self) -> bool:
        """Whether so many entries are not zero that the product with them is a dense one."""
        parts = (self._scale(self.features[block]) for block in _blocks(len(self.features)))
        return sum(map(np.count_nonzero, parts)) >= DENSE_FROM * self.features.size


def standard_scale(features: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """What brings the columns of some rows to the mean 0 and the variance 1 that all rows have then.

    As numpy's `mean` and `std` add the rows up one after the other, the bits are theirs.
    """
    count = len(features)
    mean = _column_mean(lambda rows: features[rows], count)
    rest = _column_mean(lambda rows: features[rows] - mean, count)
    factor = inverse_or_zero(np.sqrt(_column_mean(lambda rows: np.square(features[rows] - mean - rest), count)))
    return lambda rows: (rows - mean) * factor


def _column_mean(rows_of: Callable[[slice], np.ndarray], count: int) -> np.ndarray:
    total: np.ndarray | None = None
    for block in _blocks(count):
        rows = rows_of(block)
        total = rows.sum(axis=0) if total is None else np.vstack([total, rows]).sum(axis=0)
    assert total is not None
    return np.true_divide(total, np.intp(count), out=total, casting="unsafe")


def _blocks(count: int) -> list[slice]:
    return [slice(start, min(start + BLOCK_ROWS, count)) for start in range(0, count, BLOCK_ROWS)]
