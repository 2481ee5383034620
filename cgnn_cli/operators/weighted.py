"""CGNN's operators: neighbours weighed by C_out and C_in, the proximities of the commute stage.

For layers the matrices `out` and `in`, normalised by `--aggregation`. For `--propagation ppr` one matrix `step`:
undirected: D^-1/2 (W + I) D^-1/2 with the larger of both directions' weights; out and in: rows of (C + I) divided by
their sums; both: the mean of the two.
"""

import numpy as np
from scipy.sparse import csr_array

from cgnn_cli.configs import Facts
from cgnn_cli.graph import CommuteTimes, Graph
from cgnn_cli.models.cgnn import CgnnConfig
from cgnn_cli.numerics.csr import ones_on
from cgnn_cli.operators.normalise import (
    degree_root,
    degrees,
    row_mean,
    row_weighted_mean,
    symmetric_root,
    transposed,
    with_self_loops,
)


def make(graph: Graph, times: CommuteTimes | None, config: CgnnConfig) -> dict[str, csr_array]:
    """The matrices of the directions that are asked for."""
    assert times is not None
    config = config.resolved(Facts(features="", proximity=times.summary.get("proximity", "none")))
    weights = weight_matrices(graph, times, config.resolved_direction)
    if config.propagation == "ppr":
        if "undirected" in weights:
            return {"step": symmetric_root(with_self_loops(weights["undirected"]))}
        steps = [row_weighted_mean(with_self_loops(matrix)) for matrix in weights.values()]
        return {"step": csr_array((steps[0] + steps[1]) / 2) if len(steps) == 2 else steps[0]}
    names = {"undirected": "out"}  # the layers know edges both ways as out-neighbours
    return {names.get(name, name): aggregated(weights, name, config.aggregation) for name in weights}


def weight_matrices(graph: Graph, times: CommuteTimes, direction: str) -> dict[str, csr_array]:
    """C_out over out-neighbours, C_in over in-neighbours, or the larger of both over all."""
    if direction == "undirected":  # a maximum drops zeros, which are neighbours too, so 1 is added first
        larger = on_edges(graph, 1 + np.maximum(times.weight_out, times.weight_in))
        larger = csr_array(larger.maximum(transposed(larger)))
        larger.data -= 1
        return {"undirected": larger}
    out, into = on_edges(graph, times.weight_out), transposed(on_edges(graph, times.weight_in))
    return {name: matrix for name, matrix in (("out", out), ("in", into)) if direction in (name, "both")}


def on_edges(graph: Graph, values: np.ndarray) -> csr_array:
    """One value for each edge."""
    return csr_array((values, graph.edges.indices, graph.edges.indptr), shape=graph.edges.shape)


def aggregated(weights: dict[str, csr_array], name: str, aggregation: str) -> csr_array:
    """The weights of one direction, normalised."""
    matrix = weights[name]
    if aggregation == "mean":
        return row_mean(matrix)
    if aggregation == "weighted-mean":
        return row_weighted_mean(matrix)
    rows, columns = degrees(ones_on(matrix))
    return degree_root(matrix, rows, columns if aggregation == "sym" else rows)
