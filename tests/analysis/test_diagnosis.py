"""The figures of a diagnosis against dense textbook versions."""

from dataclasses import replace
from typing import Any

import networkx as nx
import numpy as np
import pytest
from scipy.stats import spearmanr

from cgnn_cli.analysis.diagnosis import Sampled, Weighed, all_weights, diagnose, diagnose_graph, exact_sample
from cgnn_cli.analysis.verdict import judge
from cgnn_cli.api import graph_from_arrays
from cgnn_cli.configs import CommuteConfig, DilapConfig, RewireConfig
from cgnn_cli.datasets.demo import demo_graph
from cgnn_cli.graph import TRAIN, CommuteTimes, Dilap, Graph
from cgnn_cli.stages.commute import commute
from cgnn_cli.stages.dilap import dilap
from cgnn_cli.stages.rewire import rewire
from tests.graphs import graph_of, random_edges
from tests.stages.test_escape import made_graph

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
    sampled = exact_sample(graph, walk, 10_000, 0)
    return diagnose(graph, Weighed(walk, times, config), sampled), times


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
    part, whole = (
        np.diff(np.quantile(np.log(values), [0.05, 0.95])) for values in (times.commute / baseline, times.commute)
    )
    assert exact["beyond_popularity"] == pytest.approx((part / whole).item() ** 2, rel=0.05)
    assert exact["solver_error"]["median_relative_error"] < 1e-8
    control, _ = diagnosed(graph, CommuteConfig(solver="pi-only"))
    assert control["solver_error"]["median_relative_error"] == pytest.approx(
        np.median(np.abs(baseline - times.commute) / times.commute)
    )


def test_a_graph_without_labels_or_edges_has_no_such_figures() -> None:
    figures, _ = diagnosed(graph_of(4, []), CommuteConfig(solver="exact"))
    assert figures["homophily"] is figures["corrected_homophily"] is figures["test_twins"] is figures["ratio"] is None
    assert figures["weights"] == {} and figures["training_edges"] == 0
    verdict = judge(figures)
    assert verdict.answer == "no edges" and verdict.reasons == []


def test_the_whole_diagnosis_is_its_figures_and_their_verdict() -> None:
    graph = labelled()
    walk, config = walked(graph), CommuteConfig(solver="exact")
    weighed = Weighed(walk, commute(graph, walk, config), config)
    found = diagnose_graph(graph, weighed, count=20, seed=3)
    assert found.figures == diagnose(graph, weighed, exact_sample(graph, walk, 20, 3))
    assert found.figures["sampled_edges"] == 20 and found.verdict == judge(found.figures)


KINDS = {
    "ratio": CommuteConfig(solver="exact", proximity="ratio", scale="0.1"),
    "affinity": CommuteConfig(solver="exact", proximity="affinity"),
    "pi-only": CommuteConfig(solver="pi-only", proximity="inverse"),
    "neighbours": CommuteConfig(solver="pi-only", proximity="neighbours"),
}


@pytest.mark.parametrize("method", ["escape", "none"])
def test_each_kind_of_weights_is_that_of_its_own_commute_stage(method: Any) -> None:
    graph = labelled()
    walk, used = walked(graph, method), CommuteConfig(solver="exact", proximity="inverse")
    times = commute(graph, walk, used)
    found = all_weights(graph, Weighed(walk, times, used, paper=times))
    assert list(found) == ["paper", *KINDS]  # what is in use is here the paper's
    for name, config in KINDS.items():
        alone = commute(graph, walk, config)
        np.testing.assert_array_equal(found[name][0], alone.weight_out)
        np.testing.assert_array_equal(found[name][1], alone.weight_in)


def test_weights_that_are_none_of_the_kinds_stand_beside_them() -> None:
    graph = labelled()
    walk = walked(graph)
    for config, known in ((CommuteConfig(), False), (KINDS["ratio"], True), (KINDS["pi-only"], True)):
        times = commute(graph, walk, config)
        found = all_weights(graph, Weighed(walk, times, config))
        assert ("in use" in found) is not known and "paper" not in found
        assert ("affinity" in found) is (config.solver == "exact") and ("ratio" in found) is (
            config.solver != "pi-only"
        )


