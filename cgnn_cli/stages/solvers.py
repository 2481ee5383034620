"""The solvers of hitting and commute times: from the walk and pairs of its states to times, figures and notes."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from cgnn_cli.configs import SERIES_STEPS, CommuteConfig
from cgnn_cli.errors import NumericalError, ResourceError, StoppedEarly
from cgnn_cli.graph import Dilap
from cgnn_cli.numerics.exact import exact_hitting
from cgnn_cli.numerics.lowrank import RESIDUAL_GOAL, svd_times, truncated_svd
from cgnn_cli.numerics.powers import Plan
from cgnn_cli.numerics.series import plan_series, series_times
from cgnn_cli.numerics.sketch import sketch_times
from cgnn_cli.numerics.verify import choose_steps, verify
from cgnn_cli.numerics.walk import Walk
from cgnn_cli.watch import Watch

SVD_NOTE = (
    "svd gives the paper's rank-{rank} truncation scores, not expected steps; `--solver series` gives true commute "
    "times, and `--verify 64` measures the error of any solver"
)
WORK_A_SECOND = 2e7  # multiplications of sparse matrices, on a slow core
MOST_MINUTES = 60.0
EQUAL_VALUES = 1e-6  # relative to the largest


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
        return not (self.dilap.transition.diagonal() > 0).all()

    @cached_property
    def stepping(self) -> tuple[Walk, np.ndarray, np.ndarray, np.ndarray]:
        """The system for solvers that sum steps."""
        walk, perron, source, target = self.system
        return walk.lazy() if self.is_lazy else walk, perron, source, target

    def in_steps(self, there: np.ndarray, back: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Times of `stepping` as those of the walk; c is never below the time between two visits of either state."""
        pace = 0.5 if self.is_lazy else 1.0
        there, back = pace * there, pace * back
        times = there + back
        floor = 1 / np.minimum(self.dilap.perron[self.source], self.dilap.perron[self.target])
        low = np.flatnonzero(times < floor)
        positive = (there[low] > 0) & (back[low] > 0)
        share = np.divide(there[low], times[low], out=np.full(len(low), 0.5), where=positive)
        there[low], back[low] = share * floor[low], (1 - share) * floor[low]
        return there, back, there + back


@dataclass(frozen=True)
class Solution:
    """Times between pairs of states, figures about the solver, and notes for the user."""

    there: np.ndarray
    back: np.ndarray
    times: np.ndarray
    figures: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    error: np.ndarray | None = None


def solve_pairs(pairs: Pairs, config: CommuteConfig, allowance: Allowance) -> Solution:
    """Run the chosen solver, and measure its error if that is asked for."""
    solver = {"svd": _svd, "exact": _exact, "series": _series, "sketch": _sketch, "pi-only": _pi_only}[config.solver]
    solution = solver(pairs, config, allowance)
    if config.verify and len(pairs.source):
        try:
            solution.figures["verify"] = verify(
                *pairs.system,
                solution.there,
                solution.back,
                solution.times,
                count=config.verify,
                seed=config.solver_seed,
                jobs=allowance.jobs,
                progress=lambda done, total: _go_on(allowance.watch, done, total, "nodes verified"),
            )
        except NumericalError as error:  # the times are there all the same
            solution.figures["verify"] = None
            solution.notes.append(f"the error could not be measured: {error.message}")
    return solution


def _go_on(watch: Watch, done: int, total: int, message: str) -> None:
    """Tell the progress of work that has no saved state, and end it when that is asked for."""
    watch.progress(done, total, message)
    if watch.stop_requested():
        raise StoppedEarly(f"stopped after {done} of {total} {message}", "run the same command again")


@dataclass
class Unsaved(Watch):
    """Watches a part of a computation whose state is not saved by itself."""

    whole: Watch

    def progress(self, done: int, total: int, message: str) -> None:
        _go_on(self.whole, done, total, message)


def _pi_only(pairs: Pairs, config: CommuteConfig, allowance: Allowance) -> Solution:
    there, back = 1 / pairs.dilap.perron[pairs.target], 1 / pairs.dilap.perron[pairs.source]
    return Solution(there, back, there + back)


def _exact(pairs: Pairs, config: CommuteConfig, allowance: Allowance) -> Solution:
    there, back = exact_hitting(*pairs.system, memory=allowance.memory)
    return Solution(there, back, there + back)


