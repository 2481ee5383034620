"""DiGCL's views: the PageRank operator of pagerank.py for each teleport of a grid (Tong et al., NeurIPS 2021).

The second view moves over the grid while training; all of them are made once, for all trainings.
"""

from scipy.sparse import csr_array

from cgnn_cli.configs import TrainConfig
from cgnn_cli.graph import CommuteTimes, Graph
from cgnn_cli.models.digcl import GRID, view_name
from cgnn_cli.operators.normalise import edges_of
from cgnn_cli.operators.pagerank import pagerank_operator


def make(graph: Graph, times: CommuteTimes | None, config: TrainConfig) -> dict[str, csr_array]:
    """One matrix a teleport of the grid, by `view_name`."""
    pattern = edges_of(graph, config)
    return {view_name(teleport): pagerank_operator(pattern, teleport) for teleport in GRID}


def entries(graph: Graph, config: TrainConfig) -> int:
    """An upper bound of the entries of all views."""
    return len(GRID) * (2 * int(graph.adjacency.nnz) + graph.node_count)
