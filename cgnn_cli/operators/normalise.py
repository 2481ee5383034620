"""Normalised edge weights: the matrices that the models propagate over."""

import numpy as np
from scipy.sparse import csr_array

from cgnn_cli.numerics.transition import row_of_entries


def inverse_or_zero(values: np.ndarray) -> np.ndarray:
    """1 / values, and 0 where a value is 0: a node without neighbours gets no message."""
    return np.divide(1.0, values, out=np.zeros_like(values, dtype=np.float64), where=values > 0)


def scaled(matrix: csr_array, row_factor: np.ndarray, column_factor: np.ndarray | None = None) -> csr_array:
    """diag(row_factor) M diag(column_factor), keeping the pattern."""
    data = matrix.data * row_factor[row_of_entries(matrix)]
    if column_factor is not None:
        data = data * column_factor[matrix.indices]
    return csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)


def row_mean(matrix: csr_array) -> csr_array:
    """Each row divided by its number of entries."""
    return scaled(matrix, inverse_or_zero(np.diff(matrix.indptr).astype(np.float64)))


def row_weighted_mean(matrix: csr_array) -> csr_array:
    """Each row divided by its sum."""
    return scaled(matrix, inverse_or_zero(np.asarray(matrix.sum(axis=1)).ravel()))


def degree_root(matrix: csr_array, row_degree: np.ndarray, column_degree: np.ndarray) -> csr_array:
    """M_ij / sqrt(row_degree_i column_degree_j)."""
    return scaled(matrix, np.sqrt(inverse_or_zero(row_degree)), np.sqrt(inverse_or_zero(column_degree)))


def symmetric_root(matrix: csr_array) -> csr_array:
    """D^-1/2 M D^-1/2 with D the row sums of a symmetric matrix."""
    totals = np.asarray(matrix.sum(axis=1)).ravel()
    return degree_root(matrix, totals, totals)


def degrees(pattern: csr_array) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of out-neighbours and of in-neighbours."""
    out = np.diff(pattern.indptr).astype(np.float64)
    return out, np.bincount(pattern.indices, minlength=pattern.shape[1]).astype(np.float64)
