"""Times of chosen pairs of nodes, and the edges that are closest to each other."""

from collections.abc import Callable, Sequence

import numpy as np

from cgnn_cli.errors import DataError
from cgnn_cli.graph import CommuteTimes, Dilap, Graph
from cgnn_cli.numerics.pair_times import PairTimes, pair_times


def exact_times(
    graph: Graph,
    dilap: Dilap,
    source: Sequence[int] | np.ndarray,
    target: Sequence[int] | np.ndarray,
    *,
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> PairTimes:
    """h(source, target), h(target, source) and c of pairs of nodes by number: one solve for each distinct node.

    Pairs with a node outside the walk have NaN. `residual` is the worst of a solve, relative to its answers.
    """
    source, target = np.asarray(source, np.int64), np.asarray(target, np.int64)
    for nodes in (source, target):
        if len(nodes) and not (nodes.min() >= 0 and nodes.max() < graph.node_count):
            raise DataError(f"a pair has a node that is not among 0 to {graph.node_count - 1}")
    state = dilap.state_of_nodes(graph.node_count)
    covered = (state[source] >= 0) & (state[target] >= 0)
    starts, ends = state[source[covered]], state[target[covered]]
    found = pair_times(dilap.walk(), dilap.perron, starts, ends, jobs=jobs, progress=progress)
    values = np.full((3, len(source)), np.nan)
    values[:, covered] = found.there, found.back, found.times
    return PairTimes(values[0], values[1], values[2], found.residual)


def closest_edges(times: CommuteTimes, count: int) -> np.ndarray:
    """The numbers of at most `count` edges with the shortest commute times, the shortest first."""
    known = np.flatnonzero(~np.isnan(times.commute))
    return known[np.argsort(times.commute[known], kind="stable")[:count]]
