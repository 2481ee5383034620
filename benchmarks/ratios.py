"""Times of the solvers as ratios to their peers, each with the error that it leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from graphs import Case, Sources, Undirected
from peers import dense_times, installed, iterations_for, networkit_within, randomized_svd, residual
from report import MISSING, Line, Section, percent, ratio, seconds, table
from timing import Side, interleaved, on_one_thread, once

from cgnn_cli.configs import CommuteConfig
from cgnn_cli.numerics.exact import dense_bytes, exact_times
from cgnn_cli.numerics.lowrank import truncated_svd
from cgnn_cli.numerics.pair_times import pair_times
from cgnn_cli.numerics.perron import perron_vector
from cgnn_cli.numerics.series import Series, series_times
from cgnn_cli.numerics.verify import choose_steps, compare, sample, verify
from cgnn_cli.resources import allowed_cores
from cgnn_cli.solver_table import PAPER_RANK
from cgnn_cli.solvers.solution import Allowance, Pairs, Solution, solve_pairs

MEMORY = 4 << 30
SAMPLE = 64
TOLERANCE = 0.01
NETWORKIT_TOLERANCE, QUICK_NETWORKIT_TOLERANCE = 0.1, 1.0
NETWORKIT_SECONDS = 600.0
NETWORKIT_GRAPHS = (("5b", "chameleon"), ("5c", "gnutella"))
PRODUCT, BOTH = "scipy `P @ P`", ("median", "95 %")
SMALL_GRAPHS = ("chameleon", "squirrel", "cora-ml", "citeseer", "am-photo")


@dataclass(frozen=True)
class Setting:
    """What all parts of the benchmark are given."""

    sources: Sources
    images: Path
    quick: bool = False
    rounds: int = 5


def run_solver(case: Case, config: CommuteConfig) -> Solution:
    """A solver of the commute stage, with all cores."""
    return solve_pairs(Pairs(case.dilap, *case.pairs), config, Allowance(MEMORY, allowed_cores()))


def series(graph: Case | Undirected, steps: int = 2, jobs: int | None = None) -> Series:
    return series_times(*graph.system, steps, memory=MEMORY, jobs=jobs or allowed_cores())


def check(case: Case, found: Any) -> dict[str, Any]:
    """What `--verify 64` prints."""
    return verify(*case.system, found.there, found.back, found.times, count=SAMPLE, seed=0, jobs=allowed_cores())


def errors(measured: dict[str, Any]) -> list[str]:
    """Median and 95th percentile for c, then for h."""
    names = ("median_relative_error", "p95_relative_error")
    return [percent(part[name]) for part in (measured, measured["hitting"]) for name in names]


def svd(setting: Setting) -> Section:
    """Lanczos on T against scikit-learn's randomised range finder."""
    case = setting.sources.case("arxiv-year")
    matrix = case.dilap.laplacian
    ours = {"cgnn, Lanczos": lambda: truncated_svd(matrix, PAPER_RANK, 0, symmetric=True)}
    goal = f"`svd --rank {PAPER_RANK}` on arxiv: at most 0.6 of the CPU time of `randomized_svd`, residual below 1e-8"
    if not installed("sklearn"):
        return Section([Line("1a", goal, MISSING, None)], f"scikit-learn is {MISSING}.")
    enough = iterations_for(matrix, PAPER_RANK, 1e-8)
    names = {f"scikit-learn, {count} power iterations": count for count in (4, enough)}
    sides = {name: lambda count=count: randomized_svd(matrix, PAPER_RANK, count) for name, count in names.items()}
    timed = on_one_thread({**ours, **sides}, setting.rounds)
    own = timed.pop("cgnn, Lanczos")
    rows = [("", "CPU time, one thread", "ratio to cgnn", "residual")]
    rows.append(("cgnn, Lanczos", seconds(own.seconds), "1", f"{own.result.residual:.0e}"))
    for name, side in timed.items():
        left = residual(matrix, side.result)
        rows.append((name, seconds(side.seconds), ratio(side.seconds / own.seconds), f"{left:.0e}"))
    share = own.seconds / timed["scikit-learn, 4 power iterations"].seconds
    met = share <= 0.6 and own.result.residual < 1e-8
    return Section([Line("1a", goal, f"{ratio(share)} of its time with 4 iterations", met)], table(rows))


