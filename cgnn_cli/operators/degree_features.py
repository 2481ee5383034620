"""Features of a node's place in the graph (`--degree-features`), eight columns.

log(1 + out-degree), log(1 + in-degree), the share of its out-edges that go both ways, its number of nonzero features,
and the means of both log degrees over its out-neighbours and over its in-neighbours. Each column is mapped to the
quantiles of a normal distribution, cut at 3 deviations; nodes with the same value share a quantile.
"""

from collections.abc import Iterable

import numpy as np
from scipy.sparse import csr_array
from scipy.special import ndtri

from cgnn_cli.configs import TrainConfig
from cgnn_cli.graph import CommuteTimes, Graph
from cgnn_cli.numerics.csr import ones_on
from cgnn_cli.operators.normalise import degrees, inverse_or_zero, row_mean, transposed

COLUMNS = 8
LARGEST = 3.0


def make(graph: Graph, times: CommuteTimes | None, config: TrainConfig) -> dict[str, np.ndarray]:
    """One dense array, `degrees`."""
    pattern, features = ones_on(graph.edges), graph.features
    back, (out, into) = transposed(pattern), degrees(pattern)
    mutual = np.asarray(csr_array(pattern.multiply(back)).sum(axis=1)).ravel()
    filled = np.zeros(graph.node_count) if features is None else np.asarray((features != 0).sum(axis=1)).ravel()
    logs = [np.log1p(out), np.log1p(into)]
    of_neighbours = [row_mean(matrix) @ log for matrix in (pattern, back) for log in logs]  # 0 without neighbours
    columns = [*logs, mutual * inverse_or_zero(out), filled.astype(np.float64), *of_neighbours]
    return {"degrees": as_quantiles(columns)}


def entries(graph: Graph, config: TrainConfig) -> int:
    """Of the edges and the columns, as many as would take as much memory."""
    return int(graph.adjacency.nnz) + 5 * graph.node_count


def as_quantiles(columns: Iterable[np.ndarray]) -> np.ndarray:
    """Columns side by side, each mapped to normal quantiles."""
    return np.column_stack([normal_quantiles(column) for column in columns])


def normal_quantiles(values: np.ndarray) -> np.ndarray:
    """z with normal probability (mean rank - 1/2) / N below it, between -3 and 3; a constant column is all 0."""
    order, counts = np.unique(np.round(values, 12), return_inverse=True, return_counts=True)[1:]
    last = np.cumsum(counts)
    middle = (last - counts / 2) / len(values)
    return np.clip(ndtri(middle), -LARGEST, LARGEST)[order.reshape(-1)]
