"""The paper's scores: Eq. 9 evaluated on the edges with a rank-q truncated pseudo-inverse of the DiLap."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from cgnn_cli import scratch
from cgnn_cli.numerics import csr
from cgnn_cli.numerics.distributed import factor
from cgnn_cli.numerics.threads import run_in_threads, slices

RESIDUAL_GOAL = 1e-8
LANCZOS_GOAL = 1e-9
COARSE_GOAL = 1e-3
LEFTOVER_GOAL = 1e-2
LEFTOVER_BASIS = 12
GAP_GOAL = 1e-6
MOST_RESTARTS = 40
DENSE_STATES = 50
PAIRS_AT_A_TIME = 1 << 13  # whose factors stay in the cache

Product = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class TruncatedSvd:
    """T ~ left diag(singular) right^T, with the largest relative residual of the kept triplets.

    iterations counts the products with T or its transpose. gap is about (s_q - s_{q+1}) / s_1: where it is 0, the cut
    falls inside a group of equal values, and the seed decides which of their vectors are kept. It is rough where the
    residual is above its goal, and 1 where nothing is cut off, or s_q is 0 itself.
    """

    left: np.ndarray
    singular: np.ndarray
    right: np.ndarray
    residual: float
    iterations: int
    gap: float


def truncated_svd(
    matrix: csr_array | LinearOperator, rank: int, seed: int, *, symmetric: bool = False, jobs: int = 1
) -> TruncatedSvd:
    """The largest singular triplets by Lanczos from a seeded vector: on T where it is `symmetric`, else on T^T T.

    A few steps of a randomised range finder leave scores that depend on the seed (on citeseer their rank correlation
    between two seeds is 0.66 after 4), so the residual ||T^T u - s v|| / s_1 is brought down, and recorded.
    `symmetric` means positive semi-definite too; then left equals right. The largest entry of each right
    vector is positive. A sparse T is multiplied by `jobs` threads, with the same bits for any number of them.
    """
    count = matrix.shape[0]
    products = 0
    straight = factor(matrix, jobs) if isinstance(matrix, csr_array) else matrix
    transposed = straight
    if not symmetric:
        transposed = factor(csr.transposed(matrix), jobs) if isinstance(matrix, csr_array) else matrix.H

    def forward(x: np.ndarray) -> np.ndarray:
        nonlocal products
        products += 1
        return straight @ x

    def backward(x: np.ndarray) -> np.ndarray:
        nonlocal products
        products += 1
        return transposed @ x

    rank = min(rank, count)
    # From half the size on, Lanczos would need a basis as large as the matrix.
    if count <= DENSE_STATES or 2 * rank >= count:
        basis, cut = _dense_basis(forward(np.eye(count)), rank, symmetric)
    else:
        gram = forward if symmetric else (lambda x: backward(forward(x)))
        basis, value = _lanczos_basis(gram, count, rank, np.random.default_rng(seed))
        cut = max(value, 0.0) if symmetric else max(value, 0.0) ** 0.5
    left, singular, right, image = (_symmetric_triplets if symmetric else _general_triplets)(forward, backward, basis)
    defect = np.linalg.norm(image - right * singular, axis=0)
    residual = float(defect.max() / singular[0]) if singular[0] > 0 else 0.0
    all_kept = rank == count or singular[-1] <= singular[0] * count * np.finfo(float).eps
    gap = 1.0 if all_kept else float(max(singular[-1] - cut, 0.0) / singular[0])
    signs = signs_of(right)
    return TruncatedSvd(left * signs, singular, right * signs, residual, products, gap)


def _dense_basis(dense: np.ndarray, rank: int, symmetric: bool) -> tuple[np.ndarray, float]:
    """The leading right singular vectors of a small matrix, and the largest singular value that is cut off."""
    if symmetric:
        values, vectors = (part[..., ::-1] for part in np.linalg.eigh(dense))
    else:
        _, values, rows = np.linalg.svd(dense)
        vectors = rows.T
    return vectors[:, :rank], float(values[rank]) if rank < len(values) else 0.0


def _lanczos_basis(gram: Product, count: int, rank: int, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    """The leading eigenvectors, rough where many values are all but equal, and about the largest value cut off."""
    start = rng.standard_normal(count)
    if not gram(start).any():
        return np.eye(count, rank), 0.0
    try:
        values, basis = _eigsh(gram, rank, start, LANCZOS_GOAL, MOST_RESTARTS)
        return _with_repeats(gram, values, basis, rng)
    except ArpackNoConvergence:
        basis = _eigsh(gram, rank, start, COARSE_GOAL)[1]
        return basis, _largest(*_leftover(gram, basis, rng))


def _with_repeats(
    gram: Product, values: np.ndarray, basis: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, float]:
    """A Krylov space holds one vector of each eigenvalue, so of a repeated one too few may have been found.

    What the found vectors leave over is searched in turn, until nothing in it exceeds the smallest value that is kept.
    """
    rank = basis.shape[1]
    for rounds_left in range(rank, -1, -1):
        leftover, start = _leftover(gram, basis, rng)
        largest = _largest(leftover, start, values.min())
        if rounds_left == 0 or largest <= values.min() * (1 + RESIDUAL_GOAL):
            break
        more_values, more_basis = _eigsh(leftover, rank, start, LANCZOS_GOAL, MOST_RESTARTS)
        values, basis = np.concatenate([values, more_values]), np.linalg.qr(np.hstack([basis, more_basis]))[0]
        best = np.argsort(-values, kind="stable")[:rank]
        values, basis = values[best], basis[:, best]
    return basis, largest


def _leftover(gram: Product, known: np.ndarray, rng: np.random.Generator) -> tuple[Product, np.ndarray]:
    """The operator without the known vectors, and a start that has no part in them."""

    def without_known(x: np.ndarray) -> np.ndarray:
        return x - known @ np.einsum("nk,n->k", known, x)

    return lambda x: without_known(gram(x)), without_known(rng.standard_normal(len(known)))


def _largest(leftover: Product, start: np.ndarray, kept: float = np.inf) -> float:
    """The largest eigenvalue of what is left over, sharp where it is close to what is kept and that is soon done."""
    value = _eigsh(leftover, 1, start, LEFTOVER_GOAL, basis=LEFTOVER_BASIS)[0][0]
    if value >= kept * (1 - 2 * LEFTOVER_GOAL):
        with suppress(ArpackNoConvergence):
            value = _eigsh(leftover, 1, start, GAP_GOAL, MOST_RESTARTS, LEFTOVER_BASIS)[0][0]
    return float(value)


def _eigsh(
    gram: Product, rank: int, start: np.ndarray, goal: float, restarts: int | None = None, basis: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    operator = LinearOperator((len(start), len(start)), matvec=gram, dtype=np.float64)
    values, vectors = eigsh(operator, rank, which="LA", v0=start, tol=goal, maxiter=restarts, ncv=basis)
    return values, vectors


def _symmetric_triplets(
    forward: Product, backward: Product, basis: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Rayleigh-Ritz: vectors u, values s, u again, and T u."""
    product = forward(basis)
    values, vectors = np.linalg.eigh(basis.T @ product)
    values, vectors = np.maximum(values[::-1], 0), vectors[:, ::-1]
    ritz = basis @ vectors
    return ritz, values, ritz, product @ vectors


