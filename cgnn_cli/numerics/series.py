"""Hitting and commute times by a short series: h(i,j) = sum over t = 0..K of (P^t_jj - P^t_ij)/pi_j, and a tail.

Only the pairs' own entries and the diagonal of the powers are made. For a walk that jumps, P = S + v u^T, the powers
P^t = S^t + sum over s < t of (S^s v)(u^T P^(t-1-s)) differ from those of S by vectors only.

The tail takes what is left out for a geometric series. A direction's terms a_t give its ratio: sqrt(a_K/a_(K-2)) up to
K = 3, where odd and even terms still differ much, then a_K/a_(K-1). For K = 3 both directions take the ratio of their
sum, as a direction's own a_1, P_jj - P_ij, is often near 0. Against sharing out one tail of c, this leaves smaller
errors of h, and about equal ones of c.

The indirect part of c (numerics/parts.py) is summed likewise from its own terms, those of t >= 2. From K = 4 on its
tail takes the ratio of the last two terms; before, there are too few of them, and none is added.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from cgnn_cli import scratch
from cgnn_cli.numerics.csr import LARGEST_INDEX, by_rows, diagonal_rows, matrix_of, tally, transposed
from cgnn_cli.numerics.distributed import multiply
from cgnn_cli.numerics.masked import Pattern, gathered_differences
from cgnn_cli.numerics.powers import KEPT, Plan, kept_entries, make_plan
from cgnn_cli.numerics.threads import run_in_threads, slices
from cgnn_cli.numerics.walk import Walk
from cgnn_cli.watch import Watch

LARGEST_SQUARED_RATIO = 0.9
LARGEST_RATIO = 0.95
LEAST_TAIL = 4  # steps for a tail of the indirect part
AHEAD, BEHIND, DIAGONAL = 1, 2, 4  # what a wanted entry is: of a pair, of one that is turned round, a return
PAIRS_AT_A_TIME = 1 << 14  # whose lines stay in the cache


@dataclass(frozen=True)
class Series:
    """h(i,j), h(j,i) and their sum for each pair; with a tail, also what it adds to the plain sums of the first two.

    indirect: the indirect part of their sum, where it was asked for.
    """

    there: np.ndarray
    back: np.ndarray
    times: np.ndarray
    steps: int
    flops: int
    tail_there: np.ndarray | None = None
    tail_back: np.ndarray | None = None
    indirect: np.ndarray | None = None

    @property
    def tail(self) -> bool:
        return self.tail_there is not None


def plan_series(walk: Walk, steps: int, source: np.ndarray, target: np.ndarray) -> Plan:
    """The plan for the states that are in any pair: of each, its entries with the others and on the diagonal.

    Its cost is exact up to two steps, and an upper bound for more.
    """
    entries = tally(source, walk.size) + tally(target, walk.size)
    rows = np.flatnonzero(entries)
    return make_plan(walk.sparse, rows, entries[rows] + 1, steps, earlier_step(steps))


def series_times(
    walk: Walk,
    perron: np.ndarray,
    source: np.ndarray,
    target: np.ndarray,
    steps: int = 2,
    *,
    tail: bool = True,
    memory: int,
    jobs: int = 1,
    watch: Watch | None = None,
    plan: Plan | None = None,
    direct: np.ndarray | None = None,
    lazy: bool = False,
) -> Series:
    """The times of different pairs in the order given; no tail is added below two steps.

    With the direct parts of the pairs their indirect ones are summed too, of the walk that this one is the lazy form of
    if it is `lazy`; that takes two steps at least.

    `memory` bounds the working arrays, in bytes. The result is the same, bit for bit, for any memory, for any number of
    threads, and after going on from a snapshot. `plan` is that of the same walk, steps and pairs, if it is known.
    """
    plan = plan or plan_series(walk, steps, source, target)
    pairs = _Pairs.of(plan.rows, walk.size, source, target)
    kept = kept_entries(walk, plan, pairs.wanted, memory=memory, jobs=jobs, watch=watch or Watch())
    diagonal = np.zeros((walk.size, KEPT)).T
    diagonal[:, plan.rows] = kept[:, pairs.diagonal]
    jumps = _Jumps.of(walk, plan)
    tail = tail and steps >= 2
    sums, added = scratch.empty((2, len(source))), scratch.empty((2, len(source) if tail else 0))
    indirect = None if direct is None else scratch.empty(len(source))

    def fill(part: slice) -> None:
        ahead, behind = source[part], target[part]
        directions = []
        for places, start, end in ((pairs.ahead, ahead, behind), (pairs.behind, behind, ahead)):
            lines = gathered_differences(diagonal, kept, places[part], end)
            jumps.add(lines, start, end)
            lines /= perron[end]
            directions.append(lines)
        sums[:, part] = [np.maximum(lines[0], 0) for lines in directions]
        if tail:
            sums[:, part] += tails(directions[0], directions[1], steps)
            added[:, part] = sums[:, part] - [lines[0] for lines in directions]  # these may be below 0
        if indirect is not None and direct is not None:
            meeting = np.zeros((KEPT, len(ahead)))
            for places, start, end in ((pairs.ahead, ahead, behind), (pairs.behind, behind, ahead)):
                lines = np.ascontiguousarray(_columns(kept, places[part]))
                jumps.add_chances(lines, start, end)
                meeting += lines / perron[end]
            indirect[part] = indirect_sum(meeting, direct[part] + 2, steps, lazy=lazy, tail=tail)

    run_in_threads(fill, slices(len(source), PAIRS_AT_A_TIME), jobs)
    tail_there, tail_back = added if tail else (None, None)
    times = scratch.computed(len(source), lambda part: sums[0, part] + sums[1, part])
    return Series(sums[0], sums[1], times, steps, plan.flops, tail_there, tail_back, indirect)


def _columns(lines: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Some columns of lines that are stored column by column."""
    return np.take(lines.T, numbers, axis=0).T


