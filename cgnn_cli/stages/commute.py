"""commute: hitting times, commute times and weights on the edges of the original graph, never an N x N result."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cgnn_cli.configs import CommuteConfig
from cgnn_cli.graph import CommuteTimes, Dilap, Graph
from cgnn_cli.numerics.exact import exact_hitting
from cgnn_cli.numerics.lowrank import RESIDUAL_GOAL, svd_times, truncated_svd
from cgnn_cli.numerics.proximity import effective_neighbours, exponential_weights, inverse_weights
from cgnn_cli.numerics.transition import is_symmetric, row_of_entries

SVD_NOTE = (
    "svd gives the paper's rank-{rank} truncation scores, not expected steps; `--solver exact` gives true commute times"
)
QUANTILES = {"minimum": 0.0, "p05": 0.05, "median": 0.5, "p95": 0.95, "maximum": 1.0}


def commute(graph: Graph, dilap: Dilap, config: CommuteConfig | None = None) -> CommuteTimes:
    """Times and weights for each edge of the graph; edges outside the walk get NaN and weight 0."""
    config = config or CommuteConfig()
    edges = graph.edges
    source, target = row_of_entries(edges), edges.indices
    state = np.full(graph.node_count, -1, dtype=np.int64)
    state[dilap.nodes] = np.arange(len(dilap.nodes))
    covered = (state[source] >= 0) & (state[target] >= 0)
    solved = _solve(dilap, state[source[covered]], state[target[covered]], config)
    hitting, hitting_back, times = (np.full(edges.nnz, np.nan) for _ in range(3))
    hitting[covered], hitting_back[covered], times[covered] = solved.there, solved.back, solved.times

    inverse_perron = np.full(graph.node_count, np.nan)
    inverse_perron[dilap.nodes] = 1 / dilap.perron
    baseline = inverse_perron[source] + inverse_perron[target]
    weight_out, weight_in = np.zeros(edges.nnz), np.zeros(edges.nnz)
    for weights, rows in ((weight_out, source), (weight_in, target)):
        weights[covered] = _weights(times[covered], baseline[covered], rows[covered], graph.node_count, config)

    return CommuteTimes(
        source=source,
        target=target,
        hitting=hitting,
        hitting_back=hitting_back,
        commute=times,
        weight_out=weight_out,
        weight_in=weight_in,
        summary={
            "edges": int(edges.nnz),
            "edges_without_value": int((~covered).sum()),
            "negative_hitting": int((solved.there < 0).sum() + (solved.back < 0).sum()),
            "negative_commute": int((solved.times < 0).sum()),
            "commute": _quantiles(solved.times),
            "hitting": _quantiles(np.concatenate([solved.there, solved.back])),
            "ratio": _quantiles(times[covered] / baseline[covered]),
            "effective_neighbours_out": _effective(weight_out, source, graph.node_count),
            "effective_neighbours_in": _effective(weight_in, target, graph.node_count),
            **solved.diagnostics,
            "notes": solved.notes,
        },
    )


@dataclass(frozen=True)
class _Solution:
    """Times between pairs of states, notes for the user, and diagnostics of the solver."""

    there: np.ndarray
    back: np.ndarray
    times: np.ndarray
    notes: list[str] = field(default_factory=list)
    diagnostics: dict[str, Any] = field(default_factory=dict)


def _solve(dilap: Dilap, source: np.ndarray, target: np.ndarray, config: CommuteConfig) -> _Solution:
    """Run the chosen solver on pairs of states of the walk."""
    states = len(dilap.perron)
    if config.solver == "pi-only":
        there, back = 1 / dilap.perron[target], 1 / dilap.perron[source]
        return _Solution(there, back, there + back)
    if config.solver == "exact":
        there, back = exact_hitting(dilap.transition, dilap.perron, source, target)
        return _Solution(there, back, there + back)
    rank = min(config.rank, max(states - 1, 1))
    notes = [SVD_NOTE.format(rank=rank)]
    if rank < config.rank:
        notes.append(f"--rank {config.rank} is more than this walk has; {rank} was used")
    factors = truncated_svd(dilap.laplacian, rank, config.solver_seed, symmetric=is_symmetric(dilap.laplacian))
    if factors.residual > RESIDUAL_GOAL:
        notes.append(
            f"the svd stopped at a residual of {factors.residual:.1e} (goal {RESIDUAL_GOAL:.0e}), "
            "so its scores depend a little on --solver-seed"
        )
    diagnostics = {"rank": rank, "svd_residual": factors.residual, "svd_iterations": factors.iterations}
    return _Solution(*svd_times(factors, dilap.perron, source, target), notes=notes, diagnostics=diagnostics)


def _weights(
    times: np.ndarray, baseline: np.ndarray, rows: np.ndarray, row_count: int, config: CommuteConfig
) -> np.ndarray:
    """Row-max-normalised proximity of each edge within its row."""
    scale = config.scale_value()
    if config.proximity == "none":
        return np.ones(len(times))
    if config.proximity == "inverse":
        return inverse_weights(times, rows, row_count, float(scale))
    values = times if config.proximity == "exp" else times / baseline
    return exponential_weights(values, rows, row_count, scale)


def _quantiles(values: np.ndarray) -> dict[str, float]:
    if not len(values):
        return {}
    return {
        name: float(value) for name, value in zip(QUANTILES, np.quantile(values, list(QUANTILES.values())), strict=True)
    }


def _effective(weights: np.ndarray, rows: np.ndarray, row_count: int) -> dict[str, float]:
    """Mean effective neighbours against the mean number of neighbours, over nodes that have any."""
    degree = np.bincount(rows, minlength=row_count)
    if not degree.any():
        return {}
    effective = effective_neighbours(weights, rows, row_count)[degree > 0]
    return {"mean": float(effective.mean()), "neighbours": float(degree[degree > 0].mean())}
