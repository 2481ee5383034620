"""Trials: many configurations, each trained on some splits, through one store and one pool of processes.

Stages that trials have in common are computed once. What is in the store is not computed again, so a rerun does only
what is missing, and a run that was killed goes on where it stopped.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from statistics import fmean, pstdev
from typing import TYPE_CHECKING, Any, Literal

from cgnn_cli.configs import CONFIGS, ComputeConfig, GraphConfig, SourceConfig
from cgnn_cli.datasets.registry import Datasets
from cgnn_cli.engines.local import Forecast
from cgnn_cli.engines.pool import Done, Event, Failed, Pool, Progress
from cgnn_cli.errors import CgnnError, StoppedEarly
from cgnn_cli.pipeline import Step, plan
from cgnn_cli.resources import thread_count
from cgnn_cli.runner import Reporter, Runner
from cgnn_cli.settings import Settings
from cgnn_cli.signals import Stopper
from cgnn_cli.store.artifact import Header
from cgnn_cli.store.store import Store

if TYPE_CHECKING:
    from cgnn_cli.datasets.locating import Listener

Status = Literal["done", "failed", "not run"]


@dataclass(frozen=True)
class Trial:
    """A configuration to train: settings by their paths, as `train.layers`; what is left out has its default.

    splits: those to train on; all that the dataset has, if there are none.
    """

    name: str
    dataset: str
    settings: dict[str, Any] = field(default_factory=dict)
    splits: tuple[int, ...] = ()


@dataclass
class TrialResult:
    """What came of a trial: figures of its finished splits in the order of `splits`; `seconds` are those it took to
    compute, whenever that was, and `preparation_seconds` those of the stages before, where they are in the store.
    """

    trial: Trial
    status: Status = "not run"
    message: str = ""
    error: Exception | None = field(default=None, compare=False)
    splits: list[int] = field(default_factory=list)
    validation_accuracy: list[float] = field(default_factory=list)
    test_accuracy: list[float] = field(default_factory=list)
    epochs: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    preparation_seconds: float = 0.0
    keys: dict[str, str] = field(default_factory=dict)

    @property
    def mean_validation_accuracy(self) -> float:
        """Over the finished splits; 0 where there are none."""
        return fmean(self.validation_accuracy) if self.splits else 0.0

    @property
    def validation_deviation(self) -> float:
        """The population's standard deviation over the finished splits."""
        return pstdev(self.validation_accuracy) if self.splits else 0.0


@dataclass(eq=False)
class _Plan:
    """A trial that has begun: its steps, the headers of those that are done, and the errors of those that failed.

    Only the splits before the first that fails count, so that a failure does not depend on which process was faster.
    """

    result: TrialResult
    trained: Step
    scored: Step | None
    headers: dict[str, Header] = field(default_factory=dict)
    errors: dict[str, Exception] = field(default_factory=dict)

    def all_keys(self) -> set[str]:
        """The keys of all its steps."""
        return {step.key for step in (self.scored or self.trained).upstream()}

    @property
    def fits(self) -> dict[int, Step]:
        """The trainings by split, up to the first that failed."""
        fits: dict[int, Step] = {}
        for split in sorted(self.trained.config.splits):
            step = self.trained.inputs[f"fit-{split}"]
            if step.key in self.errors:
                break
            fits[split] = step
        return fits

    def error(self) -> Exception | None:
        """What the first step that failed, failed with."""
        order = [self.trained.inputs[f"fit-{split}"].key for split in sorted(self.trained.config.splits)]
        order += [self.scored.key] if self.scored else []
        return next((self.errors[key] for key in order if key in self.errors), None)

    def missing(self) -> list[Step]:
        """The steps to do next: trainings, and after the last of them the scores."""
        fits = [step for step in self.fits.values() if step.key not in self.headers]
        if fits or self.errors or self.scored is None or self.scored.key in self.headers:
            return fits
        return [self.scored]

    def settle(self) -> TrialResult:
        """The result with the figures of all that is done."""
        result = self.result
        done = {split: self.headers[step.key] for split, step in self.fits.items() if step.key in self.headers}
        result.splits = list(done)
        result.validation_accuracy = [float(header.summary["validation_accuracy"]) for header in done.values()]
        result.epochs = [int(header.summary["epochs"]) for header in done.values()]
        result.seconds = [header.seconds for header in done.values()]
        result.keys = {"train": self.trained.key} | {f"fit-{split}": header.key for split, header in done.items()}
        if self.scored is not None and self.scored.key in self.headers:
            result.test_accuracy = list(self.headers[self.scored.key].summary["test_accuracy_per_split"])
            result.keys["eval"] = self.scored.key
        return result


