"""Graphs that outgrow memory: import, rewire, dilap and commute of made graphs of 1, 10 and 100 million edges.

    python benchmarks/out_of_core.py --scratch FOLDER
    python benchmarks/out_of_core.py --quick --output FILE

The graphs are those of power_law.py, with a tenth as many nodes as edges. Each stage is a process of its own, started
through the command line with the default settings. What a stage took is noted in FOLDER as soon as it is done, so that
a measurement which was stopped goes on; a graph and its store are removed when all stages of it are done. With 100
million edges FOLDER needs 40 GB. The exit code is 1 if a goal is missed.

Private memory is what the process and its children hold of their own, sampled: anonymous pages, and shared memory that
is no file. Pages of files are left out, although the kernel calls those private too that one process alone has mapped:
it takes them back when others need the room.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import power_law
import psutil
from report import Line, Section, gibibytes, measure, ratio, seconds, table

PAGE = Path(__file__).parents[1] / "docs" / "scaling.md"
EDGES, QUICK_EDGES, DEGREE = (1_000_000, 10_000_000, 100_000_000), (2_000, 20_000), 10
MOST_PRIVATE, MOST_GROWTH = 8 << 30, 2.5
TIME_GOAL = "the same: CPU an edge (series: a multiplication) at most 2.5 times that at 10 million"
SAMPLES = 10  # a second
NAME = "made"
STAGES: dict[str, tuple[str, ...]] = {
    "import": ("data", "import", NAME),
    "rewire": ("rewire", "--dataset", NAME),
    "dilap": ("dilap", "--dataset", NAME),
    "commute, svd": ("commute", "--dataset", NAME, "--solver", "svd", "--threads", "2"),
    "commute, series": ("commute", "--dataset", NAME, "--solver", "series", "--threads", "2"),
}


@dataclass(frozen=True)
class Taken:
    """What a stage took: seconds by the clock and of CPU, bytes of private memory, and multiplications if it tells."""

    seconds: float
    cpu: float
    private: int
    multiplications: int = 0


def private_bytes(process: psutil.Process) -> int:
    """What a process and its children hold that lies in no file."""
    held = 0
    with suppress(psutil.NoSuchProcess):
        for member in (process, *process.children(recursive=True)):
            with suppress(OSError):
                lines = (Path("/proc") / str(member.pid) / "status").read_text().splitlines()
                held += sum(1024 * int(line.split()[1]) for line in lines if line.startswith(("RssAnon", "RssShmem")))
    return held


def taken(command: list[str]) -> Taken:
    """Run a command of cgnn and watch it."""
    begun, peak = time.perf_counter(), 0
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen([sys.executable, "-m", "cgnn_cli", *command, "--quiet", "--json"], stdout=output)
        watched = psutil.Process(process.pid)
        ended = 0
        while not ended:
            peak = max(peak, private_bytes(watched))
            time.sleep(1 / SAMPLES)
            ended, status, usage = os.wait4(process.pid, os.WNOHANG)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise RuntimeError(f"cgnn {' '.join(command)} ended with exit code {process.returncode}")
        output.seek(0)
        summary: dict[str, Any] = json.load(output).get("summary", {})
    clock = time.perf_counter() - begun
    return Taken(clock, usage.ru_utime + usage.ru_stime, peak, int(summary.get("multiplications", 0)))


def measured(edges: int, folder: Path) -> dict[str, Taken]:
    """All stages of the graph of one size, those that were not measured before in this folder."""
    notes, graph, store = folder / f"{edges}.json", folder / f"{edges}.graph", folder / f"{edges}.store"
    found = {name: Taken(**values) for name, values in json.loads(notes.read_text()).items()} if notes.exists() else {}
    for name, command in STAGES.items():
        if name in found:
            continue
        if not graph.exists():
            power_law.write(graph, edges // DEGREE, edges)
        chosen = ["--edges", str(graph)] if name == "import" else []
        found[name] = taken([*command, *chosen, "--store", str(store)])
        notes.write_text(json.dumps({name: asdict(each) for name, each in found.items()}))
        print(f"{edges:,} edges, {name}: {found[name]}", flush=True)
    for made in (graph, store):
        shutil.rmtree(made, ignore_errors=True)
    return found


def per_unit(stage: Taken, edges: int) -> float:
    """Seconds of CPU for an edge, or for a multiplication of the stage that tells how many it makes."""
    return stage.cpu / (stage.multiplications or edges)


def figures(found: dict[int, dict[str, Taken]]) -> str:
    """The table of all that was measured."""
    rows: list[tuple[str, ...]] = [("edges", "stage", "by the clock", "CPU", "CPU an edge", "private memory")]
    for edges, stages in found.items():
        for name, each in stages.items():
            unit = f"{1e6 * each.cpu / edges:.3g} µs"
            if each.multiplications:
                unit += f"; {1e9 * per_unit(each, edges):.3g} ns a multiplication, of {each.multiplications:,}"
            rows.append((f"{edges:,}", name, seconds(each.seconds), seconds(each.cpu), unit, gibibytes(each.private)))
    return table(rows)


def growth(sizes: tuple[int, ...], folder: Path) -> Section:
    """Every stage on every size, and how its time for an edge grows from the last size but one to the last."""
    found = {edges: measured(edges, folder) for edges in sizes}
    before, last = sizes[-2:]
    most = max(each.private for each in found[last].values())
    grown = {name: per_unit(each, last) / per_unit(found[before][name], before) for name, each in found[last].items()}
    told = ", ".join(f"{name} {ratio(value)}" for name, value in grown.items())
    at, whole = f"at {last:,} edges, ", last == EDGES[-1] and before == EDGES[-2]
    goals = (
        ("8c", "100 million edges: private memory within 8 GiB", gibibytes(most), most <= MOST_PRIVATE),
        ("8d", TIME_GOAL, f"{told} times that at {before:,}", max(grown.values()) <= MOST_GROWTH),
    )
    lines = [Line(number, goal, at + measured, met if whole else None) for number, goal, measured, met in goals]
    return Section(lines, figures(found))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edges", type=int, nargs="+", default=EDGES, help="sizes, at least two")
    parser.add_argument("--scratch", type=Path, help="for graphs, stores and figures, instead of a temporary folder")
    parser.add_argument("--output", type=Path, default=PAGE, help="page to write into")
    parser.add_argument("--quick", action="store_true", help="tiny graphs")
    options = parser.parse_args()
    sizes = QUICK_EDGES if options.quick else tuple(options.edges)
    if len(sizes) < 2:
        parser.error("give two sizes or more")
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.scratch or Path(temporary)).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        met = measure({"edges": partial(growth, sizes, folder)}, options.output)
    return 0 if met or options.quick else 1


if __name__ == "__main__":
    sys.exit(main())
