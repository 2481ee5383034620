"""Time and memory at scale: whole commands from cold, and every solver on a growing series of random graphs.

    python benchmarks/scale.py FILE SOLVER

is how the series measures one point: a fresh process reads a walk, runs a solver, and prints seconds and bytes.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from figures import draw_growth
from graphs import Case, citations
from peers import dense_times
from ratios import MEMORY, Setting, run_solver
from report import Line, Section, gibibytes, ratio, seconds, table
from scipy.sparse import load_npz, save_npz
from timing import interleaved

from cgnn_cli.configs import CommuteConfig
from cgnn_cli.graph import Dilap
from cgnn_cli.solver_table import PAPER_RANK
from cgnn_cli.solvers.solution import Allowance, Pairs, solve_pairs
from cgnn_cli.stages.dilap import dilap
from cgnn_cli.stages.rewire import rewire

REPEATS, ENOUGH_SECONDS = 3, 10.0
LARGE_ROUNDS = 5
EDGES = (3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)
QUICK_EDGES = (900,)
LARGEST = {"series": 10_000_000, "svd": 10_000_000, "P @ P": 10_000_000}
LARGEST |= {"sketch": 1_000_000, "exact": 30_000, "dense method": 10_000}
QUICK_SOLVERS = ("series", "dense method")


@dataclass(frozen=True)
class Point:
    """One solver on one graph: seconds, and bytes beyond the walk itself."""

    solver: str
    edges: int
    seconds: float
    bytes: int


@dataclass(frozen=True)
class ColdRun:
    """A command that makes rewire, dilap and commute from nothing."""

    peak: int  # bytes of the process and its workers together
    seconds: float  # of the commute stage
    edges: int


def cold_run(setting: Setting, name: str, solver: str) -> ColdRun:
    """`cgnn commute` in a fresh process, with a new store."""
    peak, result = run_command(setting, name, "commute", "--solver", solver)
    stage = next(stage for stage in result["stages"] if stage["stage"] == "commute")
    return ColdRun(peak, stage["seconds"], result["summary"]["edges"])


def run_command(setting: Setting, name: str, *arguments: str) -> tuple[int, dict[str, Any]]:
    """A stage in a fresh process with a new store: its peak in bytes, and what it prints with --json.

    On the demo graph where there is no data.
    """
    chosen = ["--dataset", "demo"]
    if setting.sources.data is not None:
        mirror = str(setting.sources.mirror(name))
        chosen = ["--dataset", name, "--mirror", mirror, "--data", setting.sources.store_of(name), "--accept-standin"]
    with tempfile.TemporaryDirectory(dir=setting.sources.scratch) as store:
        command = [sys.executable, "-m", "cgnn_cli", *arguments, *chosen, "--store", store, "--json", "--quiet"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            peak = _watch(process)
            output = process.stdout.read() if process.stdout else ""
        if process.returncode:
            raise RuntimeError(f"{' '.join(command)} ended with exit code {process.returncode}")
    result: dict[str, Any] = json.loads(output)
    return peak, result


def _watch(process: subprocess.Popen[str]) -> int:
    """The most memory that a process and its children held together, looked at twenty times a second."""
    peak = 0
    while process.poll() is None:
        held = 0
        try:
            root = psutil.Process(process.pid)
            for member in (root, *root.children(recursive=True)):
                held += member.memory_info().rss
        except psutil.NoSuchProcess:
            pass
        peak = max(peak, held)
        time.sleep(0.05)
    return peak


def memory(setting: Setting) -> Section:
    """The stages from cold on arxiv."""
    run = cold_run(setting, "arxiv-year", "svd")
    rows = [("", "peak memory", "commute stage"), *_cold_rows({"svd": run})]
    goal = "rewire, dilap and commute (svd) on arxiv from cold: peak under 3 GiB"
    return Section([Line("1b", goal, gibibytes(run.peak), run.peak < 3 << 30)], table(rows))


def large(setting: Setting) -> Section:
    """The stages from cold on the full-size stand-in of snap-patents; time per edge against arxiv, in one process."""
    rows = [("", "peak memory", "commute stage")]
    runs = {solver: cold_run(setting, "snap-patents", solver) for solver in ("svd", "series")}
    rows += _cold_rows({f"{solver}, snap-patents": run for solver, run in runs.items()})
    peaks = [run.peak for run in runs.values()]
    cases = {name: setting.sources.case(name) for name in ("arxiv-year", "snap-patents")}
    configs = {"svd": CommuteConfig(rank=PAPER_RANK), "series": CommuteConfig(solver="series")}
    sides: dict[str, Callable[[], object]] = {
        f"{solver} {name}": partial(run_solver, case, config)
        for solver, config in configs.items()
        for name, case in cases.items()
    }
    times = interleaved(sides, LARGE_ROUNDS)
    per_edge = {
        f"{solver} {name}": times[f"{solver} {name}"].seconds / case.graph.edges.nnz
        for solver in configs
        for name, case in cases.items()
    }
    shares = {solver: per_edge[f"{solver} snap-patents"] / per_edge[f"{solver} arxiv-year"] for solver in configs}
    measured = ", ".join(f"{solver} {ratio(share)}" for solver, share in shares.items())
    lines = [
        Line(
            "4a",
            "svd and series on snap-patents (stand-in) from cold: peak within 16 GiB",
            gibibytes(max(peaks)),
            max(peaks) <= 16 << 30,
        ),
        Line(
            "4b",
            "the same, commute time per edge: at most twice arxiv's",
            f"{measured} times",
            max(shares.values()) <= 2,
        ),
    ]
    return Section(lines, table(rows))


def _cold_rows(runs: dict[str, ColdRun]) -> list[tuple[str, str, str]]:
    return [
        (name, gibibytes(run.peak), f"{seconds(run.seconds)}, {1e6 * run.seconds / run.edges:.2g} s per million edges")
        for name, run in runs.items()
    ]


def growth(setting: Setting) -> Section:
    """Every solver on random graphs like those of citations, from thousands to millions of edges."""
    points = []
    one_core = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    for edges in QUICK_EDGES if setting.quick else EDGES:
        graph = citations(edges)
        with tempfile.TemporaryDirectory(dir=setting.sources.scratch) as folder:
            write_case(Path(folder), Case("", graph, dilap(rewire(graph))))
            for solver in QUICK_SOLVERS if setting.quick else LARGEST:
                if edges <= LARGEST[solver]:
                    command = [sys.executable, __file__, folder, solver]
                    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=one_core).stdout
                    points.append(Point(solver, graph.edges.nnz, **json.loads(output)))
    draw_growth([vars(point) for point in points], setting.images)
    last = {point.solver: point for point in points}
    rows = [("solver", "largest graph, edges", "time", "memory beyond the walk")]
    rows += [(name, f"{p.edges:,}", seconds(p.seconds), gibibytes(p.bytes)) for name, p in last.items()]
    figure = "![Time and memory against edges](images/benchmark-growth.svg)"
    return Section([], f"{figure}\n\n{table(rows)}")


def write_case(folder: Path, case: Case) -> None:
    save_npz(folder / "transition.npz", case.dilap.transition, compressed=False)
    save_npz(folder / "laplacian.npz", case.dilap.laplacian, compressed=False)
    np.savez(folder / "vectors.npz", perron=case.dilap.perron, source=case.pairs[0], target=case.pairs[1])


def read_case(folder: Path) -> Pairs:
    with np.load(folder / "vectors.npz") as vectors:
        perron, source, target = (vectors[name] for name in ("perron", "source", "target"))
    found = Dilap(
        transition=load_npz(folder / "transition.npz"),
        laplacian=load_npz(folder / "laplacian.npz"),
        perron=perron,
        nodes=np.arange(len(perron)),
        summary={"symmetric": True},
    )
    return Pairs(found, source, target)


def measure_point(folder: Path, solver: str) -> dict[str, float]:
    """Run a solver until its time is known; the first runs warm it up where it is short."""
    pairs = read_case(folder)
    sides: dict[str, Callable[[], object]] = {
        "P @ P": lambda: pairs.dilap.transition @ pairs.dilap.transition,
        "dense method": lambda: dense_times(pairs.dilap.transition)[pairs.source, pairs.target],
    }
    config = CommuteConfig(solver=solver, rank=PAPER_RANK) if solver not in sides else None
    side = sides.get(solver, lambda: solve_pairs(pairs, config or CommuteConfig(), Allowance(MEMORY, 1)))
    before = psutil.Process().memory_info().rss
    times: list[float] = []
    while len(times) < REPEATS + 1 and sum(times) < ENOUGH_SECONDS:
        started = time.perf_counter()
        side()
        times.append(time.perf_counter() - started)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"seconds": float(np.median(times[1:] or times)), "bytes": max(peak - before, 1)}


if __name__ == "__main__":
    print(json.dumps(measure_point(Path(sys.argv[1]), sys.argv[2])))
