"""Several trainings at the same time, on the cores of this machine."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator

from cgnn_cli.engines.pool import Done, Failed, Pool, Progress
from cgnn_cli.errors import StoppedEarly
from cgnn_cli.pipeline import Step
from cgnn_cli.runner import Runner


class Forecast:
    """Says how far a number of trainings is, and how long the rest may take."""

    def __init__(self, total: int, jobs: int) -> None:
        self.total, self.jobs, self.done = total, jobs, 0
        self._began = time.monotonic()

    def line(self, progress: Progress) -> str:
        """The latest of one training, and the time left for all of them."""
        split = getattr(progress.step.config, "split", None)
        place = f"split {split} " if split is not None else ""
        return f"{place}epoch {progress.done} of at most {progress.total}  {progress.message}{self.time_left()}"

    def time_left(self) -> str:
        """From the pace so far, in which several trainings went on at a time."""
        if not self.done:
            return ""
        seconds = (time.monotonic() - self._began) / self.done * max(0, self.total - self.done)
        return f"  about {seconds / 60:.0f} min left" if seconds >= 60 else f"  about {seconds:.0f} s left"


def obtain_together(runner: Runner, steps: list[Step], jobs: int) -> Iterator[Done]:
    """Obtain trainings that do not depend on each other in parallel processes.

    The first failure stops the others, which save their states.
    """
    pending = deque(steps)
    needed = {each.key: each for step in steps for each in step.inputs.values()}
    runner.obtain_all(needed.values())  # once and here, not in every process
    forecast = Forecast(len(steps), jobs)
    failure: Exception | None = None
    with runner.stopper.hold(), Pool(runner, min(jobs, len(steps))) as pool:
        for event in pool.work(lambda: pending.popleft() if pending else None):
            if isinstance(event, Progress):
                runner.reporter.progress(forecast.done, len(steps), forecast.line(event))
            elif isinstance(event, Failed):
                failure = event.error if failure is None or isinstance(failure, StoppedEarly) else failure
                pool.stop()
            else:
                forecast.done += 1
                yield event
    if failure is not None and not isinstance(failure, StoppedEarly):
        raise failure
    if failure is not None or pending:
        raise StoppedEarly(
            f"stopped after {forecast.done} of {len(steps)} trainings; the state of the others is saved",
            "run the same command again to go on",
        )
