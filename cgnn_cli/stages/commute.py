"""commute: hitting times, commute times and weights on the edges of the original graph, never an N x N result."""

import numpy as np
from scipy.sparse import csr_array

from cgnn_cli import scratch
from cgnn_cli.configs import CLOSENESS, CommuteConfig
from cgnn_cli.graph import CommuteTimes, Dilap, Graph
from cgnn_cli.numerics.common_neighbours import neighbour_cosines
from cgnn_cli.numerics.csr import row_of_entries, tally
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
    source, target, length = row_of_entries(edges), edges.indices, int(edges.nnz)
    state = dilap.state_of_nodes(graph.node_count)
    covered = scratch.computed(length, lambda part: (state[source[part]] >= 0) & (state[target[part]] >= 0), bool)
    cosines = neighbour_cosines(edges) if config.proximity == "neighbours" else None
    start, end = (scratch.gathered(state, scratch.compressed(ends, covered)) for ends in (source, target))
    solved = solve_pairs(Pairs(dilap, start, end), config, allowance or Allowance())
    hitting, hitting_back, times = (_on_edges(part, covered) for part in (solved.there, solved.back, solved.times))
    error = None if solved.error is None else _on_edges(solved.error, covered)
    parts = {} if solved.parts is None else vars(solved.parts)

    returns = 1 / dilap.perron  # steps between two visits, the longer of which is a lower bound of c
    far = scratch.count(len(start), lambda part: np.maximum(returns[start[part]], returns[end[part]]) > FAR)
    warnings = solved.warnings + _far_edges(far, len(start), dilap)
    ratio = scratch.computed(len(start), lambda part: solved.times[part] / (returns[start[part]] + returns[end[part]]))
    weighed = _weighed_by(config, solved, ratio) if cosines is None else scratch.compressed(cosines, covered)
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
            "edges": length,
            "edges_without_value": length - len(start),
            "negative_hitting": _negative(solved.there) + _negative(solved.back),
            "negative_commute": _negative(solved.times),
            "edges_beyond_1e9": far,
            "share_beyond_1e9": far / max(len(start), 1),
            "commute": quantiles(solved.times),
            "hitting": quantiles(solved.there, solved.back),
            "ratio": quantiles(ratio),
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
    found = []
    for rows in (row_of_entries(edges), edges.indices):
        weights = _weights(weighed, scratch.compressed(rows, covered), edges.shape[0], config)
        found.append(_on_edges(weights, covered, 0.0))
    return found[0], found[1]


def _on_edges(values: np.ndarray, covered: np.ndarray, otherwise: float = np.nan) -> np.ndarray:
    """Values of the edges that are covered, NaN on the others."""
    if len(values) == len(covered):
        return values
    found, before = scratch.empty(len(covered)), 0
    for part in scratch.parts(len(covered)):
        here = covered[part]
        place = slice(before, before := before + int(np.count_nonzero(here)))
        found[part] = otherwise
        found[part][here] = values[place]
    return found


def _negative(values: np.ndarray) -> int:
    return scratch.count(len(values), lambda part: values[part] < 0)


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


def _weighed_by(config: CommuteConfig, solved: Solution, ratio: np.ndarray) -> np.ndarray:
    """What the weight of each covered edge is made from."""
    if config.proximity == "affinity":
        assert solved.parts is not None
        indirect = solved.parts.indirect
        return scratch.computed(len(indirect), lambda part: np.nan_to_num(indirect[part], nan=0.0))
    return ratio if config.proximity == "ratio" else solved.times


def _weights(values: np.ndarray, rows: np.ndarray, row_count: int, config: CommuteConfig) -> np.ndarray:
    """Row-max-normalised proximity of each edge within its row."""
    if config.proximity == "none":
        return scratch.computed(len(values), lambda _: 1.0)
    if config.proximity in CLOSENESS:
        return closeness_weights(values, rows, row_count)
    scale = config.scale_value()
    if config.proximity == "inverse":
        return inverse_weights(values, rows, row_count, float(scale))
    return exponential_weights(values, rows, row_count, scale)


def _effective(weights: np.ndarray, rows: np.ndarray, row_count: int) -> dict[str, float]:
    """Mean effective neighbours against the mean number of neighbours, over nodes that have any."""
    degree = tally(rows, row_count)
    if not degree.any():
        return {}
    effective = effective_neighbours(weights, rows, row_count)[degree > 0]
    return {"mean": float(effective.mean()), "neighbours": float(degree[degree > 0].mean())}
