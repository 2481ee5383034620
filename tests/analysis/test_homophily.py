"""Homophily and the gains of weights, over training edges, against counting edge by edge."""

from typing import Any

import numpy as np
import pytest

from cgnn_cli.analysis.homophily import training_edges
from cgnn_cli.graph import TEST, TRAIN, VALIDATION, Graph
from tests.graphs import graph_of, random_edges

COUNT = 60
RNG = np.random.default_rng(4)


def labelled(splits: np.ndarray | None = None, **more: Any) -> Graph:
    """A random digraph with three classes, some nodes without a label, and two splits."""
    plain = graph_of(COUNT, random_edges(COUNT, 4, 3))
    rng = np.random.default_rng(0)
    labels, drawn = rng.integers(-1, 3, COUNT), rng.choice([TRAIN, TRAIN, VALIDATION, TEST], (2, COUNT))
    names = np.array([b"a", b"b", b"c"])
    values = {"labels": labels, "class_names": names, "splits": drawn if splits is None else splits} | more
    return Graph(adjacency=plain.adjacency, **values)


def pairs(graph: Graph, splits: Any) -> list[tuple[int, int, int]]:
    """Each edge inside the training nodes of each split: its number and its classes."""
    assert graph.labels is not None and graph.splits is not None
    found = []
    for number in splits:
        known = (graph.splits[number] == TRAIN) & (graph.labels >= 0)
        for edge, (i, j) in enumerate(zip(*graph.edges.nonzero(), strict=True)):
            if known[i] and known[j]:
                found.append((edge, int(graph.labels[i]), int(graph.labels[j])))
    return found


@pytest.mark.parametrize("splits", [(), (1,)])
def test_homophily_and_gain_are_those_of_every_edge_by_itself(splits: tuple[int, ...]) -> None:
    graph = labelled()
    out, back = np.random.default_rng(1).random((2, graph.edges.nnz))
    found, listed = training_edges(graph, splits), pairs(graph, splits or (0, 1))
    assert found is not None and len(found.edges) == len({edge for edge, *_ in listed})
    plain = np.mean([first == second for _, first, second in listed])
    assert found.homophily == pytest.approx(plain)
    ends = np.array([end for _, *both in listed for end in both])
    chance = sum(np.mean(ends == each) ** 2 for each in range(3))
    assert found.corrected == pytest.approx((plain - chance) / (1 - chance))
    total = sum(out[edge] + back[edge] for edge, *_ in listed)
    weighted = sum(out[edge] + back[edge] for edge, first, second in listed if first == second) / total
    gain = found.gain(out, back, np.ones(len(out), dtype=bool))
    assert gain is not None and gain["homophily"] == pytest.approx(weighted)
    assert gain["gain"] == pytest.approx(weighted - plain)


def test_equal_weights_gain_nothing_for_certain() -> None:
    found = training_edges(labelled())
    assert found is not None
    weights = np.full(labelled().edges.nnz, 0.3)
    gain = found.gain(weights, weights, weights > 0)
    assert (
        gain is not None
        and gain["gain"] == pytest.approx(0, abs=1e-12)
        and gain["error"] == pytest.approx(0, abs=1e-12)
    )
    assert found.gain(0 * weights, 0 * weights, weights > 0) is None


def test_what_a_walk_does_not_cover_is_no_gain_of_its_weights() -> None:
    found = training_edges(labelled())
    assert found is not None
    covered = np.arange(labelled().edges.nnz) % 3 > 0
    equal = found.gain(1.0 * covered, 1.0 * covered, covered)
    assert equal is not None and equal["gain"] == pytest.approx(0, abs=1e-12)
    assert equal["homophily"] != pytest.approx(found.homophily, abs=1e-4)


def test_the_error_is_that_of_edges_drawn_alike_by_chance() -> None:
    """The deviation of the gain over labels of edges that are independent."""
    edges = training_edges(labelled())
    assert edges is not None
    out, back = RNG.random((2, labelled().edges.nnz)) ** 3
    gain = edges.gain(out, back, np.ones(len(out), dtype=bool))
    weights = edges.counts * (out + back)[edges.edges]
    alike = RNG.random((4000, len(weights))) < edges.homophily
    gains = alike @ (weights / weights.sum() - edges.counts / edges.counts.sum())
    assert gain is not None and gain["error"] == pytest.approx(gains.std(), rel=0.05)


def test_corrected_homophily_is_0_by_chance_and_1_among_equals() -> None:
    everyone = np.full((1, COUNT), TRAIN)
    mixed = training_edges(labelled(everyone, labels=np.arange(COUNT) % 3))
    assert mixed is not None and mixed.corrected is not None and abs(mixed.corrected) < 0.2 < mixed.homophily
    alone = training_edges(labelled(everyone, labels=np.zeros(COUNT, int)))
    assert alone is not None and alone.homophily == 1 and alone.corrected is None


@pytest.mark.parametrize("missing", [{"labels": None}, {"splits": np.full((1, COUNT), TEST)}])
def test_without_training_nodes_there_is_nothing(missing: dict[str, Any]) -> None:
    assert training_edges(labelled(**missing)) is None