def products(setting: Setting) -> Section:
    """The series and the sketch against one scipy P @ P."""
    case = setting.sources.case("arxiv-year")
    transition = case.dilap.transition

    def sides(jobs: int, steps: Sequence[int]) -> dict[str, Side]:
        ours = {f"series, {count} steps": partial(series, case, count, jobs) for count in steps}
        return {PRODUCT: lambda: transition @ transition, **ours}

    alone = on_one_thread(sides(1, (2, 3)), setting.rounds)
    both = interleaved(sides(2, (2,)), setting.rounds)
    sketch = once(lambda: run_solver(case, CommuteConfig(solver="sketch")))
    results = {**{name: side.result for name, side in alone.items() if name != PRODUCT}, "sketch": sketch.result}
    measured = {name: check(case, result) for name, result in results.items()}
    shares = {
        name: [timed[name].seconds / timed[PRODUCT].seconds for timed in (alone, both) if name in timed]
        for name in alone
    }
    rows: list[Sequence[str]] = [
        (
            "",
            "CPU time, one thread",
            "ratio",
            "wall time, two threads: ratio",
            *(f"{x}: {y}" for x in "ch" for y in BOTH),
        )
    ]
    for name, side in alone.items():
        found = [*map(ratio, shares[name]), ""][:2]
        figures = errors(measured[name]) if name in measured else [""] * 4
        rows.append((name, seconds(side.seconds), *found, *figures))
    rows.append(("sketch, wall time of one run", seconds(sketch.seconds), "", "", *errors(measured["sketch"])))
    first, best = measured["series, 2 steps"], measured["sketch"]["median_relative_error"]
    median, high = first["median_relative_error"], first["p95_relative_error"]
    (one, two), (three,) = shares["series, 2 steps"], shares["series, 3 steps"]
    on_arxiv, product = "`series` on arxiv", "`P @ P`"
    lines = [
        Line("2a", f"{on_arxiv}: at most 0.6 of the CPU time of {product} on one thread", ratio(one), one <= 0.6),
        Line(
            "2b",
            f"{on_arxiv}, `--verify 64`: median error of c at most 1 %, 95th percentile at most 10 %",
            f"{percent(median)}, {percent(high)}",
            median <= 0.01 and high <= 0.1,
        ),
        Line("2c", "`sketch` on arxiv: median error of c at most 0.3 %", percent(best), best <= 0.003),
        Line("2d", f"{on_arxiv}, two threads: at most 0.4 of the wall time of {product}", ratio(two), two <= 0.4),
        Line("2e", f"{on_arxiv}, 3 steps: at most 2.5 times the CPU time of {product}", ratio(three), three <= 2.5),
    ]
    return Section(lines, table(rows))


def tolerance(setting: Setting) -> Section:
    """series --tolerance 0.01 against exact, on every edge."""
    columns = ("graph", "edges", "steps", "c: median", "c: 95 %", "h: median", "h: 95 %", "time of exact / series")
    rows: list[Sequence[str]] = [columns]
    medians: dict[str, float] = {}
    for name in SMALL_GRAPHS:
        case = setting.sources.case(name)
        exact = once(partial(exact_times, *case.system, memory=MEMORY))
        found = once(partial(run_solver, case, CommuteConfig(solver="series", tolerance=TOLERANCE)))
        there, back = exact.result.there, exact.result.back
        solved: Solution = found.result
        both = (np.concatenate([solved.there, solved.back]), np.concatenate([there, back]))
        measured: dict[str, Any] = {**compare(solved.times, there + back), "hitting": compare(*both)}
        medians[name] = measured["median_relative_error"]
        steps, speed = solved.figures["steps"], exact.seconds / found.seconds
        rows.append((name, f"{len(there):,}", f"{steps}", *errors(measured), ratio(speed)))
    worst = max(medians, key=lambda name: medians[name])
    goal = "`series --tolerance 0.01` on five graphs: median error of c over all edges at most 1 %"
    measured_worst = f"at most {percent(medians[worst])} ({worst})"
    return Section([Line("3", goal, measured_worst, medians[worst] <= 0.01)], table(rows))


