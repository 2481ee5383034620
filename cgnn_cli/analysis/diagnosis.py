"""Should commute times help on this graph? The figures that speak for it or against it, before anything is trained."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cgnn_cli.analysis.homophily import TrainingEdges, training_classes, training_edges
from cgnn_cli.analysis.verdict import Verdict, judge
from cgnn_cli.analysis.weight_kinds import IN_USE, PAPER, PI_ONLY, WEIGHTS
from cgnn_cli.configs import CommuteConfig
from cgnn_cli.datasets.graph_statistics import reciprocity_of
from cgnn_cli.graph import CommuteTimes, Dilap, Graph
from cgnn_cli.numerics.common_neighbours import neighbour_cosines
from cgnn_cli.numerics.csr import row_of_entries, strong_components
from cgnn_cli.numerics.pair_times import pair_times
from cgnn_cli.numerics.verify import compare, sample, spearman
from cgnn_cli.operators.twins import twin_share
from cgnn_cli.solver_table import SOLVERS
from cgnn_cli.stages.commute import FAR, edge_weights

QUANTILES = {"p5": 0.05, "p25": 0.25, "median": 0.5, "p75": 0.75, "p95": 0.95}
BothWeights = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Weighed:
    """The walk, the times in use with their configuration, and the paper's own, where there are any."""

    dilap: Dilap
    times: CommuteTimes
    config: CommuteConfig
    paper: CommuteTimes | None = None


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
    graph: Graph,
    weighed: Weighed,
    *,
    splits: Sequence[int] = (),
    count: int = 256,
    seed: int = 0,
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Diagnosis:
    """Should weights help? Judged by the training nodes of some splits (default: all), exact times of at most `count`
    edges, and the times in use. No label of another node is read."""
    sampled = exact_sample(graph, weighed.dilap, count, seed, jobs=jobs, progress=progress)
    figures = diagnose(graph, weighed, sampled, splits)
    return Diagnosis(figures, judge(figures))


