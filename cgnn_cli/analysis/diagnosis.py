"""Should commute times help on this graph? The figures that speak for it or against it, before anything is trained."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from cgnn_cli.analysis.verdict import Verdict, judge
from cgnn_cli.datasets.graph_statistics import homophily_of, reciprocity_of
from cgnn_cli.graph import CommuteTimes, Dilap, Graph
from cgnn_cli.numerics.csr import row_of_entries, strong_components
from cgnn_cli.numerics.pair_times import pair_times
from cgnn_cli.numerics.verify import compare, sample, spearman
from cgnn_cli.operators.twins import twin_share

QUANTILES = {"p5": 0.05, "p25": 0.25, "median": 0.5, "p75": 0.75, "p95": 0.95}


@dataclass(frozen=True)
class Sampled:
    """Exact times of sampled edges: their numbers among the graph's edges, c, and 1/pi_i + 1/pi_j."""

    edges: np.ndarray
    commute: np.ndarray
    baseline: np.ndarray


@dataclass(frozen=True)
class Diagnosis:
    """All figures as plain Python values, and what they come to."""

    figures: dict[str, Any]
    verdict: Verdict


def diagnose_graph(
    graph: Graph, dilap: Dilap, times: CommuteTimes, *, count: int = 256, seed: int = 0, jobs: int = 1
) -> Diagnosis:
    """Should commute times help? Judged by the graph, exact times of at most `count` edges, and the times in use."""
    figures = diagnose(graph, times, exact_sample(graph, dilap, count, seed, jobs=jobs))
    return Diagnosis(figures, judge(figures))


def exact_sample(graph: Graph, dilap: Dilap, count: int, seed: int, *, jobs: int = 1) -> Sampled:
    """Exact commute times on at most `count` random edges, at any size: one solve for each end of an edge."""
    state = dilap.state_of_nodes(graph.node_count)
    source, target = state[row_of_entries(graph.edges)], state[graph.edges.indices]
    chosen = sample(np.flatnonzero((source >= 0) & (target >= 0)), count, seed)
    source, target = source[chosen], target[chosen]
    found = pair_times(dilap.walk(), dilap.perron, source, target, dense=False, jobs=jobs)
    return Sampled(chosen, found.times, 1 / dilap.perron[source] + 1 / dilap.perron[target])


def diagnose(graph: Graph, times: CommuteTimes, sampled: Sampled) -> dict[str, Any]:
    """All figures as plain Python values; None where the graph has not what a figure needs."""
    edges = graph.edges
    _, component = strong_components(graph.adjacency)
    # How far edges have a way back in the graph as it is, before anything is rewired.
    returning = component[row_of_entries(edges)] == component[edges.indices]
    return {
        "nodes": graph.node_count,
        "edges": int(edges.nnz),
        "reciprocity": reciprocity_of(edges),
        "returning_edges": float(returning.mean()) if edges.nnz else 0.0,
        "largest_component_share": float(np.bincount(component).max() / graph.node_count),
        "sink_share": float((np.diff(edges.indptr) == 0).mean()),
        "homophily": homophily_of(graph),
        "test_twins": None if graph.splits is None else twin_share(graph.adjacency, graph.splits),
        "sampled_edges": len(sampled.edges),
        **_ratio_spread(sampled),
        "solver_error": compare(times.commute[sampled.edges], sampled.commute),
        "label_similarity": label_similarity(graph, times),
        "effective_neighbours": {
            "out": times.summary["effective_neighbours_out"],
            "in": times.summary["effective_neighbours_in"],
        },
    }


def _ratio_spread(sampled: Sampled) -> dict[str, Any]:
    """How far c is from 1/pi_i + 1/pi_j, which is all that a walk's popularity says about a pair."""
    ratio = sampled.commute / sampled.baseline
    if not len(ratio):
        return dict.fromkeys(("ratio", "ratio_spread", "beyond_popularity", "spearman_with_pi"))
    figures = {name: float(np.quantile(ratio, level)) for name, level in QUANTILES.items()}
    part, whole = float(np.log(ratio).var()), float(np.log(sampled.commute).var())
    return {
        "ratio": figures,
        "ratio_spread": (figures["p95"] - figures["p5"]) / figures["median"],
        "beyond_popularity": part / whole if whole > 1e-12 else None,
        "spearman_with_pi": spearman(sampled.commute, sampled.baseline),
    }


def label_similarity(graph: Graph, times: CommuteTimes) -> dict[str, float] | None:
    """Squared Frobenius distances of the label-similarity matrix M to A + A^T and to C_in + C_out.

    M_ij = 1 if i -> j or j -> i and the labels agree, over pairs of labelled nodes. Smaller numbers alone bring a
    matrix nearer to M, so the distances of the best multiple of each are there too: only these compare what weights
    know.
    """
    if graph.labels is None:
        return None
    known = graph.labels >= 0
    shape, ends = graph.adjacency.shape, (times.source, times.target)
    links, weights = (
        csr_array(csr_array((out, ends), shape=shape) + csr_array((into, ends), shape=shape).T)
        for out, into in (2 * (np.ones(len(times.source)),), (times.weight_out, times.weight_in))
    )
    first, second = row_of_entries(links), links.indices
    counted = known[first] & known[second]
    if not counted.any():
        return None
    agree = (graph.labels[first] == graph.labels[second])[counted].astype(np.float64)
    links_here = links.data[counted]
    weights_here = np.asarray(weights[first, second]).ravel()[counted]
    return {
        "adjacency": float(np.square(agree - links_here).sum()),
        "weights": float(np.square(agree - weights_here).sum()),
        "adjacency_scaled": _nearest_multiple(agree, links_here),
        "weights_scaled": _nearest_multiple(agree, weights_here),
    }


def _nearest_multiple(goal: np.ndarray, values: np.ndarray) -> float:
    """The least squared distance of the goal to a multiple of the values."""
    length = values @ values
    factor = (goal @ values) / length if length else 0.0
    return float(np.square(goal - factor * values).sum())
