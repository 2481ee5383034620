"""True hitting times by direct factorisations: the oracle that the other solvers are measured against.

Dense: Z = (I - P + 1 pi^T)^-1, h(i, j) = (Z_jj - Z_ij) / pi_j. Sparse, where that does not fit in memory: without the
row and column of the state g that is visited most, I - P is regular and diagonally dominant, so it factors without
pivoting inside the envelope of its pattern. (I - P) y = e_j - pi_j 1 has a solution with y_g = 0, and
h(i, j) = (y_j - y_i) / pi_j: two triangular solves a target.
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
from cgnn_cli.numerics.walk import Walk
from cgnn_cli.watch import Watch

BLOCK_BYTES = 1 << 26
FACTOR_ENTRY = 32  # bytes: value and row number, and room to grow the factors
MOST_WORK = 2e11  # multiplications: minutes
# What takes longer than about half a second is done in a process of its own, which can be ended.
LONG_INVERSE = 1500  # states
LONG_FACTORS = 1e8  # multiplications
PROBE_SIZE, PROBE_SHARE = 768, 0.5  # of a product that tells how fast LAPACK is here; an inverse is not as fast
RESIDUAL_LIMIT = 1e-12  # of a solve with the factors, relative to the solution and the right-hand side


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


def exact_hitting(
    walk: Walk,
    perron: np.ndarray,
    source: np.ndarray,
    target: np.ndarray,
    *,
    memory: int,
    watch: Watch | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """h(source, target) and h(target, source) in expected steps, or a refusal where `memory` bytes will not do."""
    if dense_bytes(walk.size) > memory:
        return _sparse_hitting(walk, perron, source, target, memory, watch or Watch())
    matrix = fundamental_matrix(walk, perron, watch)
    diagonal = np.diagonal(matrix)
    there = (diagonal[target] - matrix[source, target]) / perron[target]
    back = (diagonal[source] - matrix[target, source]) / perron[source]
    return there, back


def _sparse_hitting(
    walk: Walk, perron: np.ndarray, source: np.ndarray, target: np.ndarray, memory: int, watch: Watch
) -> tuple[np.ndarray, np.ndarray]:
    """The same by sparse factors, where a bound of their size and of the work allows it."""
    pairs = ByGoal.of(source, target)
    others = np.delete(np.arange(walk.size), int(np.argmax(perron)))  # all states but the ground
    part = ones_on(walk.sparse)[others][:, others]
    # An order of a narrow envelope.
    states = others[reverse_cuthill_mckee(csr_array(part + part.T), symmetric_mode=True)]
    system = csc_array((eye_array(walk.size, format="csr") - walk.sparse)[states][:, states])
    widths = _envelope(system)
    entries = len(states) + 2 * int(widths.sum())
    work = float(np.square(widths, dtype=float).sum()) + 2.0 * len(pairs.goals) * entries
    if walk.jump is not None or entries * FACTOR_ENTRY + 4 * BLOCK_BYTES > memory or work > MOST_WORK:
        raise ResourceError(
            f"the exact solver needs about {dense_bytes(walk.size) / 2**30:.1f} GiB of memory for {walk.size} states, "
            f"and {memory / 2**30:.1f} GiB may be used",
            "use --solver series or --solver sketch, which never make a dense matrix",
        )
    position = np.full(walk.size, len(states))  # the row of a state; the ground's is one past the end, y = 0
    position[states] = np.arange(len(states))
    arrays = {
        "data": system.data,
        "indices": system.indices,
        "indptr": system.indptr,
        "goals": position[pairs.goals],
        "visits": perron[pairs.goals],
        "starts": position[pairs.starts],
        "bounds": pairs.bounds,
        "hitting": np.empty(len(pairs.starts)),
    }
    if work > LONG_FACTORS:
        apart = Apart(**{name: (array.dtype.str, array.shape) for name, array in arrays.items()})
        for name, array in arrays.items():
            apart.arrays[name][...] = array
        arrays = apart.call(f"{__name__}:hit_goals", watch.progress)
    else:
        hit_goals(arrays, watch)
    return pairs.split(arrays["hitting"])


def hit_goals(arrays: Arrays, telling: Telling | Watch) -> None:
    """Fill in the hitting times of each goal from its starts, by sparse factors of the system."""
    goals, starts, bounds, visits = (arrays[name] for name in ("goals", "starts", "bounds", "visits"))
    count = len(arrays["indptr"]) - 1
    system = csc_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=(count, count))
    telling.progress(0, len(goals), "nodes solved by sparse factors")
    for block, y in _potentials(system, goals, visits):
        grounded = np.vstack([y, np.zeros(y.shape[1])])
        for column, number in enumerate(block):
            entries = slice(bounds[number], bounds[number + 1])
            values = grounded[goals[number], column] - grounded[starts[entries], column]
            arrays["hitting"][entries] = values / visits[number]
        telling.progress(block.stop, len(goals), "nodes solved by sparse factors")


def _envelope(system: csc_array) -> np.ndarray:
    """How far each row of the symmetrised pattern reaches to the left of the diagonal: elimination fills no more."""
    entries = system.tocoo()
    far, near = np.maximum(entries.row, entries.col), np.minimum(entries.row, entries.col)
    first = np.arange(system.shape[0])
    np.minimum.at(first, far, near)
    return np.arange(system.shape[0]) - first


def _potentials(system: csc_array, rows: np.ndarray, visits: np.ndarray) -> Iterator[tuple[range, np.ndarray]]:
    """Blocks of goals with their solutions y of (I - P) y = e_j - pi_j 1 without the ground, one column a goal."""
    count = system.shape[0]
    try:
        factors = splu(system, permc_spec="NATURAL", diag_pivot_thresh=0, options={"SymmetricMode": True})
    except RuntimeError as error:  # a zero pivot
        raise NumericalError(f"the walk cannot be factored: {error}") from error
    step = max(1, BLOCK_BYTES // (8 * count))
    for begin in range(0, len(rows), step):
        block = range(begin, min(begin + step, len(rows)))
        rhs = np.repeat(-visits[None, block], count, axis=0)
        for column, row in enumerate(rows[block]):
            if row < count:
                rhs[row, column] += 1
        y = factors.solve(rhs)
        y += factors.solve(rhs - system @ y)
        scale = np.linalg.norm(rhs, axis=0) + np.linalg.norm(y, axis=0)
        residual = np.max(np.linalg.norm(rhs - system @ y, axis=0) / scale)
        if not residual <= RESIDUAL_LIMIT:
            raise NumericalError(f"a solve with the sparse factors left a residual of {residual:.1e}")
        yield block, y
