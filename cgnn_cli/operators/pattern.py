"""GAT's pattern: 1 at each neighbour of a node and at the node itself; its attention weighs them."""

from scipy.sparse import csr_array

from cgnn_cli.configs import TrainConfig
from cgnn_cli.graph import CommuteTimes, Graph
from cgnn_cli.operators.normalise import edges_of, transposed, with_self_loops


def make(graph: Graph, times: CommuteTimes | None, config: TrainConfig) -> dict[str, csr_array]:
    """One matrix, `pattern`: A + I (out), A^T + I (in) or S + I (undirected)."""
    edges = edges_of(graph, config)
    return {"pattern": with_self_loops(transposed(edges) if config.resolved_direction == "in" else edges)}
