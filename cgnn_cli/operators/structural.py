"""Structural features for graphs that come without any: how a node lies in the graph, and nothing else."""

import numpy as np
from scipy.sparse import csr_array

from cgnn_cli import scratch
from cgnn_cli.numerics.blocks import row_blocks
from cgnn_cli.numerics.csr import (
    blocks_of_rows,
    by_rows,
    canonical_csr,
    count_columns,
    diagonal_rows,
    rows_of,
    sums_over_ways,
    transposed,
)
from cgnn_cli.numerics.distributed import multiply
from cgnn_cli.numerics.threads import in_threads
from cgnn_cli.resources import allowed_cores

STRUCTURAL_NAMES = ("log_in_degree", "log_out_degree", "pagerank", "return_2", "return_3", "return_4")
DAMPING = 0.85
PAGERANK_TOLERANCE = 1e-12
PAGERANK_ITERATIONS = 1000
CONSTANT_TOLERANCE = 1e-9
BLOCK_PRODUCTS = 10_000_000
MOST_PRODUCTS = 250_000_000
MOST_THREADS = 4


def structural_features(adjacency: csr_array) -> np.ndarray:
    """N x 6 standardised columns, in the order of STRUCTURAL_NAMES; without the last two where they take too long.

    log(1 + in-degree), log(1 + out-degree), PageRank, and the probabilities that the walk is back after 2, 3 and 4
    steps; sinks get a self-loop in that walk. With hubs that have many edges both in and out, P^2 fills up: 3 and 4
    steps are left out where they take more than MOST_PRODUCTS multiplications, about half a minute.
    """
    adjacency = canonical_csr(adjacency)
    out_degree = np.diff(adjacency.indptr)
    in_degree = count_columns(adjacency)
    steps = by_rows(_steps, adjacency)
    walk = by_rows(_with_loops_at_sinks, steps)
    columns = (np.log1p(in_degree), np.log1p(out_degree), pagerank(steps), *return_probabilities(walk))
    return np.column_stack([_standardise(column) for column in columns])


def work_bytes(adjacency: csr_array) -> int:
    """The bytes of the blocks of P^2 both ways that are there at a time, and of a few arrays over a block of edges."""
    out_degree, in_degree = np.diff(adjacency.indptr).astype(np.float64), count_columns(adjacency)
    products = 2 * int(out_degree @ in_degree)  # at each node every way in meets every way out, seen from both ends
    blocks = min(products, BLOCK_PRODUCTS * min(allowed_cores(), MOST_THREADS)) if products <= MOST_PRODUCTS else 0
    return 16 * blocks + 60 * min(int(adjacency.nnz), scratch.block_entries()) + 200 * adjacency.shape[0]


def _steps(_: slice, adjacency: csr_array) -> csr_array:
    """The transition matrix, with empty rows at sinks. Rows are scaled by their maximum first, against overflow."""
    steps = adjacency.copy()
    for reduce in (np.maximum, np.add):
        rows = np.flatnonzero(np.diff(steps.indptr))
        totals = reduce.reduceat(steps.data, steps.indptr[rows]) if len(rows) else np.ones(0)
        steps.data = steps.data / np.repeat(totals, np.diff(steps.indptr)[rows])
    return steps


def _with_loops_at_sinks(rows: slice, steps: csr_array) -> csr_array:
    loops = (np.diff(steps.indptr) == 0).astype(np.float64)
    return canonical_csr(steps + diagonal_rows(loops, rows.start, steps.shape[1]))


def pagerank(steps: csr_array) -> np.ndarray:
    """PageRank of a transition matrix whose empty rows are dangling: the walk jumps from them anywhere.

    A plain iteration, not `perron_vector` with its certificate: it never fails, and its bits are in the keys of graphs.
    """
    count = steps.shape[0]
    dangling = np.diff(steps.indptr) == 0
    backward = transposed(steps)
    rank = np.full(count, 1 / count)
    for _ in range(PAGERANK_ITERATIONS):
        previous = rank
        rank = DAMPING * (multiply(backward, rank) + rank[dangling].sum() / count) + (1 - DAMPING) / count
        if np.abs(rank - previous).sum() < PAGERANK_TOLERANCE:
            break
    return rank


def return_probabilities(walk: csr_array) -> tuple[np.ndarray, ...]:
    """The diagonals of P^2, P^3 and P^4, from rows and columns of P^2 in blocks that bound the memory.

    That of P^2 alone where the others take more than MOST_PRODUCTS multiplications.
    """
    backward = transposed(walk)
    two = [_row_dots(rows_of(walk, rows), rows_of(backward, rows)) for rows in blocks_of_rows(walk, backward)]
    products = _products(walk, backward)
    if products.sum() > MOST_PRODUCTS:
        return (np.concatenate(two),)

    def diagonals(block: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
        part = slice(*block)
        rows, columns = walk[part] @ walk, backward[part] @ backward
        return _row_dots(rows, backward[part]), _row_dots(rows, columns)

    blocks, jobs = row_blocks(products, BLOCK_PRODUCTS), min(allowed_cores(), MOST_THREADS)
    three, four = zip(*in_threads(diagonals, blocks, jobs), strict=True)
    return np.concatenate(two), np.concatenate(three), np.concatenate(four)


def _row_dots(left: csr_array, right: csr_array) -> np.ndarray:
    return np.asarray(left.multiply(right).sum(axis=1)).ravel()


def _products(walk: csr_array, backward: csr_array) -> np.ndarray:
    """The multiplications that each row of P^2 takes, both ways."""
    forth, back = (sums_over_ways(each, np.diff(each.indptr).astype(np.float64)) for each in (walk, backward))
    return forth + back


def _standardise(column: np.ndarray) -> np.ndarray:
    """Mean 0 and variance 1; a column that is constant up to rounding becomes zeros."""
    if np.ptp(column) <= CONSTANT_TOLERANCE * np.abs(column).max():
        return np.zeros(len(column))
    centred = column - column.mean()
    return centred / centred.std()
