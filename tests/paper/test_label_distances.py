"""label-similarity: the distances against those of dense matrices."""

import numpy as np
import pytest

from cgnn_cli.configs import CommuteConfig, DilapConfig, RewireConfig
from cgnn_cli.graph import CommuteTimes, Graph
from cgnn_cli.paper.label_distances import label_similarity
from cgnn_cli.stages.commute import commute
from cgnn_cli.stages.dilap import dilap
from cgnn_cli.stages.rewire import rewire
from tests.graphs import graph_of, random_edges

COUNT = 40


def labelled() -> Graph:
    """A random digraph with three classes, some nodes without a label."""
    plain = graph_of(COUNT, random_edges(COUNT, 2.5, 3))
    labels = np.random.default_rng(0).integers(-1, 3, COUNT)
    return Graph(
        adjacency=plain.adjacency, features=plain.features, labels=labels, class_names=np.array([b"a", b"b", b"c"])
    )


def weighed(graph: Graph, config: CommuteConfig, rewiring: RewireConfig) -> CommuteTimes:
    return commute(graph, dilap(rewire(graph, rewiring), DilapConfig()), config)


def test_label_similarity_is_that_of_dense_matrices() -> None:
    graph = labelled()
    times = weighed(graph, CommuteConfig(solver="exact", proximity="inverse"), RewireConfig(method="path"))
    assert graph.labels is not None
    links = (graph.edges.toarray() > 0).astype(float)
    known = (graph.labels >= 0)[:, None] & (graph.labels >= 0)[None, :]
    agree = (graph.labels[:, None] == graph.labels[None, :]) & ((links + links.T) > 0) & known
    weights = np.zeros((COUNT, COUNT))
    np.add.at(weights, (times.source, times.target), times.weight_out)
    np.add.at(weights, (times.target, times.source), times.weight_in)
    found = label_similarity(graph, times)
    assert found is not None
    for name, whole in (("adjacency", links + links.T), ("weights", weights)):
        matrix = np.where(known, whole, 0)
        assert found[name] == pytest.approx(np.square(agree - matrix).sum())
        scales = np.linspace(0, 2, 20_001)
        least = min(np.square(agree - scale * matrix).sum() for scale in scales[::100])
        assert found[f"{name}_scaled"] <= least + 1e-9
        assert found[f"{name}_scaled"] == pytest.approx(least, rel=1e-2)


def test_weights_of_zero_keep_their_place() -> None:
    graph = labelled()
    times = weighed(graph, CommuteConfig(solver="exact"), RewireConfig(method="none"))
    assert (times.weight_out == 0).any() and label_similarity(graph, times) is not None
