"""--degree-features, against loops over nodes and against scipy's ranks."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import norm, rankdata

from cgnn_cli.graph import Graph
from cgnn_cli.models.cgnn import CgnnConfig
from cgnn_cli.operators import degree_features
from cgnn_cli.operators.degree_features import normal_quantiles
from tests.graphs import graph_of, random_edges, sink_edges


def raw_features(graph: Graph) -> np.ndarray:
    """The columns before they are mapped, node by node."""
    dense = graph.edges.toarray() != 0
    out, into = dense.sum(axis=1), dense.sum(axis=0)

    def mean_log(nodes: np.ndarray, degree: np.ndarray) -> float:
        return float(np.mean(np.log1p(degree[nodes]))) if len(nodes) else 0.0

    rows = []
    for i in range(graph.node_count):
        targets, sources = np.flatnonzero(dense[i]), np.flatnonzero(dense[:, i])
        mutual = len(set(targets) & set(sources)) / len(targets) if len(targets) else 0.0
        filled = 0 if graph.features is None else np.count_nonzero(np.asarray(graph.features[[i]].sum(axis=0)))
        own = [np.log1p(out[i]), np.log1p(into[i]), mutual, filled]
        rows.append([*own, *(mean_log(nodes, d) for nodes in (targets, sources) for d in (out, into))])
    return np.array(rows)


def expected(raw: np.ndarray) -> np.ndarray:
    ranks = np.column_stack([rankdata(np.round(column, 10)) for column in raw.T])
    return np.clip(norm.ppf((ranks - 0.5) / len(raw)), -3, 3)


@pytest.mark.parametrize("kind", ["dense", "sparse", "none"])
def test_against_loops(kind: str) -> None:
    features = (np.random.default_rng(0).random((50, 7)) < 0.4).astype(float)
    given = {"dense": features, "sparse": csr_array(features)}.get(kind)
    adjacency = graph_of(50, [*sink_edges(50), (4, 4), (0, 1), (1, 0)]).adjacency
    graph = Graph(adjacency=adjacency, features=given)
    made = degree_features.make(graph, None, CgnnConfig())["degrees"]
    assert made.shape == (50, 8)
    np.testing.assert_allclose(made, expected(raw_features(graph)), atol=1e-9)


def test_ties_share_a_quantile_and_a_constant_says_nothing() -> None:
    values = normal_quantiles(np.array([5.0, 1, 5, 1, 9, 5]))
    assert values[0] == values[2] == values[5] and values[1] == values[3] < values[0] < values[4]
    np.testing.assert_array_equal(normal_quantiles(np.full(7, 3.0)), 0)


def test_extremes_are_cut_at_three_deviations() -> None:
    values = normal_quantiles(np.arange(100_000.0))
    assert values.min() == -3 and values.max() == 3
    assert abs(values.mean()) < 1e-9 and values.std() == pytest.approx(1, abs=0.01)


def test_it_does_not_depend_on_the_labels_or_the_order_of_nodes() -> None:
    graph = graph_of(40, random_edges(40, 3, seed=1))
    order = np.random.default_rng(2).permutation(40)
    moved = Graph(adjacency=csr_array(graph.adjacency[order][:, order]), features=np.asarray(graph.features)[order])
    first = degree_features.make(graph, None, CgnnConfig())["degrees"]
    np.testing.assert_allclose(degree_features.make(moved, None, CgnnConfig())["degrees"], first[order], atol=1e-12)
