"""All models on the benchmark graphs, by the tool's own runs: the tables of docs/results.md.

    python benchmarks/results.py --data FOLDER --store STORE [--jobs 2] [--max-minutes 60]

Settings are the presets `tuned` and `extended`. Three splits of every cell come first, then all ten of the models that
are compared pair by pair, then the rest. What is in the store is not computed again, so a run that was cut short
goes on where it stopped; the page is written from what there is.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from report import Section, table, update_page

from cgnn_cli.commands.console import Talker
from cgnn_cli.commands.session import STOPPER
from cgnn_cli.configs import ComputeConfig, SourceConfig, TrainConfig
from cgnn_cli.experiments.paper import NAMES, find_result
from cgnn_cli.experiments.rows import ROWS, joined_title
from cgnn_cli.models.table import direction_of
from cgnn_cli.report.paired import holm, paired_difference
from cgnn_cli.settings import Settings
from cgnn_cli.store.store import Store
from cgnn_cli.trials import Trial, TrialResult, run_trials

PAGE = Path(__file__).parents[1] / "docs" / "results.md"
DATASETS = ("chameleon", "squirrel", "cora-ml", "citeseer", "am-photo")
FILTERED = ("chameleon-filtered", "squirrel-filtered")
OWN = ("cgnn", "cgnn-none", "cgnn-pi", "cgnn-extended", "cgnn-extended-none", "cgnn-extended-pi")
BASELINES = tuple(name for name in ROWS if not name.startswith("cgnn"))
COMPARED = (*OWN, "dirgnn", "gcn", "sage")
SPLITS = 10
FIRST_SPLITS = 3
PAIRS = (
    ("cgnn", "cgnn-none"),
    ("cgnn", "cgnn-pi"),
    ("cgnn-extended", "cgnn-extended-none"),
    ("cgnn-extended", "cgnn-extended-pi"),
    ("cgnn", "dirgnn"),
)
HEADER = ("model", "direction", "test", "validation", "splits", "s a run", "paper", "difference")


@dataclass(frozen=True)
class Cell:
    """A row of the tables on a dataset."""

    row: str
    dataset: str

    def trial(self, splits: int) -> Trial:
        return Trial(
            f"{self.row} {self.dataset}", self.dataset, ROWS[self.row].on(self.dataset).settings, tuple(range(splits))
        )

    @property
    def direction(self) -> str:
        config = Settings.of(self.trial(1).settings, self.dataset).config("train")
        assert isinstance(config, TrainConfig)
        return direction_of(config)


Results = dict[Cell, TrialResult]


def rounds() -> Iterator[tuple[int, list[Cell]]]:
    """What is computed, in order: how many splits of which cells."""
    every = [Cell(row, dataset) for dataset in DATASETS for row in (*OWN, *BASELINES)]
    filtered = [Cell(row, dataset) for dataset in FILTERED for row in COMPARED]
    yield FIRST_SPLITS, every
    yield SPLITS, [Cell(row, dataset) for dataset in DATASETS for row in COMPARED]
    yield SPLITS, filtered
    yield SPLITS, [cell for cell in every if cell.row not in COMPARED]


def compute(options: argparse.Namespace) -> Results:
    """The results of all rounds, as far as the time allows; a cell has those of its last finished round."""
    deadline = time.monotonic() + 60 * (options.max_minutes if options.max_minutes is not None else float("inf"))
    found: Results = {}
    for splits, cells in rounds():
        wanted = [cell for cell in cells if cell.dataset in options.datasets]
        results = run_trials(
            [cell.trial(splits) for cell in wanted],
            Store(options.store),
            Talker(quiet=True),
            source=SourceConfig(data=str(options.store / "data"), mirror=options.data),
            compute=ComputeConfig(jobs=options.jobs),
            test=True,
            max_minutes=max(0.0, (deadline - time.monotonic()) / 60),
            stopper=STOPPER,
            finished=lambda result: print(_line(result), file=sys.stderr, flush=True),
        )
        for cell, result in zip(wanted, results, strict=True):
            if result.test_accuracy or cell not in found:
                found[cell] = result
    return found


def _line(result: TrialResult) -> str:
    """No test figure: nobody looks at those while a table is being made."""
    return f"{result.trial.name:<40} {result.status}  {len(result.splits)} splits  {result.message}"


def scores(results: Results, dataset: str) -> str:
    """All rows of a dataset."""
    rows = [_cells(cell, result) for cell, result in results.items() if cell.dataset == dataset]
    return table([HEADER, *rows])


def _cells(cell: Cell, result: TrialResult) -> tuple[str, ...]:
    title, runs = ROWS[cell.row].title, len(result.test_accuracy)
    if not runs:
        reason = result.message or result.status
        return (
            title,
            cell.direction,
            f"{result.status}: {reason}" if result.status == "failed" else "not run",
            *[""] * 5,
        )
    mark = "" if runs >= SPLITS else " †"
    mean = 100 * statistics.fmean(result.test_accuracy)
    printed = (
        find_result("table1", NAMES.get(ROWS[cell.row].model, ""), cell.dataset) if _is_printed(cell.row) else None
    )
    value = None if printed is None else printed.value
    return (
        title,
        cell.direction,
        _spread(result.test_accuracy) + mark,
        _spread(result.validation_accuracy),
        str(runs),
        f"{statistics.fmean(result.seconds):.1f}",
        "" if printed is None else printed.text,
        "" if value is None else f"{mean - value:+.2f}",
    )


def _is_printed(row: str) -> bool:
    return row in NAMES or row == "cgnn-extended"


def _spread(values: list[float]) -> str:
    return f"{100 * statistics.fmean(values):.2f} ± {100 * statistics.pstdev(values):.2f}"


def pairs_on(dataset: str) -> Iterator[tuple[str, str, str]]:
    """The rows to compare, and what to call the second; rows with equal settings on a dataset are compared once."""
    groups: list[tuple[str, list[str]]] = []
    for name, other in PAIRS:
        same = [rows for first, rows in groups if first == name and _equal(rows[0], other, dataset)]
        if same:
            same[0].append(other)
        else:
            groups.append((name, [other]))
    for name, others in groups:
        yield name, others[0], joined_title(ROWS[other].title for other in others)


def _equal(row: str, other: str, dataset: str) -> bool:
    return ROWS[row].on(dataset).settings == ROWS[other].on(dataset).settings


def paired(results: Results) -> str:
    """The differences split by split, with p values that know how many comparisons were made."""
    rows, p_values = [], []
    for dataset in (*DATASETS, *FILTERED):
        for name, other, against in pairs_on(dataset):
            first, second = (results.get(Cell(row, dataset)) for row in (name, other))
            if (
                first is None
                or second is None
                or not (runs := min(len(first.test_accuracy), len(second.test_accuracy)))
            ):
                continue
            gaps = paired_difference(first.test_accuracy[:runs], second.test_accuracy[:runs])
            mark = "" if runs >= SPLITS else " †"
            error = "" if gaps.error is None else f" ± {100 * gaps.error:.2f}"
            cells = (
                dataset,
                f"{ROWS[name].title} - {against}",
                f"{100 * gaps.mean:+.2f}{error}{mark}",
                str(runs),
            )
            rows.append((*cells, _p(gaps.sign_flips)))
            p_values.append(gaps.sign_flips)
    header = ("dataset", "comparison", "difference ± s.e.", "splits", "p", f"p, Holm over {len(rows)}")
    return table([header, *((*row, _p(p)) for row, p in zip(rows, holm(p_values), strict=True))])


def _p(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="folder of datasets, as a mirror has it")
    parser.add_argument("--store", type=Path, default=Path(".cgnn"), help="folder of cached artifacts")
    parser.add_argument("--datasets", nargs="+", default=[*DATASETS, *FILTERED])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--max-minutes", type=float)
    parser.add_argument("--page", type=Path, default=PAGE)
    options = parser.parse_args()
    STOPPER.install()
    results = compute(options)
    sections = {dataset: Section([], scores(results, dataset)) for dataset in options.datasets}
    update_page(
        options.page,
        {**sections, "paired": Section([], paired(results))},
        "each training on one core of a shared machine",
    )


if __name__ == "__main__":
    main()
