"""The operator of GCN and its relatives.

undirected: D^-1/2 (S + I) D^-1/2 with S = 1[(A + A^T) > 0]. out: D_out^-1/2 A D_out^-1/2, without self-loops, as the
CGNN paper has it for digraphs; in: the same of A^T; both: the mean of the two.
"""

from collections.abc import Callable

from scipy.sparse import csr_array

from cgnn_cli.configs import TrainConfig
from cgnn_cli.graph import CommuteTimes, Graph
from cgnn_cli.operators.normalise import edges_of, symmetric_root, transposed, with_self_loops


def make(graph: Graph, times: CommuteTimes | None, config: TrainConfig) -> dict[str, csr_array]:
    """One matrix, `step`."""
    pattern, direction = edges_of(graph, config), config.resolved_direction
    if direction == "undirected":
        return {"step": symmetric_root(with_self_loops(pattern))}
    return {"step": one_way(pattern, direction, symmetric_root)}


def one_way(pattern: csr_array, direction: str, normalise: Callable[[csr_array], csr_array]) -> csr_array:
    """A normalisation of the out-neighbours, of the in-neighbours, or the mean of both."""
    if direction == "out":
        return normalise(pattern)
    if direction == "in":
        return normalise(transposed(pattern))
    return csr_array((normalise(pattern) + normalise(transposed(pattern))) / 2)
