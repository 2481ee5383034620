"""How far indirect parts of commute times are from the truth on a few pairs, at a bounded number of multiplications.

Walks of up to DENSE_STATES states are inverted. On larger ones a state i that is the end of a drawn pair is solved for
twice, in the walk P and in the reversed walk Q_ij = pi_j P_ji/pi_i, which gives a column and a row of Z and so the
truth of every pair that i is in:

    (I - P) x = e_i/pi_i - 1      x_j - pi x + 1 = Z_ji/pi_i
    (I - Q) y = e_i/pi_i - 1      y_j - pi y + 1 = Z_ij/pi_j
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from cgnn_cli import scratch
from cgnn_cli.numerics.exact import fundamental_matrix
from cgnn_cli.numerics.fundamental import Reversed
from cgnn_cli.numerics.krylov import Operator, solve
from cgnn_cli.numerics.parts import Parts
from cgnn_cli.numerics.self_check import CALL_COST, DIGITS, STATE_COST
from cgnn_cli.numerics.verify import sample, spearman
from cgnn_cli.numerics.walk import Walk

DENSE_STATES = 1000
PAIRS = 256  # checked at most
ENDS, OF_AN_END = 24, 10  # states solved for, and pairs of each
TOLERANCE, ENOUGH = 1e-8, 1e-6  # of the sum of pi |r|, which bounds the error of c relative to it
LEAST_WORK, MOST_WORK = 2e8, 8e9  # multiplications: tenths of a second, and some 20 s
Progress = Callable[[int, int], None]


def check_indirect(
    walk: Walk,
    perron: np.ndarray,
    source: np.ndarray,
    target: np.ndarray,
    parts: Parts,
    work: float,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Spearman's correlation with the truth and the median of the relative error on pairs, in at most `work`.

    edges: those whose truth was asked for; checked: those whose solves came to the tolerance.
    """
    usable = scratch.selected(
        len(source), lambda part: (source[part] != target[part]) & np.isfinite(parts.indirect[part])
    )
    if walk.size <= DENSE_STATES:
        chosen = sample(usable, PAIRS, seed=0)
        i, j, z = source[chosen], target[chosen], fundamental_matrix(walk, perron)
        truth = z[i, j] / perron[j] + z[j, i] / perron[i] - parts.direct[chosen]
    else:
        found = list(_by_solves(walk, perron, source, target, usable, parts.direct, work, progress))
        chosen, truth = (np.concatenate(columns) for columns in zip(*found, strict=True))
        chosen, first = np.unique(chosen, return_index=True)
        truth = truth[first]
    known = np.isfinite(truth)
    values, truth = parts.indirect[chosen][known], truth[known]
    figures: dict[str, Any] = {"edges": len(chosen), "checked": len(truth)}
    figures |= {"spearman": None, "median_relative_error": None}
    if len(truth):
        correlation, scale = spearman(values, truth), np.where(truth == 0, 1, np.abs(truth))
        figures["spearman"] = None if correlation is None else round(correlation, DIGITS)
        figures["median_relative_error"] = round(float(np.median(np.abs(values - truth) / scale)), DIGITS)
    return figures


@dataclass(frozen=True)
class _Backwards:
    """Q, the reversed walk."""

    reversed: Reversed
    perron: np.ndarray

    def apply(self, y: np.ndarray) -> np.ndarray:
        moved: np.ndarray = self.reversed.apply(self.perron * y) / self.perron
        return moved


def _by_solves(
    walk: Walk,
    perron: np.ndarray,
    source: np.ndarray,
    target: np.ndarray,
    usable: np.ndarray,
    direct: np.ndarray,
    work: float,
    progress: Progress | None,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Some pairs and their indirect parts, a state after the other; NaN where the work does not suffice."""
    random = np.random.default_rng(0)
    drawn = random.choice(usable, min(ENDS, len(usable)), replace=False)
    ends = list(dict.fromkeys(source[drawn].tolist()))
    iterations = int(min(max(work, LEAST_WORK), MOST_WORK) / (2 * walk.sparse.nnz + STATE_COST * walk.size + CALL_COST))
    steps: tuple[Operator, Operator] = walk, _Backwards(Reversed(walk.transposed, walk.jump), perron)
    for number, end in enumerate(ends):
        own = usable[scratch.selected(len(usable), partial(_have_end, source, target, usable, end))]
        own = np.sort(random.choice(own, min(OF_AN_END, len(own)), replace=False))
        others = np.where(source[own] == end, target[own], source[own])
        truth = 2 - direct[own]
        for step in steps:
            x, taken = _column(step, perron, end, iterations // (len(ends) - number))
            truth += x[others] - np.einsum("i,i->", perron, x)
            iterations -= taken
        yield own, truth
        if progress is not None:
            progress(number + 1, len(ends))


def _have_end(source: np.ndarray, target: np.ndarray, usable: np.ndarray, end: int, part: slice) -> np.ndarray:
    pairs = usable[part]
    return np.asarray((source[pairs] == end) | (target[pairs] == end))


def _column(step: Operator, perron: np.ndarray, end: int, most: int) -> tuple[np.ndarray, int]:
    """x with (I - P) x = e_i/pi_i - 1, NaN where it is not found, and the iterations that it took."""
    rhs = np.full(len(perron), -1.0)
    rhs[end] += 1 / perron[end]
    found = solve(
        step,
        rhs,
        tolerance=TOLERANCE,
        enough=np.inf,
        most=most,
        measure=lambda r: float(np.einsum("i,i->", perron, np.abs(r))),
    )
    return found.x if found.residual <= ENOUGH else np.full(len(rhs), np.nan), found.iterations
