"""Products with sparse matrices whose rows are shared out among the ranks of torchrun, where there are several.

Each rank multiplies its rows with the whole vector, and the parts of the result are put together. The terms of a row
are added in one order by whoever holds it, so the bits are those of one process for any number of ranks.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import csr_array

from cgnn_cli.numerics.csr import is_long, matrix_of, rows_of
from cgnn_cli.numerics.masked import add_product
from cgnn_cli.numerics.threads import RowBlocks, equal_rows
from cgnn_cli.ranks import leading

Held = dict[int, Any]
Factor: TypeAlias = "csr_array | RowBlocks"


def multiply(matrix: csr_array, x: np.ndarray) -> np.ndarray:
    """matrix @ x, for a matrix whose entries stay as they are from its first product on."""
    if leading.GROUP is not None or is_long(matrix) or not matrix.dtype == x.dtype == np.float64:
        return np.asarray(factor(matrix) @ x)
    product = np.zeros((matrix.shape[0], *x.shape[1:]))
    add_product(matrix, x, product)
    return product


def factor(matrix: csr_array, jobs: int | None = None) -> Factor | DistributedRows:
    """What multiplies vectors as the matrix does: over all ranks, and with `jobs` in so many threads of each."""
    if leading.GROUP is None:
        return _own_factor(matrix, jobs)
    return DistributedRows.of(leading.GROUP, matrix, jobs)


def _own_factor(rows: csr_array, jobs: int | None) -> Factor:
    if jobs is None:
        return RowBlocks(rows, 1, cut=False) if is_long(rows) else rows
    return RowBlocks(rows, jobs)


class DistributedRows:
    """A matrix of which each rank holds some rows, under a number: those of rank 0 are given here."""

    known: dict[tuple[int, bool], DistributedRows] = {}  # noqa: RUF012 - by the matrix, for as long as it lives

    def __init__(self, group: leading.Group, number: int, own: Factor, shape: tuple[int, int]) -> None:
        self.group, self.number, self.own, self.shape = group, number, own, shape
        weakref.finalize(self, group.forget, number)

    @classmethod
    def of(cls, group: leading.Group, matrix: csr_array, jobs: int | None) -> DistributedRows:
        """The rows of a matrix, shared out when it is first asked for."""
        key = id(matrix), jobs is None
        if key not in cls.known:
            cls.known[key] = cls._shared_out(group, matrix, jobs)
            weakref.finalize(matrix, cls.known.pop, key, None)
        return cls.known[key]

    @classmethod
    def _shared_out(cls, group: leading.Group, matrix: csr_array, jobs: int | None) -> DistributedRows:
        number = group.number()
        first, *others = (rows_of(matrix, rows) for rows in equal_rows(matrix, group.size))
        values = {"number": number, "width": matrix.shape[1], "jobs": jobs}
        parts = [_parts_of(rows) for rows in others]
        own, _ = group.call(f"{__name__}:hold_rows", lambda: _own_factor(first, jobs), values, parts=parts)
        return cls(group, number, own, matrix.shape)

    def __matmul__(self, x: np.ndarray) -> np.ndarray:
        own, others = self.group.call(
            f"{__name__}:product_with_rows", lambda: self.own @ x, {"number": self.number}, arrays=[x]
        )
        return np.concatenate([own, *(part for (part,) in others)])


class WholeMatrix:
    """A matrix that every rank holds, under a number, as a product with it takes all rows."""

    def __init__(self, group: leading.Group, matrix: csr_array) -> None:
        self.number = group.number()
        values = {"number": self.number, "width": matrix.shape[1], "jobs": None}
        group.call(f"{__name__}:hold_rows", lambda: None, values, arrays=_parts_of(matrix))
        weakref.finalize(self, group.forget, self.number)


def _parts_of(matrix: csr_array) -> list[np.ndarray]:
    """The arrays of a matrix, as they are sent."""
    return [matrix.data, matrix.indices, matrix.indptr]


def hold_rows(held: Held, values: dict[str, Any], arrays: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
    """In a rank: keep some rows of a matrix."""
    data, indices, indptr = arrays
    held[values["number"]] = _own_factor(matrix_of(data, indices, indptr, values["width"]), values["jobs"])
    return ()


def product_with_rows(held: Held, values: dict[str, Any], arrays: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
    """In a rank: the part of a product that its rows make."""
    return [held[values["number"]] @ arrays[0]]