def _general_triplets(
    forward: Product, backward: Product, basis: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Left vectors u, values s, right vectors v with T v = s u, and T^T u."""
    left, singular, small_right = np.linalg.svd(forward(basis), full_matrices=False)
    return left, singular, basis @ small_right.T, backward(left)


def signs_of(vectors: np.ndarray) -> np.ndarray:
    """-1 for each column whose first entry of about the largest size is negative."""
    sizes = np.abs(vectors)
    first = np.argmax(sizes >= sizes.max(axis=0) * (1 - 1e-6), axis=0)
    return np.where(np.take_along_axis(vectors, first[None], axis=0)[0] < 0, -1.0, 1.0)


def svd_times(
    factors: TruncatedSvd, perron: np.ndarray, source: np.ndarray, target: np.ndarray, *, jobs: int = 1
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Truncation scores h(source, target), h(target, source) and c on pairs of states.

    h(i, j) = T+_jj / pi_j - T+_ij / sqrt(pi_i pi_j), with T+ ~ V S^-1 U^T from the q largest singular values. With
    R = V S^-1 / sqrt(pi) and C = U / sqrt(pi) this is (R_j - R_i) C_j, and c = (R_i - R_j)(C_i - C_j): differences
    first, because the terms agree in most digits, and because c is then never negative where T is symmetric.
    """
    usable = factors.singular > factors.singular.max(initial=0) * len(perron) * np.finfo(float).eps
    inverse = np.zeros_like(factors.singular)
    inverse[usable] = 1 / factors.singular[usable]
    root = np.sqrt(perron)[:, None]
    # R and C of a state lie side by side, as states are looked up at random.
    panel = np.hstack([factors.right * inverse / root, factors.left / root])
    rank, scores = len(inverse), scratch.empty((3, len(source)))

    def fill(pairs: slice) -> None:
        start, end = np.take(panel, source[pairs], axis=0), np.take(panel, target[pairs], axis=0)
        step, columns = end[:, :rank] - start[:, :rank], end[:, rank:] - start[:, rank:]
        scores[0, pairs] = np.einsum("ek,ek->e", step, end[:, rank:])
        scores[1, pairs] = -np.einsum("ek,ek->e", step, start[:, rank:])
        scores[2, pairs] = np.einsum("ek,ek->e", step, columns)

    run_in_threads(fill, slices(len(source), PAIRS_AT_A_TIME), jobs)
    return scores[0], scores[1], scores[2]
