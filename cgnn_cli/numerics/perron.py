"""The Perron vector: the stationary distribution pi of a walk, pi P = pi, with a certificate.

A small residual alone proves little: the error is about residual / spectral gap. So a vector is accepted only when its
relative residual is small and a refinement solve moves no entry by more than a small relative amount; nor does a second
solve, which asks how far errors of rounding size reach.
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
        before = _relative_residual(walk, vector)
        vector, residual, correction = _refine(walk, vector, before, censored)
        if before <= RESIDUAL_LIMIT and correction <= CORRECTION_LIMIT:
            correction = max(correction, _rounding_doubt(walk, vector, censored, seed=number))
            if correction <= CORRECTION_LIMIT:
                return Perron(vector, iterations, residual, correction)
            if residual <= ROUNDING and np.isfinite(correction):
                break  # no better vector can be told from this one
        if np.isinf(correction):
            # A chain that is hard to leave spoils its factors; a periodic chain spoils the plain solve.
            censored = _censored(walk, vector) if censored is None else None
    raise NumericalError(
        f"the Perron vector did not converge: relative residual {residual:.1e} (limit {RESIDUAL_LIMIT:.0e}), "
        f"refinement moves an entry by {correction:.1e} (limit {CORRECTION_LIMIT:.0e})",
        "the walk mixes too slowly; check the graph for long chains, or rewire it with --method escape or teleport",
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


def _refine(
    walk: Walk, vector: np.ndarray, residual: float, censored: Censored | None
) -> tuple[np.ndarray, float, float]:
    """The refined vector where it is better, its residual, and the largest correction; inf where the solve fails."""
    if residual <= ROUNDING:
        return vector, residual, 0.0
    y = _relative_correction(walk, vector, censored, _balance(walk, vector))
    if y is None:
        return vector, residual, np.inf
    correction = float(np.max(np.abs(y)))
    refined = vector * (1 + y)
    if (refined <= 0).any():
        return vector, residual, correction
    refined /= refined.sum()
    # The correction is known anyway, so an accepted vector carries it too: hitting times inherit the error of pi.
    better = (refined_residual := _relative_residual(walk, refined)) < residual
    return (refined, refined_residual, correction) if better else (vector, residual, correction)


def _rounding_doubt(walk: Walk, vector: np.ndarray, censored: Censored | None, *, seed: int) -> float:
    """How far an error of rounding size may move an entry of the vector.

    A residual says nothing of the slowest modes: beside fast ones they are lost in it, and alone they are less than
    rounding. Noise has a part in every mode.
    """
    noise = np.finfo(float).eps * np.random.default_rng(seed).standard_normal(len(vector))
    y = _relative_correction(walk, vector, censored, _balance(walk, vector) + noise)
    return np.inf if y is None else float(np.max(np.abs(y)))


def _balance(walk: Walk, vector: np.ndarray) -> np.ndarray:
    """The relative excess of what flows into each state over what is there."""
    balance: np.ndarray = walk.apply_transposed(vector) / vector - 1
    return balance


def _relative_correction(
    walk: Walk, vector: np.ndarray, censored: Censored | None, right: np.ndarray
) -> np.ndarray | None:
    """y with (I - R) y = right for the reversed walk R; None where the solve fails."""
    right = right - vector @ right

    def reversed_step(y: np.ndarray) -> np.ndarray:
        return walk.apply_transposed(vector * y) / vector

    y = regular_solve(reversed_step, vector, right) if censored is None else censored.solve(vector, right)
    if y is None:
        return None
    y -= vector @ y
    defect = np.linalg.norm(y - reversed_step(y) - right)
    return y if defect <= SOLVED * np.linalg.norm(right) else None
