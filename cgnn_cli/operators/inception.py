"""The operators of DiGCN's inception block (Tong et al., NeurIPS 2020): `first` as in pagerank.py, and `second`,

    L_2 = (P P^T + P^T P) / 2   on the pairs that both products have,   P = D^-1 (A + I),

then W^-1/2 L_2 W^-1/2 with W its row sums: nodes that share out-neighbours and also in-neighbours. Blocks of rows are
multiplied at a time, so that memory holds what is kept and never a whole product.
"""

import numpy as np
from scipy.sparse import csr_array, vstack

from cgnn_cli.graph import CommuteTimes, Graph
from cgnn_cli.models.option_groups import TeleportOption
from cgnn_cli.numerics.blocks import row_blocks
from cgnn_cli.numerics.csr import ones_on
from cgnn_cli.operators.normalise import (
    degrees,
    edge_entries,
    edges_of,
    row_weighted_mean,
    symmetric_root,
    transposed,
    with_self_loops,
)
from cgnn_cli.operators.pagerank import check_teleport, pagerank_operator

BLOCK_ENTRIES = 1 << 21
SAMPLES = 256


def make(graph: Graph, times: CommuteTimes | None, config: TeleportOption) -> dict[str, csr_array]:
    """The matrices `first` and `second`."""
    check_teleport(config)
    pattern = edges_of(graph, config)
    return {"first": pagerank_operator(pattern, config.teleport), "second": common_neighbours(pattern)}


def common_neighbours(pattern: csr_array, block_entries: int = BLOCK_ENTRIES) -> csr_array:
    """The normalised L_2."""
    looped = with_self_loops(pattern)
    step = row_weighted_mean(looped)
    back = transposed(step)
    blocks = []
    for start, stop in row_blocks(np.add(*most_of_rows(looped)), block_entries):
        out, into = csr_array(step[start:stop] @ back), csr_array(back[start:stop] @ step)
        blocks.append(csr_array(out.multiply(ones_on(into)) + into.multiply(ones_on(out))) / 2)
    return symmetric_root(csr_array(vstack(blocks, format="csr")))


def most_of_rows(looped: csr_array) -> tuple[np.ndarray, np.ndarray]:
    """Upper bounds of the entries of each row of P P^T and of P^T P."""
    out, into = degrees(looped)
    count = looped.shape[0]
    return np.minimum(looped @ into, count), np.minimum(looped.T @ out, count)


def entries(graph: Graph, config: TeleportOption) -> int:
    """About the entries of both matrices, and of what a block of rows is made from, which take half as much each."""
    looped = with_self_loops(edges_of(graph, config))
    most = np.add(*most_of_rows(looped))
    products, common = sampled_pairs(looped, most)
    return int(common + products * min(1, BLOCK_ENTRIES / most.sum()) / 2) + edge_entries(graph, config)


def sampled_pairs(looped: csr_array, most: np.ndarray, samples: int = SAMPLES) -> tuple[float, float]:
    """About the entries of P P^T and P^T P together, and of L_2, counted in some rows.

    Few pairs may share both kinds of neighbours, so bounds would be far too high. Rows are spread evenly over what all
    rows could have, so that hubs count for what they are.
    """
    back, before = transposed(looped), np.cumsum(most)
    chosen = np.searchsorted(before, (np.arange(samples) + 0.5) * before[-1] / samples)
    products, common = 0.0, 0.0
    for row in chosen:
        out, into = looped[[row]] @ back, back[[row]] @ looped
        products += (out.nnz + into.nnz) / most[row]
        common += len(np.intersect1d(out.indices, into.indices, assume_unique=True)) / most[row]
    return products * before[-1] / samples, common * before[-1] / samples
