"""Sparse matrices in CSR form: canonical storage, rows, diagonals, patterns and strongly connected parts."""

import networkx as nx
import numpy as np
from scipy.sparse import csr_array

from cgnn_cli.numerics.csr import (
    canonical_csr,
    is_symmetric,
    ones_on,
    row_of_entries,
    strong_components,
    without_self_loops,
)
from tests.graphs import graph_of, random_edges, sparse


def test_strong_components_agree_with_networkx() -> None:
    edges = random_edges(40, 2, seed=9)
    digraph = nx.DiGraph(edges)
    digraph.add_nodes_from(range(40))
    count, labels = strong_components(graph_of(40, edges).adjacency)
    found = {frozenset(np.flatnonzero(labels == label).tolist()) for label in range(count)}
    assert found == {frozenset(part) for part in nx.strongly_connected_components(digraph)}
    assert 1 < count < 40


def test_canonical_csr_sums_repeats_and_drops_zeros() -> None:
    raw = csr_array((np.array([1.0, 2, 0, 5]), np.array([2, 2, 1, 0]), np.array([0, 4, 4, 4])), shape=(3, 3))
    matrix = canonical_csr(raw)
    np.testing.assert_array_equal(matrix.indices, [0, 2])
    np.testing.assert_array_equal(matrix.data, [5, 3])
    assert matrix.indices.dtype == matrix.indptr.dtype == np.int32
    assert raw.nnz == 4  # the input is left alone


def test_rows_and_self_loops_of_entries() -> None:
    matrix = sparse([[7, 1, 0], [0, 0, 0], [2, 0, 9]])
    np.testing.assert_array_equal(row_of_entries(matrix), [0, 0, 2, 2])
    np.testing.assert_array_equal(without_self_loops(matrix).toarray(), [[0, 1, 0], [0, 0, 0], [2, 0, 0]])


def test_a_pattern_has_a_one_at_every_entry() -> None:
    matrix = sparse([[7, 1, 0], [0, 0, 0], [2, 0, 9]])
    np.testing.assert_array_equal(ones_on(matrix).toarray(), [[1, 1, 0], [0, 0, 0], [1, 0, 1]])
    assert matrix.data.tolist() == [7, 1, 2, 9]


def test_symmetric_up_to_rounding() -> None:
    assert is_symmetric(sparse([[0, 2], [2 + 1e-15, 5]])) and is_symmetric(sparse([[0.0]]))
    assert not is_symmetric(sparse([[0, 2], [3, 5]]))
