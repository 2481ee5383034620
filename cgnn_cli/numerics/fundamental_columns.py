"""Columns and rows of the fundamental matrix Z = (I - P + 1 pi^T)^-1 of a jumping walk P = S + v u^T, u uniform.

S lacks v to the row sums of P, (I - S) 1 = v, so that Z is known from solves with I - S, which is well conditioned:

    Z e_l   = y - pi_l t + c 1      (I - S) y = e_l,     (I - S) t = 1,       c from  pi^T Z = pi^T
    e_l^T Z = w - b + c pi          (I - S^T) w = e_l,   (I - S^T) b = pi,    c from  Z 1 = 1

and pi is in proportion to (I - S^T)^-1 u. All right-hand sides are solved for at once by X <- S X + E, whose error
shrinks with the largest row sum of S in each step. Every sum runs in one order: bits do not depend on threads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cgnn_cli.errors import NumericalError
from cgnn_cli.numerics.distributed import multiply
from cgnn_cli.numerics.walk import Walk

GOAL = 1e-10
MOST = 5000


@dataclass(frozen=True)
class Fundamental:
    """Z_il for the chosen l, Z_li with a column each too, pi, and the largest residual relative to its right-hand side.

    A residual is measured in the norm in which the steps contract: the largest entry for columns, their sum for rows.
    """

    columns: np.ndarray
    rows: np.ndarray
    perron: np.ndarray
    residual: float


def fundamental_columns(walk: Walk, chosen: np.ndarray) -> Fundamental:
    """Columns and rows of Z for the chosen states of a walk that jumps from everywhere."""
    assert walk.jump is not None and walk.jump.min() > 0
    units = np.zeros((walk.size, len(chosen) + 1))
    units[chosen, np.arange(len(chosen))] = 1
    units[:, -1] = 1
    y, first = _solve(lambda x: multiply(walk.sparse, x), units, lambda x: np.abs(x).max(axis=0))
    y, t = y[:, :-1], y[:, -1]
    units[:, -1] /= walk.size
    w, second = _solve(lambda x: multiply(walk.transposed, x), units, lambda x: np.abs(x).sum(axis=0))
    w, perron = w[:, :-1], w[:, -1] / w[:, -1].sum()
    b, third = _solve(lambda x: multiply(walk.transposed, x), perron[:, None], lambda x: np.abs(x).sum(axis=0))
    z = y - np.multiply.outer(t, perron[chosen])
    z += perron[chosen] - np.einsum("n,nl->l", perron, z)
    rows = w - b
    rows += np.multiply.outer(perron, 1 - rows.sum(axis=0))
    return Fundamental(z, rows, perron, max(first, second, third))


def _solve(
    step: Callable[[np.ndarray], np.ndarray], rhs: np.ndarray, size: Callable[[np.ndarray], np.ndarray]
) -> tuple[np.ndarray, float]:
    """X with X - S X = rhs, and the largest relative residual."""
    x, moved = rhs.copy(), step(rhs)
    for _ in range(MOST):
        if (size(moved) <= GOAL / 2 * size(rhs)).all():
            return x, float((size(rhs - x + step(x)) / size(rhs)).max(initial=0))
        x += moved  # what is left of the right-hand side is S^k rhs
        moved = step(moved)
    raise NumericalError(f"solves with a jumping walk did not reach a residual of {GOAL:.0e} in {MOST} steps")
