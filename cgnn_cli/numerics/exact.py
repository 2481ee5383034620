"""True hitting times by direct factorisations: the oracle that the other solvers are measured against.

Dense: Z = (I - P + 1 pi^T)^-1, h(i, j) = (Z_jj - Z_ij) / pi_j. Sparse, where that does not fit in memory: without the
row and column of the state g that is visited most, I - P is regular and diagonally dominant, so it factors without
pivoting inside the envelope of its pattern. (I - P) y = e_j - pi_j 1 has a solution with y_g = 0, and
h(i, j) = (y_j - y_i) / pi_j: two triangular solves a target.

Where the digits end: with the residual r of (I - P) y = e_j - pi_j 1 the error of h(i, j) is the sum over k of
(h_ik - h_jk) pi_k r_k / pi_j, and h_ik - h_jk lies between -h_ji and h_ij. So it is at most c(i, j) / (2 pi_j) times
the sum of pi_k |r_k|. Times with too few certain digits are compared with those by elimination, where that is cheap.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from scipy.sparse import csc_array, csr_array, eye_array
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import splu

from cgnn_cli.apart import PROCESS_BYTES, Apart, Arrays, Telling
from cgnn_cli.errors import NumericalError, ResourceError
from cgnn_cli.numerics.csr import ones_on
from cgnn_cli.numerics.elimination import MOST_ELIMINATION, eliminated_times, elimination_work
from cgnn_cli.numerics.parts import Parts, direct_part
from cgnn_cli.numerics.threads import slices
from cgnn_cli.numerics.walk import Walk
from cgnn_cli.watch import Watch

BLOCK_BYTES = 1 << 26
FACTOR_ENTRY = 32  # bytes: value and row number, and room to grow the factors
# What takes longer than about half a second is done in a process of its own, which can be ended.
LONG_INVERSE = 1500  # states
LONG_FACTORS = 1e8  # multiplications
PROBE_SIZE, PROBE_SHARE = 768, 0.5  # of a product that tells how fast LAPACK is here; an inverse is not as fast
CHECK_BYTES = 1 << 24  # of solutions whose residuals are taken at a time
WORK_A_SECOND, DENSE_A_SECOND = 1e8, 1e10  # multiplications with sparse factors and by LAPACK, on a slow core
MOST_WORK, MOST_DENSE_WORK = 1e10, 3.6e13  # minutes and an hour of them
RESIDUAL_LIMIT = 1e-12  # of a solve with the factors, relative to the solution and the right-hand side
CERTAIN = 1e-3  # relative error of h with three digits
EPSILON = float(np.finfo(float).eps)


@dataclass(frozen=True)
class ByGoal:
    """Both directions of pairs of states, grouped by the state to be hit."""

    goals: np.ndarray
    starts: np.ndarray
    order: np.ndarray
    bounds: np.ndarray

    @classmethod
    def of(cls, source: np.ndarray, target: np.ndarray) -> ByGoal:
        goals, number = np.unique(np.concatenate([target, source]), return_inverse=True)
        order = np.argsort(number, kind="stable")
        bounds = np.searchsorted(number[order], np.arange(len(goals) + 1))
        return cls(goals, np.concatenate([source, target])[order], order, bounds)

    def starts_of(self, number: int) -> np.ndarray:
        """The states from which a goal is to be hit."""
        return self.starts[self.bounds[number] : self.bounds[number + 1]]

    def split(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values in the grouped order as those of h(source, target) and of h(target, source)."""
        ungrouped = np.empty_like(values)
        ungrouped[self.order] = values
        half = len(values) // 2
        return ungrouped[:half], ungrouped[half:]


def fundamental_matrix(walk: Walk, perron: np.ndarray, watch: Watch | None = None) -> np.ndarray:
    """Z = (I - P + 1 pi^T)^-1."""
    if walk.size <= LONG_INVERSE:
        return _inverse(_fill_system(np.empty((walk.size, walk.size)), walk, perron))
    apart = Apart(matrix=("f8", (walk.size, walk.size)))
    _fill_system(apart.arrays["matrix"], walk, perron)
    return apart.call(f"{__name__}:invert", (watch or Watch()).progress)["matrix"]


def _fill_system(system: np.ndarray, walk: Walk, perron: np.ndarray) -> np.ndarray:
    """I - P + 1 pi^T."""
    np.negative(walk.to_dense(), out=system)
    system[np.diag_indices_from(system)] += 1
    system += perron
    return system


