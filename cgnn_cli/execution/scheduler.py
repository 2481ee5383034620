"""The scheduler: which steps come next, for stage commands as for many configurations, until all is done or it is late.

Stages that several runs have in common are computed once, here; trainings and scores are given to an engine. What is in
the store is not computed again, so a rerun does only what is missing, and what was killed goes on where it stopped.
"""

import time
from collections import deque
from collections.abc import Callable, Sequence

from cgnn_cli.configs import CONFIGS, GraphConfig
from cgnn_cli.datasets.registry import Datasets
from cgnn_cli.errors import CgnnError, ClusterError, StoppedEarly, UsageError
from cgnn_cli.execution.engine import Done, Engine, Event, Failed, Progress, chosen_engine
from cgnn_cli.execution.results import Run
from cgnn_cli.execution.runner import Runner
from cgnn_cli.pipeline import Step, fits_by_split, plan
from cgnn_cli.settings import Settings

POLL_SECONDS = 0.2


class Deadline:
    """A time after which nothing new is begun; without minutes there is none."""

    def __init__(self, minutes: float | None = None) -> None:
        self.minutes, self.begun = minutes, time.monotonic()

    def is_past(self, share: float = 1.0) -> bool:
        """Whether a share of the time is over."""
        return self.minutes is not None and time.monotonic() - self.begun >= 60 * share * self.minutes


class Scheduler:
    """Obtains steps through an engine: of plans, where a failure ends all, or of runs, where the rest goes on."""

    def __init__(
        self,
        runner: Runner,
        datasets: Datasets | None = None,
        engine: Engine | None = None,
        tell: Callable[[Run], None] = lambda run: None,
    ) -> None:
        """`tell` hears of every run that `carry_out` has done."""
        self.runner, self.datasets, self.engine, self.tell = runner, datasets, engine or chosen_engine(runner), tell
        self.graphs: dict[tuple[str, GraphConfig], Step | CgnnError] = {}

    def obtain(self, *targets: Step) -> None:
        """Obtain steps in order, the trainings that they need several at a time. The first failure ends it."""
        self.runner.check_compute(*targets)
        trained = {step.key: step for target in targets for step in target.lineage if step.stage.name == "train"}
        missing = [fit for step in trained.values() for fit in fits_by_split(step).values() if not self._has(fit)]
        unfinished = {step.key for target in targets if not self._has(target) for step in target.lineage}
        fits = {fit.key: fit for fit in missing if fit.key in unfinished}
        if fits and (self.engine.remote or (len(fits) > 1 and self.engine.size > 1)):
            _Together(self, list(fits.values())).carry_out()
        for target in targets:
            self.runner.obtain(target)

    def _has(self, step: Step) -> bool:
        return step.file is not None or self.runner.find(step) is not None

    def carry_out(
        self,
        runs: Sequence[Run],
        *,
        test: bool = False,
        deadline: Deadline | None = None,
        share: float = 1.0,
        rounds: Sequence[int] = (),
        finished: Callable[[Run], None] = lambda run: None,
    ) -> None:
        """Train all runs in their order; with test accuracies only if they are asked for.

        rounds: all runs are first done on so many splits, so that none stays empty while others are complete.
        After a share of the deadline no training is begun; those that are done are still scored. `finished` hears of
        each run as soon as it is done or has failed.
        """
        late = (lambda: deadline.is_past(share)) if deadline else (lambda: False)
        for run in runs:
            run.status, run.message, run.error = "not run", "", None

        def told(run: Run) -> None:
            self.tell(run)
            finished(run)

        for most in (*rounds, None):
            chosen = [run for run in runs if run.status != "failed" and (most is None or len(run.wanted) > most)]
            if chosen:
                _Round(self, chosen, most, test, late, told).carry_out()

    def graph(self, dataset: str, form: GraphConfig) -> Step:
        """The step of a graph; one that cannot be had, as it cannot be downloaded, is not asked for again."""
        if (dataset, form) not in self.graphs:
            assert self.datasets is not None
            try:
                step = self.graphs[dataset, form] = self.datasets.step(dataset, form)
                if self.runner.find(step) is None:
                    self.runner.obtain(step)
            except CgnnError as error:
                self.graphs[dataset, form] = error
        found = self.graphs[dataset, form]
        if isinstance(found, CgnnError):
            raise found
        return found

    def step(self, stage: str, run: Run, splits: Sequence[int] | None = None) -> Step:
        """The step of a stage for the dataset and the settings of a run; all its splits, if none are named."""
        settings = Settings.of(run.settings, run.name)
        form = settings.config("graph")
        assert isinstance(form, GraphConfig)
        graph = self.graph(run.dataset, form)
        if stage == "graph":
            return graph
        chosen = run.wanted if splits is None else splits
        count = self.runner.graph_figure(graph, "splits")
        if wrong := [split for split in chosen if not 0 <= split < count]:
            raise UsageError(f"--split {wrong[0]}: this dataset has the splits 0 to {count - 1}")
        numbers = sorted(set(chosen)) or range(count)
        return plan(stage, graph, {name: settings.config(name) for name in CONFIGS}, numbers)


