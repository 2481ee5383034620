"""Solves with I - P for one right-hand side at a time: BiCGSTAB without a preconditioner, GMRES where it fails.

The kernel of I - P is the constant vector, which cancels in every difference of entries: nothing is projected out.
Sums are taken by `einsum`, never by BLAS: a solve gives the same bits with any number of threads and in any process.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.sparse.linalg import LinearOperator, gmres

from cgnn_cli.errors import NumericalError

BREAKDOWN = 1e-14  # a cosine between two vectors this small has no digits left
STAGNATION = 200  # iterations without a new least residual
MOST_RESTARTS = 10
GMRES_BASIS = 200
GMRES_BYTES = 1 << 29  # what the basis may take
GMRES_CYCLES = 5
Measure = Callable[[np.ndarray], float]


def _dot(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.einsum("i,i->", a, b))


def _norm(vector: np.ndarray) -> float:
    return float(np.sqrt(_dot(vector, vector)))


@dataclass(frozen=True)
class Solved:
    """A solution, up to a constant, with the true relative residual |rhs - (I - P) x| / |rhs|."""

    x: np.ndarray
    iterations: int
    residual: float


@dataclass
class _Best:
    """The iterate of the least true residual so far."""

    x: np.ndarray
    residual: np.ndarray
    norm: float
    iterations: int = 0
    measure: Measure = _norm  # of residuals


class Operator(Protocol):
    """P in I - P."""

    def apply(self, x: np.ndarray, /) -> np.ndarray: ...


def solve(
    walk: Operator,
    rhs: np.ndarray,
    *,
    tolerance: float = 1e-10,
    enough: float | None = None,
    most: int = 2000,
    measure: Measure | None = None,
) -> Solved:
    """x with (I - P) x = rhs, for a right-hand side with pi^T rhs = 0.

    Where BiCGSTAB breaks down or stands still it starts again from its best iterate with another shadow vector;
    GMRES gets what it leaves, but for a norm of the residual other than Euclid's. A solution that misses the tolerance,
    or `enough` if given, is an error.
    """
    size = (measure or _norm)(rhs)
    best = _Best(np.zeros(len(rhs)), rhs.copy(), size, measure=measure or _norm)
    goal = tolerance * size
    if not np.isfinite(size):
        raise NumericalError("the right-hand side of a solve is not finite")
    shadows = np.random.default_rng(0)
    for attempt in range(1 + MOST_RESTARTS):
        if best.norm <= goal or best.iterations >= most:
            break
        _bicgstab(walk, rhs, best, goal, most, shadows.standard_normal(len(rhs)) if attempt else best.residual)
    if best.norm > goal and measure is None:
        _gmres(walk, rhs, best, goal)
    relative = best.norm / size if size else 0.0
    if relative > (tolerance if enough is None else enough):
        raise NumericalError(
            f"a solve with the walk stopped at a residual of {relative:.1e} (goal {tolerance:.0e}) "
            f"after {best.iterations} iterations",
            "the walk mixes too slowly for exact solves; look for long chains in the graph",
        )
    return Solved(best.x, best.iterations, relative)


def _keep(walk: Operator, rhs: np.ndarray, x: np.ndarray, best: _Best) -> None:
    """Take x if its true residual is less."""
    residual = rhs - x + walk.apply(x)
    norm = best.measure(residual)
    if norm < best.norm:  # false for NaN
        best.x, best.residual, best.norm = x, residual, norm


def _bicgstab(walk: Operator, rhs: np.ndarray, best: _Best, goal: float, most: int, shadow: np.ndarray) -> None:
    """Improve the best iterate until the goal, `most` iterations, a breakdown or standstill."""
    x, r = best.x.copy(), best.residual.copy()
    p, kept, kept_norm = r.copy(), x.copy(), best.norm
    least, least_at = best.norm, best.iterations
    shadow_norm = _norm(shadow)
    rho = _dot(shadow, r)
    with np.errstate(all="ignore"):
        while best.iterations < most and abs(rho) > BREAKDOWN * shadow_norm * _norm(r):
            best.iterations += 1
            v = p - walk.apply(p)
            across = _dot(shadow, v)
            alpha = rho / across if across else np.nan
            s = r - alpha * v
            t = s - walk.apply(s)
            t_norm, s_norm = _norm(t), _norm(s)
            along = _dot(t, s)
            omega = along / t_norm**2 if t_norm else 0.0
            x += alpha * p
            x += omega * s
            r = s - omega * t
            norm = best.measure(r)
            if not np.isfinite(norm) or norm <= goal or abs(along) <= BREAKDOWN * t_norm * s_norm:
                break
            if norm < least:
                least, least_at = norm, best.iterations
                if norm < kept_norm / 10:  # a later breakdown loses no more than a digit
                    kept, kept_norm = x.copy(), norm
            elif best.iterations - least_at >= STAGNATION:
                break
            rho, before = _dot(shadow, r), rho
            p -= omega * v
            p *= rho / before * (alpha / omega)
            p += r
    for candidate in (x, kept):
        _keep(walk, rhs, candidate, best)


def _gmres(walk: Operator, rhs: np.ndarray, best: _Best, goal: float) -> None:
    """Improve the best iterate by restarted GMRES."""
    size = len(rhs)
    basis = max(1, min(size, GMRES_BASIS, GMRES_BYTES // (8 * size)))
    operator = LinearOperator((size, size), matvec=lambda y: y - walk.apply(y), dtype=np.float64)
    counted: list[float] = []
    with np.errstate(all="ignore"):
        x, _ = gmres(
            operator,
            rhs,
            x0=best.x,
            rtol=0,
            atol=goal,
            restart=basis,
            maxiter=GMRES_CYCLES,
            callback=counted.append,
            callback_type="pr_norm",
        )
    best.iterations += len(counted)
    _keep(walk, rhs, x, best)
