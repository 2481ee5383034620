"""From arrays of sources and targets to the adjacency of a graph, and the counts that describe it."""

import numpy as np
from scipy.sparse import csr_array

from cgnn_cli.numerics.csr import canonical_csr

LEAST_WEIGHT, LARGEST_WEIGHT = 1e-150, 1e150  # no sum of weights overflows, and no share of a sum underflows
WEIGHT_RANGE = f"between {LEAST_WEIGHT:g} and {LARGEST_WEIGHT:g}"


def usable_weights(weight: np.ndarray) -> np.ndarray:
    """Which weights a walk can take: positive numbers, neither tiny nor huge."""
    return (weight >= LEAST_WEIGHT) & (weight <= LARGEST_WEIGHT)


def unit_adjacency(source: np.ndarray, target: np.ndarray, count: int) -> csr_array:
    """The edges as a matrix of ones; repeats count once, self-loops stay."""
    key = source * np.int64(count) + target
    key.sort()  # many times faster than np.unique
    key = key[np.concatenate([[True], key[1:] != key[:-1]])[: len(key)]]
    return canonical_csr(csr_array((np.ones(len(key)), (key // count, key % count)), shape=(count, count)))


def weighted_adjacency(
    source: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray,
    count: int,
    combine: str = "sum",
    time: np.ndarray | None = None,
) -> csr_array:
    """The edges as a matrix of weights; those of repeats are made one.

    They are summed, smallest first so that order does not matter; or counted; or the largest is taken, or the last: the
    latest where there are times, of those at one time the last in the file.
    """
    key = source * np.int64(count) + target
    later = np.zeros(len(key)) if time is None else np.where(np.isnan(time), -np.inf, time)
    order = np.lexsort((np.arange(len(key)), later, key) if combine == "last" else (weight, key))
    key, starts = np.unique(key[order], return_index=True)
    stops = np.append(starts[1:], len(order))
    if combine == "sum":
        with np.errstate(over="ignore"):
            data = np.add.reduceat(weight[order], starts) if len(key) else weight
    else:
        data = (stops - starts).astype(np.float64) if combine == "count" else weight[order][stops - 1]
    return canonical_csr(csr_array((data, (key // count, key % count)), shape=(count, count)))


def edge_counts(edge_lines: int, adjacency: csr_array) -> dict[str, int]:
    """How many edges a file has, how many of them are repeats, and how many of the others are self-loops."""
    return {
        "edge_lines": edge_lines,
        "repeats": edge_lines - int(adjacency.nnz),
        "self_loops": int(np.count_nonzero(adjacency.diagonal())),
    }
