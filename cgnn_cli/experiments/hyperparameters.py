"""hyperparameters: the paper's search ranges, searched on validation accuracy; the choice beside the paper's."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import product
from typing import Any

from cgnn_cli.experiments.cells import DASH, QUICK, accuracy_table, beside_table
from cgnn_cli.experiments.findings import Findings, Planned, measure, planned, record_all
from cgnn_cli.experiments.lab import Lab
from cgnn_cli.experiments.paper import find_result
from cgnn_cli.experiments.rows import ROWS, Chosen
from cgnn_cli.experiments.table import SMALL
from cgnn_cli.presets.table import rows_of
from cgnn_cli.report.table import Entry, Table
from cgnn_cli.trials import Trial, TrialResult

ROW = ROWS["cgnn-paper"]
RANGES: dict[str, tuple[Any, ...]] = {
    "lr": (0.01, 0.005),
    "weight_decay": (0.0, 5e-5, 5e-4),
    "layers": (1, 2, 3, 4, 5),
    "hidden": (32, 64, 128, 256, 512),
}
QUICK_RANGES: dict[str, tuple[Any, ...]] = {
    "lr": (0.01,),
    "weight_decay": (0.0, 5e-4),
    "layers": (1, 2),
    "hidden": (16,),
}
SEARCH_SPLITS = 2
SEARCH_SHARE = 0.75  # of the time; the rest is for the chosen row on all splits
OPENING = (
    "All combinations of the paper's ranges are tried in a fixed random order, on the first splits, as far as the time "
    "reaches; the one with the highest mean validation accuracy is then trained on all splits. Test accuracy is not "
    "seen before that. results.json has the accuracies and the fit artifacts of every combination."
)


def run(lab: Lab) -> Findings:
    """Search each dataset, then train what was chosen."""
    datasets = lab.datasets(SMALL)
    tried = {dataset: search_trials(lab, dataset) for dataset in datasets}
    # Round by round over the datasets, so that a search cut short has tried as much on each.
    order = [trial for row in zip(*tried.values(), strict=True) for trial in row]
    results = lab.train(order, test=False, share=SEARCH_SHARE)
    found = {dataset: [results[trial.name] for trial in trials] for dataset, trials in tried.items()}
    chosen = {dataset: best for dataset, rows in found.items() if (best := best_of(rows)) is not None}
    measured = measure(lab, [_final(lab, dataset, best, found[dataset]) for dataset, best in chosen.items()])
    findings = Findings()
    findings.add("What was chosen", [OPENING, choice_table(lab, found, chosen)])
    findings.add("Accuracy of the choice", [accuracy_table(measured, "model")] if measured else [])
    findings.add("Beside the paper", [beside_table(measured, ("model", "dataset"))])
    findings.records += [_search_record(dataset, result) for dataset, rows in found.items() for result in rows]
    findings.add_missing()
    record_all(findings, measured)
    return findings


def search_trials(lab: Lab, dataset: str) -> list[Trial]:
    """All combinations in a fixed random order, so that any beginning of it is a fair sample."""
    ranges = QUICK_RANGES if lab.asked.quick else RANGES
    combinations = list(product(*ranges.values()))
    random.Random(0).shuffle(combinations)
    base = ROW.on(dataset).settings
    trials = []
    for values in combinations:
        options = {f"train.{name}": value for name, value in zip(ranges, values, strict=True)}
        name = f"{dataset}: " + ", ".join(f"{option} {value}" for option, value in zip(ranges, values, strict=True))
        trials.append(lab.trial(name, dataset, {**base, **options}, SEARCH_SPLITS))
    return trials


def best_of(results: Sequence[TrialResult]) -> TrialResult | None:
    """The highest mean validation accuracy, among the trials that were done on the most splits."""
    done = [result for result in results if result.status == "done"]
    return max(done, key=lambda result: (len(result.splits), result.mean_validation_accuracy), default=None)


def _final(lab: Lab, dataset: str, best: TrialResult, tried: Sequence[TrialResult]) -> Planned:
    chosen = Chosen(dict(best.trial.settings), f"search of {_done(tried)} combinations on validation")
    return planned(lab, ROW, dataset, chosen, title="CGNN", printed=find_result("table1", "CGNN", dataset))


def _done(results: Sequence[TrialResult]) -> int:
    return sum(result.status == "done" for result in results)


def choice_table(lab: Lab, found: dict[str, list[TrialResult]], chosen: dict[str, TrialResult]) -> Table:
    """The chosen values beside the paper's, and how many combinations were tried."""
    rows: list[list[Entry | str]] = []
    for dataset, results in found.items():
        paper = None if lab.asked.quick or lab.is_standin(dataset) else rows_of("paper").get((dataset, "cgnn"))
        best = chosen.get(dataset)
        cells = [_beside(f"train.{name}", best, paper.settings if paper else {}) for name in RANGES]
        accuracy = f"{100 * best.mean_validation_accuracy:.2f}" if best else DASH
        rows.append([lab.shown(dataset), *cells, accuracy, f"{_done(results)} of {len(results)}"])
    columns = ("dataset", *(name.replace("_", " ") for name in RANGES), "validation accuracy", "combinations")
    beside = f"; {QUICK}" if lab.asked.quick else ", and in brackets what the paper prints"
    return Table(f"What the search chose{beside}", columns, rows)


def _beside(path: str, best: TrialResult | None, paper: dict[str, Any]) -> Entry:
    here = f"{best.trial.settings[path]:g}" if best else DASH
    return Entry(here, note=f"{paper[path]:g}" if path in paper else "")


def _search_record(dataset: str, result: TrialResult) -> dict[str, Any]:
    return {
        "dataset": dataset,
        "row": "search",
        "column": result.trial.name.partition(": ")[2],
        "status": result.status,
        "message": result.message,
        "validation_accuracy": result.mean_validation_accuracy if result.status == "done" else None,
        "runs": len(result.splits),
        "settings": result.trial.settings,
        "splits": result.splits,
        "validation_accuracy_per_split": result.validation_accuracy,
        "keys": [result.keys[f"fit-{split}"] for split in result.splits],
    }
