"""What workers gain: one sweep of 16 trainings by one process, two bare ones, `--jobs 2` and `--cluster local:2`; and
what ranks of torchrun gain: an epoch of one training in batches by two threads and by two ranks.

    python benchmarks/scaling.py --data FOLDER
    python benchmarks/scaling.py --quick --output FILE

All begin with the same store, in which everything before the trainings is done, and each training takes the same
number of epochs on one thread. Two bare processes, half of the sweep each, are what the machine gives: the others are
measured by their share of it. The ways take turns. The exit code is 1 if a goal is missed.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from graphs import Sources
from program import Options, Parts, run_parts
from ratios import Setting
from report import Line, Section, ratio, seconds, table

PAGE = Path(__file__).parents[1] / "docs" / "scaling.md"
GRAPH, RUNS, EPOCHS, ROUNDS = "chameleon", 16, 100, 3
BARE = "two bare processes"
WAYS: dict[str, tuple[tuple[str, ...], ...]] = {  # the processes of each, by their options
    "one process": ((),),
    BARE: (("--shard", "1/2"), ("--shard", "2/2")),
    "`--jobs 2`": (("--jobs", "2"),),
    "`--cluster local:2`": (("--cluster", "local:2"),),
}
LARGE, BATCH, MORE_EPOCHS = "squirrel", 512, 10
TORCHRUN = ("-m", "torch.distributed.run", "--nproc-per-node", "2")
HOLDERS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {  # what starts a training, and its options
    "one process, 2 threads": ((), ("--threads", "2")),
    "two ranks, a thread each": (TORCHRUN, ("--threads", "1")),
}
GOALS = {"`--jobs 2`": ("8a", 0.9), "`--cluster local:2`": ("8b", 0.8)}


@dataclass(frozen=True)
class Taken:
    """One way through the sweep: seconds by the clock, and of all its processes together."""

    seconds: float
    cpu: float


def sweep(sources: Sources, runs: int, epochs: int) -> list[str]:
    """The command, but for its store and for how it is spread."""
    rates = ",".join(f"{0.01 * (number + 1):g}" for number in range(runs))
    chosen = ["--dataset", "demo", "--hidden", "4"]
    if sources.data is not None:
        chosen = ["--dataset", GRAPH, "--mirror", str(sources.mirror(GRAPH)), "--data", sources.store_of(GRAPH)]
    length = ["--epochs", str(epochs), "--patience", str(epochs)]
    command = [sys.executable, "-m", "cgnn_cli", "sweep", *chosen, "--split", "0", "--set", f"train.lr={rates}"]
    return [*command, *length, "--threads", "1", "--quiet", "--json"]


def taken(command: list[str], way: str, start: Path) -> Taken:
    """Go one way, from a copy of a store."""
    store = start.with_name("copy")
    shutil.copytree(start, store)
    before, begun = _cpu(), time.perf_counter()
    whole = [*command, "--store", str(store)]
    processes = [subprocess.Popen([*whole, *options], stdout=subprocess.DEVNULL) for options in WAYS[way]]
    codes = [process.wait() for process in processes]
    found = Taken(time.perf_counter() - begun, _cpu() - before)
    shutil.rmtree(store)
    if any(codes):
        raise RuntimeError(f"{way}: exit codes {codes}")
    return found


def _cpu() -> float:
    """Seconds of CPU of all processes that have been waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def workers(setting: Setting) -> Section:
    """All ways in turns."""
    runs, epochs, rounds = (2, 2, 1) if setting.quick else (RUNS, EPOCHS, ROUNDS)
    os.environ["OMP_NUM_THREADS"] = "1"
    command, start = sweep(setting.sources, runs, epochs), setting.sources.scratch / "start"
    subprocess.run([*sweep(setting.sources, 1, 1), "--store", str(start)], stdout=subprocess.DEVNULL, check=True)
    found: dict[str, list[Taken]] = {way: [] for way in WAYS}
    for _ in range(rounds):
        for way, all_taken in found.items():
            all_taken.append(taken(command, way, start))
    clock = {way: median(each.seconds for each in of_way) for way, of_way in found.items()}
    share = {way: median(a.seconds / b.seconds for a, b in zip(found[BARE], found[way], strict=True)) for way in WAYS}
    rows = [("", "by the clock", "CPU", "times faster than one", "share of two bare processes")]
    for way, of_way in found.items():
        gain = median(a.seconds / b.seconds for a, b in zip(found["one process"], of_way, strict=True))
        cpu = seconds(median(each.cpu for each in of_way))
        rows.append((way, seconds(clock[way]), cpu, ratio(gain), f"{100 * share[way]:.0f} %"))
    lines = [
        Line(
            number,
            f"{way}: at least {100 * least:.0f} % of the speed-up of two bare processes",
            f"{100 * share[way]:.0f} %",
            share[way] >= least,
        )
        for way, (number, least) in GOALS.items()
    ]
    return Section(lines, table(rows))


