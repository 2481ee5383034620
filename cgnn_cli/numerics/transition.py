"""The random walk: transition matrix and digraph Laplacian."""

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import LinearOperator

from cgnn_cli.errors import DataError
from cgnn_cli.numerics.csr import (
    blocks_of_rows,
    by_rows,
    canonical_csr,
    diagonal_rows,
    row_of_entries,
    rows_of,
    transposed,
    without_self_loops,
)
from cgnn_cli.numerics.distributed import multiply
from cgnn_cli.numerics.walk import Walk


def transition_matrix(adjacency: csr_array) -> csr_array:
    """P = D^-1 A, row-stochastic."""
    totals = np.asarray(adjacency.sum(axis=1)).ravel()
    if (totals <= 0).any():
        node = int(np.argmax(totals <= 0))
        raise DataError(f"state {node} of the walk has no way out, so its transition probabilities are undefined")
    return _shares(adjacency, totals)


def _shares(adjacency: csr_array, totals: np.ndarray, gamma: float | None = None) -> csr_array:
    """The entries of each row in shares of its total; with `gamma` so much of each."""

    def shared(rows: slice, block: csr_array) -> csr_array:
        shares = block.data / totals[rows][row_of_entries(block)]
        shares = shares if gamma is None else gamma * shares
        return canonical_csr(csr_array((shares, block.indices, block.indptr), shape=block.shape))

    return by_rows(shared, adjacency)


def teleporting_walk(adjacency: csr_array, gamma: float) -> Walk:
    """P = gamma D^-1 A + (1 - gamma) 1 1^T / N; a state without a way out always jumps."""
    totals = np.asarray(adjacency.sum(axis=1)).ravel()
    return Walk(_shares(adjacency, totals, gamma), np.where(totals > 0, 1 - gamma, 1.0))


def escaping_walk(adjacency: csr_array, jump: np.ndarray) -> Walk:
    """P = (1 - v) D^-1 A + v 1^T / N with a chance v of each state; D^-1 A itself, bit for bit, where all are 0."""
    sparse = transition_matrix(adjacency)
    if not jump.any():
        return Walk(sparse)
    for rows in blocks_of_rows(sparse):
        block = rows_of(sparse, rows)
        block.data *= (1 - jump[rows])[row_of_entries(block)]
    return Walk(sparse, jump)


def incidence_laplacian(transition: csr_array) -> csr_array:
    """T = B diag(P_ij) B^T with B the signed incidence matrix: the Laplacian of the weights P + P^T.

    Self-loops contribute nothing. Symmetric, and its rows sum to zero (Eq. 5 of the paper).
    """
    moves = without_self_loops(transition)
    return by_rows(_incidence_rows, moves, transposed(moves))


def _incidence_rows(rows: slice, moves: csr_array, backward: csr_array) -> csr_array:
    symmetric = canonical_csr(moves + backward)
    degree = np.asarray(symmetric.sum(axis=1)).ravel()
    return canonical_csr(diagonal_rows(degree, rows.start, symmetric.shape[1]) - symmetric)


def random_walk_laplacian(transition: csr_array) -> csr_array:
    """T = I - P, the form that the paper's proof uses."""

    def rest(rows: slice, moves: csr_array) -> csr_array:
        return canonical_csr(diagonal_rows(np.ones(moves.shape[0]), rows.start, moves.shape[1]) - moves)

    return by_rows(rest, transition)


def jumping_laplacian(sparse: csr_array, jump: np.ndarray, *, incidence: bool) -> LinearOperator:
    """The Laplacian of a walk that jumps: its sparse part less v 1^T/n, and in the incidence form also 1 v^T/n."""

    def left(x: np.ndarray) -> np.ndarray:
        return np.multiply.outer(jump, x.mean(axis=0))

    def right(x: np.ndarray) -> np.ndarray:
        return np.broadcast_to(np.einsum("n,n...->...", jump, x) / len(jump), x.shape)

    backwards = sparse if incidence else transposed(sparse)

    def forward(x: np.ndarray) -> np.ndarray:
        moved = multiply(sparse, x) - left(x)
        return moved - right(x) if incidence else moved

    def backward(x: np.ndarray) -> np.ndarray:
        moved = multiply(backwards, x) - right(x)
        return moved - left(x) if incidence else moved

    return LinearOperator(
        sparse.shape, matvec=forward, rmatvec=backward, matmat=forward, rmatmat=backward, dtype=np.float64
    )


def sparse_laplacian(walk: Walk, *, incidence: bool) -> csr_array:
    """The Laplacian of a walk; of one that jumps the sparse part, to which `jumping_laplacian` adds the rest."""
    if not incidence:
        return random_walk_laplacian(walk.sparse)
    laplacian = incidence_laplacian(walk.sparse)
    if walk.jump is None:
        return laplacian
    added = walk.jump + walk.jump.mean()

    def raised(rows: slice, part: csr_array) -> csr_array:
        return canonical_csr(part + diagonal_rows(added[rows], rows.start, part.shape[1]))

    return by_rows(raised, laplacian)