def _inverse(system: np.ndarray) -> np.ndarray:
    """The inverse of a matrix, which is lost."""
    try:
        with warnings.catch_warnings():
            # Newer releases of scipy only warn of a matrix that is singular to working precision.
            warnings.simplefilter("error", scipy.linalg.LinAlgWarning)
            inverse: np.ndarray = scipy.linalg.inv(system, overwrite_a=True, check_finite=False)
    except (scipy.linalg.LinAlgError, scipy.linalg.LinAlgWarning) as error:
        raise NumericalError(f"the fundamental matrix cannot be computed: {error}") from error
    return inverse


def invert(arrays: Arrays, telling: Telling) -> None:
    """In a process of its own: put the inverse in the place of a matrix. LAPACK does not say how far it is."""
    matrix, probe = arrays["matrix"], np.ones((PROBE_SIZE, PROBE_SIZE))
    begun = time.perf_counter()
    probe @ probe
    seconds = (time.perf_counter() - begun) * (len(matrix) / PROBE_SIZE) ** 3 / PROBE_SHARE
    telling.expect(seconds, f"seconds, roughly, of a dense solve over {len(matrix):,} states")
    matrix[...] = _inverse(matrix)


def dense_bytes(size: int) -> int:
    """Memory for a dense solve over `size` states: the matrix, its inverse, what LAPACK works in, and its process."""
    return 3 * 8 * size**2 + (PROCESS_BYTES if size > LONG_INVERSE else 0)


def _dense_work(size: int) -> float:
    """Multiplications of a dense inverse."""
    return 2 * float(size) ** 3


@dataclass(frozen=True)
class ExactTimes:
    """h(source, target), h(target, source), and bounds of the relative errors of both and of their sum.

    parts: what c is made of, as far as Z tells; part_error: a bound of its errors, in steps.
    """

    there: np.ndarray
    back: np.ndarray
    error_there: np.ndarray
    error_back: np.ndarray
    error: np.ndarray
    parts: Parts
    part_error: np.ndarray


def exact_times(
    walk: Walk,
    perron: np.ndarray,
    source: np.ndarray,
    target: np.ndarray,
    *,
    memory: int,
    watch: Watch | None = None,
) -> ExactTimes:
    """h(source, target), h(target, source) and their errors, or a refusal where `memory` bytes will not do."""
    left, returns = np.zeros((2, walk.size))  # sum of pi_k |r_k| / pi_j and Z_jj / pi_j for each goal j
    if dense_bytes(walk.size) > memory or _dense_work(walk.size) > MOST_DENSE_WORK:
        there, back = _sparse_hitting(walk, perron, source, target, memory, watch or Watch(), left, returns)
    else:
        matrix = fundamental_matrix(walk, perron, watch)
        diagonal = np.diagonal(matrix)
        there = (diagonal[target] - matrix[source, target]) / perron[target]
        back = (diagonal[source] - matrix[target, source]) / perron[source]
        goals = np.unique([source, target])
        for columns in _few_columns(walk.size, len(goals)):
            left[goals[columns]] = _what_is_left(walk, perron, goals[columns], matrix[:, goals[columns]])
        returns = diagonal / perron
    errors = _error_bounds(there, back, left[target], left[source])
    popularity, direct = returns[source] + returns[target], direct_part(walk, perron, source, target)
    times = there + back
    parts = Parts(popularity, direct, popularity - times - direct)
    found = ExactTimes(there, back, *errors, parts, errors[2] * np.abs(times))
    _settle_doubts(walk, source, target, found)
    for part in (parts.popularity, parts.indirect):
        part[there + back != times] = np.nan  # what was wrong of c was wrong of Z
    return found


