"""Whole commands from cold, this checkout beside another version, in CPU seconds; and how soon commands start.

    python benchmarks/command.py --data FOLDER --before FOLDER [--large] [--only NAME ...] [--output docs/benchmarks.md]
    python benchmarks/command.py --quick --output FILE

--before names a checkout of the version to compare with, as `git worktree add FOLDER COMMIT` makes it; compiled loops
are used where it has them. Each run is a process of one thread with a store of its own: it starts, reads the raw files,
and makes and writes every artifact. Both sides run in turns. --quick takes the demo graph and no other version: a test
of this program, not a measurement.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import startup
from graphs import MADE, Sources
from program import Options, Parts, setting_of
from ratios import Setting
from report import Line, Section, measure, ratio, seconds, table

HERE = Path(__file__).parents[1]
COLD = {"arxiv-year": ["--rank", "5"], "snap-patents": ["--solver", "series"]}
ROUNDS, START_ROUNDS = 5, 15
GOAL, START_GOAL = 0.5, 1.3


def cold(checkout: Path, sources: Sources, dataset: str) -> float:
    """The CPU seconds of `cgnn commute` from raw files, of its helpers too."""
    with tempfile.TemporaryDirectory(dir=sources.scratch) as store:
        options = ["--dataset", dataset, *COLD[dataset], "--store", store, "--quiet"]
        if sources.data is None:
            options[1] = "demo"
        else:
            options += ["--mirror", str(sources.mirror(dataset)), "--data", f"{store}/data", "--accept-standin"]
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        environment = {**os.environ, **threads, "PYTHONPATH": str(checkout)}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        before = os.times()
        command = [sys.executable, "-m", "cgnn_cli", "commute", *options]
        subprocess.run(command, cwd=store, env=environment, check=True, stdout=subprocess.DEVNULL)
        after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def compared(before: Path, number: str, dataset: str, setting: Setting) -> Section:
    """A cold command of both versions, after a round without a clock where it is short."""
    if dataset in MADE and setting.sources.data is not None:
        setting.sources.mirror(dataset)  # is made before the clock runs
    rounds, warm = (1, 0) if setting.quick or dataset == "snap-patents" else (ROUNDS, 1)
    setting.sources.scratch.mkdir(parents=True, exist_ok=True)
    taken: dict[str, list[float]] = {"before": [], "now": []}
    for _ in range(warm + rounds):
        for name, checkout in (("before", before), ("now", HERE)):
            taken[name].append(cold(checkout, setting.sources, dataset))
    medians = {name: statistics.median(times[warm:]) for name, times in taken.items()}
    share = medians["now"] / medians["before"]
    command = f"`cgnn commute --dataset {dataset} {' '.join(COLD[dataset])}`"
    rows: list[tuple[str, ...]] = [("command", "before", "now", "now / before", "rounds")]
    rows.append((command, *(seconds(medians[name]) for name in ("before", "now")), ratio(share), str(rounds)))
    goal = f"{command} from raw files: at most half of the CPU time before"
    return Section([Line(number, goal, f"{ratio(share)} of it", share <= GOAL)], table(rows))


def starting(setting: Setting) -> Section:
    """How soon commands start, beside the import of the libraries that they cannot do without."""
    rounds = 1 if setting.quick else START_ROUNDS
    times: dict[str, list[float]] = {name: [] for name in startup.COMMANDS}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds + 1):
            for name, arguments in startup.COMMANDS.items():
                times[name].append(startup.cpu_seconds(arguments, folder))
    medians = {name: statistics.median(taken[1:]) for name, taken in times.items()}
    reference, *commands = medians
    rows = [("", "CPU time", f"ratio to `{reference}`"), (f"`{reference}`", seconds(medians[reference]), "1")]
    lines = []
    for number, name in zip(("9c", "9d"), commands, strict=True):
        share = medians[name] / medians[reference]
        rows.append((f"`{name}`", seconds(medians[name]), ratio(share)))
        goal = f"`{name}`: at most {START_GOAL} times the CPU time of `{reference}`"
        lines.append(Line(number, goal, f"{ratio(share)} times", share <= START_GOAL))
    return Section(lines, table(rows))


def parts(before: Path) -> Parts:
    """What is measured, by name."""
    found: Mapping[str, str] = {"cold": "arxiv-year", "cold-large": "snap-patents"}
    numbers = zip(("9a", "9b"), found.items(), strict=True)
    return {
        **{name: partial(compared, before, number, dataset) for number, (name, dataset) in numbers},
        "start": starting,
    }


def main(chosen: argparse.Namespace) -> int:
    if chosen.before is None and not chosen.quick:
        sys.exit("command.py: give --before FOLDER, a checkout of the version to compare with")
    known = parts((chosen.before or HERE).absolute())
    names = chosen.only or [name for name in known if name != "cold-large" or chosen.large]
    with setting_of(chosen) as setting:
        met = measure({name: partial(known[name], setting) for name in names}, chosen.output)
    return 0 if met or chosen.quick else 1


if __name__ == "__main__":
    options = Options(__doc__, parts(HERE))
    options.add_argument("--before", type=Path, help="a checkout of the version to compare with")
    sys.exit(main(options.chosen()))