@dataclass(frozen=True)
class _Pairs:
    """The entries that the pairs need, and where among them are those of (i,j), of (j,i) and of the diagonal."""

    wanted: Pattern
    ahead: np.ndarray
    behind: np.ndarray
    diagonal: np.ndarray

    @staticmethod
    def of(rows: np.ndarray, size: int, source: np.ndarray, target: np.ndarray) -> _Pairs:
        line = np.zeros(size, np.int64)
        line[rows] = np.arange(len(rows))
        ahead = _numbered(scratch.gathered(line, source), scratch.gathered(line, target), len(rows))
        behind = transposed(ahead)
        union = by_rows(_wanted_rows, ahead, behind)
        for part in scratch.parts(union.nnz):
            union.indices[part] = rows[union.indices[part]]
        ahead_places, behind_places = (
            _places_of_pairs(union.data, kind, numbers.data) for kind, numbers in ((AHEAD, ahead), (BEHIND, behind))
        )
        wanted = Pattern(union.indptr, union.indices)
        return _Pairs(wanted, ahead_places, behind_places, _places_of(union.data, DIAGONAL))


def _wanted_rows(rows: slice, ahead: csr_array, behind: csr_array) -> csr_array:
    """What is wanted in some rows, and as what."""

    def marked(matrix: csr_array, kind: int) -> csr_array:
        return csr_array((np.full(matrix.nnz, kind, np.int8), matrix.indices, matrix.indptr), shape=matrix.shape)

    diagonal = diagonal_rows(np.full(ahead.shape[0], DIAGONAL, np.int8), rows.start, ahead.shape[1])
    return csr_array(marked(ahead, AHEAD) + marked(behind, BEHIND) + diagonal)


def _places_of(marks: np.ndarray, kind: int) -> np.ndarray:
    return scratch.selected(len(marks), lambda part: marks[part] & kind)


def _places_of_pairs(marks: np.ndarray, kind: int, numbers: np.ndarray) -> np.ndarray:
    """Where the entries of one kind are, by the numbers of their pairs, which come in the order of the entries."""
    places, found = _places_of(marks, kind), scratch.empty(len(numbers), np.int64)
    for part in scratch.parts(len(numbers)):
        found[numbers[part]] = places[part]
    return found


def _numbered(start: np.ndarray, end: np.ndarray, count: int) -> csr_array:
    """A matrix with the number of each pair at its place."""
    numbers = scratch.computed(len(start), lambda part: np.arange(part.start, part.stop), np.int64)
    if not _are_sorted(start, end):
        keys = start * count + end
        numbers = np.argsort(keys, kind="stable")
        if not np.diff(keys[numbers]).all():
            raise ValueError("a pair is given twice")
        end = end[numbers]
    indptr = np.concatenate([[0], np.cumsum(tally(start, count))])
    columns = scratch.computed(len(end), lambda part: end[part], np.int32 if count <= LARGEST_INDEX else np.int64)
    return matrix_of(numbers, columns, indptr, count)


