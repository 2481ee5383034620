"""Tune every model on every benchmark graph: a bounded search, judged by validation accuracy alone.

    python benchmarks/tune.py --data FOLDER --store STORE [--datasets ...] [--models ...] [--jobs 2] [--max-minutes 60]

Each model has as many candidates on a graph as the others (candidates.py), each trained on the first splits. The one
with the highest mean validation accuracy becomes the preset `tuned` (or `extended`, for CGNN with options beyond the
paper). What is in the store is not computed again, so a search that was cut short goes on where it stopped. Test
accuracy is never computed.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from candidates import BOTH_FAMILIES, candidates

from cgnn_cli.commands.console import Talker
from cgnn_cli.configs import ComputeConfig, SourceConfig
from cgnn_cli.datasets.registry import Datasets
from cgnn_cli.execution.results import Run, search_of
from cgnn_cli.execution.runner import Runner
from cgnn_cli.execution.scheduler import Deadline, Scheduler
from cgnn_cli.presets.lookup import FOUND, Row
from cgnn_cli.presets.recording import record_row
from cgnn_cli.settings import Settings
from cgnn_cli.signals import STOPPER
from cgnn_cli.store.store import Store

Cell = tuple[str, str, str]  # dataset, model, preset
DATASETS = ("cora-ml", "citeseer", "chameleon", "am-photo", "squirrel")
COMMAND = ("python", "benchmarks/tune.py", "--data", "FOLDER", "--datasets")


def cells(dataset: str, models: list[str], presets: Sequence[str] = FOUND) -> list[Cell]:
    """What is tuned on a dataset."""
    rows: list[Cell] = [(dataset, "cgnn", "extended")] if "cgnn" in models else []
    rows += [(dataset, model, "tuned") for model in models]
    return [cell for cell in rows if cell[2] in presets]


def runs_of(cell: Cell, splits: int) -> list[Run]:
    """The candidates of a cell, each on the first splits."""
    dataset, model, preset = cell
    chosen = tuple(range(splits))
    return [
        Run(f"{preset} {dataset} {model} {number}", dataset, row, chosen)
        for number, row in enumerate(candidates(model, dataset, preset))
    ]


def winner(runs: list[Run]) -> Run | None:
    """The finished candidate with the highest mean validation accuracy."""
    done = [run for run in runs if run.status == "done"]
    return max(done, key=lambda run: run.validation) if done else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="folder of datasets, as a mirror has it")
    parser.add_argument("--store", type=Path, default=Path(".cgnn"), help="folder of cached artifacts")
    parser.add_argument("--datasets", nargs="+", default=list(DATASETS))
    parser.add_argument("--models", nargs="+", default=list(BOTH_FAMILIES))
    parser.add_argument("--presets", nargs="+", default=list(FOUND), choices=FOUND)
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--max-minutes", type=float)
    options = parser.parse_args()

    STOPPER.install()
    talker, deadline = Talker(quiet=True), Deadline(options.max_minutes)
    runner = Runner(Store(options.store), talker, ComputeConfig(jobs=options.jobs), stopper=STOPPER)
    source = SourceConfig(data=str(options.store / "data"), mirror=options.data)
    scheduler = Scheduler(runner, Datasets(runner.store, source, talker, runner.data))
    for dataset in options.datasets:
        chosen = cells(dataset, options.models, options.presets)
        searches = {cell: runs_of(cell, options.splits) for cell in chosen}
        scheduler.carry_out(
            [run for runs in searches.values() for run in runs],
            deadline=deadline,
            finished=lambda run: print(_line(run), file=sys.stderr, flush=True),
        )
        for cell, runs in searches.items():
            record(cell, runs)


def record(cell: Cell, runs: list[Run]) -> None:
    """Write the winner of a search into its preset, with the search, once all candidates are done."""
    best = winner(runs)
    if best is None or any(run.status == "not run" for run in runs):
        return
    dataset, model, preset = cell
    search = search_of(best, len(runs), shlex.join([*COMMAND, dataset, "--models", model]))
    record_row(preset, dataset, model, Row(Settings.of(best.settings, dataset).full_row(), search))


def _line(run: Run) -> str:
    figure = f"{100 * run.validation:6.2f}" if run.status == "done" else run.status
    return f"{run.name:<40} {figure}  {sum(run.fit_seconds):6.1f} s  {run.message}"


if __name__ == "__main__":
    main()
