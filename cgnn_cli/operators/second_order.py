"""DGCN's operators: the edges both ways, and pairs of nodes that are joined by a third one (Tong et al., 2020).

    first:        A_F    = S
    shared-in:    A_Sin  = A^T D_out^-1 A     nodes that the same node points at
    shared-out:   A_Sout = A D_in^-1 A^T      nodes that point at the same node

Each is normalised by P = D^-1/2 (A_x + I) D^-1/2 with its own row sums D. The products join all neighbours of a hub
with each other, so they are never multiplied out: P = R^T R with R = [D_out^-1/2 A; I] D^-1/2 (for A_Sout with D_in and
A^T), whose entries are the edges and the nodes. `shared-in` and `shared-out` hold R.
`--dgcn-degree swapped` divides by D_in in A_Sin and by D_out in A_Sout, as a published code does, with 1 in the place
of a degree of 0.
"""

import numpy as np
from scipy.sparse import csr_array, eye_array, vstack

from cgnn_cli.graph import CommuteTimes, Graph
from cgnn_cli.models.dgcn import DgcnConfig
from cgnn_cli.operators.normalise import (
    degrees,
    edges_of,
    scaled,
    symmetric_root,
    symmetrised,
    transposed,
    with_self_loops,
)


def make(graph: Graph, times: CommuteTimes | None, config: DgcnConfig) -> dict[str, csr_array]:
    """The matrices `first`, `shared-in` and `shared-out`."""
    pattern = edges_of(graph, config)
    out, into = degrees(pattern)
    by_out, by_in = (out, into) if config.dgcn_degree == "paper" else (into, out)
    limit = config.dgcn_max_degree or np.inf
    return {
        "first": symmetric_root(with_self_loops(symmetrised(pattern))),
        "shared-in": root_of_product(pattern, np.where(out <= limit, 1 / np.maximum(by_out, 1), 0)),
        "shared-out": root_of_product(transposed(pattern), np.where(into <= limit, 1 / np.maximum(by_in, 1), 0)),
    }


def root_of_product(pattern: csr_array, weight: np.ndarray) -> csr_array:
    """R with R^T R = D^-1/2 (B^T diag(weight) B + I) D^-1/2, where B is a 0/1 matrix and D are the row sums."""
    half = scaled(pattern, np.sqrt(weight))
    totals = half.T @ (half @ np.ones(half.shape[1])) + 1
    stacked = csr_array(vstack([half, eye_array(half.shape[1])], format="csr"))
    return scaled(stacked, np.ones(stacked.shape[0]), 1 / np.sqrt(totals))


def entries(graph: Graph, config: DgcnConfig) -> int:
    """An upper bound of the entries of the three matrices."""
    edges = int(graph.adjacency.nnz)
    return (6 if config.resolved_direction == "undirected" else 4) * edges + 3 * graph.node_count
