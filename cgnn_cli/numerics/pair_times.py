"""Exact hitting and commute times of chosen pairs of states at any scale: one solve for each state to be hit.

(I - P) y = e_j - pi_j 1, then h(i, j) = (y_j - y_i) / pi_j for every i at once. The residual of a solve is relative to
the right-hand side, whose norm is about 1, but y_j - y_i may be as small as pi_j. So it is judged relative to that
difference. Times that fail come from the absorbing system (I - Q) h = 1 instead, with Q = P without the row and column
of j. A residual r of it bounds the relative error of every time by max |r|: the error is (I - Q)^-1 r, the time
(I - Q)^-1 1, and the inverse is not negative.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from cgnn_cli.numerics.exact import ByGoal, fundamental_matrix
from cgnn_cli.numerics.krylov import solve
from cgnn_cli.numerics.threads import in_order
from cgnn_cli.numerics.walk import Walk

TOLERANCE = 1e-10
ENOUGH = 1e-8  # what a solve must reach at least
DOUBTFUL = 1e-6  # residual relative to the answer, above which a goal is solved for again
ROUNDS, ROUND = 5, 1e-4  # of solves for absorbing systems, and what each is to gain
STEPS = 64
MOST_ABSORBING = 300  # iterations of each such solve
DENSE_SIZE = 2000
DENSE_CUBES = 4e7  # a dense inverse of n states takes as long as n^3 / DENSE_CUBES solves


def dense_pays(states: int, solves: int) -> bool:
    """Whether the fundamental matrix of a small walk is faster than so many solves."""
    return states <= DENSE_SIZE and states**3 <= DENSE_CUBES * solves


@dataclass(frozen=True)
class PairTimes:
    """h(source, target), h(target, source), their sum, and the worst residual of a solve relative to its answers."""

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
    dense: bool = True,
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> PairTimes:
    """Times of each pair; `progress` hears of the solves done and of their number.

    With `dense`, many pairs of a small walk come from its fundamental matrix, which is faster.
    """
    pairs = ByGoal.of(source, target)
    count = len(pairs.goals)
    hitting, relative = np.empty((2, len(pairs.starts)))
    goals = np.arange(count)
    if dense and dense_pays(walk.size, count):
        hitting, relative = _dense(walk, perron, pairs)
        goals = np.unique(np.repeat(goals, np.diff(pairs.bounds))[relative > DOUBTFUL])
    task = partial(_hit, Walk(walk.sparse, walk.jump), perron)
    items = ((int(pairs.goals[number]), pairs.starts_of(int(number))) for number in goals)
    results = in_order(task, items, jobs=jobs, work=float(len(goals)) * walk.sparse.nnz)
    for done, (number, found) in enumerate(zip(goals, results, strict=True), 1):
        part = slice(pairs.bounds[number], pairs.bounds[number + 1])
        hitting[part], relative[part] = found
        if progress is not None:
            progress(done, len(goals))
    there, back = pairs.split(hitting)
    return PairTimes(there, back, there + back, float(relative.max(initial=0.0)))


def goal_system(perron: np.ndarray, goal: int) -> np.ndarray:
    """e_j - pi_j 1."""
    rhs = np.full(len(perron), -perron[goal])
    rhs[goal] += 1
    return rhs


def _hit(walk: Walk, perron: np.ndarray, item: tuple[int, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Hitting times of one goal from some starts, and the residual relative to each."""
    goal, starts = item
    rhs = goal_system(perron, goal)
    solved = solve(walk, rhs, tolerance=TOLERANCE, enough=ENOUGH)
    answers = solved.x[goal] - solved.x
    times = answers / perron[goal]
    relative = _relative(solved.residual * float(np.linalg.norm(rhs)), answers[starts], starts == goal)
    hitting = times[starts]
    if (relative > DOUBTFUL).any():
        improved, bound = absorbing_times(walk, goal, times)
        better = relative > max(DOUBTFUL, bound)
        hitting[better], relative[better] = improved[starts[better]], bound
    return hitting, relative


def _relative(left: np.ndarray | float, answers: np.ndarray, there: np.ndarray) -> np.ndarray:
    """A residual relative to each answer: 0 for a start that is the goal, infinite for another answer of 0 or less."""
    relative = np.where(there, 0.0, np.inf)
    np.divide(left, answers, out=relative, where=(answers > 0) & ~there)
    return relative


@dataclass(frozen=True)
class _Absorbing:
    """Q."""

    walk: Walk
    goal: int

    def apply(self, x: np.ndarray) -> np.ndarray:
        inside = x.copy()
        inside[self.goal] = 0
        moved = self.walk.apply(inside)
        moved[self.goal] = 0
        return moved


def absorbing_times(walk: Walk, goal: int, times: np.ndarray) -> tuple[np.ndarray, float]:
    """Times of hitting the goal from all states, improved as far as doubles allow, and a bound of their errors.

    A solve ends where the largest times lose their last digits. Steps h <- 1 + Q h then bring the small ones near the
    goal to theirs, and make no residual larger.
    """
    system = _Absorbing(walk, goal)
    best, least = _step(system, np.maximum(times, 0))[0], np.inf
    times = best
    for _ in range(ROUNDS):
        _, left = _step(system, times)
        bound = float(np.abs(left).max())
        if not bound < least / 2:
            break
        best, least = times, bound
        times = np.maximum(times + solve(system, left, tolerance=ROUND, enough=np.inf, most=MOST_ABSORBING).x, 0)
    for _ in range(STEPS):
        best, _ = _step(system, best)
    rounding = np.finfo(float).eps * float(best.max())  # of the residual itself
    return best, float(np.abs(_step(system, best)[1]).max()) + rounding


def _step(system: _Absorbing, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """1 + Q h, and how far it is from h: the residual."""
    after = 1 + system.apply(times)
    after[system.goal] = 0
    return after, after - times


def _dense(walk: Walk, perron: np.ndarray, pairs: ByGoal) -> tuple[np.ndarray, np.ndarray]:
    """The same for all goals from the fundamental matrix, whose columns are the solutions y."""
    matrix = fundamental_matrix(walk, perron)
    repeats = np.diff(pairs.bounds)
    goals = np.repeat(pairs.goals, repeats)
    answers = matrix[goals, goals] - matrix[pairs.starts, goals]
    y = matrix[:, pairs.goals]
    rhs = np.stack([goal_system(perron, goal) for goal in pairs.goals], axis=1)
    left = np.linalg.norm(rhs - y + walk.apply(y), axis=0)
    return answers / perron[goals], _relative(np.repeat(left, repeats), answers, pairs.starts == goals)
