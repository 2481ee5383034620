"""Sparse products: of which only the entries on a given pattern are wanted, or that are added to something.

scipy's compiled kernels are called directly where they can be: a product then needs no symbolic pass, which is a third
of the time. They are private to scipy, so they are tried on a small example first; where they are missing or take
other arguments, scipy's public operators give the same numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import _sparsetools, csr_array

from cgnn_cli.numerics.csr import chosen_rows, is_long


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
    if is_long(right):  # of which the rows are taken that the block needs
        needed, places = np.unique(left.indices, return_inverse=True)
        left = csr_array((left.data, places, left.indptr), shape=(left.shape[0], len(needed)))
        right = chosen_rows(right, needed)
    return _compiled_product(left, right) if COMPILED else left @ right


def add_product(matrix: csr_array, x: np.ndarray, total: np.ndarray) -> None:
    """total += matrix @ x for a vector or columns, the terms of a row one by one: `total` is contiguous."""
    if COMPILED:
        _compiled_add(matrix, x, total)
    else:
        total += matrix @ x


def values_on(pattern: Pattern, block: csr_array) -> np.ndarray:
    """The values of `block` on the pattern, 0 where it has no entry: linear in the entries of both."""
    if not pattern.entries:
        return np.zeros(0)
    chosen = np.ones(pattern.entries)
    mask = csr_array((chosen, pattern.indices, pattern.indptr), shape=block.shape)
    found = _compiled_overlap(mask, block) if COMPILED else csr_array(mask.multiply(block))
    found.sort_indices()
    values = np.zeros(pattern.entries)
    values[np.searchsorted(_keys(mask), _keys(found))] = found.data
    return values


def add_rank_one(values: np.ndarray, pattern: Pattern, rows: np.ndarray, column: np.ndarray, row: np.ndarray) -> None:
    """values += column x row on the entries of the pattern in `rows`; `row` is dense, `column` belongs to `rows`."""
    lengths = np.diff(pattern.indptr)[rows].astype(np.int64)
    before = np.cumsum(lengths) - lengths
    entries = np.repeat(pattern.indptr[rows] - before, lengths) + np.arange(int(lengths.sum()))
    values[entries] += np.repeat(column, lengths) * row[pattern.indices[entries]]


def _keys(matrix: csr_array) -> np.ndarray:
    """Row and column of each entry as one number that grows in storage order."""
    count, width = matrix.shape
    keys = np.repeat(np.arange(count, dtype=np.int64) * width, np.diff(matrix.indptr))
    keys += matrix.indices
    return keys


def _compiled_product(left: csr_array, right: csr_array) -> csr_array:
    """Gustavson's product into arrays of the size that the rows may need at most."""
    count, width = left.shape[0], right.shape[1]
    before = np.zeros(left.nnz + 1, np.int64)
    np.cumsum(np.diff(right.indptr)[left.indices], out=before[1:])
    bound = np.minimum(np.diff(before[left.indptr]), width).sum()
    del before
    parts = _empty_parts(count, int(bound), right.indices.dtype)
    _sparsetools.csr_matmat(count, width, *_parts(left), *_parts(right), *parts)
    return _from_parts(parts, (count, width))


def _compiled_add(matrix: csr_array, x: np.ndarray, total: np.ndarray) -> None:
    if x.ndim == 1:
        _sparsetools.csr_matvec(*matrix.shape, *_parts(matrix), x, total)
    else:
        _sparsetools.csr_matvecs(*matrix.shape, x.shape[1], *_parts(matrix), x.ravel(), total.reshape(-1))


def _compiled_overlap(mask: csr_array, block: csr_array) -> csr_array:
    """The entries of `block` that are in the mask."""
    parts = _empty_parts(block.shape[0], mask.nnz, block.indices.dtype)
    _sparsetools.csr_elmul_csr(*block.shape, *_parts(mask, block.indices.dtype), *_parts(block), *parts)
    return _from_parts(parts, block.shape)


def _empty_parts(count: int, entries: int, integer: np.dtype) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return np.empty(count + 1, integer), np.empty(entries, integer), np.empty(entries)


def _parts(matrix: csr_array, integer: np.dtype | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Row pointers, columns and values, as the kernels take them: all integers of one type."""
    integer = integer or matrix.indices.dtype
    return matrix.indptr.astype(integer, copy=False), matrix.indices.astype(integer, copy=False), matrix.data


def _from_parts(parts: tuple[np.ndarray, np.ndarray, np.ndarray], shape: tuple[int, int]) -> csr_array:
    indptr, indices, data = parts
    return csr_array((data[: indptr[-1]], indices[: indptr[-1]], indptr), shape=shape)


def _kernels_work() -> bool:
    """Whether scipy's private kernels are there and do on a small example what they are expected to do."""
    example = csr_array(np.array([[0.5, 0.5, 0.0], [0.0, 0.25, 0.75], [1.0, 0.0, 0.0]]))
    dense = example.toarray()
    vector, columns = np.ones(3), np.ones((3, 3))
    try:
        square = _compiled_product(example, example)
        overlap = _compiled_overlap(example, square)
        _compiled_add(example, dense[0], vector)
        _compiled_add(example, dense, columns)
    except (AttributeError, TypeError, ValueError):
        return False
    expected = dense @ dense
    found = (square.toarray(), overlap.toarray(), vector, columns)
    return all(map(np.allclose, found, (expected, dense * expected, 1 + dense @ dense[0], 1 + expected)))


COMPILED = _kernels_work()
