"""GraphSAGE's operator, the mean of the neighbours.

out: D_out^-1 A; in: D_in^-1 A^T; both: the mean of the two; undirected: D^-1 S with S = 1[(A + A^T) > 0].
"""

from scipy.sparse import csr_array

from cgnn_cli.configs import TrainConfig
from cgnn_cli.graph import CommuteTimes, Graph
from cgnn_cli.models.table import direction_of
from cgnn_cli.operators.convolution import one_way
from cgnn_cli.operators.neighbours import edge_entries as entries
from cgnn_cli.operators.neighbours import edges_of
from cgnn_cli.operators.normalise import row_mean

__all__ = ["entries", "make"]


def make(graph: Graph, times: CommuteTimes | None, config: TrainConfig) -> dict[str, csr_array]:
    """One matrix, `step`."""
    direction = direction_of(config)
    return {"step": one_way(edges_of(graph, config), "out" if direction == "undirected" else direction, row_mean)}
