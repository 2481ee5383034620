"""commute: hitting times, commute times and weights on the edges of the original graph, never an N x N result."""

import numpy as np
from scipy.sparse import csr_array

from cgnn_cli.configs import CLOSENESS, CommuteConfig
from cgnn_cli.graph import CommuteTimes, Dilap, Graph
from cgnn_cli.numerics.common_neighbours import neighbour_cosines
from cgnn_cli.numerics.csr import row_of_entries
from cgnn_cli.numerics.proximity import (
    closeness_weights,
    effective_neighbours,
    exponential_weights,
    inverse_weights,
)
from cgnn_cli.solvers.solution import Allowance, Pairs, Solution, quantiles, solve_pairs

FAR, MOST_FAR = 1e9, 0.01  # steps, and the share of edges that may be so far


def commute(
    graph: Graph, dilap: Dilap, config: CommuteConfig | None = None, allowance: Allowance | None = None
) -> CommuteTimes:
    """Times and weights for each edge of the graph; edges outside the walk get NaN and weight 0."""
    config = config or CommuteConfig()
    edges = graph.edges
    source, target = row_of_entries(edges), edges.indices
    state = dilap.state_of_nodes(graph.node_count)
    covered = (state[source] >= 0) & (state[target] >= 0)
    cosines = neighbour_cosines(edges) if config.proximity == "neighbours" else None
    pairs = Pairs(dilap, state[source[covered]], state[target[covered]])
    solved = solve_pairs(pairs, config, allowance or Allowance())
    hitting, hitting_back, times = (_on_edges(part, covered) for part in (solved.there, solved.back, solved.times))
    error = None if solved.error is None else _on_edges(solved.error, covered)
    parts = {} if solved.parts is None else vars(solved.parts)

    inverse_perron = np.full(graph.node_count, np.nan)
    inverse_perron[dilap.nodes] = 1 / dilap.perron
    baseline = inverse_perron[source] + inverse_perron[target]
    rarer = np.maximum(inverse_perron[source], inverse_perron[target])[covered]  # a lower bound of c
    far = int((rarer > FAR).sum())
    warnings = solved.warnings + _far_edges(far, len(rarer), dilap)
    weighed = _weighed_by(config, solved, baseline[covered]) if cosines is None else cosines[covered]
    weight_out, weight_in = edge_weights(edges, covered, weighed, config)

    return CommuteTimes(
        source=source,
        target=target,
        hitting=hitting,
        hitting_back=hitting_back,
        commute=times,
        weight_out=weight_out,
        weight_in=weight_in,
        error=error,
        **{name: _on_edges(values, covered) for name, values in parts.items()},
        summary={
            "proximity": config.proximity,
            "edges": int(edges.nnz),
            "edges_without_value": int((~covered).sum()),
            "negative_hitting": int((solved.there < 0).sum() + (solved.back < 0).sum()),
            "negative_commute": int((solved.times < 0).sum()),
            "edges_beyond_1e9": far,
            "share_beyond_1e9": far / max(len(rarer), 1),
            "commute": quantiles(solved.times),
            "hitting": quantiles(np.concatenate([solved.there, solved.back])),
            "ratio": quantiles(times[covered] / baseline[covered]),
            "effective_neighbours_out": _effective(weight_out, source, graph.node_count),
            "effective_neighbours_in": _effective(weight_in, target, graph.node_count),
            **solved.figures,
            "notes": solved.notes,
            **({"warnings": warnings} if warnings else {}),
        },
    )


def edge_weights(
    edges: csr_array, covered: np.ndarray, weighed: np.ndarray, config: CommuteConfig
) -> tuple[np.ndarray, np.ndarray]:
    """The weight of each edge in its source's row and in its target's, from a figure of each covered one; else 0."""
    weight_out, weight_in = np.zeros(edges.nnz), np.zeros(edges.nnz)
    for weights, rows in ((weight_out, row_of_entries(edges)), (weight_in, edges.indices)):
        weights[covered] = _weights(weighed, rows[covered], edges.shape[0], config)
    return weight_out, weight_in


def _on_edges(values: np.ndarray, covered: np.ndarray) -> np.ndarray:
    """Values of the edges that are covered, NaN on the others."""
    found = np.full(len(covered), np.nan)
    found[covered] = values
    return found


def _far_edges(count: int, edges: int, dilap: Dilap) -> list[str]:
    """A warning where many edges have times that nobody can mean, as one of their ends is hardly ever visited."""
    if count <= MOST_FAR * edges:
        return []
    remedy = "use --method escape"
    if "jump_rate" in dilap.summary:
        remedy = "use --method teleport with a lower --gamma, or look for weights of very different size"
    return [
        f"{count:,} of {edges:,} edges ({count / edges:.1%}) have an end that the walk visits less than once in 1e9 "
        f"steps, so no commute takes fewer there; {remedy}"
    ]


def _weighed_by(config: CommuteConfig, solved: Solution, baseline: np.ndarray) -> np.ndarray:
    """What the weight of each covered edge is made from."""
    if config.proximity == "affinity":
        assert solved.parts is not None
        return np.nan_to_num(solved.parts.indirect, nan=0.0)
    return solved.times / baseline if config.proximity == "ratio" else solved.times


def _weights(values: np.ndarray, rows: np.ndarray, row_count: int, config: CommuteConfig) -> np.ndarray:
    """Row-max-normalised proximity of each edge within its row."""
    if config.proximity == "none":
        return np.ones(len(values))
    if config.proximity in CLOSENESS:
        return closeness_weights(values, rows, row_count)
    scale = config.scale_value()
    if config.proximity == "inverse":
        return inverse_weights(values, rows, row_count, float(scale))
    return exponential_weights(values, rows, row_count, scale)


def _effective(weights: np.ndarray, rows: np.ndarray, row_count: int) -> dict[str, float]:
    """Mean effective neighbours against the mean number of neighbours, over nodes that have any."""
    degree = np.bincount(rows, minlength=row_count)
    if not degree.any():
        return {}
    effective = effective_neighbours(weights, rows, row_count)[degree > 0]
    return {"mean": float(effective.mean()), "neighbours": float(degree[degree > 0].mean())}
