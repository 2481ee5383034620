"""The edges of a graph as 0/1 matrices, in the direction that a model takes messages from, and their normalisations."""

import numpy as np
from scipy.sparse import csr_array, eye_array

from cgnn_cli.configs import TrainConfig
from cgnn_cli.graph import Graph
from cgnn_cli.numerics.csr import ones_on, row_of_entries


def transposed(matrix: csr_array) -> csr_array:
    return csr_array(matrix.T.tocsr())


def symmetrised(pattern: csr_array) -> csr_array:
    """1 where an edge goes either way."""
    return ones_on(csr_array(pattern + transposed(pattern)))


def with_self_loops(matrix: csr_array) -> csr_array:
    """A matrix without diagonal, plus the identity."""
    return csr_array(matrix + eye_array(matrix.shape[0], format="csr"))


def edges_of(graph: Graph, config: TrainConfig) -> csr_array:
    """The edges that are walked: as they are, or both ways for `--direction undirected`; no self-loops."""
    pattern = ones_on(graph.edges)
    return symmetrised(pattern) if config.resolved_direction == "undirected" else pattern


def edge_entries(graph: Graph, config: TrainConfig) -> int:
    """An upper bound of the entries of the matrices over the edges, with self-loops.

    Edges both ways count three times: the two directions are there while they are joined.
    """
    ways = {"both": 2, "undirected": 3}.get(config.resolved_direction, 1)
    return ways * (int(graph.adjacency.nnz) + graph.node_count)


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
    """D^-1/2 M D^-1/2 with D the row sums of M."""
    totals = np.asarray(matrix.sum(axis=1)).ravel()
    return degree_root(matrix, totals, totals)


def degrees(pattern: csr_array) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of out-neighbours and of in-neighbours."""
    out = np.diff(pattern.indptr).astype(np.float64)
    return out, np.bincount(pattern.indices, minlength=pattern.shape[1]).astype(np.float64)
