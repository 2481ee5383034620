"""Features of a node's place in the graph (`--degree-features`), eight columns.

log(1 + out-degree), log(1 + in-degree), the share of its out-edges that go both ways, its number of nonzero features,
and the means of both log degrees over its out-neighbours and over its in-neighbours. Each column is mapped to the
quantiles of a normal distribution, cut at 3 deviations; nodes with the same value share a quantile.
"""

import numpy as np
from scipy.sparse import csr_array
from scipy.special import ndtri

from cgnn_cli.configs import TrainConfig
from cgnn_cli.graph import CommuteTimes, Graph
from cgnn_cli.operators.neighbours import ones_on, transposed
from cgnn_cli.operators.normalise import degrees, inverse_or_zero, row_mean

COLUMNS = 8
LARGEST = 3.0


def make(graph: Graph, times: CommuteTimes | None, config: TrainConfig) -> dict[str, np.ndarray]:
    """One dense array, `degrees`."""
    raw = np.column_stack([*_own(graph), *_of_neighbours(graph)])
    return {"degrees": np.column_stack([normal_quantiles(column) for column in raw.T])}


def entries(graph: Graph, config: TrainConfig) -> int:
    return 2 * COLUMNS * graph.node_count + 2 * int(graph.adjacency.nnz)


def _own(graph: Graph) -> list[np.ndarray]:
    pattern = ones_on(graph.edges)
    out, into = degrees(pattern)
    mutual = np.asarray(csr_array(pattern.multiply(transposed(pattern))).sum(axis=1)).ravel()
    return [np.log1p(out), np.log1p(into), mutual * inverse_or_zero(out), _filled(graph)]


def _filled(graph: Graph) -> np.ndarray:
    features = graph.features
    if features is None:
        return np.zeros(graph.node_count)
    return np.asarray((features != 0).sum(axis=1), dtype=np.float64).ravel()


def _of_neighbours(graph: Graph) -> list[np.ndarray]:
    """Nodes without neighbours of a kind have 0, as if these had no edges."""
    pattern = ones_on(graph.edges)
    logs = [np.log1p(degree) for degree in degrees(pattern)]
    return [row_mean(matrix) @ log for matrix in (pattern, transposed(pattern)) for log in logs]


def normal_quantiles(values: np.ndarray) -> np.ndarray:
    """z with normal probability (mean rank - 1/2) / N below it, between -3 and 3; a constant column is all 0."""
    order, counts = np.unique(np.round(values, 12), return_inverse=True, return_counts=True)[1:]
    last = np.cumsum(counts)
    middle = (last - counts / 2) / len(values)
    return np.clip(ndtri(middle), -LARGEST, LARGEST)[order.reshape(-1)]
