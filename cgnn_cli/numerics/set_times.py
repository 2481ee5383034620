"""Expected steps to a set of states, and which of several sets is met first: systems of the walk that ends there.

Outside the set, (I - Q) h = 1, where Q is P without the rows and columns of the set; with q_k the chances to step into
set k, (I - Q) f_k = q_k for the probabilities that k is met first. I - Q is kept as the chances to leave a state: its
diagonal is their sum, so that (I - Q) 1 = q holds to the last digit however rarely the sets are met.

Nearly absorbing walks: the constant is the one slow mode that the sets add. It is solved for by pi, and what is left
has the system of the walk that goes on, where it meets a set, as if it came out of it in equilibrium: that mixes as the
whole walk does, and is given to a Krylov method in rounds, with residuals in extended precision.

Certificate: (I - Q)^-1 is not negative, so a residual r leaves each time a relative error of at most max |r|, and each
probability an absolute one of at most max |r| times the largest time. Where that is not small, and the walk is, states
are eliminated without a subtraction, which is right to the last digits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.sparse import csr_array

from cgnn_cli.errors import NumericalError
from cgnn_cli.numerics import krylov
from cgnn_cli.numerics.csr import row_of_entries, without_self_loops
from cgnn_cli.numerics.distributed import multiply
from cgnn_cli.numerics.elimination import MOST_ELIMINATION, eliminated_absorption, elimination_work
from cgnn_cli.numerics.threads import in_order
from cgnn_cli.numerics.walk import Walk

GOAL = 1e-10  # of errors
DOUBTFUL, UNUSABLE = 1e-6, 1e-2  # errors above which states are eliminated, and a result is refused
ROUNDS, ROUND = 8, 1e-6  # of solves, and what each is to gain
SOLVES = 2  # what a set takes is about that of so many to 1e-10
Extended = np.longdouble
ROUNDING = 16 * float(np.finfo(Extended).eps)


@dataclass(frozen=True)
class SetTimes:
    """Steps from every state to each set (a column each), and the probabilities that it is met first.

    error, first_error: bounds, of the relative errors of the steps to each set, and of the errors of probabilities.
    """

    steps: np.ndarray
    error: np.ndarray
    first: np.ndarray | None = None
    first_error: float = 0.0


def set_times(
    walk: Walk,
    perron: np.ndarray,
    sets: Sequence[np.ndarray],
    *,
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> SetTimes:
    """Steps to each of some disjoint sets of states on an irreducible walk, the others being passed through."""
    tasks: list[tuple[np.ndarray, ...]] = [(members,) for members in sets]
    if len(sets) > 1:
        tasks.append(tuple(sets))
    bare = Walk(walk.sparse, walk.jump)
    results = in_order(partial(_met, bare, perron), tasks, jobs=jobs, work=float(SOLVES * len(tasks)) * bare.sparse.nnz)
    steps, errors, first, first_error = [], [], None, 0.0
    for done, (times, error, chances, off) in enumerate(results, 1):
        if done > len(sets):
            first, first_error = chances, off
        else:
            steps.append(times)
            errors.append(error)
        if progress is not None:
            progress(done, len(tasks))
    return SetTimes(np.stack(steps, axis=1), np.array(errors), first, first_error)


def _met(walk: Walk, perron: np.ndarray, sets: tuple[np.ndarray, ...]) -> tuple[np.ndarray, float, np.ndarray, float]:
    """Steps to the nearest of the sets with their error, and the chances that each is met first with theirs."""
    everywhere, chances = np.zeros(walk.size), np.zeros((walk.size, len(sets)))
    for column, members in enumerate(sets):
        chances[members, column] = 1
    system = Absorbing.of(walk, perron, sets)
    if not len(system.states):
        return everywhere, 0.0, chances, 0.0
    times, error = system.solve(np.ones(len(system.states)), GOAL)
    first, off, longest = np.ones((len(times), len(sets))), 0.0, float(times.max())
    small = elimination_work(len(times), len(sets), 0) <= MOST_ELIMINATION
    if len(sets) > 1 and not (small and error > DOUBTFUL):
        for column, exits in enumerate(system.exits.T):
            first[:, column], residual = system.solve(exits, GOAL / longest)
            off = max(off, residual * longest)
    if small and max(error, off) > DOUBTFUL:
        times, first = eliminated_absorption(system.chances(), system.exits)
        error = off = 2 * float(np.finfo(float).eps) * walk.size
    if not (max(error, off) <= UNUSABLE and np.isfinite(times).all()):
        raise NumericalError(
            f"the steps to a set of {sum(map(len, sets)):,} nodes cannot be computed: their error may be "
            f"{max(error, off):.1e}, with times up to {longest:.1e}",
            "the walk is nearly trapped somewhere; rewire --method teleport keeps it from that",
        )
    everywhere[system.states], chances[system.states] = times, np.clip(first, 0, 1)
    return everywhere, error, chances, off


@dataclass(frozen=True)
class Absorbing:
    """The walk over the `states` outside of some sets.

    within: steps between different states; jump: as of a walk, over `size` states; exits: chances to step into each
    set; leaving, rate: those to step into any, and into any other state. visits: pi of the states, in all 1;
    entering: chances that the walk, when it comes out of the sets, comes out in each state.
    """

    states: np.ndarray
    size: int
    within: csr_array
    jump: np.ndarray | None
    exits: np.ndarray
    leaving: np.ndarray
    rate: np.ndarray
    visits: np.ndarray
    entering: np.ndarray

    @classmethod
    def of(cls, walk: Walk, perron: np.ndarray, sets: Sequence[np.ndarray]) -> Absorbing:
        number = np.full(walk.size, -1)
        for place, members in enumerate(sets):
            number[members] = place
        states, inside = np.flatnonzero(number < 0), np.flatnonzero(number >= 0)
        rows = walk.sparse[states]
        into = number[rows.indices]
        meets = into >= 0
        exits = np.zeros((len(states), len(sets)))
        np.add.at(exits, (row_of_entries(rows)[meets], into[meets]), rows.data[meets])
        within = without_self_loops(csr_array(rows[:, states]))
        entering = csr_array(walk.sparse[inside][:, states].T) @ perron[inside]
        jump = None if walk.jump is None else walk.jump[states]
        rate = np.asarray(csr_array(within, dtype=Extended).sum(axis=1)).ravel()
        if walk.jump is not None and jump is not None:
            exits += np.multiply.outer(jump, np.array([len(members) for members in sets])) / walk.size
            entering = entering + (walk.jump[inside] * perron[inside]).sum() / walk.size
            rate += jump * Extended(len(states) - 1) / walk.size
        leaving = exits.astype(Extended).sum(axis=1)
        visits, entering = (part / (part.sum() or 1) for part in (perron[states], entering))
        return cls(states, walk.size, within, jump, exits, leaving, rate + leaving, visits, entering)

    def residual(self, right: np.ndarray, base: Extended, rest: np.ndarray) -> np.ndarray:
        """right - (I - Q)(base 1 + rest), in extended precision."""
        found = right - base * self.leaving - self.rate * rest + multiply(self.within, rest)
        if self.jump is not None:
            found += self.jump * ((rest.sum() - rest) / self.size)
        return np.asarray(found)

    def solve(self, right: np.ndarray, goal: float) -> tuple[np.ndarray, float]:
        """x with (I - Q) x = right, and a bound of max |right - (I - Q) x|."""
        through = Extended((self.visits * self.leaving).sum())  # pi (I - Q) 1
        base = (self.visits * right).sum() / through
        rest, operator = np.zeros(len(right), Extended), _Returning.of(self)
        best, least = (base, rest), np.inf
        for _ in range(ROUNDS):
            left = self.residual(right, base, rest)
            size = float(np.abs(left).max(initial=0)) + ROUNDING * float((self.rate * np.abs(rest)).max(initial=0))
            if not size < least / 2:
                break
            best, least = (base, rest), size
            if size <= goal:
                break
            part = (self.visits * left).sum() / through
            scaled = ((left - part * self.leaving) / self.rate).astype(np.float64)
            moved = krylov.solve(operator, scaled, tolerance=ROUND, enough=np.inf).x.astype(Extended)
            moved -= (self.visits * moved).sum()
            rest, base = rest + moved, base + part - (operator.entering * moved).sum()
        return (best[0] + best[1]).astype(np.float64), least

    def chances(self) -> np.ndarray:
        """Q as an array, for small walks; what is on its diagonal is not that of Q."""
        dense = self.within.toarray()
        return dense if self.jump is None else dense + self.jump[:, None] / self.size


@dataclass(frozen=True)
class _Returning:
    """The walk that comes out of the sets at once, in equilibrium, watched only when it moves."""

    within: csr_array
    jump: np.ndarray | None
    leaving: np.ndarray
    entering: np.ndarray

    @classmethod
    def of(cls, system: Absorbing) -> _Returning:
        inverse = (1 / system.rate).astype(np.float64)
        within = system.within.copy()
        within.data *= np.repeat(inverse, np.diff(within.indptr))
        jump = None if system.jump is None else system.jump * inverse / system.size
        return cls(within, jump, system.leaving.astype(np.float64) * inverse, system.entering)

    def apply(self, x: np.ndarray) -> np.ndarray:
        moved = multiply(self.within, x) + self.leaving * (self.entering * x).sum()
        if self.jump is not None:
            moved += self.jump * (x.sum() - x)
        return np.asarray(moved)
