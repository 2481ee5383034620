"""Sparse matrices in CSR form: their canonical storage, rows of entries, diagonals and strongly connected parts.

A matrix may be larger than memory. It is then made of blocks of rows, and lies where `scratch` puts large arrays; a
small one is a single block. Columns and offsets of rows have 32 bits each as long as they fit: with more than 2^31
entries the offsets alone have 64, and scipy is given blocks of rows, as it knows one type for both.
"""

from collections.abc import Callable, Iterable

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from cgnn_cli import scratch
from cgnn_cli.errors import ResourceError
from cgnn_cli.numerics.blocks import row_blocks

LARGEST_INDEX = np.iinfo(np.int32).max


def matrix_of(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, width: int) -> csr_array:
    """A matrix of these arrays as they are; scipy would copy them to one type of integers."""
    integer = indices.dtype if indptr[-1] <= LARGEST_INDEX else np.int64
    matrix = csr_array((len(indptr) - 1, width), dtype=data.dtype)
    matrix.data, matrix.indices, matrix.indptr = data, indices, indptr.astype(integer, copy=False)
    return matrix


def is_long(matrix: csr_array) -> bool:
    """Whether a matrix has offsets of rows that are no columns by their type, so that scipy would copy it."""
    return bool(matrix.indptr.dtype != matrix.indices.dtype)


def blocks_of_rows(*matrices: csr_array) -> list[slice]:
    """The rows in ranges, in each of which matrices of the same number of rows have few enough entries together."""
    limit, count = min(scratch.block_entries(), LARGEST_INDEX), matrices[0].shape[0]
    if sum(matrix.nnz for matrix in matrices) <= limit:
        return [slice(0, count)]
    sizes = np.zeros(count, np.int64)
    for matrix in matrices:
        sizes += np.diff(matrix.indptr)
    return [slice(start, stop) for start, stop in row_blocks(sizes, limit)]


def rows_of(matrix: csr_array, rows: slice) -> csr_array:
    """A range of rows, whose entries are not copied."""
    indptr = matrix.indptr[rows.start : rows.stop + 1]
    entries = slice(int(indptr[0]), int(indptr[-1]))
    return matrix_of(matrix.data[entries], matrix.indices[entries], indptr - indptr[0], matrix.shape[1])


def by_rows(make: Callable[..., csr_array], *matrices: csr_array) -> csr_array:
    """make(rows, *matrices) for all rows: a row of the result depends on the same row of the matrices alone."""
    ranges = blocks_of_rows(*matrices)
    if len(ranges) <= 1:
        return make(slice(0, matrices[0].shape[0]), *matrices)
    return joined_rows(make(rows, *(rows_of(matrix, rows) for matrix in matrices)) for rows in ranges)


def joined_rows(blocks: Iterable[csr_array]) -> csr_array:
    """One matrix of blocks of its rows."""
    data, indices, offsets, width, before = None, scratch.Pieces(np.int32), [np.zeros(1, np.int64)], 0, 0
    for block in blocks:
        if data is None:
            data, width = scratch.Pieces(block.data.dtype), block.shape[1]
            indices = scratch.Pieces(np.int32 if width <= LARGEST_INDEX else np.int64)
        data.add(block.data)
        indices.add(block.indices)
        offsets.append(block.indptr[1:].astype(np.int64) + before)
        before += block.nnz
    assert data is not None
    return matrix_of(data.joined(), indices.joined(), np.concatenate(offsets), width)


