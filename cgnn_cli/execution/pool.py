"""A pool of worker processes over one store: fresh interpreters that are spoken to in lines of JSON.

A worker obtains a step as a single process would: it locks, computes, saves snapshots and publishes by itself, so that
nothing is lost with the pool. A worker that dies fails its own step only.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any

import cgnn_cli
from cgnn_cli.errors import ResourceError, StoppedEarly
from cgnn_cli.execution.engine import Done, Event, Failed, Hear, Progress
from cgnn_cli.execution.messages import WorkerFault, decode_error, encode_step
from cgnn_cli.execution.runner import Runner
from cgnn_cli.execution.sharing import SharedArrays, no_room
from cgnn_cli.keys import is_key
from cgnn_cli.pipeline import Step
from cgnn_cli.resources import memory_limit
from cgnn_cli.store.artifact import Header
from cgnn_cli.store.disk import entries

END_SECONDS = 5.0
# Signals are handled before anything heavy is imported.
PROGRAM = """
import sys
sys.path.append(sys.argv.pop(1))
from cgnn_cli.signals import STOPPER, ignore_interrupts
ignore_interrupts(STOPPER)
from cgnn_cli.execution.worker import main
main()
"""


@dataclass(eq=False)
class Worker:
    """A process, and the step it is at."""

    process: subprocess.Popen[str]
    errors: Path
    step: Step | None = None

    def tell(self, **values: Any) -> None:
        """A message to the process; one that has died is noticed elsewhere."""
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps(values) + "\n")
            self.process.stdin.flush()

    def death(self) -> Exception:
        """Why the process ended in the middle of a step."""
        code = self.process.wait()
        if code in (-signal.SIGTERM, -signal.SIGUSR1):  # it had not come as far as to handle them
            return StoppedEarly("stopped before a training began")
        if code == -signal.SIGKILL:
            return ResourceError(
                "a worker process was killed, perhaps for lack of memory; what it had saved is kept",
                "run the same command again to go on; fewer --jobs need less memory",
            )
        lines = self.errors.read_text(errors="replace").split("\n") if self.errors.exists() else []
        said = next((line for line in reversed(lines) if line.strip()), "it said nothing")
        return WorkerFault(f"a worker process ended with code {code}: {said}")


@dataclass(eq=False)
class Pool:
    """An engine of at most `size` workers that compute as a runner would; a process starts with the first step."""

    runner: Runner
    size: int
    command: list[str] = field(default_factory=lambda: sys.argv)  # of the user, for provenance
    environment: dict[str, str] | None = None  # of the workers, if it is not that of this process
    workers: list[Worker] = field(default_factory=list)
    stopped: bool = False
    remote: bool = False
    messages: SimpleQueue[tuple[Worker, str | None]] = field(default_factory=SimpleQueue)

    @cached_property
    def folder(self) -> Path:
        """For the arrays that the workers share; made with the first of them, who also remove it if all else dies."""
        try:
            return Path(tempfile.mkdtemp(prefix="cgnn-"))
        except OSError as error:
            raise no_room(os.environ.get("TMPDIR", "/tmp"), error) from error

    def prepare(self) -> None:
        """Processes start with their first steps."""

    def __enter__(self) -> Pool:
        self.stopped = False
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End the workers: at once after an error, else as soon as they have heard of it."""
        for worker in self.workers:
            if kind is not None:
                worker.process.kill()
            with contextlib.suppress(BrokenPipeError):
                worker.process.stdin.close()  # type: ignore[union-attr]
        for worker in self.workers:
            try:
                worker.process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                worker.process.kill()
                worker.process.wait()
            self.runner.stopper.workers.discard(worker.process.pid)
        self.workers.clear()
        if "folder" in self.__dict__:
            shutil.rmtree(self.__dict__.pop("folder"), ignore_errors=True)

    @property
    def running(self) -> list[Step]:
        """The steps that are being obtained."""
        return [worker.step for worker in self.workers if worker.step is not None]

    def start(self, step: Step) -> None:
        """Give a step to an idle worker, or to a new one."""
        worker = next((worker for worker in self.workers if worker.step is None), None) or self._new_worker()
        worker.step = step
        self.runner.reporter.begins(step.title, step.key)
        worker.tell(kind="obtain", step=encode_step(step))

    def drop(self, keys: set[str]) -> None:
        """Remove shared arrays that no step needs any more."""
        for key in keys if "folder" in self.__dict__ else ():
            SharedArrays(self.folder).drop(key)

    def keep_only(self, keys: set[str]) -> None:
        """Remove the shared arrays of all other artifacts."""
        if "folder" in self.__dict__:
            self.drop({path.name for path in entries(self.folder) if is_key(path.name)} - keys)

    def close(self) -> None:
        """End the workers, which end with the context too."""
        self.__exit__(None, None, None)

    def stop(self) -> None:
        """Ask all workers to save their state and stop; no more steps are begun."""
        if not self.stopped:
            self.stopped = True
            for worker in self.workers:
                worker.tell(kind="stop")

    def wait(self, seconds: float, hear: Hear) -> None:
        with contextlib.suppress(Empty):
            received = self.messages.get(timeout=seconds) if seconds else self.messages.get_nowait()
            while True:
                if event := self._event(*received):
                    hear(event)
                received = self.messages.get_nowait()

    def _event(self, worker: Worker, line: str | None) -> Event | None:
        step = worker.step
        if worker not in self.workers:  # ended before, with the steps of an earlier call
            return None
        if line is None:
            self.workers.remove(worker)
            return Failed(step, worker.death()) if step else None
        values = json.loads(line)
        kind = values.pop("kind")
        if kind == "warning":
            self.runner.store.warn(values["message"])
        if step is None or kind == "warning":
            return None
        if kind == "progress":
            return Progress(step, **values)
        worker.step = None
        if kind == "done":
            return Done(step, Header(**values["header"]), values["hit"])
        return Failed(step, decode_error(values))

    def _new_worker(self) -> Worker:
        """Start a process in a session of its own: Ctrl-C reaches this process alone, which then stops the others."""
        runner = self.runner
        errors = self.folder / f"{len(list(self.folder.glob('*.err')))}.err"
        with open(errors, "wb") as file:
            process = subprocess.Popen(
                [sys.executable, "-P", "-c", PROGRAM, str(Path(cgnn_cli.__file__).parents[1])],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=None if os.environ.get("CGNN_DEBUG") else file,
                text=True,
                encoding="utf-8",
                start_new_session=True,
                env=self.environment,
            )
        worker = Worker(process, errors)
        limit = runner.compute.memory_limit
        if self.size > 1:
            limit = str(memory_limit(limit) // self.size)
        worker.tell(
            store=str(runner.store.root),
            lock_timeout=runner.store.lock_timeout,
            compute=dataclasses.asdict(dataclasses.replace(runner.compute, memory_limit=limit)),
            forced=sorted(runner.forced),
            restart=runner.restart,
            folder=str(self.folder),
            command=self.command,
        )
        self.workers.append(worker)
        runner.stopper.workers.add(process.pid)
        threading.Thread(target=self._listen, args=(worker,), daemon=True).start()
        return worker

    def _listen(self, worker: Worker) -> None:
        assert worker.process.stdout is not None
        for line in worker.process.stdout:
            self.messages.put((worker, line))
        self.messages.put((worker, None))
