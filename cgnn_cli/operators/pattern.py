"""GAT's pattern: 1 at each neighbour of a node and at the node itself; its attention weighs them."""

from scipy.sparse import csr_array

from cgnn_cli.configs import TrainConfig
from cgnn_cli.graph import CommuteTimes, Graph
from cgnn_cli.models.table import direction_of
from cgnn_cli.operators.neighbours import edge_entries as entries
from cgnn_cli.operators.neighbours import edges_of, transposed, with_self_loops

__all__ = ["entries", "make"]


def make(graph: Graph, times: CommuteTimes | None, config: TrainConfig) -> dict[str, csr_array]:
    """One matrix, `pattern`: A + I (out), A^T + I (in) or S + I (undirected)."""
    edges = edges_of(graph, config)
    return {"pattern": with_self_loops(transposed(edges) if direction_of(config) == "in" else edges)}
