"""The diagonal of the fundamental matrix Z = (I - P + 1 pi^T)^-1, its trace, and times from a set to every state.

From a start drawn from s, h(s, j) = (Z_jj - (s Z)_j) / pi_j: one solve with I - P^T gives s Z for all j, but Z_jj is n
numbers of n solves. Kemeny's constant, the expected steps to a state drawn from pi, is trace(Z) - 1 from every start.

Small walks: Z is dense, and the residual R = I - (I - P + 1 pi^T) Z tells its error, Z R, to first order.

Large ones: the terms P^t_jj - pi_j of Z_jj are summed for t <= 2, the rest comes from probes g of +-1: with
(I - P) x = g - (pi g) 1, g_j (P^3 x)_j has it as its mean. Two parts make most of the noise, and are taken out of the
probes: the states that are visited most get a solve of their own each, and what probes of the transposed show of the
row space is multiplied with an orthonormal basis of it (as Hutch++ does: Meyer, Musco, Musco and Woodruff, 2021). The
spread of the probes is the standard error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import tee
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from cgnn_cli.numerics.distributed import multiply
from cgnn_cli.numerics.exact import dense_bytes, fundamental_matrix
from cgnn_cli.numerics.krylov import solve
from cgnn_cli.numerics.pair_times import goal_system
from cgnn_cli.numerics.sketch import probe_vector
from cgnn_cli.numerics.threads import in_order
from cgnn_cli.numerics.walk import Walk
from cgnn_cli.watch import Watch

DENSE_STATES = 3000  # an inverse of some seconds
PROBES = 64
HUBS, RANK = 32, 16  # states with solves of their own, and vectors of the row space
SUMMED = 3  # terms of the series, those of t = 0, 1 and 2
TOLERANCE, ADJOINT_TOLERANCE, ENOUGH = 1e-9, 1e-12, 1e-7  # of solves
SOLVED = 1e-7  # relative error that solves may leave
EPSILON = float(np.finfo(float).eps)


@dataclass(frozen=True)
class Fundamental:
    """Z_jj of every state and the trace of Z, with their standard errors, or bounds of rounding where no probe is used.

    matrix: Z itself, of a small walk, with `left`, its R. probes: how many were used.
    """

    diagonal: np.ndarray
    error: np.ndarray
    trace: float
    trace_error: float
    probes: int = 0
    matrix: np.ndarray | None = None
    left: np.ndarray | None = None

    @property
    def kemeny(self) -> float:
        """Expected steps to a state drawn from pi."""
        return self.trace - 1


def fundamental(
    walk: Walk,
    perron: np.ndarray,
    probes: int | None = None,
    *,
    seed: int = 0,
    memory: int = 1 << 40,
    jobs: int = 1,
    watch: Watch | None = None,
) -> Fundamental:
    """The diagonal of Z: by a dense matrix up to DENSE_STATES states, unless probes are asked for."""
    if probes is None and walk.size <= DENSE_STATES and 2 * dense_bytes(walk.size) <= memory:
        return _dense(walk, perron, watch)
    return _probed(walk, perron, probes or PROBES, seed, jobs, watch or Watch())


def _dense(walk: Walk, perron: np.ndarray, watch: Watch | None) -> Fundamental:
    matrix = fundamental_matrix(walk, perron, watch)
    left = walk.apply(matrix) - matrix - perron @ matrix
    left[np.diag_indices_from(left)] += 1
    diagonal = np.diagonal(matrix).copy()
    off = np.einsum("jk,kj->j", matrix, left)
    error = np.abs(off) + EPSILON * np.abs(matrix).sum(axis=1)
    return Fundamental(diagonal, error, float(diagonal.sum()), float(error.sum()), 0, matrix, left)


def _probed(
    walk: Walk,
    perron: np.ndarray,
    probes: int,
    seed: int,
    jobs: int,
    watch: Watch,
) -> Fundamental:
    size, rest = walk.size, _Rest(Walk(walk.sparse, walk.jump), walk.transposed, perron)
    hubs = np.argsort(-perron, kind="stable")[: min(HUBS, size)]
    others = np.ones(size)
    others[hubs] = 0
    rank = min(RANK, size - len(hubs))
    total, told = len(hubs) + 2 * rank + probes, 0

    def results(task: Callable[[Any], np.ndarray], vectors: Iterable[Any], count: int) -> Iterator[np.ndarray]:
        nonlocal told
        for found in in_order(task, vectors, jobs=jobs, work=float(count) * walk.sparse.nnz):
            told += 1
            yield found
            watch.progress(told, total, "solves")

    exact = [column[hub] for hub, column in zip(hubs, results(rest.column, hubs, len(hubs)), strict=True)]
    sketches = (others * probe_vector(size, seed, number) for number in range(rank))
    basis = _orthonormal([others * row for row in results(rest.apply_transposed, sketches, rank)])
    captured = np.zeros(size)
    for vector, image in zip(basis, results(rest.apply, basis, rank), strict=True):
        captured += vector * image
    drawn, again = tee(others * probe_vector(size, seed, rank + number) for number in range(probes))
    sums, traces = np.zeros((2, size)), []
    for probe, image in zip(drawn, results(rest.apply, (_without(g, basis) for g in again), probes), strict=True):
        sums += probe * image, np.square(probe * image)
        traces.append((probe * image).sum())
    mean = sums[0] / probes
    # What rounding leaves of a variance is no less than 0.
    error = np.sqrt(np.maximum(sums[1] / probes - np.square(mean), 0) / max(probes - 1, 1))
    begun = 1 + walk.diagonal() + _second_diagonal(walk) - (SUMMED - 1) * perron  # Z has pi_j once more
    diagonal = begun + captured + mean
    diagonal[hubs], error[hubs] = exact + perron[hubs], 0
    error, trace = np.hypot(error, SOLVED * diagonal), float(diagonal.sum())
    spread = float(np.std(traces, ddof=1) / np.sqrt(probes)) if probes > 1 else np.inf
    return Fundamental(diagonal, error, trace, float(np.hypot(spread, SOLVED * trace)), probes)


@dataclass(frozen=True)
class _Rest:
    """B = P^3 (Z - 1 pi^T), what the first terms leave of the series."""

    walk: Walk
    transposed: csr_array
    perron: np.ndarray

    def column(self, state: int) -> np.ndarray:
        """A column of Z - 1 pi^T."""
        return self._solve(goal_system(self.perron, int(state)))

    def apply(self, g: np.ndarray) -> np.ndarray:
        """B g."""
        x = self._solve(g - np.einsum("i,i->", self.perron, g))
        for _ in range(SUMMED):
            x = self.walk.apply(x)
        return x

    def apply_transposed(self, g: np.ndarray) -> np.ndarray:
        """B^T g."""
        reverse = Reversed(self.transposed, self.walk.jump)
        y = solve(reverse, g - self.perron * g.sum(), tolerance=TOLERANCE, enough=ENOUGH).x
        y -= self.perron * y.sum()
        for _ in range(SUMMED):
            y = reverse.apply(y)
        return np.asarray(y)

    def _solve(self, right: np.ndarray) -> np.ndarray:
        x = solve(self.walk, right, tolerance=TOLERANCE, enough=ENOUGH).x
        return np.asarray(x - np.einsum("i,i->", self.perron, x))


def _orthonormal(vectors: list[np.ndarray]) -> list[np.ndarray]:
    """An orthonormal basis of what some vectors span."""
    basis: list[np.ndarray] = []
    for vector in vectors:
        left = _without(_without(vector, basis), basis)
        length = np.sqrt(np.square(left).sum())
        basis.append(left / length if length > 1e-12 * np.sqrt(np.square(vector).sum()) else np.zeros(len(left)))
    return basis


def _without(vector: np.ndarray, basis: list[np.ndarray]) -> np.ndarray:
    """What a vector has outside of the span of a basis."""
    for direction in basis:
        vector = vector - np.einsum("i,i->", direction, vector) * direction
    return vector


def _second_diagonal(walk: Walk) -> np.ndarray:
    """(P^2)_jj."""
    moves = walk.sparse
    diagonal = np.asarray(moves.multiply(walk.transposed).sum(axis=1)).ravel()
    if walk.jump is not None:
        stay = walk.jump * walk.jump.mean() + moves @ walk.jump + walk.jump * (walk.transposed @ np.ones(walk.size))
        diagonal += stay / walk.size
    return diagonal


@dataclass(frozen=True)
class TimesFrom:
    """Steps to every state from a state of each of some sets, a column each, and standard errors or bounds of them."""

    steps: np.ndarray
    error: np.ndarray


def times_from(walk: Walk, perron: np.ndarray, starts: Sequence[np.ndarray], known: Fundamental) -> TimesFrom:
    """Expected steps to every state, from a start drawn from each set with equal chances."""
    steps, errors = np.empty((2, walk.size, len(starts)))
    for column, members in enumerate(starts):
        share = np.zeros(walk.size)
        share[members] = 1 / len(members)
        if known.matrix is None or known.left is None:
            row = _adjoint(walk, perron, share)
            error = known.error
        else:
            row = share @ known.matrix
            off = np.einsum("jk,kj->j", known.matrix, known.left) - row @ known.left
            error = np.abs(off) + EPSILON * (np.abs(known.diagonal) + np.abs(row))
        # A step is needed from every start but the state itself.
        steps[:, column] = np.maximum((known.diagonal - row) / perron, 1 - share)
        errors[:, column] = error / perron
        if len(members) == 1:
            steps[members, column] = errors[members, column] = 0
    return TimesFrom(steps, errors)


def _adjoint(walk: Walk, perron: np.ndarray, share: np.ndarray) -> np.ndarray:
    """s Z: z with (I - P^T) z = s - pi, and the sum of z 1."""
    z = solve(Reversed(walk.transposed, walk.jump), share - perron, tolerance=ADJOINT_TOLERANCE, enough=ENOUGH).x
    return np.asarray(z + (1 - z.sum()) * perron)


@dataclass(frozen=True)
class Reversed:
    """P^T."""

    moves: csr_array
    jump: np.ndarray | None

    def apply(self, y: np.ndarray) -> np.ndarray:
        moved = multiply(self.moves, y)
        return moved if self.jump is None else moved + np.einsum("i,i->", self.jump, y) / len(y)
