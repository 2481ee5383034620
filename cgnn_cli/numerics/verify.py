"""How far times are from the truth, measured on sampled pairs by exact solves."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from cgnn_cli import scratch
from cgnn_cli.numerics.exact import ByGoal
from cgnn_cli.numerics.pair_times import pair_times
from cgnn_cli.numerics.series import earlier_step, tails
from cgnn_cli.numerics.threads import in_order
from cgnn_cli.numerics.walk import Walk

SAMPLED = 64  # edges by which a tolerance chooses the steps
FIRST_STEPS = 8
RANKED_BITS = 28  # 8 decimals
BOUND = 0.8  # with n sampled pairs the true median is below the quantile 1/2 + 0.8/sqrt(n), in 95 of 100 samples


def verify(
    walk: Walk,
    perron: np.ndarray,
    source: np.ndarray,
    target: np.ndarray,
    there: np.ndarray,
    back: np.ndarray,
    times: np.ndarray,
    *,
    count: int,
    seed: int,
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Relative errors and rank correlation of c, and of h in both directions, on `count` sampled pairs.

    The exact times never come from a dense matrix, so that they check the solver that does use one.
    """
    usable = scratch.selected(
        len(source),
        lambda part: (source[part] != target[part]) & ~np.isnan(there[part] + back[part] + times[part]),
    )
    chosen = sample(usable, count, seed)
    exact = pair_times(walk, perron, source[chosen], target[chosen], dense=False, jobs=jobs, progress=progress)
    hitting = compare(np.concatenate([there[chosen], back[chosen]]), np.concatenate([exact.there, exact.back]))
    return {"edges": len(chosen), **compare(times[chosen], exact.times), "hitting": hitting, "residual": exact.residual}


def sample(candidates: np.ndarray, count: int, seed: int) -> np.ndarray:
    """At most `count` of the candidates, without replacement, in their order."""
    if len(candidates) <= count:
        return candidates
    return np.sort(np.random.default_rng(seed).choice(candidates, count, replace=False))


def compare(values: np.ndarray, exact: np.ndarray) -> dict[str, float | None]:
    """Median and 95th percentile of the relative error, and Spearman's correlation."""
    if not len(values):
        return {"median_relative_error": None, "p95_relative_error": None, "spearman": None}
    errors = np.abs(values - exact) / exact
    return {
        "median_relative_error": float(np.median(errors)),
        "p95_relative_error": float(np.quantile(errors, 0.95)),
        "spearman": spearman(values, exact),
    }


def spearman(a: np.ndarray, b: np.ndarray) -> float | None:
    """Rank correlation, equal values sharing their mean rank; None where either side is constant."""
    ranks = [_mean_ranks(values) - (len(values) - 1) / 2 for values in (a, b)]
    spread = [float(np.sqrt(np.square(rank).sum())) for rank in ranks]
    if not all(spread):
        return None
    return float((ranks[0] * ranks[1]).sum() / (spread[0] * spread[1]))


def _mean_ranks(values: np.ndarray) -> np.ndarray:
    """Ranks from 0 of the values in RANKED_BITS: times that are equal but for the errors of solves share a rank."""
    mantissa, exponent = np.frexp(values)
    rounded = np.ldexp(np.round(np.ldexp(mantissa, RANKED_BITS)), exponent)
    _, number, repeats = np.unique(rounded, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(repeats) - (repeats + 1) / 2)[number])


@dataclass(frozen=True)
class Choice:
    """The least number of steps whose error is within the tolerance, or None, and what was measured."""

    steps: int | None
    error: float  # the bound of the median relative error of c with these steps, or the least one
    errors: np.ndarray  # the same for 0, 1, 2, ... steps
    edges: int
    residual: float


def choose_steps(
    walk: Walk,
    perron: np.ndarray,
    source: np.ndarray,
    target: np.ndarray,
    tolerance: float,
    *,
    seed: int,
    count: int = SAMPLED,
    most: int = 50,
    tail: bool = True,
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Choice:
    """How many steps of the series bring the median relative error of c on all pairs to the tolerance.

    The error is a bound from a sample: its median would be too small half of the time. The partial sums of a sampled
    pair for all numbers of steps come from products with P alone.
    """
    usable = scratch.selected(len(source), lambda part: source[part] != target[part])
    chosen = sample(usable, count, seed)
    if not len(chosen):
        return Choice(0, 0.0, np.zeros(1), 0, 0.0)
    level = 0.5 if len(chosen) == len(usable) else min(0.5 + BOUND / np.sqrt(len(chosen)), 1.0)
    source, target = source[chosen], target[chosen]
    exact = pair_times(walk, perron, source, target, jobs=jobs, progress=progress)
    for depth in sorted({min(FIRST_STEPS, most), most}):
        there, back = series_terms(walk, perron, source, target, depth, jobs=jobs)
        errors = np.empty(depth + 1)
        for number in range(depth + 1):
            times = np.add(*partial_sums(there, back, number, tail=tail))
            errors[number] = np.quantile(np.abs(times - exact.times) / exact.times, level)
        met = np.flatnonzero(errors <= tolerance)
        if len(met):
            break
    steps = int(met[0]) if len(met) else None
    error = float(errors.min() if steps is None else errors[steps])
    return Choice(steps, error, errors, len(chosen), exact.residual)


def partial_sums(there: np.ndarray, back: np.ndarray, steps: int, *, tail: bool) -> tuple[np.ndarray, np.ndarray]:
    """What the series of so many steps gives for h(source, target) and h(target, source), from all their terms."""
    sums = [np.maximum(terms[: steps + 1].sum(axis=0), 0) for terms in (there, back)]
    if tail and steps >= 2:
        lines = [0, steps, earlier_step(steps)]
        for total, rest in zip(sums, tails(there[lines], back[lines], steps), strict=True):
            np.add(total, rest, out=total)
    return sums[0], sums[1]


def series_terms(
    walk: Walk, perron: np.ndarray, source: np.ndarray, target: np.ndarray, steps: int, *, jobs: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """The terms (P^t_jj - P^t_ij)/pi_j for t = 0..steps, a line each, of h(source, target) and h(target, source)."""
    pairs = ByGoal.of(source, target)
    task = partial(_terms, Walk(walk.sparse, walk.jump), perron, steps)
    items = [(int(goal), pairs.starts_of(number)) for number, goal in enumerate(pairs.goals)]
    work = len(items) * walk.sparse.nnz * steps / 50  # about 50 products a solve
    grouped = np.concatenate(list(in_order(task, items, jobs=jobs, work=work)), axis=1)
    there, back = zip(*(pairs.split(line) for line in grouped), strict=True)
    return np.array(there), np.array(back)


def _terms(walk: Walk, perron: np.ndarray, steps: int, item: tuple[int, np.ndarray]) -> np.ndarray:
    goal, starts = item
    column = np.zeros(walk.size)
    column[goal] = 1
    terms = np.empty((steps + 1, len(starts)))
    for step in range(steps + 1):
        if step:
            column = walk.apply(column)
        terms[step] = (column[goal] - column[starts]) / perron[goal]
    return terms