def run_trials(
    trials: Iterable[Trial],
    store: Store,
    reporter: Reporter,
    *,
    source: SourceConfig | None = None,
    compute: ComputeConfig | None = None,
    test: bool = False,
    max_minutes: float | None = None,
    stopper: Stopper | None = None,
    listener: Listener | None = None,
    finished: Callable[[TrialResult], None] = lambda result: None,
) -> list[TrialResult]:
    """Train all trials, on `compute.jobs` processes at a time, in their order; test accuracy only if it is asked for.

    `finished` hears of each trial as soon as it is done or has failed, `listener` of downloads. No training is begun
    after `max_minutes`; those that are done are still scored.
    """
    runner = Runner(store, reporter, compute or ComputeConfig(), stopper=stopper or Stopper())
    run = _Run(runner, source or SourceConfig(), listener, test, max_minutes, finished)
    return run.results(list(trials))


class _Run:
    """The trials of one call: which wait, which have begun, and which steps could be done now."""

    def __init__(
        self,
        runner: Runner,
        source: SourceConfig,
        listener: Listener | None,
        test: bool,
        max_minutes: float | None,
        finished: Callable[[TrialResult], None],
    ) -> None:
        self.runner, self.test, self.finished = runner, test, finished
        self.jobs = thread_count(runner.compute.jobs, 1)
        self.deadline = float("inf") if max_minutes is None else time.monotonic() + 60 * max_minutes
        self.datasets = Datasets(runner.store, source, listener, runner.data)
        self.graphs: dict[tuple[str, GraphConfig], Step] = {}
        self.waiting: deque[TrialResult] = deque()
        self.ready: deque[Step] = deque()
        self.begun: list[_Plan] = []

    def results(self, trials: list[Trial]) -> list[TrialResult]:
        results = [TrialResult(trial) for trial in trials]
        self.waiting.extend(results)
        self.forecast = Forecast(len(results), self.jobs)
        stopped = False
        with self.runner.stopper.hold(), Pool(self.runner, self.jobs) as self.pool:
            for event in self.pool.work(self._next_step, self._prepare_more):
                self._hear(event)
                if isinstance(event, Failed) and isinstance(event.error, StoppedEarly):
                    stopped = True
                    self.pool.stop()
        for begun in self.begun:
            begun.settle()
        if (stopped or self.runner.stopper.requested()) and any(result.status == "not run" for result in results):
            count = sum(result.status != "not run" for result in results)
            raise StoppedEarly(
                f"stopped after {count} of {len(results)} configurations; the state of the others is saved",
                "run the same command again to go on",
            )
        return results

    def _is_late(self) -> bool:
        return time.monotonic() >= self.deadline

    def _next_step(self) -> Step | None:
        """The next step to give to a process, if there is one: only scores when it is late."""
        while True:
            if self._is_late():
                self.ready = deque(step for step in self.ready if step.stage.name == "eval")
            if self.ready:
                return self.ready.popleft()
            if not self._prepare_more():
                return None

    def _prepare_more(self) -> bool:
        """Begin one more trial, if few steps are ready; whether there was one."""
        if not self.waiting or len(self.ready) >= self.jobs or self.runner.stopper.requested():
            return False
        result = self.waiting.popleft()
        try:
            self._begin(result)
        except StoppedEarly:
            return False
        except Exception as error:  # also a bug that only this configuration meets
            self.begun = [begun for begun in self.begun if begun.result is not result]
            result.status, result.message, result.error = "failed", message_of(error), error
            self.finished(result)
        return True

    def _begin(self, result: TrialResult) -> None:
        """Plan a trial, find what is there, and obtain what its trainings need."""
        runner = self.runner
        begun = self._planned(result)
        for step in (*begun.fits.values(), *([begun.scored] if begun.scored else [])):
            if header := runner.store.find(step.stage.name, step.key):
                begun.headers[step.key] = header
        missing = begun.missing()
        if not missing:
            self._end(begun, "done")
            return
        self.begun.append(begun)
        if self._is_late() and missing != [begun.scored]:
            return
        upstream = {step.key: step for fit in begun.fits.values() for step in fit.inputs.values()}
        runner.keep_only({step.key for step in begun.trained.upstream()})
        runner.obtain_all(upstream.values())
        self._queue(missing)

    def _planned(self, result: TrialResult) -> _Plan:
        trial = result.trial
        settings = Settings.of(trial.settings, trial.name)
        configs = {stage: settings.config(stage) for stage in CONFIGS}
        form = settings.config("graph")
        assert isinstance(form, GraphConfig)
        if (trial.dataset, form) not in self.graphs:
            self.graphs[trial.dataset, form] = self.datasets.step(trial.dataset, form)
        graph = self.graphs[trial.dataset, form]
        splits = sorted(set(trial.splits)) or range(self.runner.split_count(graph))
        trained = plan("train", graph, configs, splits)
        return _Plan(result, trained, plan("eval", graph, configs, splits) if self.test else None)

    def _queue(self, steps: list[Step]) -> None:
        """Trials that differ in nothing that a training reads have that training in common."""
        known = {step.key for step in (*self.ready, *self.pool.running)}
        self.ready.extend(step for step in steps if step.key not in known)

    def _hear(self, event: Event) -> None:
        """Note what happened to a step, for all trials that it belongs to."""
        concerned = [begun for begun in self.begun if event.step.key in begun.all_keys()]
        if isinstance(event, Progress):
            name = concerned[0].result.trial.name if concerned else ""
            self.runner.reporter.progress(
                self.forecast.done, self.forecast.total, f"{name}  {self.forecast.line(event)}"
            )
            return
        if isinstance(event, Done):
            self.runner.reporter.stage_done(event.header, hit=event.hit)
        for begun in concerned:
            if isinstance(event, Done):
                begun.headers[event.step.key] = event.header
                self._go_on(begun)
            elif not isinstance(event.error, StoppedEarly):
                begun.errors[event.step.key] = event.error
                self._go_on(begun)

    def _go_on(self, begun: _Plan) -> None:
        """A trial is done, or its scores come next: before other trainings, so that it is reported soon."""
        missing = begun.missing()
        if not missing:
            self._end(begun, "failed" if begun.errors else "done", begun.error())
        elif begun.errors:
            self._forget_unneeded()
        elif missing == [begun.scored]:
            self._queue(missing)
            self.ready.rotate(1)

    def _end(self, begun: _Plan, status: Status, error: Exception | None = None) -> None:
        """Report a trial, and forget what only it needed."""
        result = begun.settle()
        result.status, result.message, result.error = status, message_of(error) if error else "", error
        result.preparation_seconds = self._preparation_seconds(begun)
        if begun in self.begun:
            self.begun.remove(begun)
            self.forecast.done += 1
        else:
            self.forecast.total -= 1
        self._forget_unneeded()
        self.pool.drop(begun.all_keys() - {key for other in self.begun for key in other.all_keys()})
        self.finished(result)

    def _forget_unneeded(self) -> None:
        """Take steps out of the queue that no trial waits for any more."""
        needed = {step.key for begun in self.begun for step in begun.missing()}
        self.ready = deque(step for step in self.ready if step.key in needed)

    def _preparation_seconds(self, begun: _Plan) -> float:
        """What the stages between the graph and the trainings took when they were computed."""
        stages = ("rewire", "dilap", "commute", "operators")
        steps = {step.key: step for step in begun.trained.upstream() if step.stage.name in stages}
        found = (self.runner.store.find(step.stage.name, step.key) for step in steps.values())
        return sum(header.seconds for header in found if header)


def message_of(error: Exception) -> str:
    """What went wrong, in a line."""
    text = error.message if isinstance(error, CgnnError) else f"{type(error).__name__}: {error}"
    return " ".join(text.split())
