"""Sparse matrices in CSR form: their canonical storage, rows of entries, diagonals and strongly connected parts."""

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components


def canonical_csr(matrix: csr_array) -> csr_array:
    """Sorted CSR in float64 with int32 indices where they fit, repeats summed, zeros dropped."""
    matrix = csr_array(matrix, dtype=np.float64, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    matrix.sort_indices()
    if max(matrix.nnz, *matrix.shape) <= np.iinfo(np.int32).max:
        matrix.indices, matrix.indptr = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
    return matrix


def row_of_entries(matrix: csr_array) -> np.ndarray:
    """The row of each stored entry, in storage order."""
    return np.repeat(np.arange(matrix.shape[0], dtype=matrix.indices.dtype), np.diff(matrix.indptr))


def without_self_loops(matrix: csr_array) -> csr_array:
    """The matrix without its diagonal."""
    rows = row_of_entries(matrix)
    keep = rows != matrix.indices
    if keep.all():
        return matrix
    return canonical_csr(csr_array((matrix.data[keep], (rows[keep], matrix.indices[keep])), shape=matrix.shape))


def ones_on(matrix: csr_array) -> csr_array:
    """1 at every entry of the matrix."""
    return csr_array((np.ones(matrix.nnz), matrix.indices, matrix.indptr), shape=matrix.shape)


def is_symmetric(matrix: csr_array) -> bool:
    """Whether a matrix equals its transpose up to rounding."""
    return not matrix.nnz or bool(abs(matrix - matrix.T).max() <= 1e-12)


def strong_components(adjacency: csr_array) -> tuple[int, np.ndarray]:
    """Number of strongly connected components, and the component of each node."""
    count, labels = connected_components(adjacency, directed=True, connection="strong")
    return int(count), labels
