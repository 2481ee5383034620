"""The figures of a diagnosis against dense textbook versions."""

from typing import Any

import networkx as nx
import numpy as np
import pytest
from scipy.stats import spearmanr

from cgnn_cli.analysis.diagnosis import diagnose, diagnose_graph, exact_sample, label_similarity
from cgnn_cli.analysis.verdict import judge
from cgnn_cli.configs import CommuteConfig, DilapConfig, RewireConfig
from cgnn_cli.graph import CommuteTimes, Dilap, Graph
from cgnn_cli.stages.commute import commute
from cgnn_cli.stages.dilap import dilap
from cgnn_cli.stages.rewire import rewire
from tests.graphs import graph_of, random_edges

COUNT = 40


def labelled() -> Graph:
    """A random digraph with three classes, some nodes without a label."""
    plain = graph_of(COUNT, random_edges(COUNT, 2.5, 3))
    labels = np.random.default_rng(0).integers(-1, 3, COUNT)
    names = np.array([b"a", b"b", b"c"])
    return Graph(adjacency=plain.adjacency, features=plain.features, labels=labels, class_names=names)


def walked(graph: Graph, method: Any = "path") -> Dilap:
    return dilap(rewire(graph, RewireConfig(method=method)), DilapConfig())


def diagnosed(graph: Graph, config: CommuteConfig, method: Any = "path") -> tuple[dict[str, Any], CommuteTimes]:
    walk = walked(graph, method)
    times = commute(graph, walk, config)
    return diagnose(graph, times, exact_sample(graph, walk, 10_000, 0)), times


def test_label_similarity_is_that_of_dense_matrices() -> None:
    graph = labelled()
    _, times = diagnosed(graph, CommuteConfig(solver="exact", proximity="inverse"))
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
    _, times = diagnosed(graph, CommuteConfig(solver="exact"), method="none")
    assert (times.weight_out == 0).any() and label_similarity(graph, times) is not None


def test_ways_back_are_the_edges_inside_components() -> None:
    graph = labelled()
    figures, _ = diagnosed(graph, CommuteConfig(solver="exact"))
    network = nx.DiGraph(list(zip(*graph.edges.nonzero(), strict=True)))
    on_cycle = [nx.has_path(network, target, source) for source, target in network.edges]
    assert figures["returning_edges"] == pytest.approx(np.mean(on_cycle))
    largest = max(map(len, nx.strongly_connected_components(network)))
    assert figures["largest_component_share"] == largest / COUNT
    assert figures["reciprocity"] == pytest.approx(nx.reciprocity(network))


def test_ratio_and_error_are_those_of_the_exact_times() -> None:
    graph = labelled()
    exact, times = diagnosed(graph, CommuteConfig(solver="exact"))
    perron = walked(graph).perron
    baseline = 1 / perron[times.source] + 1 / perron[times.target]
    assert exact["sampled_edges"] == len(baseline)
    assert exact["ratio"]["median"] == pytest.approx(np.median(times.commute / baseline))
    assert exact["spearman_with_pi"] == pytest.approx(spearmanr(times.commute, baseline).statistic, abs=1e-6)
    assert exact["beyond_popularity"] == pytest.approx(
        np.log(times.commute / baseline).var() / np.log(times.commute).var()
    )
    assert exact["solver_error"]["median_relative_error"] < 1e-8
    control, _ = diagnosed(graph, CommuteConfig(solver="pi-only"))
    assert control["solver_error"]["median_relative_error"] == pytest.approx(
        np.median(np.abs(baseline - times.commute) / times.commute)
    )


def test_a_graph_without_labels_or_edges_has_no_such_figures() -> None:
    figures, _ = diagnosed(graph_of(4, []), CommuteConfig(solver="exact"))
    assert figures["homophily"] is figures["test_twins"] is figures["label_similarity"] is figures["ratio"] is None
    verdict = judge(figures)
    assert verdict.answer == "no edges" and verdict.reasons == []


def test_the_whole_diagnosis_is_its_figures_and_their_verdict() -> None:
    graph = labelled()
    walk = walked(graph)
    times = commute(graph, walk, CommuteConfig(solver="exact"))
    found = diagnose_graph(graph, walk, times, count=20, seed=3)
    assert found.figures == diagnose(graph, times, exact_sample(graph, walk, 20, 3))
    assert found.figures["sampled_edges"] == 20 and found.verdict == judge(found.figures)
