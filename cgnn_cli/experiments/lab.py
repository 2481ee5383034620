"""The lab in which experiments are made: it trains, obtains artifacts and loads graphs, as far as the time allows.

What is in the store is not computed again, so an experiment that was cut short goes on where it stopped. What fails, or
has no time left, is told as such, and the rest goes on.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from cgnn_cli.configs import CONFIGS, ComputeConfig, GraphConfig, SourceConfig
from cgnn_cli.datasets.registry import Datasets
from cgnn_cli.errors import CgnnError, StoppedEarly
from cgnn_cli.experiments.rows import Row, chosen_rows
from cgnn_cli.pipeline import Step, plan
from cgnn_cli.runner import Reporter, Runner
from cgnn_cli.settings import Settings
from cgnn_cli.signals import Stopper
from cgnn_cli.store.artifact import Header
from cgnn_cli.store.store import Store
from cgnn_cli.trials import Status, Trial, TrialResult, message_of, run_trials

if TYPE_CHECKING:
    from cgnn_cli.datasets.locating import Listener
    from cgnn_cli.report.runs import Run

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
# With a time limit all trials first run on a few splits, so that no row stays empty while others are complete.
ROUNDS = (2, 3, 5)
NO_TIME = "the time was up"


@dataclass(frozen=True)
class Asked:
    """What a reproduction is asked for; nothing stands for the experiment's own choice.

    quick: the demo graph, two splits and a few epochs of a narrow network, to see that all works.
    """

    datasets: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    splits: int | None = None
    quick: bool = False
    max_minutes: float | None = None


@dataclass(frozen=True)
class Obtained:
    """An artifact that an experiment asked for, or in words why there is none."""

    header: Header | None = None
    data: Any = None
    status: Status = "done"
    message: str = ""


@dataclass
class Lab:
    """Trains, obtains artifacts and loads graphs over one store, until the time is up."""

    store: Store
    reporter: Reporter
    asked: Asked = field(default_factory=Asked)
    source: SourceConfig = field(default_factory=SourceConfig)
    compute: ComputeConfig = field(default_factory=ComputeConfig)
    stopper: Stopper = field(default_factory=Stopper)
    listener: Listener | None = None
    _begun: float = field(default_factory=time.monotonic)
    _graphs: dict[tuple[str, GraphConfig], Step | CgnnError] = field(default_factory=dict)
    _summaries: dict[str, dict[str, Any]] = field(default_factory=dict)
    obtained: dict[str, tuple[str, Header]] = field(default_factory=dict)  # by key, with the dataset

    @cached_property
    def runner(self) -> Runner:
        return Runner(self.store, self.reporter, self.compute, stopper=self.stopper)

    def minutes_left(self, share: float = 1.0) -> float | None:
        """What is left of a share of the time; None without a limit."""
        limit = self.asked.max_minutes
        return None if limit is None else max(0.0, share * limit - (time.monotonic() - self._begun) / 60)

    def datasets(self, usual: Sequence[str]) -> list[str]:
        """The datasets to work on: those asked for, or the experiment's own."""
        return list(self.asked.datasets or (QUICK_DATASETS if self.asked.quick else usual))

    def rows(self, usual: Iterable[str]) -> dict[str, Row]:
        """The rows to work on: those asked for, or the experiment's own."""
        return chosen_rows(usual, self.asked.models)

    def trial(self, name: str, dataset: str, settings: dict[str, Any], most_splits: int | None = None) -> Trial:
        """A trial on as many splits as are asked for, the first ones of the dataset."""
        if self.asked.quick:
            settings = {**settings, **{path: min(settings.get(path, most), most) for path, most in QUICK.items()}}
        wanted = self.asked.splits or (QUICK_SPLITS if self.asked.quick else None)
        limits = [limit for limit in (wanted, most_splits, self.split_count(dataset, settings)) if limit is not None]
        return Trial(name, dataset, settings, tuple(range(min(limits, default=1))))

    def train(self, trials: Sequence[Trial], *, test: bool = True, share: float = 1.0) -> dict[str, TrialResult]:
        """The results of trials by name; with test accuracies, unless these are not to be seen.

        With a time limit a trial may have been done on some of its splits only.
        """
        found = {trial.name: self._outset(trial) for trial in trials}
        for most in (*(ROUNDS if self.asked.max_minutes is not None else ()), None):
            waiting = [
                _cut(trial, most)
                for trial in trials
                if found[trial.name].status != "failed" and (most is None or len(trial.splits) > most)
            ]
            for result in self._run(waiting, test, share) if waiting else ():
                if result.status != "not run" or found[result.trial.name].status == "not run":
                    found[result.trial.name] = result
        for result in found.values():
            result.message = NO_TIME if result.status == "not run" else result.message
        return found

    def _outset(self, trial: Trial) -> TrialResult:
        """A trial that has not run; where its graph cannot be had, that is known before."""
        try:
            self.step("graph", trial.dataset, _form(trial.settings))
        except CgnnError as error:
            return TrialResult(trial, "failed", message_of(error))
        return TrialResult(trial)

    def _run(self, trials: Sequence[Trial], test: bool, share: float) -> list[TrialResult]:
        return run_trials(
            trials,
            self.store,
            self.reporter,
            source=self.source,
            compute=self.compute,
            test=test,
            max_minutes=self.minutes_left(share),
            stopper=self.stopper,
            listener=self.listener,
        )

    def obtain(self, stage: str, dataset: str, settings: dict[str, Any] | None = None) -> Obtained:
        """The artifact of a stage before training: computed if it is missing and there is time."""
        try:
            step = self.step(stage, dataset, settings)
            if self.minutes_left() == 0 and self.store.find(step.stage.name, step.key) is None:
                return Obtained(status="not run", message=NO_TIME)
            self.runner.keep_only({needed.key for needed in step.upstream()})
            header, _ = self.runner.obtain(step)
            self.obtained[header.key] = (dataset, header)
            return Obtained(header, self.runner.data(step))
        except StoppedEarly:
            raise
        except Exception as error:  # one cell fails, whatever it met, and the rest goes on
            return Obtained(status="failed", message=message_of(error))

    def step(self, stage: str, dataset: str, settings: dict[str, Any] | None = None) -> Step:
        """The step of a stage for a dataset and settings by their paths."""
        chosen = Settings.of(settings or {}, dataset)
        form = chosen.config("graph")
        assert isinstance(form, GraphConfig)
        graph = self._graph(dataset, form)
        if stage == "graph":
            return graph
        return plan(stage, graph, {name: chosen.config(name) for name in CONFIGS}, ())

    def _graph(self, dataset: str, form: GraphConfig) -> Step:
        """The step of a graph; one that cannot be had, as it cannot be downloaded, is not asked for again."""
        if (dataset, form) not in self._graphs:
            datasets = Datasets(self.store, self.source, self.listener, self.runner.data)
            try:
                step = datasets.step(dataset, form)
                self._summaries[step.key] = self.runner.obtain(step)[0].summary
            except CgnnError as error:
                self._graphs[dataset, form] = error
            else:
                self._graphs[dataset, form] = step
        found = self._graphs[dataset, form]
        if isinstance(found, CgnnError):
            raise found
        return found

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
        try:
            return self._summaries[self.step("graph", dataset, _form(settings)).key]
        except CgnnError:
            return {}

    def runs(self, results: Iterable[TrialResult]) -> dict[str, Run]:
        """The evaluations of finished trials by the names of these, with all that they were made from."""
        from cgnn_cli.report.runs import Runs

        keys = {result.trial.name: result.keys["eval"] for result in results if "eval" in result.keys}
        found = {run.key: run for run in Runs(self.store).named(keys.values())}
        return {name: found[key] for name, key in keys.items()}


def _form(settings: dict[str, Any] | None) -> dict[str, Any]:
    """The settings that choose a form of the graph."""
    return {path: value for path, value in (settings or {}).items() if path.startswith("graph.")}


def _cut(trial: Trial, most: int | None) -> Trial:
    return trial if most is None else dataclasses.replace(trial, splits=trial.splits[:most])
