"""The solvers of hitting and commute times: from the walk and pairs of its states to times, figures and notes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cgnn_cli.configs import CommuteConfig
from cgnn_cli.errors import ResourceError
from cgnn_cli.graph import Dilap
from cgnn_cli.numerics.exact import exact_hitting
from cgnn_cli.numerics.lowrank import RESIDUAL_GOAL, svd_times, truncated_svd
from cgnn_cli.numerics.series import series_cost, series_times
from cgnn_cli.numerics.sketch import sketch_times
from cgnn_cli.numerics.verify import choose_steps, verify
from cgnn_cli.numerics.walk import Walk
from cgnn_cli.watch import Watch

SVD_NOTE = (
    "svd gives the paper's rank-{rank} truncation scores, not expected steps; `--solver series` gives true commute "
    "times, and `--verify 64` measures the error of any solver"
)
WORK_A_SECOND = 2e7  # multiplications of sparse matrices, on a slow core
MOST_HOURS = 2.0


@dataclass(frozen=True)
class Allowance:
    """What a solver may use: working memory in bytes, processes, and who watches."""

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
        solution.figures["verify"] = verify(
            *pairs.system,
            solution.there,
            solution.back,
            solution.times,
            count=config.verify,
            seed=config.solver_seed,
            jobs=allowance.jobs,
            progress=lambda done, total: allowance.watch.progress(done, total, "edges verified"),
        )
    return solution


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
    factors = truncated_svd(dilap.laplacian_operator(), rank, config.solver_seed, symmetric=symmetric)
    if factors.residual > RESIDUAL_GOAL:
        notes.append(
            f"the svd stopped at a residual of {factors.residual:.1e} (goal {RESIDUAL_GOAL:.0e}), "
            "so its scores depend a little on --solver-seed"
        )
    figures = {"rank": rank, "svd_residual": factors.residual, "svd_iterations": factors.iterations}
    return Solution(*svd_times(factors, dilap.perron, pairs.source, pairs.target), figures=figures, notes=notes)


def _series(pairs: Pairs, config: CommuteConfig, allowance: Allowance) -> Solution:
    steps, figures, notes = config.step_count, dict[str, Any](), []
    if config.tolerance is not None:
        choice = choose_steps(
            *pairs.system,
            config.tolerance,
            seed=config.solver_seed,
            tail=config.tail,
            jobs=allowance.jobs,
            progress=lambda done, total: allowance.watch.progress(done, total, "sampled edges solved"),
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
    _check_cost(pairs, steps)
    found = series_times(
        *pairs.system,
        steps,
        tail=config.tail,
        memory=allowance.memory,
        jobs=allowance.jobs,
        watch=allowance.watch,
    )
    figures |= {"steps": found.steps, "tail": found.tail, "multiplications": found.flops}
    return Solution(found.there, found.back, found.times, figures, notes)


def _sketch(pairs: Pairs, config: CommuteConfig, allowance: Allowance) -> Solution:
    _check_cost(pairs, config.step_count)
    start = series_times(
        *pairs.system,
        config.step_count,
        tail=True,
        memory=allowance.memory,
        jobs=allowance.jobs,
    )
    found = sketch_times(
        *pairs.system,
        config.probes,
        config.solver_seed,
        start=start,
        memory=allowance.memory,
        jobs=allowance.jobs,
        watch=allowance.watch,
    )
    relative = found.error / found.times
    figures = {
        "steps": config.step_count,
        "probes": config.probes,
        "probe_residual": float(np.max(found.residuals, initial=0.0)),
        "probe_iterations": int(np.max(found.iterations, initial=0)),
        "relative_standard_error": quantiles(relative),
    }
    return Solution(found.there, found.back, found.times, figures, error=found.error)


def _check_cost(pairs: Pairs, steps: int) -> None:
    """Refuse at once what would take hours."""
    work = series_cost(pairs.dilap.walk(), steps, pairs.source, pairs.target).work
    hours = work / WORK_A_SECOND / 3600
    if hours > MOST_HOURS:
        raise ResourceError(
            f"{steps} steps of the series may need {work:.1e} multiplications on this graph, about {hours:,.0f} hours",
            "use fewer --steps (2 is safe with hubs), or --solver pi-only",
        )


QUANTILES = {"minimum": 0.0, "p05": 0.05, "median": 0.5, "p95": 0.95, "maximum": 1.0}


def quantiles(values: np.ndarray) -> dict[str, float]:
    """Some quantiles, by name; nothing of nothing."""
    if not len(values):
        return {}
    found = np.quantile(values, list(QUANTILES.values()))
    return {name: float(value) for name, value in zip(QUANTILES, found, strict=True)}
