"""Sparse products: of which only the entries on a given pattern are wanted, or that are added to something.

The compiled loops of compiled.pyx do no work for what is not wanted. Where they were not built, scipy's products give
the same numbers, bit for bit: it is the order of terms that decides, and both take scipy's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from cgnn_cli.numerics.csr import chosen_rows, is_long

try:
    from cgnn_cli.numerics import compiled
except ImportError:  # there was no compiler where cgnn was installed
    COMPILED = False
else:
    COMPILED = True

NARROW = np.iinfo(np.int32).max


@dataclass(frozen=True)
class Pattern:
    """Positions in a block of rows, as the sorted rows of a CSR matrix without its values."""

    indptr: np.ndarray
    indices: np.ndarray

    @property
    def entries(self) -> int:
        return len(self.indices)

    def rows(self, start: int, stop: int) -> Pattern:
        """The pattern of the rows from `start` to before `stop`."""
        begin, end = int(self.indptr[start]), int(self.indptr[stop])
        return Pattern(self.indptr[start : stop + 1] - self.indptr[start], self.indices[begin:end])


def product(left: csr_array, right: csr_array) -> csr_array:
    """left @ right; the entries of a row come in no particular order, but always in the same one."""
    left, right = _factors(left, right)
    if not COMPILED:
        return left @ right
    count, width = left.shape[0], right.shape[1]
    before = np.zeros(left.nnz + 1, np.int64)
    np.cumsum(np.diff(right.indptr)[left.indices], out=before[1:])
    bound = int(np.minimum(np.diff(before[left.indptr]), width).sum())
    del before
    integer = np.int32 if bound <= NARROW else np.int64
    (pointers, columns), factors = _alike((np.zeros(count + 1, integer), np.empty(bound, integer)), left, right)
    values = np.empty(bound)
    compiled.product(*factors, np.zeros(width, columns.dtype), np.zeros(width), pointers, columns, values)
    entries = pointers[-1]
    return csr_array((values[:entries], columns[:entries], pointers), shape=(count, width))


def product_on(pattern: Pattern, left: csr_array, right: csr_array) -> np.ndarray:
    """The values of left @ right on the pattern, of which nothing else is made."""
    left, right = _factors(left, right)
    if not COMPILED:
        return values_on(pattern, left @ right)
    wanted, factors = _alike((pattern.indptr, pattern.indices), left, right)
    found = np.zeros(pattern.entries)
    compiled.product_on(*factors, *wanted, np.zeros(right.shape[1], wanted[0].dtype), found)
    return found


def values_on(pattern: Pattern, block: csr_array) -> np.ndarray:
    """The values of `block` on the pattern, 0 where it has no entry: linear in the entries of both."""
    values = np.zeros(pattern.entries)
    if COMPILED:
        wanted, parts = _alike((pattern.indptr, pattern.indices), block)
        compiled.values_on(*parts, *wanted, np.zeros(block.shape[1], wanted[0].dtype), values)
    elif pattern.entries:
        chosen = np.ones(pattern.entries)
        mask = csr_array((chosen, pattern.indices, pattern.indptr), shape=block.shape)
        found = csr_array(mask.multiply(block))
        found.sort_indices()
        values[np.searchsorted(_keys(mask), _keys(found))] = found.data
    return values


def gathered_differences(diagonal: np.ndarray, kept: np.ndarray, places: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """diagonal[:, ends] - kept[:, places], of lines that are stored column by column."""
    lines = np.empty((len(kept), len(places)))
    if COMPILED:
        compiled.gathered_differences(*map(np.ascontiguousarray, (diagonal.T, kept.T, places, ends)), lines)
    else:
        np.subtract(np.take(diagonal.T, ends, axis=0).T, np.take(kept.T, places, axis=0).T, out=lines)
    return lines


def add_product(matrix: csr_array, x: np.ndarray, total: np.ndarray) -> None:
    """total += matrix @ x for a vector or columns, the terms of a row one by one: `total` is contiguous."""
    if COMPILED:
        add = compiled.add_product if x.ndim == 1 else compiled.add_products
        add(*_alike((), matrix)[1], np.ascontiguousarray(x, np.float64), total)
    else:
        total += matrix @ x


def add_rank_one(values: np.ndarray, pattern: Pattern, rows: np.ndarray, column: np.ndarray, row: np.ndarray) -> None:
    """values += column x row on the entries of the pattern in `rows`; `row` is dense, `column` belongs to `rows`."""
    lengths = np.diff(pattern.indptr)[rows].astype(np.int64)
    before = np.cumsum(lengths) - lengths
    entries = np.repeat(pattern.indptr[rows] - before, lengths) + np.arange(int(lengths.sum()))
    values[entries] += np.repeat(column, lengths) * row[pattern.indices[entries]]


def _factors(left: csr_array, right: csr_array) -> tuple[csr_array, csr_array]:
    """The factors of a product; of a long one on the right the rows that the left one needs."""
    if not is_long(right):
        return left, right
    needed, places = np.unique(left.indices, return_inverse=True)
    return csr_array((left.data, places, left.indptr), shape=(left.shape[0], len(needed))), chosen_rows(right, needed)


def _keys(matrix: csr_array) -> np.ndarray:
    """Row and column of each entry as one number that grows in storage order."""
    count, width = matrix.shape
    keys = np.repeat(np.arange(count, dtype=np.int64) * width, np.diff(matrix.indptr))
    keys += matrix.indices
    return keys


def _alike(integers: tuple[np.ndarray, ...], *matrices: csr_array) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Arrays of integers, and pointers, columns and values of matrices, with all integers of one type."""
    parts = [(matrix.indptr, matrix.indices) for matrix in matrices]
    narrow = all(array.dtype == np.int32 for array in (*integers, *(array for pair in parts for array in pair)))
    integer = np.int32 if narrow else np.int64
    taken = [
        array
        for matrix, pair in zip(matrices, parts, strict=True)
        for array in (*(each.astype(integer, copy=False) for each in pair), matrix.data)
    ]
    return [array.astype(integer, copy=False) for array in integers], taken
