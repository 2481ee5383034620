"""The Perron vector: the stationary distribution pi of a walk, pi P = pi, with a certificate.

A small residual alone proves little: the error is about residual / spectral gap. So a vector is accepted only when its
relative residual is small and a refinement solve moves no entry by more than a small relative amount.
"""

from dataclasses import dataclass

import numpy as np

from cgnn_cli.errors import NumericalError
from cgnn_cli.numerics.censored import Censored, chain_states, regular_solve
from cgnn_cli.numerics.walk import Walk

RESIDUAL_LIMIT = 1e-10
CORRECTION_LIMIT = 1e-6
ROUNDING = 16 * np.finfo(float).eps
SOLVED = 1e-3
FIRST_ROUND = 50
POWER_ROUND = 500
MOST_ROUNDS = 8


@dataclass(frozen=True)
class Perron:
    vector: np.ndarray
    iterations: int
    residual: float
    correction: float


def perron_vector(walk: Walk, start: np.ndarray) -> Perron:
    """Stationary distribution of an irreducible walk by power iteration with Krylov refinement.

    Where a few steps are not enough, the iteration goes on with the walk censored on the states that are not on
    chains. Rounds of power iteration alternate with refinement solves: with pi <- pi * (1 + y), the relative correction
    y solves (I - R) y = residual, where R is the time-reversed walk. The refinement is both the certificate and the
    acceleration where plain power iteration is slow.
    """
    vector, iterations, settled = _power(walk, start / start.sum(), FIRST_ROUND)
    _check_underflow(vector)
    censored = None if settled else _censored(walk, vector)
    if censored is not None:
        vector, steps = _censored_power(walk, censored, vector)
        iterations += steps
    residual = correction = np.inf
    for number in range(MOST_ROUNDS):
        vector, steps, _ = _power(walk, vector, POWER_ROUND if censored is None else FIRST_ROUND)
        iterations += steps
        _check_underflow(vector)
        residual = _relative_residual(walk, vector)
        refined, correction = _refine(walk, vector, censored, seed=number)
        if np.isinf(correction):
            # A chain that is hard to leave spoils its factors; a periodic chain spoils the plain solve.
            censored = _censored(walk, vector) if censored is None else None
        elif residual <= ROUNDING and correction > CORRECTION_LIMIT:
            break  # no better vector can be told from this one
        accepted = residual <= RESIDUAL_LIMIT and correction <= CORRECTION_LIMIT
        # The correction is known anyway, so an accepted vector carries it too: hitting times inherit the error of pi.
        if refined is not None and (refined_residual := _relative_residual(walk, refined)) < residual:
            vector, residual = refined, refined_residual
        if accepted:
            return Perron(vector, iterations, residual, correction)
    raise NumericalError(
        f"the Perron vector did not converge: relative residual {residual:.1e} (limit {RESIDUAL_LIMIT:.0e}), "
        f"refinement moves an entry by {correction:.1e} (limit {CORRECTION_LIMIT:.0e})",
        "the walk mixes too slowly; check the graph for long chains, or rewire it with --method path",
    )


def _power(walk: Walk, vector: np.ndarray, most: int) -> tuple[np.ndarray, int, bool]:
    """Power iteration until the relative change is at rounding level; whether it came that far."""
    # A walk without a single self-loop may be periodic; the lazy walk has the same stationary distribution.
    lazy = not (walk.diagonal() > 0).any()
    for step in range(1, most + 1):
        moved = walk.apply_transposed(vector)
        if lazy:
            moved = (moved + vector) / 2
        moved /= moved.sum()
        if not moved.all():
            return moved, step, False
        change = np.max(np.abs(moved - vector) / moved)
        vector = moved
        if change <= 1e-14:
            return vector, step, True
    return vector, most, False


def _check_underflow(vector: np.ndarray) -> None:
    if not (vector >= np.finfo(float).tiny).all():
        raise NumericalError(
            "the Perron vector underflows: the walk visits some state less than once in 1e308 steps",
            "look for long chains that lead away from a hub",
        )


def _censored(walk: Walk, vector: np.ndarray) -> Censored | None:
    """The walk without its chains, where there are any that can be eliminated."""
    if walk.jump is not None:
        return None
    chain = chain_states(walk, int(np.argmax(vector)))
    try:
        return Censored(walk, chain) if chain.any() else None
    except RuntimeError:
        return None


def _censored_power(walk: Walk, censored: Censored, vector: np.ndarray) -> tuple[np.ndarray, int]:
    """Power iteration of the censored walk; the given vector where it comes to nothing."""
    mass = vector[censored.rest] / vector[censored.rest].sum()
    for step in range(1, POWER_ROUND + 1):
        moved = censored.step(mass)
        moved /= moved.sum()
        if not (moved > 0).all():
            return vector, step
        change = np.max(np.abs(moved - mass) / moved)
        mass = moved
        if change <= 1e-14:
            break
    found = censored.extend(mass)
    found /= found.sum()
    return (found if (found >= np.finfo(float).tiny).all() else vector), step


def _relative_residual(walk: Walk, vector: np.ndarray) -> float:
    return float(np.max(np.abs(walk.apply_transposed(vector) - vector) / vector))


def _refine(walk: Walk, vector: np.ndarray, censored: Censored | None, *, seed: int) -> tuple[np.ndarray | None, float]:
    """The refined vector and its largest relative correction; (None, inf) where the solve fails."""
    residual = walk.apply_transposed(vector) / vector - 1
    residual -= vector @ residual
    exact = np.max(np.abs(residual)) <= ROUNDING
    if exact:
        # Nothing left to refine: what is asked is how far an error of rounding size may move the vector.
        residual += np.finfo(float).eps * np.random.default_rng(seed).standard_normal(len(vector))
        residual -= vector @ residual

    def reversed_step(y: np.ndarray) -> np.ndarray:
        return walk.apply_transposed(vector * y) / vector

    y = regular_solve(reversed_step, vector, residual) if censored is None else censored.solve(vector, residual)
    if y is None:
        return None, np.inf
    y -= vector @ y
    defect = np.linalg.norm(y - reversed_step(y) - residual)
    if not defect <= SOLVED * np.linalg.norm(residual):
        return None, np.inf
    correction = float(np.max(np.abs(y)))
    if exact:
        return vector, correction
    refined = vector * (1 + y)
    if (refined <= 0).any():
        return None, correction
    return refined / refined.sum(), correction
