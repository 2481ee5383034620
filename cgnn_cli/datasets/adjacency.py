"""From arrays of sources and targets to the adjacency of a graph, and the counts that describe it."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from scipy.sparse import csr_array

from cgnn_cli import mapped
from cgnn_cli.watch import Watch

BLOCK_EDGES = 1 << 22  # that become rows of a matrix at a time
Tell = Callable[[int, int, str], None]
SILENT = Watch().progress


LEAST_WEIGHT, LARGEST_WEIGHT = 1e-150, 1e150  # no sum of weights overflows, and no share of a sum underflows
WEIGHT_RANGE = f"between {LEAST_WEIGHT:g} and {LARGEST_WEIGHT:g}"


def usable_weights(weight: np.ndarray) -> np.ndarray:
    """Which weights a walk can take: positive numbers, neither tiny nor huge."""
    return (weight >= LEAST_WEIGHT) & (weight <= LARGEST_WEIGHT)


def unit_adjacency(source: np.ndarray, target: np.ndarray, count: int, tell: Tell = SILENT) -> csr_array:
    """The edges as a matrix of ones; repeats count once, self-loops stay."""

    def ones(key: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        key.sort()  # many times faster than np.unique
        key = key[np.concatenate([[True], key[1:] != key[:-1]])]
        return key, np.ones(len(key))

    return _by_rows(source, target, count, [], ones, tell)


def weighted_adjacency(
    source: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray,
    count: int,
    combine: str = "sum",
    time: np.ndarray | None = None,
    tell: Tell = SILENT,
) -> csr_array:
    """The edges as a matrix of weights; those of repeats are made one.

    They are summed, smallest first so that order does not matter; or counted; or the largest is taken, or the last: the
    latest where there are times, of those at one time the last in the file.
    """

    def combined(key: np.ndarray, weight: np.ndarray, *times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        later = np.where(np.isnan(times[0]), -np.inf, times[0]) if times else np.zeros(len(key))
        order = np.lexsort((np.arange(len(key)), later, key) if combine == "last" else (weight, key))
        key, starts = np.unique(key[order], return_index=True)
        stops = np.append(starts[1:], len(order))
        if combine == "sum":
            with np.errstate(over="ignore"):
                return key, np.add.reduceat(weight[order], starts)
        return key, (stops - starts).astype(np.float64) if combine == "count" else weight[order][stops - 1]

    return _by_rows(source, target, count, [weight, *([] if time is None else [time])], combined, tell)


def _by_rows(
    source: np.ndarray,
    target: np.ndarray,
    count: int,
    values: list[np.ndarray],
    combined: Callable[..., tuple[np.ndarray, np.ndarray]],
    tell: Tell,
) -> csr_array:
    """The matrix whose entries are made by `combined` of a few rows at a time, from the keys and values of their edges.

    A key is source * count + target. Edges of the same rows are brought together first, in the order in which they are.
    """
    starts = _row_blocks(source, count)
    places = np.searchsorted(starts, np.arange(count), side="right") - 1
    sizes = np.cumsum([0, *_tally(places, source, len(starts))])
    kind = np.int32 if max(len(source), count) <= np.iinfo(np.int32).max else np.int64
    indices, data = mapped.empty(len(source), kind), mapped.empty(len(source), np.float64)
    indptr, filled = mapped.full(count + 1, 0, kind), 0
    grouped = _grouped(source, target, count, values, places, sizes, tell) if len(starts) > 1 else None
    for block, (first, last) in enumerate(pairwise([*starts, count])):
        tell(block, len(starts), "blocks of rows made of edges")
        if grouped is None:
            edges = [source * np.int64(count) + target, *values]
        else:
            edges = [array[sizes[block] : sizes[block + 1]] for array in grouped]
        if not len(edges[0]):
            indptr[first + 1 : last + 1] = filled
            continue
        key, entries = combined(*edges)
        stop = filled + len(key)
        indices[filled:stop], data[filled:stop] = key % count, entries
        indptr[first + 1 : last + 1] = filled + np.cumsum(np.bincount(key // count - first, minlength=last - first))
        filled = stop
    if kind is np.int64 and max(filled, count) <= np.iinfo(np.int32).max:
        indices, indptr = indices[:filled].astype(np.int32), indptr.astype(np.int32)
    matrix = csr_array((data[:filled], indices[:filled], indptr), shape=(count, count))
    matrix.has_canonical_format = True
    return matrix


def _row_blocks(source: np.ndarray, count: int) -> list[int]:
    """The first rows of blocks of rows that have BLOCK_EDGES edges or fewer, if they are several rows."""
    if len(source) <= BLOCK_EDGES:
        return [0]
    before = np.concatenate([[0], np.cumsum(_tally(np.arange(count), source, count))])
    starts = [0]
    while before[-1] - before[starts[-1]] > BLOCK_EDGES:
        reach = int(np.searchsorted(before, before[starts[-1]] + BLOCK_EDGES, side="right")) - 1
        starts.append(max(reach, starts[-1] + 1))
    return [start for start in starts if start < count]


def _tally(places: np.ndarray, source: np.ndarray, count: int) -> np.ndarray:
    """How many edges start in each of some places, given for every node."""
    tally = np.zeros(count, dtype=np.int64)
    for start in range(0, len(source), BLOCK_EDGES):
        tally += np.bincount(places[source[start : start + BLOCK_EDGES]], minlength=count)
    return tally


def _grouped(
    source: np.ndarray,
    target: np.ndarray,
    count: int,
    values: list[np.ndarray],
    places: np.ndarray,
    sizes: np.ndarray,
    tell: Tell,
) -> list[np.ndarray]:
    """The keys of edges and their values, block of rows by block of rows, each in its earlier order."""
    grouped = [mapped.empty(len(source), np.int64), *(mapped.empty(len(source), array.dtype) for array in values)]
    filled = sizes[:-1].copy()
    for start in range(0, len(source), BLOCK_EDGES):
        tell(start, len(source), "edges brought to their rows")
        part = slice(start, start + BLOCK_EDGES)
        block = places[source[part]]
        order = np.argsort(block, kind="stable")
        found = np.bincount(block, minlength=len(filled))
        stops = np.cumsum(found)
        keys = source[part] * np.int64(count) + target[part]
        for whole, array in zip(grouped, [keys, *(array[part] for array in values)], strict=True):
            ordered = array[order]
            for number in np.flatnonzero(found):
                place, size, stop = filled[number], found[number], stops[number]
                whole[place : place + size] = ordered[stop - size : stop]
        filled += found
    return grouped


def edge_counts(edge_lines: int, adjacency: csr_array) -> dict[str, int]:
    """How many edges a file has, how many of them are repeats, and how many of the others are self-loops."""
    return {
        "edge_lines": edge_lines,
        "repeats": edge_lines - int(adjacency.nnz),
        "self_loops": int(np.count_nonzero(adjacency.diagonal())),
    }
