"""How many neighbours the two ends of an edge have in common, and the cosine that makes of it.

    cos(i, j) = |N(i) and N(j)| / sqrt(|N(i)| |N(j)|)

N(i) are the nodes with an edge to or from i, whatever its weight; i itself is none of them. The square of the matrix
of neighbours is never made. Every edge is taken from the end with fewer neighbours to the other (of equals, from the
first), which leaves no node more than sqrt(2 m) ways out. A triangle is then found once, at the edge from its first
to its second node, and counted for its three edges.
"""

import numpy as np
from scipy.sparse import csr_array

from cgnn_cli.numerics.blocks import row_blocks
from cgnn_cli.numerics.csr import canonical_csr, row_of_entries

BLOCK_ENTRIES = 1 << 18  # of the rows that are compared at a time, or as many as there are edges


def neighbour_cosines(edges: csr_array) -> np.ndarray:
    """The cosine of each stored entry of an adjacency without self-loops."""
    source, target = row_of_entries(edges), edges.indices
    degree, ways, edge = _ways_to_larger(source, target, edges.shape[0])
    shared = _triangles_of_ways(ways)[edge]
    return np.asarray(shared / np.sqrt(degree[source] * degree[target]))


def _ways_to_larger(source: np.ndarray, target: np.ndarray, count: int) -> tuple[np.ndarray, csr_array, np.ndarray]:
    """Numbers of neighbours; pairs of neighbours as a matrix that holds the number of each, counted from 1; and the
    place of each edge among these pairs. Nodes stand in the order of their neighbours' number."""
    low, high = np.minimum(source, target).astype(np.int64), np.maximum(source, target)
    pairs, edge = np.unique(low * count + high, return_inverse=True)
    ends = np.stack([pairs // count, pairs % count]) if count else np.zeros((2, 0), np.int64)
    degree = np.bincount(ends.ravel(), minlength=count).astype(np.float64)
    rank = np.empty(count, np.int64)
    rank[np.argsort(degree, kind="stable")] = np.arange(count)
    first, second = np.sort(rank[ends], axis=0)
    numbers = np.arange(1, len(pairs) + 1, dtype=np.float64)
    return degree, canonical_csr(csr_array((numbers, (first, second)), shape=(count, count))), edge


def _triangles_of_ways(ways: csr_array) -> np.ndarray:
    """In how many triangles each pair is, by its number."""
    count = np.zeros(ways.nnz + 1)
    first, second = row_of_entries(ways), ways.indices
    marks = csr_array((np.ones(ways.nnz), ways.indices, ways.indptr), shape=ways.shape)
    reach = np.diff(ways.indptr)
    for start, stop in row_blocks(reach[first] + reach[second], max(BLOCK_ENTRIES, ways.nnz)):
        one, other = first[start:stop], second[start:stop]
        to_third = csr_array(ways[one].multiply(marks[other]))
        if not to_third.nnz:
            continue
        from_second = csr_array(marks[one].multiply(ways[other]))
        base = ways.data[start:stop][row_of_entries(to_third)]
        for numbers in (base, to_third.data, from_second.data):
            count += np.bincount(numbers.astype(np.int64), minlength=len(count))
    return count[1:]
