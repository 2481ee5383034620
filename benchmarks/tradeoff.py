"""What each solver's error costs: error against time, on a small graph and on a large one."""

from __future__ import annotations

import numpy as np
from figures import draw_tradeoff
from graphs import Case
from ratios import MEMORY, SAMPLE, Setting, run_solver
from report import Section
from timing import interleaved, once

from cgnn_cli.configs import CommuteConfig
from cgnn_cli.numerics.exact import exact_times
from cgnn_cli.numerics.pair_times import pair_times
from cgnn_cli.numerics.verify import compare, sample
from cgnn_cli.report.table import counted
from cgnn_cli.resources import allowed_cores

SMALL_STEPS, LARGE_STEPS = (1, 2, 3, 4, 6, 8, 12), (1, 2, 3)
SMALL_PROBES, LARGE_PROBES = (4, 16, 64, 256), (4, 16, 64)
SHORT = 0.5  # seconds below which a run is repeated

Points = list[tuple[str, float, float]]


def tradeoff(setting: Setting) -> Section:
    """Solvers with growing steps, probes or rank, on cora-ml over all edges and on arxiv over sampled ones."""
    curves = {}
    for name in ("cora-ml", "arxiv-year"):
        many = name == "cora-ml" and not setting.quick
        steps, probes = (SMALL_STEPS, SMALL_PROBES) if many else (LARGE_STEPS, LARGE_PROBES)
        case = setting.sources.case(name)
        curves[name] = _curves(case, setting.rounds, steps, probes, exact=name == "cora-ml")
    draw_tradeoff(curves, setting.images)
    return Section([], "![Error against time](images/benchmark-error.svg)")


def _curves(
    case: Case, rounds: int, steps: tuple[int, ...], probes: tuple[int, ...], *, exact: bool
) -> dict[str, Points]:
    transition = case.dilap.transition
    unit = interleaved({"": lambda: transition @ transition}, rounds)[""].seconds
    walk, perron, source, target = case.system
    if exact:
        chosen, direct = np.arange(len(source)), once(lambda: exact_times(*case.system, memory=MEMORY))
        truth = direct.result.there + direct.result.back
    else:
        chosen = sample(np.arange(len(source)), SAMPLE, 0)
        truth = pair_times(walk, perron, source[chosen], target[chosen], jobs=allowed_cores()).times

    def point(label: str, config: CommuteConfig) -> tuple[str, float, float]:
        timed = once(lambda: run_solver(case, config))
        if timed.seconds < SHORT:
            timed = interleaved({"": lambda: run_solver(case, config)}, rounds)[""]
        error = compare(timed.result.times[chosen], truth)["median_relative_error"]
        return label, timed.seconds / unit, error or 0.0

    found: dict[str, Points] = {
        "series": [
            point(counted(count, "step"), CommuteConfig(solver="series", steps=count)) for count in steps if count > 1
        ],
        "series, no tail": [
            point(counted(count, "step"), CommuteConfig(solver="series", steps=count, tail=False)) for count in steps
        ],
        "sketch": [point(counted(count, "probe"), CommuteConfig(solver="sketch", probes=count)) for count in probes],
        "svd": [point("rank 5", CommuteConfig(solver="svd"))],
        "pi-only": [point("", CommuteConfig(solver="pi-only"))],
    }
    if exact:
        found["exact"] = [("", direct.seconds / unit, np.nan)]  # the reference itself
    return found
