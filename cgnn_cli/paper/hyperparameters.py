"""hyperparameters: the paper's search ranges, searched on validation accuracy; the choice beside the paper's."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import product
from typing import Any

from cgnn_cli.execution.results import Run
from cgnn_cli.paper.cells import DASH, QUICK, accuracy_table, beside_table
from cgnn_cli.paper.experiment_table import SMALL
from cgnn_cli.paper.findings import Findings, record_all
from cgnn_cli.paper.lab import Lab
from cgnn_cli.paper.printed import find_result
from cgnn_cli.paper.rows import ROWS
from cgnn_cli.presets.lookup import rows_of
from cgnn_cli.report.table import Entry, Table

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
    found = {dataset: search_runs(lab, dataset) for dataset in datasets}
    # Round by round over the datasets, so that a search cut short has tried as much on each.
    lab.train([run for row in zip(*found.values(), strict=True) for run in row], test=False, share=SEARCH_SHARE)
    chosen = {dataset: best for dataset, rows in found.items() if (best := best_of(rows)) is not None}
    finals = []
    for dataset, best in chosen.items():
        origin = f"search of {_done(found[dataset])} combinations on validation"
        printed = find_result("table1", "CGNN", dataset)
        finals.append(ROW.on(dataset, dict(best.settings), title="CGNN", origin=origin, printed=printed))
    measured = lab.measure(finals)
    findings = Findings()
    findings.add("What was chosen", [OPENING, choice_table(lab, found, chosen)])
    findings.add("Accuracy of the choice", [accuracy_table(measured, "model")] if measured else [])
    findings.add("Beside the paper", [beside_table(measured, ("model", "dataset"))])
    findings.records += [_search_record(dataset, result) for dataset, rows in found.items() for result in rows]
    findings.add_sources(lab)
    record_all(findings, measured)
    return findings


def search_runs(lab: Lab, dataset: str) -> list[Run]:
    """All combinations in a fixed random order, so that any beginning of it is a fair sample."""
    ranges = QUICK_RANGES if lab.request.quick else RANGES
    combinations = list(product(*ranges.values()))
    random.Random(0).shuffle(combinations)
    base = ROW.on(dataset).settings
    runs = []
    for values in combinations:
        options = dict(zip(ranges, values, strict=True))
        name = f"{dataset}: " + ", ".join(f"{option} {value}" for option, value in options.items())
        varied = {f"train.{option}": value for option, value in options.items()}
        runs.append(lab.run(name, dataset, {**base, **varied}, SEARCH_SPLITS))
    return runs


def best_of(results: Sequence[Run]) -> Run | None:
    """The highest mean validation accuracy, among the runs that were done on the most splits."""
    done = [result for result in results if result.status == "done"]
    return max(done, key=lambda result: (len(result.splits), result.validation), default=None)


def _done(results: Sequence[Run]) -> int:
    return sum(result.status == "done" for result in results)


def choice_table(lab: Lab, found: dict[str, list[Run]], chosen: dict[str, Run]) -> Table:
    """The chosen values beside the paper's, and how many combinations were tried."""
    rows: list[list[Entry | str]] = []
    for dataset, results in found.items():
        paper = None if lab.request.quick or lab.is_standin(dataset) else rows_of("paper").get((dataset, "cgnn"))
        best = chosen.get(dataset)
        cells = []
        for path in (f"train.{name}" for name in RANGES):
            printed = f"{paper.settings[path]:g}" if paper and path in paper.settings else ""
            cells.append(Entry(f"{best.settings[path]:g}" if best else DASH, note=printed))
        accuracy = f"{100 * best.validation:.2f}" if best else DASH
        rows.append([lab.shown(dataset), *cells, accuracy, f"{_done(results)} of {len(results)}"])
    columns = ("dataset", *(name.replace("_", " ") for name in RANGES), "validation accuracy", "combinations")
    beside = f"; {QUICK}" if lab.request.quick else ", and in brackets what the paper prints"
    return Table(f"What the search chose{beside}", columns, rows)


def _search_record(dataset: str, result: Run) -> dict[str, Any]:
    return {
        "dataset": dataset,
        "row": "search",
        "column": result.name.partition(": ")[2],
        "status": result.status,
        "message": result.message,
        "validation_accuracy": result.validation if result.status == "done" else None,
        "runs": len(result.splits),
        "settings": result.settings,
        "splits": result.splits,
        "validation_accuracy_per_split": result.validation_accuracies,
        "keys": [result.fits[split].key for split in result.splits],
    }
