"""Structural features against dense linear algebra and networkx."""

import networkx as nx
import numpy as np
import pytest
from scipy.sparse import csr_array

from cgnn_cli.operators import structural
from cgnn_cli.operators.structural import STRUCTURAL_NAMES, structural_features


def random_adjacency(count: int = 40, seed: int = 0) -> np.ndarray:
    """A random graph with sinks, sources, an isolated node, self-loops and weights."""
    generator = np.random.default_rng(seed)
    dense = (generator.random((count, count)) < 0.08) * generator.uniform(0.5, 3, (count, count))
    dense[[1, 2]], dense[:, [2, 3]] = 0, 0
    dense[5, 5] = 2
    return dense


def dense_walk(dense: np.ndarray) -> np.ndarray:
    looped = dense + np.diag((dense.sum(axis=1) == 0).astype(float))
    return looped / looped.sum(axis=1, keepdims=True)


def standardise(columns: np.ndarray) -> np.ndarray:
    return (columns - columns.mean(axis=0)) / columns.std(axis=0)


def test_columns_match_dense_algebra() -> None:
    dense = random_adjacency()
    walk = dense_walk(dense)
    rank = nx.pagerank(nx.from_numpy_array(dense, create_using=nx.DiGraph), alpha=0.85, tol=1e-14, max_iter=1000)
    expected = [
        np.log1p((dense > 0).sum(axis=0)),
        np.log1p((dense > 0).sum(axis=1)),
        [rank[node] for node in range(40)],
    ]
    expected += [np.diag(np.linalg.matrix_power(walk, steps)) for steps in (2, 3, 4)]
    features = structural_features(csr_array(dense))
    assert features.shape == (40, len(STRUCTURAL_NAMES))
    np.testing.assert_allclose(features, standardise(np.column_stack(expected)), atol=1e-9)


def test_blocks_do_not_change_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    adjacency = csr_array(random_adjacency())
    whole = structural_features(adjacency)
    monkeypatch.setattr(structural, "BLOCK_PRODUCTS", 20)
    np.testing.assert_allclose(structural_features(adjacency), whole, atol=1e-12)


def test_threads_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    adjacency = csr_array(random_adjacency())
    monkeypatch.setattr(structural, "BLOCK_PRODUCTS", 20)
    found = []
    for cores in (1, 3):
        monkeypatch.setattr(structural, "allowed_cores", lambda cores=cores: cores)
        found.append(structural_features(adjacency))
    np.testing.assert_array_equal(found[0], found[1])


def test_work_is_the_number_of_multiplications() -> None:
    walk = csr_array(dense_walk(random_adjacency()))
    work = structural._products(walk, csr_array(walk.T))
    assert work.sum() == 2 * ((walk.toarray() > 0).sum(axis=0) * (walk.toarray() > 0).sum(axis=1)).sum()


def test_long_returns_are_left_out_where_they_take_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    adjacency = csr_array(random_adjacency())
    whole = structural_features(adjacency)
    monkeypatch.setattr(structural, "MOST_PRODUCTS", 20)
    np.testing.assert_array_equal(structural_features(adjacency), whole[:, :4])


def test_a_constant_column_becomes_zeros() -> None:
    cycle = csr_array(np.roll(np.eye(5), 1, axis=1))
    assert not structural_features(cycle).any()


def test_columns_are_standardised() -> None:
    features = structural_features(csr_array(random_adjacency()))
    np.testing.assert_allclose(features.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(features.std(axis=0), 1)


def test_extreme_weights_and_no_edges() -> None:
    dense = np.array([[0, 1e308, 1e308], [1e-320, 0, 0], [0, 1, 0]])
    assert np.isfinite(structural_features(csr_array(dense))).all()
    assert not structural_features(csr_array((4, 4))).any()


def test_the_input_is_left_as_it_was() -> None:
    adjacency = csr_array(random_adjacency())
    before = adjacency.toarray()
    structural_features(adjacency)
    np.testing.assert_array_equal(adjacency.toarray(), before)