def fading() -> Graph:
    """A ladder that falls back to its foot at every rung: each is visited half as often as the one below."""
    edges = [(rung, rung + 1) for rung in range(COUNT - 1)] + [(rung, 0) for rung in range(1, COUNT)]
    return graph_of(COUNT, edges)


def test_edges_beyond_1e9_steps_are_counted_and_not_sampled() -> None:
    graph = fading()
    walk, config = walked(graph, "escape"), CommuteConfig(solver="exact", proximity="ratio")
    times = commute(graph, walk, config)
    rarest = np.minimum(walk.perron[times.source], walk.perron[times.target])
    assert 0 < (rarest < 1e-9).sum() < len(rarest)
    found = diagnose_graph(graph, Weighed(walk, times, config))
    assert found.figures["edges_beyond_1e9"] == (rarest < 1e-9).sum()
    assert found.figures["sampled_edges"] == (rarest >= 1e-9).sum()
    assert "edges_beyond_1e9" in [reason.figure for reason in found.verdict.reasons]


def test_a_few_absurd_times_change_no_figure_by_much() -> None:
    graph = demo_graph()
    walk, config = walked(graph, "escape"), CommuteConfig(solver="series", proximity="affinity")
    times = commute(graph, walk, config)
    sampled = exact_sample(graph, walk, 100, 0)
    commutes = sampled.commute.copy()
    commutes[:3] = 1e250
    odd = times.commute.copy()
    odd[:: len(odd) // 30] = 1e250
    plain = diagnose(graph, Weighed(walk, times, config), sampled)
    figures = diagnose(
        graph,
        Weighed(walk, replace(times, commute=odd), config),
        Sampled(sampled.edges, commutes, sampled.baseline),
    )
    for name in ("ratio_spread", "beyond_popularity"):
        assert figures[name] == pytest.approx(plain[name], rel=0.5)
    for name, gain in plain["weights"].items():
        assert figures["weights"][name]["gain"] == pytest.approx(gain["gain"], abs=0.01)
    assert judge(figures).answer == judge(plain).answer == "worth trying"


def test_labels_of_other_than_training_nodes_are_not_read() -> None:
    graph = demo_graph()
    assert graph.labels is not None and graph.splits is not None
    walk, config = walked(graph, "escape"), CommuteConfig(solver="series", proximity="affinity")
    weighed = Weighed(walk, commute(graph, walk, config), config)
    others, training = np.flatnonzero(graph.splits[0] != TRAIN), np.flatnonzero(graph.splits[0] == TRAIN)
    rng, found = np.random.default_rng(0), []
    for nodes in (others[:0], others, training):
        labels = graph.labels.copy()
        labels[nodes] = rng.permutation(labels[nodes])
        found.append(diagnose_graph(replace(graph, labels=labels), weighed, splits=[0], count=8))
    plain, shuffled, false = found
    assert shuffled == plain and plain.figures["training_edges"] > 50
    assert false.figures["homophily"] != plain.figures["homophily"]


@pytest.mark.parametrize("sinks", [0, 2000])
def test_labels_without_a_pattern_speak_for_no_weights(sinks: int) -> None:
    """20,000 nodes without features, 2,000 of them without in-edges."""
    plain = made_graph(sinks, 0)
    graph = graph_from_arrays(plain.adjacency, labels=np.random.default_rng(0).integers(0, 3, plain.node_count))
    walk, config = walked(graph, "escape"), CommuteConfig(solver="series", proximity="affinity")
    found = diagnose_graph(graph, Weighed(walk, commute(graph, walk, config), config), count=4)
    assert (found.verdict.answer, found.verdict.weights) == ("unlikely", "none")
    assert abs(found.figures["corrected_homophily"]) < 0.01 and found.figures["edges_beyond_1e9"] == 0
    assert all(abs(gain["gain"]) < 0.01 for gain in found.figures["weights"].values())