def exact_sample(
    graph: Graph,
    dilap: Dilap,
    count: int,
    seed: int,
    *,
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Sampled:
    """Exact commute times on at most `count` random edges, at any size: one solve for each end of an edge.

    Edges that take more than FAR steps for certain are left out: they are counted, and no digit of them is of use.
    """
    source, target, covered, far = _ends(graph, dilap)
    chosen = sample(np.flatnonzero(covered & ~far), count, seed)
    source, target = source[chosen], target[chosen]
    found = pair_times(dilap.walk(), dilap.perron, source, target, dense=False, jobs=jobs, progress=progress)
    return Sampled(chosen, found.times, 1 / dilap.perron[source] + 1 / dilap.perron[target])


def _ends(graph: Graph, dilap: Dilap) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The states at both ends of each edge, whether the walk covers it, and whether one of them is hardly visited."""
    state = dilap.state_of_nodes(graph.node_count)
    source, target = state[row_of_entries(graph.edges)], state[graph.edges.indices]
    covered = (source >= 0) & (target >= 0)
    return source, target, covered, covered & (np.minimum(dilap.perron[source], dilap.perron[target]) < 1 / FAR)


def diagnose(graph: Graph, weighed: Weighed, sampled: Sampled, splits: Sequence[int] = ()) -> dict[str, Any]:
    """All figures as plain Python values; None where the graph has not what a figure needs."""
    edges, summary, training = graph.edges, weighed.times.summary, training_edges(graph, splits)
    _, component = strong_components(graph.adjacency)
    # How far edges have a way back in the graph as it is, before anything is rewired.
    returning = component[row_of_entries(edges)] == component[edges.indices]
    *_, covered, far = _ends(graph, weighed.dilap)
    return {
        "nodes": graph.node_count,
        "edges": int(edges.nnz),
        "features": graph.feature_source,
        "reciprocity": reciprocity_of(edges),
        "returning_edges": float(returning.mean()) if edges.nnz else 0.0,
        "largest_component_share": float(np.bincount(component).max() / graph.node_count),
        "sink_share": float((np.diff(edges.indptr) == 0).mean()),
        "test_twins": None if graph.splits is None else twin_share(graph.adjacency, graph.splits),
        "training_classes": training_classes(graph, splits),
        "training_edges": 0 if training is None else len(training.edges),
        "homophily": None if training is None else training.homophily,
        "corrected_homophily": None if training is None else training.corrected,
        "weights": {} if training is None else weight_gains(graph, weighed, training),
        "edges_with_times": int(covered.sum()),
        "edges_beyond_1e9": int(far.sum()),
        "sampled_edges": len(sampled.edges),
        **_ratio_spread(sampled),
        "solver_error": compare(weighed.times.commute[sampled.edges], sampled.commute),
        "effective_neighbours": {
            "out": summary["effective_neighbours_out"],
            "in": summary["effective_neighbours_in"],
        },
    }


def weight_gains(graph: Graph, weighed: Weighed, training: TrainingEdges) -> dict[str, dict[str, Any]]:
    """What each kind of weights adds to the homophily of the training edges."""
    walks = {PAPER: weighed.paper} if weighed.paper is not None else {}
    found = {
        name: training.gain(*weights, ~np.isnan(walks.get(name, weighed.times).commute))
        for name, weights in all_weights(graph, weighed).items()
    }
    return {name: gain for name, gain in found.items() if gain is not None}


def all_weights(graph: Graph, weighed: Weighed) -> dict[str, BothWeights]:
    """The paper's weights, those that the times in use give, the controls, and those in use where they are others."""
    edges, times, solver = graph.edges, weighed.times, SOLVERS[weighed.config.solver]
    source, target, covered, _ = _ends(graph, weighed.dilap)
    inverse = 1 / weighed.dilap.perron
    baseline = inverse[source[covered]] + inverse[target[covered]]
    values = {PI_ONLY: baseline, "neighbours": neighbour_cosines(edges)[covered]}
    if not solver.only_pi:
        values["ratio"] = times.commute[covered] / baseline
    if times.indirect is not None:
        values["affinity"] = np.nan_to_num(times.indirect[covered], nan=0.0)
    configs = {name: config_of(WEIGHTS[name], weighed.config) for name in WEIGHTS if name in values}
    found = {} if weighed.paper is None else {PAPER: (weighed.paper.weight_out, weighed.paper.weight_in)}
    found |= {name: edge_weights(edges, covered, values[name], config) for name, config in configs.items()}
    known = [config.to_dict() for config in configs.values()]
    if weighed.paper is not times and weighed.config.to_dict() not in known:
        found[IN_USE] = (times.weight_out, times.weight_in)
    return found


def config_of(settings: Mapping[str, Any], config: CommuteConfig) -> CommuteConfig:
    """The weights that settings ask for: of the given times, where they name no solver of their own."""
    changes = {path.removeprefix("commute."): value for path, value in settings.items() if path.startswith("commute.")}
    return CommuteConfig(**changes) if "solver" in changes else replace(config, **changes)


def _ratio_spread(sampled: Sampled) -> dict[str, Any]:
    """How far c is from 1/pi_i + 1/pi_j, which is all that a walk's popularity says about a pair; by quantiles."""
    ratio = sampled.commute / sampled.baseline
    if not len(ratio):
        return dict.fromkeys(("ratio", "ratio_spread", "beyond_popularity", "spearman_with_pi"))
    figures = {name: float(np.quantile(ratio, level)) for name, level in QUANTILES.items()}
    part, whole = _log_spread(ratio), _log_spread(sampled.commute)
    return {
        "ratio": figures,
        "ratio_spread": (figures["p95"] - figures["p5"]) / figures["median"],
        "beyond_popularity": (part / whole) ** 2 if whole > 1e-6 else None,
        "spearman_with_pi": spearman(sampled.commute, sampled.baseline),
    }


def _log_spread(values: np.ndarray) -> float:
    """From the 5th to the 95th percentile, in logs: a few absurd values do not change it."""
    low, high = np.quantile(values, [QUANTILES["p5"], QUANTILES["p95"]])
    return float(np.log(high / low))
