"""--knn: the most similar nodes by features, against loops over all pairs."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from cgnn_cli.errors import DataError
from cgnn_cli.graph import Graph
from cgnn_cli.models.gcn import GcnConfig
from cgnn_cli.operators import similar
from tests.graphs import graph_of


def random_features(seed: int = 0, nodes: int = 31) -> np.ndarray:
    """Few distinct rows, so that cosines tie; some rows of zeros."""
    rng = np.random.default_rng(seed)
    features = (rng.random((nodes, 6)) < 0.4) * rng.integers(1, 3, (nodes, 6)).astype(float)
    features[[3, 17]] = 0
    return features


def dense_neighbours(features: np.ndarray, count: int) -> np.ndarray:
    """K before it is normalised: each node asks each other."""
    nodes = len(features)
    nearest = np.zeros((nodes, nodes))
    for i in range(nodes):
        found = []
        for j in range(nodes):
            lengths = np.sqrt(features[i] @ features[i]) * np.sqrt(features[j] @ features[j])
            if i != j and lengths > 0 and features[i] @ features[j] > 0:
                found.append((-round(features[i] @ features[j] / lengths, 12), j))
        for cosine, j in sorted(found)[:count]:
            nearest[i, j] = -cosine
    return np.maximum(nearest, nearest.T)


def normalised(matrix: np.ndarray) -> np.ndarray:
    totals = matrix.sum(axis=1)
    root = np.where(totals > 0, 1 / np.sqrt(np.where(totals > 0, totals, 1)), 0)
    return root[:, None] * matrix * root


def made(features: np.ndarray | csr_array, count: int) -> csr_array:
    graph = graph_of(features.shape[0], [(0, 1)], features=features)
    return similar.make(graph, None, GcnConfig(knn=count))["knn"]


@pytest.mark.parametrize("count", [1, 3, 10, 31, 500])
@pytest.mark.parametrize("as_sparse", [False, True])
def test_against_all_pairs(count: int, as_sparse: bool) -> None:
    features = random_features()
    found = made(csr_array(features) if as_sparse else features, count)
    np.testing.assert_allclose(found.toarray(), normalised(dense_neighbours(features, count)), atol=1e-12)


@pytest.mark.parametrize("as_sparse", [False, True])
def test_the_size_of_a_block_changes_nothing(monkeypatch: pytest.MonkeyPatch, as_sparse: bool) -> None:
    features = csr_array(random_features()) if as_sparse else random_features()
    whole = made(features, 4)
    monkeypatch.setattr(similar, "CELLS", 31 * 5)
    for part, expected in zip(("data", "indices", "indptr"), (whole.data, whole.indices, whole.indptr), strict=True):
        np.testing.assert_array_equal(getattr(made(features, 4), part), expected)


def test_it_is_symmetric_without_diagonal_and_nodes_without_features_have_none() -> None:
    dense = made(random_features(), 5).toarray()
    np.testing.assert_allclose(dense, dense.T)
    assert not dense.diagonal().any()
    assert not dense[[3, 17]].any() and not dense[:, [3, 17]].any()
    assert np.linalg.eigvalsh(dense)[-1] == pytest.approx(1)  # as a symmetric normalisation has


def test_opposite_features_are_not_similar() -> None:
    assert made(np.array([[1.0, 0], [-1, 0], [0, 1]]), 2).nnz == 0


def test_entries_are_bounded() -> None:
    features = random_features()
    for count in (1, 5, 500):
        graph = graph_of(31, [(0, 1)], features=features)
        assert made(features, count).nnz <= similar.entries(graph, GcnConfig(knn=count))


def test_a_graph_without_features_is_refused() -> None:
    graph = Graph(adjacency=graph_of(3, [(0, 1)]).adjacency)
    with pytest.raises(DataError, match="--knn needs features"):
        similar.make(graph, None, GcnConfig(knn=2))