def canonical_csr(matrix: csr_array) -> csr_array:
    """Sorted CSR in float64 with int32 indices where they fit, repeats summed, zeros dropped."""
    if getattr(matrix, "format", None) == "csr" and len(blocks_of_rows(matrix)) > 1:
        return by_rows(lambda _, rows: canonical_csr(rows), matrix)
    matrix = csr_array(matrix, dtype=np.float64, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    matrix.sort_indices()
    if max(matrix.nnz, *matrix.shape) <= np.iinfo(np.int32).max:
        matrix.indices, matrix.indptr = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
    return matrix


def transposed(matrix: csr_array) -> csr_array:
    """The transposed matrix; a large one is filled block by block, as its entries are counted by column before."""
    ranges = blocks_of_rows(matrix)
    if len(ranges) <= 1:
        return csr_array(matrix.T.tocsr())
    count, width = matrix.shape
    indptr = np.zeros(width + 1, np.int64)
    np.cumsum(count_columns(matrix), out=indptr[1:])
    free = indptr[:-1].copy()
    indices = scratch.empty(int(indptr[-1]), np.int32 if count <= LARGEST_INDEX else np.int64)
    data = scratch.empty(len(indices), matrix.data.dtype)
    for rows in ranges:
        block = rows_of(matrix, rows).tocsc()
        lengths = np.diff(block.indptr)
        places = np.repeat(free - block.indptr[:-1], lengths)
        places += np.arange(len(places))
        indices[places] = block.indices + rows.start
        data[places] = block.data
        free += lengths
    return matrix_of(data, indices, indptr, count)


def count_columns(matrix: csr_array) -> np.ndarray:
    """How many entries each column has."""
    return tally(matrix.indices, matrix.shape[1])


def tally(numbers: np.ndarray, count: int) -> np.ndarray:
    """How often each number below `count` occurs."""
    counts = np.zeros(count, np.int64)
    for part in scratch.parts(len(numbers)):
        np.add.at(counts, numbers[part].astype(np.intp, copy=False), 1)
    return counts


def diagonal_rows(values: np.ndarray, start: int, width: int) -> csr_array:
    """The rows from `start` on of a matrix that is diagonal, with these values there."""
    columns = np.arange(start, start + len(values))
    return csr_array((values, columns, np.arange(len(columns) + 1)), shape=(len(columns), width))


def diagonal_of(matrix: csr_array) -> np.ndarray:
    """The diagonal of a square matrix, 0 where it has no entry."""
    return np.concatenate([rows_of(matrix, rows).diagonal(rows.start) for rows in blocks_of_rows(matrix)])


def chosen_rows(matrix: csr_array, rows: np.ndarray) -> csr_array:
    """Some rows, one after another."""
    if not is_long(matrix):
        return csr_array(matrix[rows])
    lengths = np.diff(matrix.indptr)[rows]
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    places = np.repeat(matrix.indptr[rows] - indptr[:-1], lengths) + np.arange(indptr[-1])
    return csr_array((matrix.data[places], matrix.indices[places], indptr), shape=(len(rows), matrix.shape[1]))


def entries_at(matrix: csr_array, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """The entries at some places."""

    def look_up(part: slice) -> np.ndarray:
        sources, block = rows[part], matrix
        if is_long(matrix):
            states, sources = np.unique(sources, return_inverse=True)
            block = chosen_rows(matrix, states)
        return np.asarray(block[sources, columns[part]], dtype=np.float64).ravel()

    return scratch.computed(len(rows), look_up)


def row_of_entries(matrix: csr_array) -> np.ndarray:
    """The row of each stored entry, in storage order."""
    integer = matrix.indices.dtype
    if len(ranges := blocks_of_rows(matrix)) <= 1:
        return np.repeat(np.arange(matrix.shape[0], dtype=integer), np.diff(matrix.indptr))
    found = scratch.empty(matrix.nnz, integer)
    for rows in ranges:
        place = slice(int(matrix.indptr[rows.start]), int(matrix.indptr[rows.stop]))
        lengths = np.diff(matrix.indptr[rows.start : rows.stop + 1])
        found[place] = np.repeat(np.arange(rows.start, rows.stop, dtype=integer), lengths)
    return found


def without_self_loops(matrix: csr_array) -> csr_array:
    """The matrix without its diagonal."""
    if not self_loops(matrix):
        return matrix
    return by_rows(_without_diagonal, matrix)


def self_loops(matrix: csr_array) -> int:
    """How many entries the diagonal has."""
    found = 0
    for rows in blocks_of_rows(matrix):
        block = rows_of(matrix, rows)
        found += int((row_of_entries(block) + rows.start == block.indices).sum())
    return found


def _without_diagonal(rows: slice, matrix: csr_array) -> csr_array:
    line = row_of_entries(matrix)
    keep = line + rows.start != matrix.indices
    return canonical_csr(csr_array((matrix.data[keep], (line[keep], matrix.indices[keep])), shape=matrix.shape))


def ones_on(matrix: csr_array) -> csr_array:
    """1 at every entry of the matrix."""
    return csr_array((np.ones(matrix.nnz), matrix.indices, matrix.indptr), shape=matrix.shape)


def sums_over_ways(matrix: csr_array, values: np.ndarray) -> np.ndarray:
    """For each row the sum of the values of its columns, whatever the entries are."""
    found = [ones_on(rows_of(matrix, rows)) @ values for rows in blocks_of_rows(matrix)]
    return np.concatenate(found)


def is_symmetric(matrix: csr_array) -> bool:
    """Whether a matrix equals its transpose up to rounding."""
    other = transposed(matrix)
    differences = (abs(rows_of(matrix, rows) - rows_of(other, rows)).max() for rows in blocks_of_rows(matrix, other))
    return not matrix.nnz or bool(max(differences) <= 1e-12)


def strong_components(adjacency: csr_array) -> tuple[int, np.ndarray]:
    """Number of strongly connected components, and the component of each node."""
    if is_long(adjacency):
        raise ResourceError(
            f"the components of a graph of more than {LARGEST_INDEX:,} edges are not known",
            "use --method path or teleport",
        )
    count, labels = connected_components(adjacency, directed=True, connection="strong")
    return int(count), labels
