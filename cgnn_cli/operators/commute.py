"""CGNN's operators: neighbours weighed by C_out and C_in, the proximities of the commute stage.

For layers the matrices `out` and `in`, normalised by `--aggregation`. For `--propagation ppr` one matrix `step`:
undirected: D^-1/2 (W + I) D^-1/2 with the larger of both directions' weights; out and in: rows of (C + I) divided by
their sums; both: the mean of the two.
"""

import numpy as np
from scipy.sparse import csr_array

from cgnn_cli.configs import TrainConfig
from cgnn_cli.graph import CommuteTimes, Graph
from cgnn_cli.models.table import direction_of
from cgnn_cli.operators.neighbours import edge_entries as entries
from cgnn_cli.operators.neighbours import ones_on, transposed, with_self_loops
from cgnn_cli.operators.normalise import degree_root, degrees, row_mean, row_weighted_mean, symmetric_root

__all__ = ["entries", "make"]


def make(graph: Graph, times: CommuteTimes | None, config: TrainConfig) -> dict[str, csr_array]:
    """The matrices of the directions that are asked for."""
    assert times is not None
    weights = weight_matrices(graph, times, direction_of(config))
    if config.propagation == "ppr":
        return {"step": _step(weights)}
    return {name: aggregated(weights, name, config.aggregation) for name in weights if name != "undirected"} | (
        {"out": aggregated(weights, "undirected", config.aggregation)} if "undirected" in weights else {}
    )


def weight_matrices(graph: Graph, times: CommuteTimes, direction: str) -> dict[str, csr_array]:
    """C_out over out-neighbours, C_in over in-neighbours, or the larger of both over all."""
    if direction == "undirected":
        return {"undirected": larger_of_both(graph, times)}
    out, into = on_edges(graph, times.weight_out), transposed(on_edges(graph, times.weight_in))
    return {name: matrix for name, matrix in (("out", out), ("in", into)) if direction in (name, "both")}


def on_edges(graph: Graph, values: np.ndarray) -> csr_array:
    """One value for each edge."""
    return csr_array((values, graph.edges.indices, graph.edges.indptr), shape=graph.edges.shape)


def larger_of_both(graph: Graph, times: CommuteTimes) -> csr_array:
    """The largest weight between two nodes; a maximum drops zeros, which are neighbours too, so 1 is added first."""
    larger = on_edges(graph, 1 + np.maximum(times.weight_out, times.weight_in))
    larger = csr_array(larger.maximum(transposed(larger)))
    larger.data -= 1
    return larger


def aggregated(weights: dict[str, csr_array], name: str, aggregation: str) -> csr_array:
    """The weights of one direction, normalised."""
    matrix = weights[name]
    if aggregation == "mean":
        return row_mean(matrix)
    if aggregation == "weighted-mean":
        return row_weighted_mean(matrix)
    rows, columns = degrees(ones_on(matrix))
    return degree_root(matrix, rows, columns if aggregation == "sym" else rows)


def _step(weights: dict[str, csr_array]) -> csr_array:
    if "undirected" in weights:
        return symmetric_root(with_self_loops(weights["undirected"]))
    steps = [row_weighted_mean(with_self_loops(matrix)) for matrix in weights.values()]
    return csr_array((steps[0] + steps[1]) / 2) if len(steps) == 2 else steps[0]
