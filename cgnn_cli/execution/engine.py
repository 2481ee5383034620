"""Engines: who obtains the steps that can be done at the same time. The scheduler asks an engine, and hears events.

Here: this process, one step after the other. pool.py has worker processes, cluster.py the workers of a dask cluster.
Whatever stands behind an engine obtains a step as a single process would, over the same store: it locks, computes,
saves snapshots and publishes by itself, so that nothing is lost with the engine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Protocol

from cgnn_cli.execution.runner import Runner
from cgnn_cli.pipeline import Step
from cgnn_cli.resources import thread_count
from cgnn_cli.store.artifact import Header


@dataclass(frozen=True)
class Done:
    """A step whose artifact is there."""

    step: Step
    header: Header
    hit: bool


@dataclass(frozen=True)
class Failed:
    """A step that could not be obtained."""

    step: Step
    error: Exception


@dataclass(frozen=True)
class Progress:
    """How far a step is."""

    step: Step
    done: int
    total: int
    message: str


Event = Done | Failed | Progress
Hear = Callable[[Event], None]


class Engine(Protocol):
    """Obtains steps that do not depend on each other, at most `size` at a time; a context that ends its work.

    remote: whether it is there to keep work away from this process, also where there is one step only.
    """

    size: int
    stopped: bool
    remote: bool

    def prepare(self) -> None:
        """Be ready to obtain steps, or say why not: before anything that they need is computed."""

    @property
    def running(self) -> list[Step]:
        """The steps that are being obtained."""

    def start(self, step: Step) -> None:
        """Begin to obtain a step."""

    def wait(self, seconds: float, hear: Hear) -> None:
        """Tell what has happened, after waiting for it at most so long."""

    def stop(self) -> None:
        """Ask for all states to be saved and all work to stop; no more steps are begun."""

    def drop(self, keys: set[str]) -> None:
        """Forget artifacts that no step needs any more."""

    def close(self) -> None:
        """There will be no more steps."""

    def __enter__(self) -> Engine: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...


@dataclass(eq=False)
class InProcess:
    """Obtains one step after the other in this process."""

    runner: Runner
    size: int = 1
    stopped: bool = False
    remote: bool = False
    running: list[Step] = field(default_factory=list)

    def prepare(self) -> None:
        """There is nothing to make ready."""

    def __enter__(self) -> InProcess:
        self.stopped = False
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.running.clear()

    def start(self, step: Step) -> None:
        self.running.append(step)

    def wait(self, seconds: float, hear: Hear) -> None:
        """Obtain the step that was begun, however long that takes."""
        step = self.running.pop()
        try:
            header, hit = self.runner.obtain(step, lambda *figures: hear(Progress(step, *figures)))
        except Exception as error:
            hear(Failed(step, error))
        else:
            hear(Done(step, header, hit))

    def stop(self) -> None:
        self.stopped = True

    def drop(self, keys: set[str]) -> None:
        """The runner forgets by itself what is not needed."""

    def close(self) -> None:
        """Nothing is left to end."""


def chosen_engine(runner: Runner) -> Engine:
    """The engine that `--cluster` or `--jobs` asks for: one job never starts a process."""
    if runner.compute.cluster is not None:
        from cgnn_cli.execution.cluster import Cluster

        return Cluster(runner, runner.compute.cluster)
    from cgnn_cli.execution.pool import Pool

    jobs = thread_count(runner.compute.jobs, 1)
    return Pool(runner, jobs) if jobs > 1 else InProcess(runner)
