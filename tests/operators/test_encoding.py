"""Encodings: their columns against textbook figures on small graphs, and how they come into a training."""

import dataclasses
from typing import Any, get_args

import numpy as np
import pytest
from scipy.sparse import csr_array

from cgnn_cli.configs import Encoding, Facts, TrainConfig
from cgnn_cli.errors import DataError, UsageError
from cgnn_cli.graph import Graph, Operators
from cgnn_cli.models.model_table import learners, train_config
from cgnn_cli.operators import encoding
from cgnn_cli.operators.degree_features import normal_quantiles
from cgnn_cli.operators.landmarks import landmarks_of
from cgnn_cli.operators.operator_table import OPERATORS
from cgnn_cli.operators.structural import structural_features
from cgnn_cli.stages.evaluate import evaluate
from cgnn_cli.stages.features import features_of
from cgnn_cli.stages.operators import make_operators
from cgnn_cli.stages.train import collect, fit
from tests.models.samples import communities, permuted, random_graph, times_of
from tests.numerics.test_spectrum import textbook

NAMES = [name for name in get_args(Encoding) if name not in ("auto", "none")]


@pytest.fixture(scope="module")
def graph() -> Graph:
    """With its own features left out: an isolated node, a sink with a self-loop and a source."""
    return dataclasses.replace(random_graph(count=40), features=None)


def made(graph: Graph, name: Any, size: int | None = None) -> Operators:
    return encoding.make(graph, None, train_config("mlp", encoding=name, encoding_size=size))


def columns(graph: Graph, name: Any, size: int | None = None) -> np.ndarray:
    return np.asarray(made(graph, name, size).matrices["encoding"])


@pytest.mark.parametrize("name", NAMES)
def test_columns_are_finite_scaled_and_no_more_than_said(graph: Graph, name: Any) -> None:
    found, config = columns(graph, name, 6), train_config("mlp", encoding=name, encoding_size=6)
    assert np.isfinite(found).all() and found.shape[0] == graph.node_count
    assert 0 < found.shape[1] <= encoding.column_count(config)
    deviation = found.std(axis=0)
    near = 0.3 if name in ("roles", "degrees", "head-start") else 1e-9
    assert ((deviation == 0) | (np.abs(deviation - 1) < near)).all()
    assert made(graph, name, 6).summary["encoding"]["columns"] == found.shape[1]
    without_edges = dataclasses.replace(graph, adjacency=csr_array(graph.adjacency.shape))
    alone = columns(without_edges, name)
    assert np.isfinite(alone).all() and (name == "head-start" or not alone.any())  # a landmark is near to itself


@pytest.mark.parametrize("name", NAMES)
def test_they_belong_to_the_nodes(graph: Graph, name: Any) -> None:
    """Nodes in another order have the same columns, where no two landmarks tie and no eigenvalue repeats."""
    rng = np.random.default_rng(1)
    weights = csr_array(
        (rng.random(graph.adjacency.nnz) + 0.5, graph.adjacency.indices, graph.adjacency.indptr), shape=(40, 40)
    )
    own = dataclasses.replace(graph, adjacency=weights, features=np.zeros((40, 1)))
    order = rng.permutation(40)
    moved, _ = permuted(own, times_of(own, solver="pi-only"), order)
    out, into = np.diff(own.edges.indptr), np.bincount(own.edges.indices, minlength=40)
    size = int(np.flatnonzero(np.diff(-np.sort(-(out + into))))[0]) + 1  # up to a step in the degrees
    found, there = columns(own, name, size)[order], columns(moved, name, size)
    if name in ("head-start", "adjacency"):  # landmarks of one degree come in any order
        found, there = (part[:, np.lexsort(np.round(part, 6))] for part in (found, there))
    np.testing.assert_allclose(there, found, atol=1e-6)


def test_laplacian_columns_are_the_eigenvectors(graph: Graph) -> None:
    found = columns(graph, "laplacian", 5)
    matrix, values = textbook(graph.edges)
    assert not np.array_equal(graph.edges.toarray(), graph.adjacency.toarray())  # self-loops are left out
    np.testing.assert_allclose(matrix @ found, found * values[:5], atol=1e-8)
    assert made(graph, "laplacian", 5).summary["encoding"]["largest_residual"] <= 1e-4


def test_head_start_is_that_of_the_dense_walk(graph: Graph) -> None:
    edges, count = graph.edges.toarray(), graph.node_count
    degree = edges.sum(axis=1, keepdims=True)
    step = np.where(degree > 0, 0.9 * edges / np.maximum(degree, 1) + 0.1 / count, 1 / count)
    values, vectors = np.linalg.eig(step.T)
    perron = np.real(vectors[:, np.argmax(np.real(values))])
    perron /= perron.sum()
    start = np.linalg.inv(np.eye(count) - step + perron)
    degrees = edges.sum(axis=0) + edges.sum(axis=1)
    chosen = sorted(range(count), key=lambda node: (-degrees[node], node))[:3]
    assert landmarks_of(graph.edges, 3).tolist() == chosen
    expected = np.hstack([start[:, chosen] / perron[chosen], start[chosen].T / perron[:, None]])
    scaled = np.round((expected - expected.mean(axis=0)) / expected.std(axis=0), 6)
    ranks = [normal_quantiles(column) for column in scaled.T]
    np.testing.assert_allclose(columns(graph, "head-start", 3).T, ranks, atol=1e-9)
    assert 0 < made(graph, "head-start", 3).summary["encoding"]["largest_residual"] <= 1e-10


