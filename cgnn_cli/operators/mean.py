"""GraphSAGE's operator, the mean of neighbours: D_out^-1 A (out), D_in^-1 A^T (in), D^-1 S (undirected), or both."""

from scipy.sparse import csr_array

from cgnn_cli.configs import TrainConfig
from cgnn_cli.graph import CommuteTimes, Graph
from cgnn_cli.operators.convolution import one_way
from cgnn_cli.operators.normalise import edges_of, row_mean


def make(graph: Graph, times: CommuteTimes | None, config: TrainConfig) -> dict[str, csr_array]:
    """One matrix, `step`."""
    direction = config.resolved_direction
    return {"step": one_way(edges_of(graph, config), "out" if direction == "undirected" else direction, row_mean)}
