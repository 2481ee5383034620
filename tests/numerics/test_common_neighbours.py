"""Common neighbours of the ends of edges: against the dense square, and without it where it would be too large."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from cgnn_cli.numerics import common_neighbours
from cgnn_cli.numerics.common_neighbours import neighbour_cosines
from cgnn_cli.numerics.csr import canonical_csr, row_of_entries


def dense_cosines(adjacency: np.ndarray) -> np.ndarray:
    """By the definition, for every pair of nodes; NaN where one has no neighbour."""
    joined = ((adjacency + adjacency.T) > 0).astype(float)
    np.fill_diagonal(joined, 0)
    degree = joined.sum(axis=1)
    with np.errstate(invalid="ignore"):
        return joined @ joined / np.sqrt(np.outer(degree, degree))


def check(adjacency: np.ndarray) -> None:
    edges = canonical_csr(csr_array(adjacency))
    expected = dense_cosines(adjacency)[row_of_entries(edges), edges.indices]
    np.testing.assert_allclose(neighbour_cosines(edges), expected, rtol=1e-14, atol=0)


@settings(max_examples=60, deadline=None, database=None, derandomize=True)
@given(count=st.integers(1, 40), density=st.floats(0, 1), seed=st.integers(0, 99))
def test_any_weighted_digraph(count: int, density: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    adjacency = (rng.random((count, count)) < density) * rng.uniform(0.1, 9, (count, count))
    np.fill_diagonal(adjacency, 0)
    check(adjacency)


def test_edges_in_many_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    blocks: list[tuple[int, int]] = []
    cut = common_neighbours.row_blocks

    def counted(sizes: np.ndarray, limit: float) -> list[tuple[int, int]]:
        blocks.extend(cut(sizes, limit))
        return blocks

    monkeypatch.setattr(common_neighbours, "BLOCK_ENTRIES", 1)
    monkeypatch.setattr(common_neighbours, "row_blocks", counted)
    check(1 - np.eye(40))
    assert len(blocks) > 5


def test_all_nodes_joined_and_a_tree() -> None:
    count = 5
    complete = neighbour_cosines(canonical_csr(csr_array(1 - np.eye(count))))
    np.testing.assert_allclose(complete, (count - 2) / (count - 1), rtol=1e-15)
    np.testing.assert_array_equal(neighbour_cosines(canonical_csr(csr_array(np.eye(count, k=1)))), 0)


def test_a_hub_with_as_many_neighbours_as_nodes() -> None:
    """The square of such a matrix has 4e10 entries."""
    leaves = 200_000
    first = np.concatenate([np.zeros(leaves, int), [1]])
    edges = csr_array((np.ones(leaves + 1), (first, np.concatenate([np.arange(1, leaves + 1), [2]]))))
    edges.resize((leaves + 1, leaves + 1))
    found = csr_array((neighbour_cosines(edges) + 1, edges.indices, edges.indptr))
    assert found[1, 2] == 1 + 1 / 2
    assert found[0, 1] == found[0, 2] == 1 + 1 / np.sqrt(2 * leaves)
    assert (found.data == 1).sum() == leaves - 2


def test_no_edges() -> None:
    assert len(neighbour_cosines(canonical_csr(csr_array((3, 3))))) == 0
