"""DiGCN's operator, from the PageRank of a digraph (Tong et al., NeurIPS 2020, "approximate" form).

    P = D^-1 (A + I),   pi = (1 - t) pi P + t/N,   L = (Pi^1/2 P Pi^-1/2 + Pi^-1/2 P^T Pi^1/2) / 2

then W^-1/2 L W^-1/2 with W the row sums of L. The paper's chain of N + 1 states, whose extra state returns to any
node, has this pi on its first N states, up to scale: no dense matrix is needed.
"""

import numpy as np
from scipy.sparse import csr_array

from cgnn_cli.errors import UsageError
from cgnn_cli.graph import CommuteTimes, Graph
from cgnn_cli.models.option_groups import TeleportOption
from cgnn_cli.numerics.perron import perron_vector
from cgnn_cli.numerics.transition import teleporting_walk
from cgnn_cli.operators.normalise import (
    edge_entries,
    edges_of,
    row_weighted_mean,
    scaled,
    symmetric_root,
    transposed,
    with_self_loops,
)


def make(graph: Graph, times: CommuteTimes | None, config: TeleportOption) -> dict[str, csr_array]:
    """One matrix, `step`."""
    check_teleport(config)
    return {"step": pagerank_operator(edges_of(graph, config), config.teleport)}


def entries(graph: Graph, config: TeleportOption) -> int:
    """An upper bound of the entries of the operator and of the walk that it is made from."""
    return 2 * edge_entries(graph, config)


def check_teleport(config: TeleportOption) -> None:
    """Without jumps a walk may leave nodes for ever, and their PageRank would be 0."""
    if config.teleport == 0:
        raise UsageError(f"--model {config.model} divides by the PageRank of every node", "use a --teleport above 0")


def pagerank_operator(pattern: csr_array, teleport: float) -> csr_array:
    """The symmetric operator over the edges both ways and the nodes themselves."""
    looped = with_self_loops(pattern)
    uniform = np.full(looped.shape[0], 1 / looped.shape[0])
    root = np.sqrt(perron_vector(teleporting_walk(looped, 1 - teleport), uniform).vector)
    turned = scaled(row_weighted_mean(looped), root, 1 / root)
    return symmetric_root(csr_array((turned + transposed(turned)) / 2))
