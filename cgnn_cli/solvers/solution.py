"""What solvers take and give: pairs of states of a walk, what may be used, and the times between the pairs."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from cgnn_cli import scratch
from cgnn_cli.configs import CommuteConfig
from cgnn_cli.errors import NumericalError, StoppedEarly
from cgnn_cli.graph import Dilap
from cgnn_cli.numerics.csr import diagonal_of
from cgnn_cli.numerics.indirect_check import LEAST_WORK, check_indirect
from cgnn_cli.numerics.parts import Parts
from cgnn_cli.numerics.self_check import TOLERANCE, self_check
from cgnn_cli.numerics.verify import verify
from cgnn_cli.numerics.walk import Walk
from cgnn_cli.solver_table import SOLVERS, exact_or_series
from cgnn_cli.watch import Watch


@dataclass(frozen=True)
class Allowance:
    """What a solver may use: working memory in bytes, threads or processes, and who watches."""

    memory: int = 1 << 30
    jobs: int = 1
    watch: Watch = field(default_factory=Watch)


@dataclass(frozen=True)
class Pairs:
    """Pairs of states of a walk."""

    dilap: Dilap
    source: np.ndarray
    target: np.ndarray

    @property
    def system(self) -> tuple[Walk, np.ndarray, np.ndarray, np.ndarray]:
        """The walk, its Perron vector, and the pairs: what every numerical solver takes first."""
        return self.dilap.walk(), self.dilap.perron, self.source, self.target

    @cached_property
    def is_lazy(self) -> bool:
        """Whether the steps of the walk are summed for the lazy walk: one that need not wait anywhere may alternate."""
        return not (diagonal_of(self.dilap.transition) > 0).all()

    @cached_property
    def stepping(self) -> tuple[Walk, np.ndarray, np.ndarray, np.ndarray]:
        """The system for solvers that sum steps."""
        walk, perron, source, target = self.system
        return walk.lazy() if self.is_lazy else walk, perron, source, target

    def in_steps(self, there: np.ndarray, back: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Times of `stepping` as those of the walk, in their place, and their sum.

        c is never below the time between two visits of either state.
        """
        pace, perron, times = 0.5 if self.is_lazy else 1.0, self.dilap.perron, scratch.empty(len(there))
        for part in scratch.parts(len(there)):
            forth, again = pace * there[part], pace * back[part]
            total = forth + again
            floor = 1 / np.minimum(perron[self.source[part]], perron[self.target[part]])
            low = np.flatnonzero(total < floor)
            positive = (forth[low] > 0) & (again[low] > 0)
            share = np.divide(forth[low], total[low], out=np.full(len(low), 0.5), where=positive)
            forth[low], again[low] = share * floor[low], (1 - share) * floor[low]
            there[part], back[part], times[part] = forth, again, forth + again
        return there, back, times


@dataclass(frozen=True)
class Solution:
    """Times between pairs of states, figures about the solver, notes for the user, and warnings of doubtful times.

    parts: what c is made of, for solvers that know.
    work: the solver's own multiplications, which a check of its times may take too; None: it needs no check.
    """

    there: np.ndarray
    back: np.ndarray
    times: np.ndarray
    figures: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    error: np.ndarray | None = None
    warnings: list[str] = field(default_factory=list)
    work: float | None = None
    parts: Parts | None = None


@dataclass
class Unsaved(Watch):
    """Watches a part of a computation whose state is not saved by itself: a request to stop just ends it."""

    whole: Watch

    def progress(self, done: int, total: int, message: str) -> None:
        self.whole.progress(done, total, message)
        if self.whole.stop_requested():
            raise StoppedEarly(f"stopped after {done} of {total} {message}", "run the same command again")


def solve_pairs(pairs: Pairs, config: CommuteConfig, allowance: Allowance) -> Solution:
    """Run the chosen solver, let it check itself, and measure its error if that is asked for."""
    solution: Solution = SOLVERS[config.solver].solve(pairs, config, allowance)
    if solution.work is not None and len(pairs.source):
        _check(pairs, config, allowance, solution, solution.work)
        if solution.parts is not None:
            _check_parts(pairs, config, allowance, solution, solution.parts, solution.work)
    if config.verify and len(pairs.source):
        watch = Unsaved(allowance.watch)
        try:
            solution.figures["verify"] = verify(
                *pairs.system,
                solution.there,
                solution.back,
                solution.times,
                count=config.verify,
                seed=config.solver_seed,
                jobs=allowance.jobs,
                progress=lambda done, total: watch.progress(done, total, "nodes verified"),
            )
        except NumericalError as error:  # the times are there all the same
            solution.figures["verify"] = None
            solution.notes.append(f"the error could not be measured: {error.message}")
    return solution


