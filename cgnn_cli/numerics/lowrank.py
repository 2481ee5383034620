"""The paper's scores: Eq. 9 evaluated on the edges with a rank-q truncated pseudo-inverse of the DiLap."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

OVERSAMPLING = 10
RESIDUAL_GOAL = 1e-8
MOST_POWER_ITERATIONS = 300


@dataclass(frozen=True)
class TruncatedSvd:
    """T ~ left diag(singular) right^T, with the largest relative residual of the kept triplets."""

    left: np.ndarray
    singular: np.ndarray
    right: np.ndarray
    residual: float
    iterations: int


def truncated_svd(matrix: csr_array, rank: int, seed: int, *, symmetric: bool = False) -> TruncatedSvd:
    """Randomised truncated SVD (Halko, Martinsson and Tropp, 2011): range finder with power iterations.

    A fixed small number of iterations leaves scores that depend on the seed (on citeseer their rank correlation
    between two seeds is 0.66 after 4), so the iterations go on until the residual ||T^T u - s v|| / s_1 is small.
    `symmetric` means positive semi-definite too; then left equals right.
    """
    probes = np.random.default_rng(seed).standard_normal((matrix.shape[0], min(rank + OVERSAMPLING, matrix.shape[0])))
    step = _symmetric_step if symmetric else _general_step
    transposed = matrix if symmetric else csr_array(matrix.T.tocsr())
    basis = np.linalg.qr(transposed @ probes)[0]
    residual, iterations = np.inf, 0
    while residual > RESIDUAL_GOAL and iterations < MOST_POWER_ITERATIONS:
        left, singular, right, image = step(matrix, transposed, basis)
        defect = np.linalg.norm(image[:, :rank] - right[:, :rank] * singular[:rank], axis=0)
        residual = float(defect.max() / singular[0]) if singular[0] > 0 else 0.0
        iterations += 1
        basis = np.linalg.qr(image)[0]
    return TruncatedSvd(left[:, :rank], singular[:rank], right[:, :rank], residual, iterations)


def _symmetric_step(
    matrix: csr_array, transposed: csr_array, basis: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Rayleigh-Ritz: vectors u, values s, u again, and T u."""
    product = matrix @ basis
    values, vectors = np.linalg.eigh(basis.T @ product)
    values, vectors = np.maximum(values[::-1], 0), vectors[:, ::-1]
    ritz = basis @ vectors
    return ritz, values, ritz, product @ vectors


def _general_step(
    matrix: csr_array, transposed: csr_array, basis: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Left vectors u, values s, right vectors v with T v = s u, and T^T u."""
    left, singular, small_right = np.linalg.svd(matrix @ basis, full_matrices=False)
    return left, singular, basis @ small_right.T, transposed @ left


def svd_times(
    factors: TruncatedSvd, perron: np.ndarray, source: np.ndarray, target: np.ndarray
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
    rows, columns = factors.right * inverse / root, factors.left / root
    step = rows[target] - rows[source]
    there = np.einsum("ek,ek->e", step, columns[target])
    back = -np.einsum("ek,ek->e", step, columns[source])
    times = np.einsum("ek,ek->e", step, columns[target] - columns[source])
    return there, back, times
