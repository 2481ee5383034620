"""The walk as an operator: P = S + v u^T with a sparse S, and u the uniform distribution over all states.

v is what the rows of S lack to 1: the chance of a jump to any state. It is None where every row sums to 1, so that the
walk is just S. A teleporting walk is never made dense.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from cgnn_cli import scratch
from cgnn_cli.numerics.csr import by_rows, diagonal_of, diagonal_rows, entries_at, transposed
from cgnn_cli.numerics.distributed import multiply


@dataclass(frozen=True)
class Walk:
    """A row-stochastic operator over `size` states."""

    sparse: csr_array
    jump: np.ndarray | None = None

    @property
    def size(self) -> int:
        return int(self.sparse.shape[0])

    @cached_property
    def transposed(self) -> csr_array:
        """S^T as CSR."""
        return transposed(self.sparse)

    def apply(self, x: np.ndarray) -> np.ndarray:
        """P x, for a vector or the columns of a matrix."""
        moved = multiply(self.sparse, x)
        if self.jump is not None:
            moved += np.multiply.outer(self.jump, x.mean(axis=0))
        return moved

    def apply_transposed(self, y: np.ndarray) -> np.ndarray:
        """P^T y: where a distribution over the states goes in one step."""
        moved = multiply(self.transposed, y)
        if self.jump is not None:
            moved += (self.jump @ y) / self.size
        return moved

    def diagonal(self) -> np.ndarray:
        """P_ii."""
        diagonal = diagonal_of(self.sparse)
        return diagonal if self.jump is None else diagonal + self.jump / self.size

    def chances(self, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        """P_ij of some pairs."""
        steps = entries_at(self.sparse, source, target)
        if self.jump is not None:
            for part in scratch.parts(len(source)):
                steps[part] += self.jump[source[part]] / self.size
        return steps

    def lazy(self) -> Walk:
        """The walk that waits with probability 1/2 before each step: the same Perron vector, twice the times."""

        def waiting(rows: slice, moves: csr_array) -> csr_array:
            return csr_array((moves + diagonal_rows(np.ones(moves.shape[0]), rows.start, self.size)) / 2)

        return Walk(by_rows(waiting, self.sparse), None if self.jump is None else self.jump / 2)

    def to_dense(self) -> np.ndarray:
        """P as an array, for small walks."""
        dense = self.sparse.toarray()
        return dense if self.jump is None else dense + self.jump[:, None] / self.size