def dense(setting: Setting) -> Section:
    """Perron vector and series against the dense method, which also makes its own Perron vector."""
    case = setting.sources.case("squirrel")
    walk, _, source, target = case.system
    start = np.asarray(walk.sparse.sum(axis=1)).ravel()
    sides = {
        "Perron vector and series": lambda: (perron_vector(walk, start), series(case)),
        "Perron vector and `series --tolerance 0.01`": lambda: (
            perron_vector(walk, start),
            run_solver(case, CommuteConfig(solver="series", tolerance=TOLERANCE)),
        ),
    }
    timed = interleaved(sides, setting.rounds)
    exact = once(lambda: exact_times(*case.system, memory=dense_bytes(walk.size)))
    truth = exact.result.there + exact.result.back
    slow = once(lambda: dense_times(case.dilap.transition)[source, target])
    rows = [("", "time", "dense method takes", "c: median error")]
    for name, side in timed.items():
        error = compare(side.result[1].times, truth)["median_relative_error"] or 0.0
        rows.append((name, seconds(side.seconds), f"{ratio(slow.seconds / side.seconds)} times", percent(error)))
    speed_of_exact = f"{ratio(slow.seconds / exact.seconds)} times"
    rows.append(("`exact`, given the Perron vector (one run)", seconds(exact.seconds), speed_of_exact, "the reference"))
    error = compare(slow.result, truth)["median_relative_error"] or 0.0
    rows.append(("dense method (one run)", seconds(slow.seconds), "1", percent(error)))
    speed = slow.seconds / timed["Perron vector and series"].seconds
    goal = "`series` on squirrel at 1 % error: at least 300 times faster than the dense method"
    return Section([Line("5a", goal, f"{ratio(speed)} times", speed >= 300)], table(rows))


def networkit(setting: Setting) -> Section:
    """The series on an undirected graph as it is, at no larger an error than NetworKit's approximation."""
    rows = [("graph", "nodes, edges", "series", "NetworKit", "ratio", "c: median of series", "of NetworKit")]
    lines = []
    error = TOLERANCE
    for number, name in NETWORKIT_GRAPHS[: 1 if setting.quick else None]:
        goal = f"undirected {name}: at least 20 times faster than NetworKit (tolerance 0.1) at no larger error"
        if not installed("networkit"):
            lines.append(Line(number, goal, MISSING, None))
            continue
        graph = setting.sources.undirected(name)
        walk, perron, source, target = graph.system
        chosen = sample(np.arange(len(source)), SAMPLE, 0)
        truth = pair_times(walk, perron, source[chosen], target[chosen], jobs=allowed_cores()).times
        asked = QUICK_NETWORKIT_TOLERANCE if setting.quick else NETWORKIT_TOLERANCE
        theirs = networkit_within(NETWORKIT_SECONDS, graph, source[chosen], target[chosen], asked)
        taken, mark = (NETWORKIT_SECONDS, "more than ") if theirs is None else (theirs.seconds, "")
        if theirs is not None:  # else ours has to reach NetworKit's error on the graph before
            error = compare(theirs.times, truth)["median_relative_error"] or 0.0
        steps = choose_steps(*graph.system, error, seed=1).steps or 2
        own = interleaved({"": partial(series, graph, steps)}, setting.rounds)[""]
        own_error = compare(own.result.times[chosen], truth)["median_relative_error"] or 0.0
        speed = mark + ratio(taken / own.seconds)
        times = (f"{seconds(own.seconds)} ({steps} steps)", mark + seconds(taken))
        their_error = "not finished" if theirs is None else percent(error)
        rows.append((name, f"{walk.size:,}, {len(source):,}", *times, speed, percent(own_error), their_error))
        measured = f"{speed} times; error {percent(own_error)} against {percent(error)}"
        lines.append(Line(number, goal, measured, taken / own.seconds >= 20 and own_error <= error))
    return Section(lines, table(rows) if len(rows) > 1 else f"NetworKit is {MISSING}.")
