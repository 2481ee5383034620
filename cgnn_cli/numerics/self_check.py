"""A quick check of commute times on a few pairs, at a bounded number of multiplications, never by the clock.

(I - P) x = e_i/pi_i - e_j/pi_j has c(i, j) = x_i - x_j. A residual r of it bounds the relative error of that c by half
of sum_k pi_k |r_k|, however slowly the walk mixes: the error is sum_k p_k pi_k r_k times c, where p_k is the chance
that the reversed walk from k meets i before j. The right-hand side has the norm 2, so that half is the relative
residual, and a solve to 1e-3 gives c to 1e-3. Small walks are solved by elimination instead.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from cgnn_cli import scratch
from cgnn_cli.numerics.elimination import eliminated_times, elimination_work
from cgnn_cli.numerics.krylov import solve
from cgnn_cli.numerics.verify import sample
from cgnn_cli.numerics.walk import Walk

EDGES = 8
TOLERANCE = 1e-3
LEAST_WORK, MOST_WORK = 2e7, 2e9  # multiplications: some hundredths of a second, and at most 5 s
MOST_ELIMINATED = 1000  # states
STATE_COST, CALL_COST = 20, 10_000  # of an iteration beside its two products, for each state and at all
LARGEST_SHARE = 3  # of what is left, one edge may take a third at least: a few checked edges say more than none
SLOW = 100  # iterations: a solve that takes so many meets a walk that mixes slowly
DIGITS = 4  # decimals of a relative error that is known to 1e-3


def self_check(
    walk: Walk,
    perron: np.ndarray,
    source: np.ndarray,
    target: np.ndarray,
    times: np.ndarray,
    work: float,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Relative errors of c on EDGES pairs, in at most `work` multiplications within the limits.

    edges: chosen; checked: those whose solve came to the tolerance; products: made with P; residual: the largest that a
    solve ended at; slow: whether one took SLOW iterations.
    """
    chosen = sample(scratch.selected(len(source), lambda part: source[part] != target[part]), EDGES, seed=0)
    work = min(max(work, LEAST_WORK), MOST_WORK)
    figures: dict[str, Any] = {"edges": len(chosen), "checked": 0, "products": 0, "residual": 0.0, "slow": False}
    touched = np.unique([source[chosen], target[chosen]])
    if walk.size <= MOST_ELIMINATED and elimination_work(walk.size, len(touched), len(touched)) <= work:
        hitting = eliminated_times(walk, touched, np.arange(len(touched)))
        i, j = np.searchsorted(touched, [source[chosen], target[chosen]])
        truth = hitting[i, j] + hitting[j, i]
    else:
        truth = _solved(walk, perron, source[chosen], target[chosen], work, figures, progress)
    known = np.isfinite(truth) & (truth > 0)
    errors = np.abs(times[chosen][known] / truth[known] - 1)
    figures["checked"] = len(errors)
    figures["median_relative_error"] = round(float(np.median(errors)), DIGITS) if len(errors) else None
    figures["largest_relative_error"] = round(float(errors.max()), DIGITS) if len(errors) else None
    return figures


def _solved(
    walk: Walk,
    perron: np.ndarray,
    source: np.ndarray,
    target: np.ndarray,
    work: float,
    figures: dict[str, Any],
    progress: Callable[[int, int], None] | None,
) -> np.ndarray:
    """c of each pair by a solve, NaN where the work did not suffice; what the solves came to goes into the figures."""
    iterations = int(work / (2 * walk.sparse.nnz + STATE_COST * walk.size + CALL_COST))
    truth = np.full(len(source), np.nan)
    for number, (i, j) in enumerate(zip(source, target, strict=True)):
        share = max(iterations // (len(source) - number), iterations // LARGEST_SHARE)
        rhs = np.zeros(walk.size)
        rhs[i], rhs[j] = 1 / perron[i], -1 / perron[j]
        found = solve(
            walk,
            rhs,
            tolerance=TOLERANCE,
            enough=np.inf,
            most=share,
            measure=lambda r: float(np.einsum("i,i->", perron, np.abs(r))),
        )
        iterations -= found.iterations
        figures["products"] += 2 * found.iterations
        if found.residual <= TOLERANCE:
            truth[number] = found.x[i] - found.x[j]
        figures["slow"] |= found.iterations >= SLOW
        figures["residual"] = max(figures["residual"], float(f"{found.residual:.1e}"))
        if progress is not None:
            progress(number + 1, len(source))
    return truth
