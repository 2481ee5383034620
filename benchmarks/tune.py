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
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from candidates import BOTH_FAMILIES, candidates

from cgnn_cli.commands.console import Talker
from cgnn_cli.commands.session import STOPPER
from cgnn_cli.configs import ComputeConfig, SourceConfig
from cgnn_cli.presets.recording import full_row, record_row
from cgnn_cli.presets.table import FOUND, Row, packaged
from cgnn_cli.settings import Settings
from cgnn_cli.store.store import Store
from cgnn_cli.trials import Trial, TrialResult, run_trials

Cell = tuple[str, str, str]  # dataset, model, preset
DATASETS = ("cora-ml", "citeseer", "chameleon", "am-photo", "squirrel")
COMMAND = ("python", "benchmarks/tune.py", "--data", "FOLDER", "--datasets")


def cells(dataset: str, models: list[str], presets: Sequence[str] = FOUND) -> list[Cell]:
    """What is tuned on a dataset."""
    rows: list[Cell] = [(dataset, "cgnn", "extended")] if "cgnn" in models else []
    rows += [(dataset, model, "tuned") for model in models]
    return [cell for cell in rows if cell[2] in presets]


def trials_of(cell: Cell, splits: int) -> list[Trial]:
    """The candidates of a cell, each on the first splits."""
    dataset, model, preset = cell
    chosen = tuple(range(splits))
    return [
        Trial(f"{preset} {dataset} {model} {number}", dataset, row, chosen)
        for number, row in enumerate(candidates(model, dataset, preset))
    ]


def winner(results: list[TrialResult]) -> TrialResult | None:
    """The finished candidate with the highest mean validation accuracy."""
    done = [result for result in results if result.status == "done"]
    return max(done, key=lambda result: result.mean_validation_accuracy) if done else None


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
    begun = time.monotonic()
    for dataset in options.datasets:
        wanted = cells(dataset, options.models, options.presets)
        trials = {cell: trials_of(cell, options.splits) for cell in wanted}
        left = None if options.max_minutes is None else options.max_minutes - (time.monotonic() - begun) / 60
        results = run_trials(
            [trial for rows in trials.values() for trial in rows],
            Store(options.store),
            Talker(quiet=True),
            source=SourceConfig(data=str(options.store / "data"), mirror=options.data),
            compute=ComputeConfig(jobs=options.jobs),
            max_minutes=left,
            stopper=STOPPER,
            finished=lambda result: print(_line(result), file=sys.stderr, flush=True),
        )
        by_name = {result.trial.name: result for result in results}
        for cell, rows in trials.items():
            record(cell, [by_name[trial.name] for trial in rows])


def record(cell: Cell, results: list[TrialResult]) -> None:
    """Write the winner of a search into its preset, with the search, once all candidates are done."""
    best = winner(results)
    if best is None or any(result.status == "not run" for result in results):
        return
    dataset, model, preset = cell
    search = {
        "validation_accuracy": round(best.mean_validation_accuracy, 6),
        "validation_std": round(statistics.pstdev(best.validation_accuracy), 6),
        "splits": best.splits,
        "configurations": len(results),
        "command": shlex.join([*COMMAND, dataset, "--models", model]),
    }
    record_row(packaged(preset), dataset, model, Row(full_row(Settings.of(best.trial.settings, dataset)), search))


def _line(result: TrialResult) -> str:
    figure = f"{100 * result.mean_validation_accuracy:6.2f}" if result.status == "done" else result.status
    return f"{result.trial.name:<40} {figure}  {sum(result.seconds):6.1f} s  {result.message}"


if __name__ == "__main__":
    main()
