"""The random walk: transition matrix and digraph Laplacian."""

import numpy as np
from scipy.sparse import csr_array, diags_array
from scipy.sparse.linalg import LinearOperator

from cgnn_cli.errors import DataError
from cgnn_cli.numerics.csr import canonical_csr, row_of_entries, without_self_loops
from cgnn_cli.numerics.distributed import multiply
from cgnn_cli.numerics.walk import Walk


def transition_matrix(adjacency: csr_array) -> csr_array:
    """P = D^-1 A, row-stochastic."""
    totals = np.asarray(adjacency.sum(axis=1)).ravel()
    if (totals <= 0).any():
        node = int(np.argmax(totals <= 0))
        raise DataError(f"state {node} of the walk has no way out, so its transition probabilities are undefined")
    shares = adjacency.data / totals[row_of_entries(adjacency)]
    return canonical_csr(csr_array((shares, adjacency.indices, adjacency.indptr), shape=adjacency.shape))


def teleporting_walk(adjacency: csr_array, gamma: float) -> Walk:
    """P = gamma D^-1 A + (1 - gamma) 1 1^T / N; a state without a way out always jumps."""
    totals = np.asarray(adjacency.sum(axis=1)).ravel()
    shares = gamma * (adjacency.data / totals[row_of_entries(adjacency)])
    sparse = canonical_csr(csr_array((shares, adjacency.indices, adjacency.indptr), shape=adjacency.shape))
    return Walk(sparse, np.where(totals > 0, 1 - gamma, 1.0))


def escaping_walk(adjacency: csr_array, jump: np.ndarray) -> Walk:
    """P = (1 - v) D^-1 A + v 1^T / N with a chance v of each state; D^-1 A itself, bit for bit, where all are 0."""
    sparse = transition_matrix(adjacency)
    if not jump.any():
        return Walk(sparse)
    sparse.data *= (1 - jump)[row_of_entries(sparse)]
    return Walk(sparse, jump)


def incidence_laplacian(transition: csr_array) -> csr_array:
    """T = B diag(P_ij) B^T with B the signed incidence matrix: the Laplacian of the weights P + P^T.

    Self-loops contribute nothing. Symmetric, and its rows sum to zero (Eq. 5 of the paper).
    """
    moves = without_self_loops(transition)
    symmetric = canonical_csr(moves + moves.T)
    degree = np.asarray(symmetric.sum(axis=1)).ravel()
    return canonical_csr(diags_array(degree, shape=symmetric.shape) - symmetric)


def random_walk_laplacian(transition: csr_array) -> csr_array:
    """T = I - P, the form that the paper's proof uses."""
    return canonical_csr(diags_array(np.ones(transition.shape[0])) - transition)


def jumping_laplacian(sparse: csr_array, jump: np.ndarray, *, incidence: bool) -> LinearOperator:
    """The Laplacian of a walk that jumps: its sparse part less v 1^T/n, and in the incidence form also 1 v^T/n."""

    def left(x: np.ndarray) -> np.ndarray:
        return np.multiply.outer(jump, x.mean(axis=0))

    def right(x: np.ndarray) -> np.ndarray:
        return np.broadcast_to(np.einsum("n,n...->...", jump, x) / len(jump), x.shape)

    transposed = sparse if incidence else csr_array(sparse.T.tocsr())

    def forward(x: np.ndarray) -> np.ndarray:
        moved = multiply(sparse, x) - left(x)
        return moved - right(x) if incidence else moved

    def backward(x: np.ndarray) -> np.ndarray:
        moved = multiply(transposed, x) - right(x)
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
    return canonical_csr(laplacian + diags_array(walk.jump + walk.jump.mean()))
