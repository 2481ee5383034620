"""The lab in which experiments are made: it trains, obtains artifacts and loads graphs, as far as the time allows.

What is in the store is not computed again, so an experiment that was cut short goes on where it stopped. What fails, or
has no time left, is told as such, and the rest goes on.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from cgnn_cli.errors import CgnnError, StoppedEarly
from cgnn_cli.execution.results import Run, Status
from cgnn_cli.execution.scheduler import Deadline, Scheduler
from cgnn_cli.paper.cells import QUICK as QUICK_NOTE
from cgnn_cli.paper.cells import STANDIN, Cell
from cgnn_cli.paper.rows import Row, chosen_rows
from cgnn_cli.redaction import placeless
from cgnn_cli.solver_table import exact_or_series
from cgnn_cli.store.artifact import Header

QUICK_DATASETS = ("demo",)
QUICK_SPLITS = 2
QUICK: dict[str, int] = {
    "train.epochs": 10,
    "train.pretrain_epochs": 2,
    "train.hidden": 16,
    "train.branch_hidden": 16,
    "train.projection": 8,
    "train.layers": 2,
}
# With a time limit all runs are first done on a few splits, so that no row stays empty while others are complete.
ROUNDS = (2, 3, 5)
NO_TIME = "the time was up"
TOLERANCE = 0.01


@dataclass(frozen=True)
class Request:
    """What a reproduction is asked for; nothing stands for the experiment's own choice.

    quick: the demo graph, two splits and a few epochs of a narrow network, to see that all works.
    with_origin: whether what failed may name the paths on this machine.
    """

    datasets: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    splits: int | None = None
    quick: bool = False
    max_minutes: float | None = None
    with_origin: bool = False


@dataclass(frozen=True)
class Evidence:
    """An artifact that an experiment asked for, or in words why there is none."""

    header: Header | None = None
    data: Any = None
    status: Status = "done"
    message: str = ""


class Lab:
    """Trains, obtains artifacts and loads graphs through one scheduler, until the time is up."""

    def __init__(self, scheduler: Scheduler, request: Request | None = None) -> None:
        self.scheduler, self.request = scheduler, request or Request()
        self.runner = scheduler.runner
        self.deadline = Deadline(self.request.max_minutes)
        self.obtained: dict[str, tuple[str, Header]] = {}  # by key, with the dataset

    def datasets(self, usual: Sequence[str]) -> list[str]:
        """The datasets to work on: those asked for, or the experiment's own."""
        return list(self.request.datasets or (QUICK_DATASETS if self.request.quick else usual))

    def rows(self, usual: Iterable[str]) -> dict[str, Row]:
        """The rows to work on: those asked for, or the experiment's own."""
        return chosen_rows(usual, self.request.models)

    def run(self, name: str, dataset: str, settings: dict[str, Any], most_splits: int | None = None) -> Run:
        """A run on as many splits as are asked for, the first ones of the dataset."""
        if self.request.quick:
            settings = {**settings, **{path: min(settings.get(path, most), most) for path, most in QUICK.items()}}
        wanted = self.request.splits or (QUICK_SPLITS if self.request.quick else None)
        limits = [limit for limit in (wanted, most_splits, self.split_count(dataset, settings)) if limit is not None]
        return Run(name, dataset, settings, tuple(range(min(limits, default=1))))

    def train(self, runs: Sequence[Run], *, test: bool = True, share: float = 1.0) -> None:
        """Carry out runs; with test accuracies, unless these are not to be seen.

        With a time limit a run may be done on some of its splits only.
        """
        rounds = ROUNDS if self.request.max_minutes is not None else ()
        self.scheduler.carry_out(runs, test=test, deadline=self.deadline, share=share, rounds=rounds)
        for run in runs:
            run.message = NO_TIME if run.status == "not run" else self.told(run.message)

    def told(self, message: str) -> str:
        """Why something failed, as pages and records may say it."""
        return message if self.request.with_origin else placeless(message)

    def measure(self, cells: Sequence[Cell]) -> list[Cell]:
        """Train what the cells ask for, and put each run into its place."""
        runs = [self.run(f"{cell.row} | {cell.dataset} | {cell.column}", cell.dataset, cell.settings) for cell in cells]
        self.train(runs)
        found = []
        for cell, run in zip(cells, runs, strict=True):
            standin, quick = self.is_standin(cell.dataset), self.request.quick and cell.printed is not None
            notes = (*cell.notes, *((STANDIN,) if standin else ()), *((QUICK_NOTE,) if quick else ()))
            comparable, expected = not (standin or self.request.quick), self.split_count(cell.dataset, run.settings)
            filled = dataclasses.replace(cell, run=run, notes=notes, expected=expected, comparable=comparable)
            found.append(dataclasses.replace(filled, standin=standin))
        return found

    def obtain(self, stage: str, dataset: str, settings: dict[str, Any] | None = None) -> Evidence:
        """The artifact of a stage before training: computed if it is missing and there is time."""
        run = Run(dataset, dataset, settings or {})
        try:
            step = self.scheduler.step(stage, run)
            if self.deadline.is_past() and self.runner.find(step) is None:
                return Evidence(status="not run", message=NO_TIME)
            self.runner.keep_only({needed.key for needed in step.lineage})
            header, _ = self.runner.obtain(step)
            self.obtained[header.key] = (dataset, header)
            return Evidence(header, self.runner.data(step))
        except StoppedEarly:
            raise
        except Exception as error:  # one cell fails, whatever it met, and the rest goes on
            run.fail(error)
            return Evidence(status="failed", message=self.told(run.message))

    def split_count(self, dataset: str, settings: dict[str, Any] | None = None) -> int | None:
        """The number of splits of a dataset; None where it cannot be had."""
        summary = self.graph_summary(dataset, settings)
        return int(summary["splits"]) if summary else None

    def is_standin(self, dataset: str) -> bool:
        """Whether what stands here for a dataset is not the graph of that name."""
        return "standin" in self.graph_summary(dataset)

    def shown(self, dataset: str) -> str:
        """The name of a dataset on a page; a stand-in is named as one."""
        return f"{dataset} (stand-in)" if self.is_standin(dataset) else dataset

    def graph_summary(self, dataset: str, settings: dict[str, Any] | None = None) -> dict[str, Any]:
        """The figures of a graph that are known without loading it; empty where it cannot be had."""
        form = {path: value for path, value in (settings or {}).items() if path.startswith("graph.")}
        try:
            step = self.scheduler.step("graph", Run(dataset, dataset, form))
        except CgnnError:
            return {}
        header = self.runner.find(step)
        return header.summary if header else {}

    def true_times(self, dataset: str, *, quickly: bool = True) -> dict[str, Any]:
        """Settings of exact times for a small graph, and of a series within 1 % (median) for a larger one."""
        solver = exact_or_series(self.graph_summary(dataset).get("nodes", 0), quickly=quickly)
        return {"commute.solver": solver} | ({} if solver == "exact" else {"commute.tolerance": TOLERANCE})
