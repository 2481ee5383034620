"""Tune every model on every benchmark graph: a bounded search, judged by validation accuracy alone.

    python benchmarks/tune.py --data FOLDER --store STORE [--datasets ...] [--models ...] [--jobs 2] [--max-minutes 60]

Each model has a handful of candidates (candidates.py), each trained on the first splits. The one with the highest mean
validation accuracy becomes the preset `tuned` (or `extended`, for CGNN with options beyond the paper). What is in the
store is not computed again, so a search that was cut short goes on where it stopped. Test accuracy is never computed.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from candidates import ALIKE, BOTH_FAMILIES, EXTENDED, WEB, candidates

from cgnn_cli.commands.console import Talker
from cgnn_cli.commands.session import STOPPER
from cgnn_cli.configs import ComputeConfig, SourceConfig
from cgnn_cli.store.store import Store
from cgnn_cli.trials import Trial, TrialResult, run_trials

Cell = tuple[str, str, str]  # dataset, model, preset


def cells(datasets: list[str], models: list[str]) -> list[Cell]:
    """What is tuned, in order: the smaller graphs first."""
    rows: list[Cell] = []
    for dataset in datasets:
        rows += [(dataset, "cgnn", "extended")] if "cgnn" in models else []
        rows += [(dataset, model, "tuned") for model in models]
    return rows


def trials_of(cell: Cell, splits: int) -> list[Trial]:
    dataset, model, preset = cell
    rows = candidates(model, dataset, preset)
    chosen = tuple(range(splits))
    return [Trial(f"{preset} {dataset} {model} {number}", dataset, row, chosen) for number, row in enumerate(rows)]


def winner(results: list[TrialResult]) -> TrialResult | None:
    """The finished candidate with the highest mean validation accuracy."""
    done = [result for result in results if result.status == "done"]
    return max(done, key=lambda result: result.mean_validation_accuracy) if done else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="folder of datasets, as a mirror has it")
    parser.add_argument("--store", type=Path, default=Path(".cgnn"), help="folder of cached artifacts")
    parser.add_argument("--datasets", nargs="+", default=["cora-ml", "citeseer", "chameleon", "am-photo", "squirrel"])
    parser.add_argument("--models", nargs="+", default=list(BOTH_FAMILIES))
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--max-minutes", type=float)
    parser.add_argument("--output", type=Path, help="a JSON file for all that was tried")
    options = parser.parse_args()
    assert {*WEB, *ALIKE} == set(EXTENDED)

    STOPPER.install()
    wanted = cells(options.datasets, options.models)
    trials = [trial for cell in wanted for trial in trials_of(cell, options.splits)]
    results = run_trials(
        trials,
        Store(options.store),
        Talker(quiet=True),
        source=SourceConfig(data=str(options.store / "data"), mirror=options.data),
        compute=ComputeConfig(jobs=options.jobs),
        max_minutes=options.max_minutes,
        stopper=STOPPER,
        finished=lambda result: print(_line(result), file=sys.stderr, flush=True),
    )
    if options.output:
        options.output.write_text(json.dumps([_values(result) for result in results], indent=1) + "\n")


def _line(result: TrialResult) -> str:
    figure = f"{100 * result.mean_validation_accuracy:6.2f}" if result.status == "done" else result.status
    return f"{result.trial.name:<40} {figure}  {sum(result.seconds):6.1f} s  {result.message}"


def _values(result: TrialResult) -> dict[str, object]:
    return {
        "name": result.trial.name,
        "settings": result.trial.settings,
        "status": result.status,
        "validation_accuracy": result.validation_accuracy,
        "seconds": result.seconds,
        "epochs": result.epochs,
    }


if __name__ == "__main__":
    main()
