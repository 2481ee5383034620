"""How similar the out-neighbours of two nodes are (`--label-input`): cos(i, j) = |N_i and N_j| / sqrt(|N_i| |N_j|).

N_i is the set of out-neighbours of i. 1 means twins, nodes with the identical set. The diagonal is zero, so that a
node is never told of itself; cosines below 0.05 are left out.
"""

import numpy as np
from scipy.sparse import csr_array, vstack

from cgnn_cli.configs import TrainConfig
from cgnn_cli.graph import TEST, TRAIN, CommuteTimes, Graph
from cgnn_cli.numerics.blocks import row_blocks
from cgnn_cli.numerics.csr import ones_on, row_of_entries
from cgnn_cli.operators.normalise import degrees, transposed

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
    blocks = []
    for start, stop in row_blocks(pattern @ into, BLOCK_ENTRIES):
        shared = csr_array(pattern[start:stop] @ backward)
        row = row_of_entries(shared)
        cosine = shared.data / np.sqrt(out[start + row] * out[shared.indices])  # sqrt(d d) is exact: twins have 1
        kept = (cosine >= LEAST) & (shared.indices != start + row)
        blocks.append(csr_array((cosine[kept], (row[kept], shared.indices[kept])), shape=shared.shape))
        blocks[-1].sort_indices()
    return csr_array(vstack(blocks, format="csr"))


def twin_share(adjacency: csr_array, splits: np.ndarray) -> float:
    """The share of test nodes, mean over the splits, that have a training node with the identical out-neighbours.

    Where it is high, a model that looks up twins scores high. Nodes without out-neighbours count as having no twin.
    """
    group = same_rows(adjacency)
    shares = []
    for split in splits:
        tested = group[split == TEST]
        has_twin = np.isin(tested, group[split == TRAIN]) & (tested >= 0)
        shares.append(float(has_twin.mean()) if len(tested) else 0.0)
    return float(np.mean(shares))


def same_rows(matrix: csr_array) -> np.ndarray:
    """A number for each row; rows with the same set of columns, and only they, share it. Empty rows have -1.

    Rows are compared by their length and two independent 64-bit sums of random numbers, one drawn for each column.
    """
    rng = np.random.default_rng(0)
    filled = np.flatnonzero(np.diff(matrix.indptr))
    drawn = rng.integers(0, 2**64, (2, matrix.shape[1]), dtype=np.uint64)
    starts = matrix.indptr[:-1][filled]
    sums = [np.add.reduceat(numbers[matrix.indices], starts) if len(starts) else starts for numbers in drawn]
    keys = np.stack([np.diff(matrix.indptr)[filled].astype(np.uint64), *sums])
    groups = np.full(matrix.shape[0], -1, dtype=np.int64)
    groups[filled] = np.unique(keys, axis=1, return_inverse=True)[1].reshape(-1)
    return groups