def ranks(setting: Setting) -> Section:
    """An epoch: what the last of several take longer than a training of one, by each way in turns."""
    more, rounds = (1, 1) if setting.quick else (MORE_EPOCHS, ROUNDS)
    os.environ["OMP_NUM_THREADS"] = "1"
    start = setting.sources.scratch / "start of ranks"
    _run(batched(setting.sources, 1, "one process, 2 threads"), start)
    found: dict[str, list[Taken]] = {way: [] for way in HOLDERS}
    for _ in range(rounds):
        for way, all_taken in found.items():
            short, long = (_trained(batched(setting.sources, epochs, way), start) for epochs in (2, 2 + more))
            all_taken.append(Taken((long.seconds - short.seconds) / more, (long.cpu - short.cpu) / more))
    one = found["one process, 2 threads"]
    rows = [("", "an epoch by the clock", "CPU", "by the clock, of one process", "CPU, of one process")]
    for way, of_way in found.items():
        clock, cpu = (median(getattr(each, name) for each in of_way) for name in ("seconds", "cpu"))
        of_one = median(b.seconds / a.seconds for a, b in zip(one, of_way, strict=True))
        cpu_of_one = median(b.cpu / a.cpu for a, b in zip(one, of_way, strict=True))
        rows.append((way, seconds(clock), seconds(cpu), ratio(of_one), ratio(cpu_of_one)))
    return Section([], table(rows))


def batched(sources: Sources, epochs: int, way: str) -> list[str]:
    """A training in batches, but for its store."""
    before, options = HOLDERS[way]
    chosen = ["--dataset", "demo", "--hidden", "4", "--batch-nodes", "32"]
    if sources.data is not None:
        place = ["--mirror", str(sources.mirror(LARGE)), "--data", sources.store_of(LARGE)]
        chosen = ["--dataset", LARGE, *place, "--hidden", "128", "--batch-nodes", str(BATCH)]
    training = ["train", *chosen, "--split", "0", "--model", "dirgnn", "--epochs", str(epochs)]
    return [sys.executable, *before, "-m", "cgnn_cli", *training, *options, "--quiet"]


def _trained(command: list[str], start: Path) -> Taken:
    """A training from a copy of a store."""
    store = start.with_name("copy of ranks")
    shutil.copytree(start, store)
    before, begun = _cpu(), time.perf_counter()
    _run(command, store)
    found = Taken(time.perf_counter() - begun, _cpu() - before)
    shutil.rmtree(store)
    return found


def _run(command: list[str], store: Path) -> None:
    subprocess.run([*command, "--store", str(store)], stdout=subprocess.DEVNULL, check=True)


PARTS: Parts = {"workers": workers, "ranks": ranks}


def main() -> int:
    options = Options(__doc__, PARTS)
    options.set_defaults(output=PAGE)
    return run_parts(PARTS, "", options.chosen())


if __name__ == "__main__":
    sys.exit(main())
