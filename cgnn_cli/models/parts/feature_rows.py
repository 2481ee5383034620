"""Features of a large graph, made for some nodes at a time: the file that they lie in is mapped, never copied whole."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from cgnn_cli.models.parts.propagate import DENSE_FROM

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
        parts = (self._scale(self.features[block]) for block in blocks_of(len(self.features)))
        return sum(map(np.count_nonzero, parts)) >= DENSE_FROM * self.features.size


def blocks_of(count: int) -> list[slice]:
    return [slice(start, min(start + BLOCK_ROWS, count)) for start in range(0, count, BLOCK_ROWS)]