def _svd(pairs: Pairs, config: CommuteConfig, allowance: Allowance) -> Solution:
    dilap = pairs.dilap
    rank = min(config.rank, max(len(dilap.perron) - 1, 1))
    notes = [SVD_NOTE.format(rank=rank)]
    if rank < config.rank:
        notes.append(f"--rank {config.rank} is more than this walk has; {rank} was used")
    symmetric = bool(dilap.summary["symmetric"])
    jobs = allowance.jobs
    factors = truncated_svd(dilap.laplacian_operator(), rank, config.solver_seed, symmetric=symmetric, jobs=jobs)
    if factors.residual > RESIDUAL_GOAL:
        notes.append(
            f"the svd stopped at a residual of {factors.residual:.1e} (goal {RESIDUAL_GOAL:.0e}), "
            "so its scores depend a little on --solver-seed"
        )
    if factors.gap <= EQUAL_VALUES:
        notes.append(f"singular values {rank} and {rank + 1} are equal, so the scores depend on --solver-seed")
    figures = {"rank": rank, "svd_residual": factors.residual, "svd_iterations": factors.iterations}
    scores = svd_times(factors, dilap.perron, pairs.source, pairs.target, jobs=jobs)
    return Solution(*scores, figures=figures, notes=notes)


def _series(pairs: Pairs, config: CommuteConfig, allowance: Allowance) -> Solution:
    steps, figures, notes = config.step_count, dict[str, Any](), []
    if config.tolerance is not None:
        choice = choose_steps(
            *pairs.stepping,
            config.tolerance,
            seed=config.solver_seed,
            tail=config.tail,
            jobs=allowance.jobs,
            progress=lambda done, total: _go_on(allowance.watch, done, total, "nodes of sampled edges solved"),
        )
        if choice.steps is None:
            steps = len(choice.errors) - 1
            notes.append(
                f"no number of steps up to {steps} reaches --tolerance {config.tolerance:g}; {steps} were used, "
                f"with a median relative error of about {choice.error:.2g}"
            )
        else:
            steps = choice.steps
        figures |= {"sampled_edges": choice.edges, "sampled_error": choice.error}
    plan = _affordable_plan(pairs, steps)
    found = series_times(
        *pairs.stepping,
        steps,
        plan=plan,
        tail=config.tail,
        memory=allowance.memory,
        jobs=allowance.jobs,
        watch=allowance.watch,
    )
    figures |= {"steps": found.steps, "tail": found.tail, "lazy": pairs.is_lazy, "multiplications": found.flops}
    return Solution(*pairs.in_steps(found.there, found.back), figures, notes)


def _sketch(pairs: Pairs, config: CommuteConfig, allowance: Allowance) -> Solution:
    steps, notes = config.step_count, []
    if config.steps is None and _minutes(_plan(pairs, steps)) > MOST_MINUTES:
        steps = SERIES_STEPS
        notes.append(f"{config.step_count} steps would take too long with hubs like these; {steps} are summed")
    plan = _affordable_plan(pairs, steps)
    start = series_times(
        *pairs.stepping,
        steps,
        plan=plan,
        tail=True,
        memory=allowance.memory,
        jobs=allowance.jobs,
        watch=Unsaved(allowance.watch),
    )
    found = sketch_times(
        *pairs.stepping,
        config.probes,
        config.solver_seed,
        start=start,
        memory=allowance.memory,
        jobs=allowance.jobs,
        watch=allowance.watch,
    )
    there, back, times = pairs.in_steps(found.there, found.back)
    error = found.error / 2 if pairs.is_lazy else found.error
    figures = {
        "steps": steps,
        "lazy": pairs.is_lazy,
        "probes": config.probes,
        "probe_residual": float(np.max(found.residuals, initial=0.0)),
        "probe_iterations": int(np.max(found.iterations, initial=0)),
        "relative_standard_error": quantiles((error / times)[np.isfinite(error)]),
    }
    return Solution(there, back, times, figures, notes, error)


def _plan(pairs: Pairs, steps: int) -> Plan:
    walk, _, source, target = pairs.stepping
    return plan_series(walk, steps, source, target)


def _minutes(plan: Plan) -> float:
    """About how long a series takes on a slow core."""
    return plan.work / WORK_A_SECOND / 60


def _affordable_plan(pairs: Pairs, steps: int) -> Plan:
    """The plan of a series; what would take long is refused at once."""
    plan = _plan(pairs, steps)
    minutes = _minutes(plan)
    if minutes > MOST_MINUTES:
        raise ResourceError(
            f"{steps} steps of the series may take about {minutes:,.0f} minutes on this graph",
            "use fewer --steps (2 is safe with hubs), or --solver pi-only",
        )
    return plan


QUANTILES = {"minimum": 0.0, "p05": 0.05, "median": 0.5, "p95": 0.95, "maximum": 1.0}


def quantiles(values: np.ndarray) -> dict[str, float]:
    """Some quantiles, by name; nothing of nothing."""
    if not len(values):
        return {}
    found = np.quantile(values, list(QUANTILES.values()))
    return {name: float(value) for name, value in zip(QUANTILES, found, strict=True)}