def _are_sorted(start: np.ndarray, end: np.ndarray) -> bool:
    """Whether pairs come in the order of the entries of a matrix, none of them twice."""
    for part in scratch.parts(len(start)):
        one, other = slice(part.start, part.stop - (part.stop == len(start))), slice(part.start + 1, part.stop + 1)
        grows = (start[one] < start[other]) | ((start[one] == start[other]) & (end[one] < end[other]))
        if not grows.all():
            return False
    return True


@dataclass(frozen=True)
class _Jumps:
    """What the jumps contribute to P^t_jj - P^t_ij: S^s v, u^T P^s, and the sums of the latter, for s < K."""

    plan: Plan
    leaving: list[np.ndarray]
    arriving: list[np.ndarray]
    sums: np.ndarray

    @staticmethod
    def of(walk: Walk, plan: Plan) -> _Jumps:
        if walk.jump is None:
            return _Jumps(plan, [], [], np.zeros(0))
        leaving, arriving = [walk.jump], [np.full(walk.size, 1 / walk.size)]
        for _ in range(plan.steps - 1):
            leaving.append(multiply(walk.sparse, leaving[-1]))
            arriving.append(walk.apply_transposed(arriving[-1]))
        return _Jumps(plan, leaving[: plan.steps], arriving, np.cumsum(arriving, axis=0))

    def add(self, lines: np.ndarray, start: np.ndarray, end: np.ndarray) -> None:
        """Add the contribution to each of the kept lines."""
        self._add(lines, [chance[end] - chance[start] for chance in self.leaving], end)

    def add_chances(self, lines: np.ndarray, start: np.ndarray, end: np.ndarray) -> None:
        """Add what the jumps contribute to P^t_ij alone."""
        self._add(lines, [chance[start] for chance in self.leaving], end)

    def _add(self, lines: np.ndarray, leaving: list[np.ndarray], end: np.ndarray) -> None:
        for step, left in enumerate(leaving):
            lines[0] += left * self.sums[self.plan.steps - 1 - step][end]
            for line, power in ((1, self.plan.steps), (2, self.plan.earlier)):
                if power > step:
                    lines[line] += left * self.arriving[power - 1 - step][end]


def earlier_step(steps: int) -> int:
    """The term beside the last one that a tail is made from."""
    return steps - 2 if steps <= 3 else steps - 1


def tails(ahead: np.ndarray, behind: np.ndarray, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """The tails of both directions, from three lines of each: anything, the last term, the earlier term."""
    rates = (ahead + behind,) * 2 if steps == 3 else (ahead, behind)
    return _tail(ahead[1], _ratio(rates[0], steps)), _tail(behind[1], _ratio(rates[1], steps))


def indirect_sum(meeting: np.ndarray, edge: np.ndarray, steps: int, *, lazy: bool, tail: bool) -> np.ndarray:
    """The indirect part from three lines of P^t_ij/pi_j + P^t_ji/pi_i: their sum, the last, the earlier.

    edge: P_ij/pi_j + P_ji/pi_i. A term of the lazy walk, sum_s C(t, s) 2^-t P^s, has steps of s = 0 and 1 in it.
    """
    counts = np.arange(steps + 1)
    waited = np.ldexp(1.0, -counts) if lazy else (counts == 0).astype(float)
    moved = counts * np.ldexp(1.0, -counts) if lazy else (counts == 1).astype(float)
    others = 1 - waited - moved
    total = meeting[0] - moved.sum() * edge - 2 * others.sum()
    if tail and steps >= LEAST_TAIL:
        last, earlier = (
            meeting[line] - moved[step] * edge - 2 * others[step] for line, step in ((1, steps), (2, steps - 1))
        )
        total += _tail(last, _ratio(np.stack([total, last, earlier]), steps))
    return total / 2 if lazy else total


def _ratio(lines: np.ndarray, steps: int) -> np.ndarray:
    """The ratio of the geometric series that goes on after the last term; 0 where the terms show none."""
    last, earlier = lines[1], lines[2]
    quotient = np.divide(last, earlier, out=np.zeros_like(last), where=(last > 0) & (earlier > 0))
    if steps <= 3:
        return np.sqrt(np.minimum(quotient, LARGEST_SQUARED_RATIO))
    return np.minimum(quotient, LARGEST_RATIO)


def _tail(last: np.ndarray, ratio: np.ndarray) -> np.ndarray:
    """What a geometric series adds after its last term; never less than 0."""
    return np.maximum(last, 0) * ratio / (1 - ratio)
