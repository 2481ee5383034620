"""sketch: true times from a series and random probes of what it leaves out, with a standard error for each pair."""

import numpy as np

from cgnn_cli.configs import CommuteConfig
from cgnn_cli.errors import ResourceError
from cgnn_cli.numerics.series import series_times
from cgnn_cli.numerics.sketch import sketch_times
from cgnn_cli.solver_table import SOLVERS
from cgnn_cli.solvers.series import affordable_plan, series_work
from cgnn_cli.solvers.solution import Allowance, Pairs, Solution, Unsaved, quantiles


def solve(pairs: Pairs, config: CommuteConfig, allowance: Allowance) -> Solution:
    steps, notes = config.step_count, []
    try:
        plan = affordable_plan(pairs, steps)
    except ResourceError:
        if config.steps is not None:
            raise
        steps = SOLVERS["series"].steps
        notes.append(f"{config.step_count} steps would take too long with hubs like these; {steps} are summed")
        plan = affordable_plan(pairs, steps)
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
    work = series_work(pairs, plan) + 2.0 * pairs.dilap.transition.nnz * float(found.iterations.sum())
    return Solution(there, back, times, figures, notes, error, work=work)
