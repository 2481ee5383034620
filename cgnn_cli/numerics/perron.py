"""The Perron vector: the stationary distribution pi of a walk, pi P = pi, with a certificate.

A small residual alone proves little: the error is about residual / spectral gap. So a vector is accepted only when its
relative residual is small and a refinement solve moves no entry by more than a small relative amount.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, diags_array
from scipy.sparse.linalg import LinearOperator, bicgstab

from cgnn_cli.errors import NumericalError
from cgnn_cli.numerics.transition import canonical_csr

RESIDUAL_LIMIT = 1e-10
CORRECTION_LIMIT = 1e-6
POWER_ROUND = 500
MOST_ROUNDS = 20


@dataclass(frozen=True)
class Perron:
    vector: np.ndarray
    iterations: int
    residual: float
    correction: float


def perron_vector(transition: csr_array, start: np.ndarray) -> Perron:
    """Stationary distribution of an irreducible walk by power iteration with Krylov refinement.

    Rounds of power iteration alternate with refinement solves: with pi <- pi * (1 + y), the relative correction y
    solves (I - P^) y = residual, where P^ is the time-reversed walk. The refinement is both the certificate and the
    acceleration where plain power iteration is slow.
    """
    transposed = canonical_csr(csr_array(transition.T))
    # A walk without a single self-loop may be periodic; the lazy walk has the same stationary distribution.
    lazy = not (transition.diagonal() > 0).any()
    vector = start / start.sum()
    iterations = 0
    residual = correction = np.inf
    for _ in range(MOST_ROUNDS):
        vector, steps = _power_round(transposed, vector, lazy)
        iterations += steps
        if not (vector >= np.finfo(float).tiny).all():
            raise NumericalError(
                "the Perron vector underflows: the walk visits some state less than once in 1e308 steps",
                "look for long chains that lead away from a hub",
            )
        residual = _relative_residual(transposed, vector)
        refined, correction = _refine(transposed, vector)
        accepted = residual <= RESIDUAL_LIMIT and correction <= CORRECTION_LIMIT
        # The correction is known anyway, so an accepted vector carries it too: hitting times inherit the error of pi.
        if refined is not None and (refined_residual := _relative_residual(transposed, refined)) < residual:
            vector, residual = refined, refined_residual
        if accepted:
            return Perron(vector, iterations, residual, correction)
    raise NumericalError(
        f"the Perron vector did not converge: relative residual {residual:.1e} (limit {RESIDUAL_LIMIT:.0e}), "
        f"refinement moves an entry by {correction:.1e} (limit {CORRECTION_LIMIT:.0e})",
        "the walk mixes too slowly; check the graph for long chains, or rewire it with --method path",
    )


def _power_round(transposed: csr_array, vector: np.ndarray, lazy: bool) -> tuple[np.ndarray, int]:
    """Power iteration until the relative change is at rounding level, or the round is over."""
    for step in range(1, POWER_ROUND + 1):
        moved = transposed @ vector
        if lazy:
            moved = (moved + vector) / 2
        moved /= moved.sum()
        if not moved.all():
            return moved, step
        change = np.max(np.abs(moved - vector) / moved)
        vector = moved
        if change <= 1e-14:
            break
    return vector, step


def _relative_residual(transposed: csr_array, vector: np.ndarray) -> float:
    return float(np.max(np.abs(transposed @ vector - vector) / vector))


def _refine(transposed: csr_array, vector: np.ndarray) -> tuple[np.ndarray | None, float]:
    """The refined vector and its largest relative correction; (None, inf) where the solve fails."""
    reversed_walk = canonical_csr(diags_array(1 / vector) @ transposed @ diags_array(vector))
    residual = reversed_walk @ np.ones(len(vector)) - 1
    residual -= vector @ residual
    scale = np.max(np.abs(residual))
    if scale == 0:
        return vector, 0.0

    def apply(y: np.ndarray) -> np.ndarray:
        moved = y - reversed_walk @ y
        # The constant is in the kernel; adding it back makes the system regular.
        return moved + vector @ y

    operator = LinearOperator(reversed_walk.shape, matvec=apply, dtype=np.float64)
    solution, failed = bicgstab(operator, residual / scale, rtol=1e-6, atol=0, maxiter=2000)
    if failed or not np.isfinite(solution).all():
        return None, np.inf
    y = solution * scale
    y -= vector @ y
    refined = vector * (1 + y)
    correction = float(np.max(np.abs(y)))
    if (refined <= 0).any():
        return None, correction
    return refined / refined.sum(), correction