class _Together:
    """Trainings that do not depend on each other; the first that fails stops the others, which save their states."""

    def __init__(self, scheduler: Scheduler, fits: list[Step]) -> None:
        self.runner, self.engine = scheduler.runner, scheduler.engine
        self.ready = deque(fits)
        self.done, self.total = 0, len(fits)
        self.failure: Exception | None = None

    def carry_out(self) -> None:
        self.engine.prepare()
        for needed in {step.key: step for fit in self.ready for step in fit.inputs.values()}.values():
            self.runner.obtain(needed)  # once and here, not in every process
        self.work()
        if self.failure is not None and not isinstance(self.failure, StoppedEarly):
            raise self.failure
        if self.failure is not None or self.ready:
            raise StoppedEarly(f"stopped after {self.done} of {self.total} trainings; the state of the others is saved")

    def work(self) -> None:
        """Keep the engine busy with the next steps, as long as there are any."""
        engine, stopper = self.engine, self.runner.stopper
        with stopper.hold(), engine:
            while True:
                if stopper.requested():
                    engine.stop()
                while not engine.stopped and len(engine.running) < engine.size and (step := self.next_step()):
                    engine.start(step)
                if not engine.running:
                    return
                prepared = engine.size > 1 and not engine.stopped and self.prepare_more()
                engine.wait(0 if prepared else POLL_SECONDS, self.hear)

    def next_step(self) -> Step | None:
        """The next step to give to the engine, if there is one."""
        return self.ready.popleft() if self.ready else None

    def prepare_more(self) -> bool:
        """Prepare more steps while the engine is busy; whether there was something to prepare."""
        return False

    def hear(self, event: Event) -> None:
        if isinstance(event, Progress):
            self.tell(event, "")
        elif isinstance(event, Done):
            self.done += 1
            self.runner.note(event.step, event.header, event.hit)
        else:
            if self.failure is None or isinstance(self.failure, StoppedEarly):
                self.failure = event.error
            self.engine.stop()

    def tell(self, event: Progress, name: str) -> None:
        """How far all is, and the latest of one training."""
        split = event.step.split
        place = "  ".join(filter(None, (name, "" if split is None else f"split {split}")))
        message = f"{place} epoch {event.done} of at most {event.total}  {event.message}".strip()
        self.runner.reporter.progress(self.done, self.total, message)


