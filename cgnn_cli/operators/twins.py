"""How similar the out-neighbours of two nodes are (`--label-input`): cos(i, j) = |N_i and N_j| / sqrt(|N_i| |N_j|).

N_i is the set of out-neighbours of i. 1 means twins, nodes with the identical set. The diagonal is zero, so that a
node is never told of itself; cosines below 0.05 are left out.
"""

from itertools import pairwise

import numpy as np
from scipy.sparse import csr_array, vstack

from cgnn_cli.configs import TrainConfig
from cgnn_cli.graph import CommuteTimes, Graph
from cgnn_cli.numerics.transition import row_of_entries
from cgnn_cli.operators.neighbours import ones_on, transposed
from cgnn_cli.operators.normalise import degrees

LEAST = 0.05
BLOCK_ENTRIES = 1 << 21  # of a block's products before the small ones are left out: about 32 MiB


def make(graph: Graph, times: CommuteTimes | None, config: TrainConfig) -> dict[str, csr_array]:
    """One matrix, `twins`."""
    return {"twins": set_cosines(ones_on(graph.edges))}


def entries(graph: Graph, config: TrainConfig) -> int:
    """Nodes that share an out-neighbour: at most the sum of d_in^2, and no more than all pairs."""
    _, into = degrees(graph.edges)
    return int(min(np.square(into).sum(), float(graph.node_count) ** 2))


def set_cosines(pattern: csr_array) -> csr_array:
    """The cosines of the rows of a 0/1 matrix, without diagonal and small ones, block by block of rows."""
    out, into = degrees(pattern)
    backward = transposed(pattern)
    blocks = [
        _cosines(csr_array(pattern[start:stop] @ backward), start, out)
        for start, stop in pairwise(_block_bounds(pattern @ into))
    ]
    return csr_array(vstack(blocks, format="csr"))


def _block_bounds(products: np.ndarray) -> list[int]:
    """The first rows of blocks, and the end: each block makes few enough products, or is a single row."""
    total = np.concatenate([[0.0], np.cumsum(products)])
    bounds = [0]
    while bounds[-1] < len(products):
        reached = np.searchsorted(total, total[bounds[-1]] + BLOCK_ENTRIES, side="right") - 1
        bounds.append(max(int(reached), bounds[-1] + 1))
    return bounds


def _cosines(shared: csr_array, start: int, out: np.ndarray) -> csr_array:
    """Numbers of shared neighbours to cosines; sqrt(d d) is exact, so that twins have exactly 1."""
    row = row_of_entries(shared)
    cosine = shared.data / np.sqrt(out[start + row] * out[shared.indices])
    kept = (cosine >= LEAST) & (shared.indices != start + row)
    found = csr_array((cosine[kept], (row[kept], shared.indices[kept])), shape=shared.shape)
    found.sort_indices()
    return found
