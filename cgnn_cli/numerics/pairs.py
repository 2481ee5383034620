"""Exact hitting and commute times of chosen pairs of states at any scale: one solve for each state to be hit.

(I - P) y = e_j - pi_j 1, then h(i, j) = (y_j - y_i) / pi_j for every i at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from cgnn_cli.numerics.exact import ByGoal, fundamental_matrix
from cgnn_cli.numerics.krylov import in_order, solve
from cgnn_cli.numerics.walk import Walk

DENSE_SIZE = 2000
DENSE_CUBES = 4e7  # a dense inverse of n states takes as long as n^3 / DENSE_CUBES solves


@dataclass(frozen=True)
class PairTimes:
    """h(source, target), h(target, source), their sum, and the worst relative residual of the solves."""

    there: np.ndarray
    back: np.ndarray
    times: np.ndarray
    residual: float


def pair_times(
    walk: Walk,
    perron: np.ndarray,
    source: np.ndarray,
    target: np.ndarray,
    *,
    tolerance: float = 1e-8,
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> PairTimes:
    """Times of each pair; `progress` hears of the solves done and of their number."""
    pairs = ByGoal.of(source, target)
    count = len(pairs.goals)
    hitting, worst = np.empty(len(pairs.starts)), 0.0
    if walk.size <= DENSE_SIZE and walk.size**3 <= DENSE_CUBES * count:
        hitting, worst = _dense(walk, perron, pairs)
    else:
        task = partial(_hit, Walk(walk.sparse, walk.jump), perron, tolerance)
        items = ((int(pairs.goals[number]), pairs.starts_of(number)) for number in range(count))
        results = in_order(task, items, jobs=jobs, work=float(count) * walk.sparse.nnz)
        for number, (values, residual) in enumerate(results):
            hitting[pairs.bounds[number] : pairs.bounds[number + 1]] = values
            worst = max(worst, residual)
            if progress is not None:
                progress(number + 1, count)
    there, back = pairs.split(hitting)
    return PairTimes(there, back, there + back, worst)


def goal_system(perron: np.ndarray, goal: int) -> np.ndarray:
    """e_j - pi_j 1."""
    rhs = np.full(len(perron), -perron[goal])
    rhs[goal] += 1
    return rhs


def _hit(walk: Walk, perron: np.ndarray, tolerance: float, item: tuple[int, np.ndarray]) -> tuple[np.ndarray, float]:
    """Hitting times of one goal from some starts, and the residual."""
    goal, starts = item
    solved = solve(walk, goal_system(perron, goal), tolerance=tolerance)
    return (solved.x[goal] - solved.x[starts]) / perron[goal], solved.residual


def _dense(walk: Walk, perron: np.ndarray, pairs: ByGoal) -> tuple[np.ndarray, float]:
    """The same from the fundamental matrix, whose columns are the solutions y."""
    matrix = fundamental_matrix(walk, perron)
    goals = np.repeat(pairs.goals, np.diff(pairs.bounds))
    hitting = (matrix[goals, goals] - matrix[pairs.starts, goals]) / perron[goals]
    y = matrix[:, pairs.goals]
    rhs = np.stack([goal_system(perron, goal) for goal in pairs.goals], axis=1)
    left = np.linalg.norm(rhs - y + walk.apply(y), axis=0)
    scale = np.maximum(np.linalg.norm(rhs, axis=0), np.finfo(float).tiny)  # 0 for a walk of a single state
    return hitting, float((left / scale).max())