class _Round(_Together):
    """Runs on some of their splits: which wait, which have begun, and which steps could be done now.

    Only the splits before the first that fails count, so that a failure does not depend on which process was faster.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        runs: Sequence[Run],
        most: int | None,
        test: bool,
        late: Callable[[], bool],
        finished: Callable[[Run], None],
    ) -> None:
        super().__init__(scheduler, [])
        self.scheduler, self.most, self.test, self.late, self.finished = scheduler, most, test, late, finished
        self.runs, self.waiting, self.total = runs, deque(runs), len(runs)
        self.trained: dict[Run, Step] = {}  # of the runs that have begun, and are not done
        self.scored: dict[Run, Step] = {}
        self.errors: dict[str, Exception] = {}

    def carry_out(self) -> None:
        before = {run: run.status for run in self.runs}
        for run in self.runs:
            run.status = "not run"
        self.work()
        for run in list(self.trained):
            self._settle(run)
        unfinished = [run for run in self.runs if run.status == "not run"]
        if unfinished and (isinstance(self.failure, StoppedEarly) or self.runner.stopper.requested()):
            count = f"{len(self.runs) - len(unfinished)} of {len(self.runs)}"
            raise StoppedEarly(f"stopped after {count} configurations; the state of the others is saved")
        for run in unfinished:  # what an earlier round has done stays
            run.status = before[run]

    def next_step(self) -> Step | None:
        """Only scores when it is late."""
        while True:
            if self.late():
                self.ready = deque(step for step in self.ready if step.stage.name == "eval")
            if self.ready:
                return self.ready.popleft()
            if not self.prepare_more():
                return None

    def prepare_more(self) -> bool:
        """Begin one more run, if few steps are ready; whether there was one."""
        if not self.waiting or len(self.ready) >= self.engine.size or self.runner.stopper.requested():
            return False
        run = self.waiting.popleft()
        try:
            self._begin(run)
        except StoppedEarly:
            return False
        except ClusterError:
            raise
        except Exception as error:  # also a bug that only this configuration meets
            self._forget(run)
            run.fail(error)
            self.finished(run)
        return True

    def _begin(self, run: Run) -> None:
        """Plan a run, find what is there, and obtain what its trainings need."""
        splits = run.wanted if self.most is None else run.wanted[: self.most]
        trained = self.trained[run] = self.scheduler.step("train", run, splits)
        run.checkpoint = trained.key
        if self.test:
            self.scored[run] = self.scheduler.step("eval", run, splits)
        missing = self._missing(run)
        self.runner.check_compute(*missing)
        if not missing:
            self.total -= 1
            self._end(run)
        elif not self.late() or missing[0].stage.name == "eval":
            self.engine.prepare()
            self.runner.keep_only({step.key for step in trained.lineage})
            for step in {each.key: each for fit in self._fits(run).values() for each in fit.inputs.values()}.values():
                self.runner.obtain(step)
            self._queue(missing)

    def _fits(self, run: Run) -> dict[int, Step]:
        """The trainings by split, up to the first that failed."""
        fits: dict[int, Step] = {}
        for split, step in fits_by_split(self.trained[run]).items():
            if step.key in self.errors:
                break
            fits[split] = step
        return fits

    def _missing(self, run: Run) -> list[Step]:
        """The steps to do next: trainings, and after the last of them the scores."""
        fits = [step for step in self._fits(run).values() if not self.runner.find(step)]
        scored = self.scored.get(run)
        if fits or self._error(run) or scored is None or self.runner.find(scored):
            return fits
        return [scored]

    def _error(self, run: Run) -> Exception | None:
        """What the first step that failed, failed with."""
        steps = [*fits_by_split(self.trained[run]).values(), *([self.scored[run]] if run in self.scored else [])]
        return next((self.errors[step.key] for step in steps if step.key in self.errors), None)

    def _queue(self, steps: list[Step]) -> None:
        """Runs that differ in nothing that a training reads have that training in common."""
        known = {step.key for step in (*self.ready, *self.engine.running)}
        self.ready.extend(step for step in steps if step.key not in known)

    def hear(self, event: Event) -> None:
        """Note what happened to a step, for all runs that it belongs to."""
        concerned = [run for run in self.trained if event.step.key in self._keys(run)]
        if isinstance(event, Progress):
            self.tell(event, concerned[0].name if concerned else "")
            return
        if isinstance(event, Failed) and isinstance(event.error, StoppedEarly):
            super().hear(event)
            return
        if isinstance(event, Done):
            self.runner.note(event.step, event.header, event.hit)
        else:
            self.errors[event.step.key] = event.error
        for run in concerned:
            self._go_on(run)

    def _go_on(self, run: Run) -> None:
        """A run is done, or its scores come next: before other trainings, so that it is reported soon."""
        missing = self._missing(run)
        if not missing:
            self.done += 1
            self._end(run)
        elif self._error(run):
            self._forget_unneeded()
        elif missing == [self.scored.get(run)]:
            self._queue(missing)
            self.ready.rotate(1)

    def _end(self, run: Run) -> None:
        """Settle a run, and forget what only it needed."""
        error = self._error(run)
        self._settle(run)
        run.status, run.message = "done", ""
        if error:
            run.fail(error)
        keys = self._keys(run)
        self._forget(run)
        self._forget_unneeded()
        self.engine.drop(keys - {key for other in self.trained for key in self._keys(other)})
        if self.most is None or error:
            self.finished(run)

    def _settle(self, run: Run) -> None:
        """Give a run the headers of all that is there."""
        trained, fits = self.trained[run], [step.key for step in self._fits(run).values()]
        steps = {role: step for made in trained.lineage for role, step in made.inputs.items()} | {"train": trained}
        counted = {role: step for role, step in steps.items() if step.stage.name != "fit" or step.key in fits}
        found = {role: header for role, step in counted.items() if (header := self.runner.find(step))}
        scored = self.scored.get(run)
        if scored and (scores := self.runner.find(scored)):
            found["eval"] = scores
            run.path = self.runner.store.path("eval", scores.key)
        run.headers |= found

    def _keys(self, run: Run) -> set[str]:
        return {step.key for step in self.scored.get(run, self.trained[run]).lineage}

    def _forget(self, run: Run) -> None:
        self.trained.pop(run, None)
        self.scored.pop(run, None)

    def _forget_unneeded(self) -> None:
        """Take steps out of the queue that no run waits for any more."""
        needed = {step.key for run in self.trained for step in self._missing(run)}
        self.ready = deque(step for step in self.ready if step.key in needed)
