"""The paper's scores: Eq. 9 evaluated on the edges with a rank-q truncated pseudo-inverse of the DiLap."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

OVERSAMPLING = 10
POWER_ITERATIONS = 4


@dataclass(frozen=True)
class TruncatedSvd:
    """T ~ left diag(singular) right^T."""

    left: np.ndarray
    singular: np.ndarray
    right: np.ndarray


def truncated_svd(matrix: csr_array, rank: int, seed: int, *, symmetric: bool = False) -> TruncatedSvd:
    """Randomised truncated SVD (Halko, Martinsson and Tropp, 2011): range finder, power iterations, small problem.

    For a symmetric positive semi-definite matrix the small problem is an eigenproblem, so that left equals right.
    """
    size = matrix.shape[0]
    transposed = matrix if symmetric else csr_array(matrix.T)
    probes = np.random.default_rng(seed).standard_normal((size, min(rank + OVERSAMPLING, size)))
    basis = np.linalg.qr(matrix @ probes)[0]
    for _ in range(POWER_ITERATIONS):
        basis = np.linalg.qr(transposed @ basis)[0]
        basis = np.linalg.qr(matrix @ basis)[0]
    if symmetric:
        values, vectors = np.linalg.eigh(basis.T @ (matrix @ basis))
        largest = np.argsort(-values, kind="stable")[:rank]
        left = basis @ vectors[:, largest]
        return TruncatedSvd(left, np.maximum(values[largest], 0), left)
    small_left, singular, right = np.linalg.svd((transposed @ basis).T, full_matrices=False)
    return TruncatedSvd((basis @ small_left)[:, :rank], singular[:rank], right[:rank].T)


def svd_residual(matrix: csr_array, factors: TruncatedSvd) -> float:
    """Largest relative residual ||T v_k - s_k u_k|| / s_1 over the kept triplets."""
    largest = factors.singular.max(initial=0)
    if largest == 0:
        return 0.0
    defect = matrix @ factors.right - factors.left * factors.singular
    return float(np.max(np.linalg.norm(defect, axis=0)) / largest)


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
