"""series: true times from a few steps of the walk and a geometric tail; a tolerance chooses how many steps."""

from typing import Any

from cgnn_cli import scratch
from cgnn_cli.configs import CommuteConfig
from cgnn_cli.errors import ResourceError
from cgnn_cli.numerics.parts import Parts, direct_part
from cgnn_cli.numerics.powers import Plan
from cgnn_cli.numerics.series import plan_series, series_times
from cgnn_cli.numerics.verify import choose_steps
from cgnn_cli.solver_table import PARTS_STEPS
from cgnn_cli.solvers.solution import Allowance, Pairs, Solution, Unsaved

WORK_A_SECOND = 2e7  # multiplications of sparse matrices, on a slow core
MOST_MINUTES = 60.0
SPARSE_COST = 30.0  # of a multiplication between sparse matrices, in those of a product with a vector
PAIR_COST = 600.0  # of what is done for each pair beside the products


def solve(pairs: Pairs, config: CommuteConfig, allowance: Allowance) -> Solution:
    steps, figures, notes = config.step_count, dict[str, Any](), []
    if config.tolerance is not None:
        watch = Unsaved(allowance.watch)
        choice = choose_steps(
            *pairs.stepping,
            config.tolerance,
            seed=config.solver_seed,
            tail=config.tail,
            jobs=allowance.jobs,
            progress=lambda done, total: watch.progress(done, total, "nodes of sampled edges solved"),
        )
        steps = len(choice.errors) - 1 if choice.steps is None else choice.steps
        if config.proximity == "affinity":
            steps = max(steps, PARTS_STEPS)
        if choice.steps is None:
            notes.append(
                f"no number of steps up to {steps} reaches --tolerance {config.tolerance:g}; {steps} were used, "
                f"with a median relative error of about {choice.error:.2g}"
            )
        figures |= {"sampled_edges": choice.edges, "sampled_error": choice.error}
    plan = affordable_plan(pairs, steps)
    direct = direct_part(*pairs.system) if steps >= PARTS_STEPS else None
    found = series_times(
        *pairs.stepping,
        steps,
        plan=plan,
        tail=config.tail,
        memory=allowance.memory,
        jobs=allowance.jobs,
        watch=allowance.watch,
        direct=direct,
        lazy=pairs.is_lazy,
    )
    figures |= {"steps": found.steps, "tail": found.tail, "lazy": pairs.is_lazy, "multiplications": found.flops}
    there, back, times = pairs.in_steps(found.there, found.back)
    parts = None
    if direct is not None and (indirect := found.indirect) is not None:
        popularity = scratch.computed(len(times), lambda part: times[part] + direct[part] + indirect[part])
        parts = Parts(popularity, direct, indirect)
    return Solution(there, back, times, figures, notes, work=series_work(pairs, plan), parts=parts)


def series_work(pairs: Pairs, plan: Plan) -> float:
    """What a series costs, in multiplications of products of a matrix with a vector."""
    return SPARSE_COST * plan.work + PAIR_COST * len(pairs.source)


def affordable_plan(pairs: Pairs, steps: int) -> Plan:
    """The plan of a series; what would take long on a slow core is refused at once."""
    walk, _, source, target = pairs.stepping
    plan = plan_series(walk, steps, source, target)
    minutes = plan.work / WORK_A_SECOND / 60
    if minutes > MOST_MINUTES:
        raise ResourceError(
            f"{steps} steps of the series may take about {minutes:,.0f} minutes on this graph",
            "use fewer --steps (2 is safe with hubs), or --solver pi-only",
        )
    return plan