MEDIAN_LIMIT, LARGEST_LIMIT = 0.05, 0.25  # relative errors of c on the checked edges, above which there is a warning


def _check(pairs: Pairs, config: CommuteConfig, allowance: Allowance, solution: Solution, work: float) -> None:
    """Check a few edges, and warn where the times are wrong or may be."""
    watch = Unsaved(allowance.watch)
    found = self_check(
        *pairs.system, solution.times, work, lambda done, total: watch.progress(done, total, "edges checked")
    )
    solution.figures["self_check"] = found
    remedy, median, largest = SOLVERS[config.solver].remedy, "median_relative_error", "largest_relative_error"
    if exact_or_series(len(pairs.dilap.perron)) == "exact":
        remedy += ", or --solver exact"
    checked = f"{found['checked']} of {found['edges']} edges"
    if found["checked"] and (found[median] > MEDIAN_LIMIT or found[largest] > LARGEST_LIMIT):
        solution.warnings.append(
            f"{config.solver} checked itself on {checked}: c is off by {found[median]:.1%} in the median and by up to "
            f"{found[largest]:.0%}, and h may be further off; use {remedy}"
        )
    if found["checked"] < found["edges"] and (found["slow"] or 2 * found["checked"] < found["edges"]):
        mixes = "the walk mixes slowly, so the times may be far off" if found["slow"] else "the walk may mix slowly"
        solution.warnings.append(
            f"{config.solver} could check {checked}: in the work that a check may take, a solve came to a residual of "
            f"{found['residual']:.1e} (goal {TOLERANCE:.0e}); {mixes}; --verify {found['edges']} takes as long as it "
            f"needs, or use {remedy}"
        )


RANKED = 0.9  # Spearman's correlation of indirect parts with the true ones, below which there is a warning
WEIGHED = 4  # times as much work for a check of the part that makes the weights


def _check_parts(
    pairs: Pairs, config: CommuteConfig, allowance: Allowance, solution: Solution, parts: Parts, work: float
) -> None:
    """Check the indirect part of some edges; where it makes the weights, warn if it is far off or may be."""
    watch, weighed = Unsaved(allowance.watch), config.proximity == "affinity"
    found = check_indirect(
        *pairs.system,
        parts,
        WEIGHED * max(work, LEAST_WORK) if weighed else work,
        lambda done, total: watch.progress(done, total, "nodes of sampled edges solved for their indirect part"),
    )
    solution.figures["indirect_check"] = found
    if not weighed or not found["edges"]:
        return
    remedy = f"use --steps {max(4, 2 * int(solution.figures['steps']))}"
    if exact_or_series(len(pairs.dilap.perron)) == "exact":
        remedy += ", or --solver exact"
    if not found["checked"]:
        solution.warnings.append(
            f"{config.solver} could not check the indirect part that --proximity affinity weighs by: the walk mixes "
            f"slowly, so it may be far off; {remedy}"
        )
    elif found["spearman"] is not None and found["spearman"] < RANKED:
        solution.warnings.append(
            f"{config.solver} ranks edges by their indirect part, which --proximity affinity weighs by, with a "
            f"Spearman correlation of {found['spearman']:z.2f} with the true one on {found['checked']} checked edges "
            f"(median error {found['median_relative_error']:.0%}); {remedy}"
        )


QUANTILES = {"minimum": 0.0, "p05": 0.05, "median": 0.5, "p95": 0.95, "maximum": 1.0}


def quantiles(*arrays: np.ndarray) -> dict[str, float]:
    """Some quantiles of all values, by name; nothing of nothing."""
    values, before = scratch.empty(sum(map(len, arrays))), 0
    for array in arrays:
        values[before : before + len(array)] = array
        before += len(array)
    if not before:
        return {}
    found = np.quantile(values, list(QUANTILES.values()), overwrite_input=True)
    return {name: float(value) for name, value in zip(QUANTILES, found, strict=True)}
