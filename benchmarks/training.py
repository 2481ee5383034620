"""Training side by side with its peers: time of an epoch and memory, as ratios within one run.

    python benchmarks/training.py --data FOLDER [--large] [--only NAME ...] [--output docs/benchmarks.md]
    python benchmarks/training.py --quick --output FILE

The network is in peer_models.py. FOLDER and the page are those of commute.py. Times are CPU time on one thread and time
on the wall on two. With GOMP_SPINCOUNT=1000 in the environment threads of all sides wait as those of cgnn do. The exit
code is 1 if a goal is missed.

    python benchmarks/training.py --side NAME --graph NAME [--data FOLDER]

is how memory is measured: a fresh process runs a few epochs of one side, and prints the bytes of its peak.
"""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import psutil
import torch
from graphs import Sources
from peer_models import SIDES, Shape
from program import Options, Parts, run_parts, setting_of
from ratios import Setting
from report import Line, Section, gibibytes, ratio, seconds, table
from scale import run_command
from timing import interleaved

from cgnn_cli.datasets.splits import ratio_splits
from cgnn_cli.graph import Graph

GRAPHS = ("chameleon", "squirrel", "am-photo", "arxiv-year")
GOALS = {  # times faster than a peer, in CPU time
    "chameleon": {"torch-geometric": ("6a", 25.0), "native CSR": ("6c", 2.0)},
    "squirrel": {"torch-geometric": ("6b", 60.0), "native CSR": ("6d", 2.0)},
    "arxiv-year": {"torch-geometric": ("6g", 6.0)},
}
OWN = "cgnn, DirGNN"
PEERS = ("native CSR", "torch-geometric")
QUICK_SHAPE = Shape(layers=2, hidden=4)
MEMORY_EPOCHS = 3
QUICK_SIDES = (OWN, "torch-geometric")
LIMITS = {"arxiv-year": ("6e", 6), "snap-patents": ("6f", 20)}


def labelled(sources: Sources, name: str) -> Graph:
    """A graph with labels and splits; random ones where it has none."""
    graph = sources.graph(name)
    if graph.labels is not None:
        return graph
    labels = np.random.default_rng(0).integers(3, size=graph.node_count)
    splits = ratio_splits(labels, (0.5, 0.25, 0.25), 1, 0)
    return dataclasses.replace(graph, labels=labels, splits=splits, class_names=np.array([b"a", b"b", b"c"]))


def epochs(setting: Setting, names: Sequence[str]) -> Section:
    """The time of a training step and a validation, all sides in turns."""
    shares = [f"{peer} / DirGNN{suffix}" for peer in PEERS for suffix in ("", ", two threads")]
    rows = [("graph", "dropout", *SIDES, *shares)]
    lines: list[Line] = []
    for name in names:
        graph = labelled(setting.sources, name)
        for dropout in (0.0, 0.5):
            shape = dataclasses.replace(QUICK_SHAPE if setting.quick else Shape(), dropout=dropout)
            sides = {side: make(graph, shape) for side, make in SIDES.items()}
            cpu = _on_threads(1, sides, setting.rounds, time.process_time)
            wall = _on_threads(2, sides, setting.rounds, time.perf_counter)
            found = [ratio(times[peer] / times[OWN]) for peer in PEERS for times in (cpu, wall)]
            rows.append((name, f"{dropout:g}", *(seconds(cpu[side]) for side in SIDES), *found))
            if not dropout:
                lines += _lines(name, cpu)
    return Section(lines, table(rows))


def _on_threads(
    count: int, sides: dict[str, Callable[[], None]], rounds: int, clock: Callable[[], float]
) -> dict[str, float]:
    torch.set_num_threads(count)
    return {side: found.seconds for side, found in interleaved(sides, rounds, clock=clock).items()}


def _lines(name: str, cpu: dict[str, float]) -> list[Line]:
    return [
        Line(
            number,
            f"an epoch of DirGNN on {name}: at least {least:g} times faster than {peer}",
            f"{ratio(cpu[peer] / cpu[OWN])} times",
            cpu[peer] >= least * cpu[OWN],
        )
        for peer, (number, least) in GOALS.get(name, {}).items()
    ]


def peaks(setting: Setting) -> Section:
    """The memory of every side beyond the graph and the libraries, each in a fresh process."""
    sides = QUICK_SIDES if setting.quick else tuple(SIDES)
    rows = [("graph", *sides)]
    for name in GRAPHS[:1] if setting.quick else GRAPHS:
        rows.append((name, *(gibibytes(_peak(setting, side, name)) for side in sides)))
    return Section([], table(rows))


def _peak(setting: Setting, side: str, name: str) -> int:
    options = ["--side", side, "--graph", name, "--scratch", str(setting.sources.scratch)]
    options += ["--quick"] if setting.quick else ["--data", str(setting.sources.data)]
    command = [sys.executable, __file__, *options]
    return int(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def print_peak(setting: Setting, side: str, name: str) -> None:
    """The most that a few epochs hold; one on a tiny graph comes first, which loads all libraries."""
    torch.set_num_threads(1)
    SIDES[side](labelled(Sources(None, setting.sources.scratch), name), QUICK_SHAPE)()
    graph = labelled(setting.sources, name)
    before = psutil.Process().memory_info().rss
    Path("/proc/self/clear_refs").write_text("5")  # forgets the peak so far
    epoch = SIDES[side](graph, QUICK_SHAPE if setting.quick else Shape())
    for _ in range(MEMORY_EPOCHS):
        epoch()
    lines = Path("/proc/self/status").read_text().splitlines()
    peak = next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    print(max(peak - before, 0))


def whole(setting: Setting, names: tuple[str, ...]) -> Section:
    """`cgnn train` from cold: the peak of the process through all stages."""
    rows = [("graph", "options", "peak memory", "fit stage, 2 epochs")]
    lines = []
    for name in names:
        options = () if setting.quick else ("--preset", "paper")
        peak, result = run_command(setting, name, "train", *options, "--epochs", "2", "--split", "0")
        fit = next(stage for stage in result["stages"] if stage["stage"] == "fit")
        rows.append((name, " ".join(options), gibibytes(peak), seconds(fit["seconds"])))
        number, limit = LIMITS[name]
        goal = f"`cgnn train` on {name} (stand-in) from cold, full batch, the paper's preset: peak within {limit} GiB"
        lines.append(Line(number, goal, gibibytes(peak), peak <= limit << 30))
    return Section(lines, table(rows))


PARTS: Parts = {
    "epochs": lambda setting: epochs(setting, ("chameleon", "squirrel")),
    "epochs-more": lambda setting: epochs(setting, ("am-photo", "arxiv-year")),
    "epoch-memory": peaks,
    "train-memory": lambda setting: whole(setting, ("arxiv-year",)),
    "train-memory-large": lambda setting: whole(setting, ("snap-patents",)),
}


def main() -> int:
    options = Options(__doc__, PARTS)
    options.add_argument("--side", choices=SIDES, help="measure the memory of one side")
    options.add_argument("--graph", help="the graph that --side takes")
    chosen = options.chosen()
    if not chosen.side:
        return run_parts(PARTS, "train-memory-large", chosen)
    with setting_of(chosen) as setting:
        print_peak(setting, chosen.side, chosen.graph)
    return 0


if __name__ == "__main__":
    sys.exit(main())