def _few_columns(size: int, count: int) -> Iterator[slice]:
    """Slices of so many solutions of so many entries that take little memory."""
    return slices(count, max(1, min(CHECK_BYTES // (8 * size), size // 4)))


def _what_is_left(walk: Walk, perron: np.ndarray, goals: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The sum of pi_k |r_k| / pi_j for each goal, from solutions y in its columns, and what rounding may hide of it."""
    y = y - perron @ y
    residual = walk.apply(y) - y
    residual[goals, np.arange(len(goals))] += 1
    residual -= perron[goals]
    residual -= perron @ residual
    total: np.ndarray = perron @ np.abs(residual) + 4 * EPSILON * (perron @ np.abs(y))
    return total / perron[goals]


def _error_bounds(
    there: np.ndarray, back: np.ndarray, left_there: np.ndarray, left_back: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Relative ones of both directions and of c; infinite for what cannot be a time."""
    half, unknown = (np.abs(there) + np.abs(back)) / 2, np.full(len(there), np.inf)
    ahead = np.divide(half * left_there, there, out=unknown.copy(), where=there > 0)
    behind = np.divide(half * left_back, back, out=unknown, where=back > 0)
    return ahead, behind, (left_there + left_back) / 2


def _settle_doubts(walk: Walk, source: np.ndarray, target: np.ndarray, found: ExactTimes) -> None:
    """Solve pairs with fewer than three certain digits again where that is cheap, and replace what was wrong.

    A time that had three digits keeps all its bits.
    """
    same = source == target
    found.error_there[same] = found.error_back[same] = 0
    doubtful = np.flatnonzero(~(np.maximum(found.error_there, found.error_back) <= CERTAIN))
    kept, number = np.unique([source[doubtful], target[doubtful]], return_inverse=True)
    if not len(doubtful) or elimination_work(walk.size, len(kept), len(kept)) > MOST_ELIMINATION:
        return
    i, j = number.reshape(2, -1)
    hitting = eliminated_times(walk, kept, np.arange(len(kept)))
    rounding = 2 * EPSILON * walk.size  # relative errors of rounding size in each step change a time by at most that
    for times, error, right in (
        (found.there, found.error_there, hitting[i, j]),
        (found.back, found.error_back, hitting[j, i]),
    ):
        known = np.isfinite(right) & (right > 0)
        place = doubtful[known]
        off = np.abs(times[place] / right[known] - 1)
        times[place] = np.where(off > CERTAIN, right[known], times[place])
        error[place] = np.where(off > CERTAIN, 0, off) + rounding
    # A sum of positive parts is as good as the worse of them.
    found.error[:] = np.minimum(found.error, np.maximum(found.error_there, found.error_back))


def _sparse_hitting(
    walk: Walk,
    perron: np.ndarray,
    source: np.ndarray,
    target: np.ndarray,
    memory: int,
    watch: Watch,
    left: np.ndarray,
    returns: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """The same by sparse factors, where a bound of their size and of the work allows it; fills the last two in."""
    pairs = ByGoal.of(source, target)
    others = np.delete(np.arange(walk.size), int(np.argmax(perron)))  # all states but the ground
    part = ones_on(walk.sparse)[others][:, others]
    # An order of a narrow envelope.
    states = others[reverse_cuthill_mckee(csr_array(part + part.T), symmetric_mode=True)]
    system = csc_array((eye_array(walk.size, format="csr") - walk.sparse)[states][:, states])
    widths = _envelope(system)
    entries = len(states) + 2 * int(widths.sum())
    work = float(np.square(widths, dtype=float).sum()) + 2.0 * len(pairs.goals) * entries
    too_large = entries * FACTOR_ENTRY + 4 * BLOCK_BYTES > memory
    if too_large or work > MOST_WORK:
        raise _refusal(walk.size, memory, None if too_large else work)
    position = np.full(walk.size, len(states))  # the row of a state; the ground's is one past the end, y = 0
    position[states] = np.arange(len(states))
    arrays = {
        **{"data": system.data, "indices": system.indices, "indptr": system.indptr},
        **{"chances": walk.sparse.data, "ends": walk.sparse.indices, "rows": walk.sparse.indptr},
        **{"perron": perron, "position": position, "left": left, "returns": returns},
        "jump": np.zeros(walk.size) if walk.jump is None else walk.jump,
        **{"goals": pairs.goals, "starts": pairs.starts, "bounds": pairs.bounds},
        "hitting": np.empty(len(pairs.starts)),
    }
    if work > LONG_FACTORS:
        apart = Apart(**{name: (array.dtype.str, array.shape) for name, array in arrays.items()})
        for name, array in arrays.items():
            apart.arrays[name][...] = array
        arrays = apart.call(f"{__name__}:hit_goals", watch.progress)
        left[...], returns[...] = arrays["left"], arrays["returns"]
    else:
        hit_goals(arrays, watch)
    return pairs.split(arrays["hitting"])


def hit_goals(arrays: Arrays, telling: Telling | Watch) -> None:
    """Fill in the hitting times of each goal from its starts, by sparse factors of the system, and what is left."""
    goals, starts, bounds, perron, position = (
        arrays[name] for name in ("goals", "starts", "bounds", "perron", "position")
    )
    count, size = len(arrays["indptr"]) - 1, len(perron)
    system = csc_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=(count, count))
    jump = arrays["jump"] if arrays["jump"].any() else None
    walk = Walk(csr_array((arrays["chances"], arrays["ends"], arrays["rows"]), shape=(size, size)), jump)
    leaving = np.zeros(count)
    if jump is not None:
        leaving[position[position < count]] = jump[position < count]
    telling.progress(0, len(goals), "nodes solved by sparse factors")
    for block, y in _potentials(system, leaving, position[goals], perron[goals]):
        grounded = np.vstack([y, np.zeros(y.shape[1])])
        hit = goals[block.start : block.stop]
        for columns in _few_columns(size, len(hit)):
            whole = grounded[position[:, None], np.arange(len(hit))[columns]]
            arrays["left"][hit[columns]] = _what_is_left(walk, perron, hit[columns], whole)
            own = whole[hit[columns], np.arange(whole.shape[1])] - perron @ whole
            arrays["returns"][hit[columns]] = own / perron[hit[columns]] + 1
        for column, number in enumerate(block):
            entries = slice(bounds[number], bounds[number + 1])
            values = grounded[position[goals[number]], column] - grounded[position[starts[entries]], column]
            arrays["hitting"][entries] = values / perron[goals[number]]
        telling.progress(block.stop, len(goals), "nodes solved by sparse factors")


def _refusal(size: int, memory: int, sparse_work: float | None) -> ResourceError:
    """Why neither a dense matrix nor sparse factors will do; `sparse_work` is None where those do not fit."""
    if dense_bytes(size) > memory:
        reason = (
            f"the exact solver needs about {dense_bytes(size) / 2**30:.1f} GiB of memory for {size} states, "
            f"and {memory / 2**30:.1f} GiB may be used"
        )
    else:
        hours = _hours(_dense_work(size) / DENSE_A_SECOND)
        reason = f"the exact solver may take about {hours} for the dense matrix of {size} states"
    if sparse_work is not None:
        reason += f"; with sparse factors it may take {_hours(sparse_work / WORK_A_SECOND)}"
    return ResourceError(reason, "use --solver series or --solver sketch, which never make a dense matrix")


def _hours(seconds: float) -> str:
    return f"{seconds / 3600:,.0f} hours" if seconds > 7200 else f"{seconds / 60:.0f} minutes"


def _envelope(system: csc_array) -> np.ndarray:
    """How far each row of the symmetrised pattern reaches to the left of the diagonal: elimination fills no more."""
    entries = system.tocoo()
    far, near = np.maximum(entries.row, entries.col), np.minimum(entries.row, entries.col)
    first = np.arange(system.shape[0])
    np.minimum.at(first, far, near)
    return np.arange(system.shape[0]) - first


def _potentials(
    system: csc_array, jump: np.ndarray, rows: np.ndarray, visits: np.ndarray
) -> Iterator[tuple[range, np.ndarray]]:
    """Blocks of goals with their solutions y of (I - P) y = e_j - pi_j 1 without the ground, one column a goal.

    The system is I - S; jumps v are a change of rank one (Sherman and Morrison): with w = (I - S)^-1 v and x that of
    the right-hand side, y = x + w (u^T x) / (1 - u^T w), where 1 - u^T w is the chance to meet the ground first.
    """
    count = system.shape[0]
    try:
        factors = splu(system, permc_spec="NATURAL", diag_pivot_thresh=0, options={"SymmetricMode": True})
    except RuntimeError as error:  # a zero pivot
        raise NumericalError(f"the walk cannot be factored: {error}") from error
    jumps = bool(jump.any())
    reach = factors.solve(jump) if jumps else jump  # w

    def solved(rhs: np.ndarray) -> np.ndarray:
        x: np.ndarray = factors.solve(rhs)
        return x + np.multiply.outer(reach, x.sum(axis=0) / (count + 1 - reach.sum())) if jumps else x

    def image(y: np.ndarray) -> np.ndarray:
        moved: np.ndarray = system @ y
        return moved - np.multiply.outer(jump, y.sum(axis=0) / (count + 1)) if jumps else moved

    step = max(1, BLOCK_BYTES // (8 * count))
    for begin in range(0, len(rows), step):
        block = range(begin, min(begin + step, len(rows)))
        rhs = np.repeat(-visits[None, block], count, axis=0)
        for column, row in enumerate(rows[block]):
            if row < count:
                rhs[row, column] += 1
        y = solved(rhs)
        y += solved(rhs - image(y))
        scale = np.linalg.norm(rhs, axis=0) + np.linalg.norm(y, axis=0)
        residual = np.max(np.linalg.norm(rhs - image(y), axis=0) / scale)
        if not residual <= RESIDUAL_LIMIT:
            raise NumericalError(f"a solve with the sparse factors left a residual of {residual:.1e}")
        yield block, y