def test_adjacency_counts_ways_of_one_and_two_steps(graph: Graph) -> None:
    edges = (graph.edges.toarray() > 0).astype(float)
    ways, chosen = np.log(1 + edges + edges @ edges), landmarks_of(graph.edges, 3)
    expected = np.hstack([ways[:, chosen], ways[chosen].T])
    scaled = (expected - expected.mean(axis=0)) / expected.std(axis=0)
    np.testing.assert_allclose(columns(graph, "adjacency", 3), scaled, atol=1e-12)


def test_structural_columns_are_those_that_imports_wrote(graph: Graph) -> None:
    np.testing.assert_array_equal(columns(graph, "structural"), structural_features(graph.adjacency))
    made = OPERATORS["degrees"].make(graph, None, train_config())
    assert isinstance(made, dict)
    np.testing.assert_array_equal(columns(graph, "degrees"), made["degrees"])


def test_auto_depends_on_where_features_come_from() -> None:
    auto = train_config("gcn")
    assert [auto.resolved(Facts(source)).encoding for source in ("own", "structural", "none")] == [
        "none",
        "none",
        "laplacian",
    ]
    assert auto.resolved(Facts("own")).to_dict() == auto.to_dict() == train_config("gcn", encoding_size=9).to_dict()
    assert "encoding" not in auto.to_dict() and "encoding" not in auto.operator_kinds()
    chosen = train_config("gcn", encoding="adjacency")
    assert chosen.resolved(Facts("own")) == chosen.resolved(Facts("none")) == chosen
    assert chosen.to_dict()["encoding_size"] == 32 and "encoding_size" not in train_config(encoding="degrees").to_dict()
    with pytest.raises(UsageError, match="--encoding none leaves a model without any input"):
        train_config("gcn", encoding="none").resolved(Facts("none"))


def test_a_configuration_comes_back_from_what_was_stored() -> None:
    stored: TrainConfig = train_config("gcn", encoding="laplacian")
    assert type(stored).from_dict(stored.to_dict()).to_dict() == stored.to_dict()


def test_columns_stand_beside_features_which_alone_are_scaled(graph: Graph) -> None:
    own = np.random.default_rng(0).random((40, 5)) * (np.random.default_rng(1).random((40, 5)) < 0.3)
    config = train_config("mlp", encoding="laplacian", encoding_size=3, feature_scaling="row")
    for features in (own, csr_array(own)):
        rich = dataclasses.replace(graph, features=features)
        x = features_of(rich, make_operators(rich, None, config), config)
        dense = x if isinstance(x, np.ndarray) else x.toarray()
        filled = own.any(axis=1)
        np.testing.assert_allclose(dense[filled, :5].sum(axis=1), 1, rtol=1e-6)
        np.testing.assert_allclose(dense[:, 5:], columns(rich, "laplacian", 3), rtol=1e-6)
    with pytest.raises(DataError, match="no features"):
        features_of(graph, Operators(matrices={}), config)


def test_similar_nodes_are_those_of_the_encoding_where_there_are_no_features(graph: Graph) -> None:
    config = train_config("sage", knn=3, encoding="laplacian", encoding_size=4)
    found = make_operators(graph, None, config).matrices["knn"]
    given = dataclasses.replace(graph, features=columns(graph, "laplacian", 4))
    expected = make_operators(given, None, train_config("sage", knn=3)).matrices["knn"]
    np.testing.assert_allclose(found.toarray(), expected.toarray(), atol=1e-6)
    keys = [OPERATORS["knn"].options_read(train_config("sage", knn=3, encoding=name)) for name in ("none", "laplacian")]
    assert keys == [{"knn": 3}, {"knn": 3, "encoding": "laplacian", "encoding_size": 64}]


@pytest.mark.parametrize("model", learners())
def test_every_model_learns_from_places_alone(model: str) -> None:
    """Two communities, told apart by the first eigenvector; in batches where the model can."""
    graph = dataclasses.replace(communities(0.0, inside=0.15), features=None)
    options: dict[str, Any] = {"hidden": 16, "epochs": 60, "patience": 60, "pretrain_epochs": 30, "encoding_size": 4}
    config = train_config(model, **options, **({"batch_nodes": 30} if model == "sage" else {}))
    operators = make_operators(graph, times_of(graph, solver="pi-only"), config)
    assert operators.summary["encoding"]["name"] == "laplacian"
    trained = fit(graph, operators, config, 0)
    assert trained.summary["encoding"]["columns"] == 4
    assert evaluate(graph, operators, collect({0: trained}), config).accuracy.min() >= 0.8
