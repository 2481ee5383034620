"""The edges of a graph as 0/1 matrices, in the direction that a model takes messages from."""

import numpy as np
from scipy.sparse import csr_array, eye_array

from cgnn_cli.configs import TrainConfig
from cgnn_cli.graph import Graph
from cgnn_cli.models.table import direction_of


def ones_on(matrix: csr_array) -> csr_array:
    """1 at each entry of a matrix."""
    return csr_array((np.ones(matrix.nnz), matrix.indices, matrix.indptr), shape=matrix.shape)


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
    return symmetrised(pattern) if direction_of(config) == "undirected" else pattern


def edge_entries(graph: Graph, config: TrainConfig) -> int:
    """An upper bound of the entries of the matrices over the edges, with self-loops.

    Edges both ways count three times: the two directions are there while they are joined.
    """
    ways = {"both": 2, "undirected": 3}.get(direction_of(config), 1)
    return ways * (int(graph.adjacency.nnz) + graph.node_count)
