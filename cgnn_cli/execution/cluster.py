"""A dask cluster as an engine: a step is a task, which a worker obtains over the same store (remote.py).

Tasks carry small configurations and keys, as JSON, never arrays. Progress and warnings come as dask's events
(`Worker.log_event`, `Client.subscribe_topic`), results as those of tasks. Nothing here imports dask before it is used.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shlex
import sys
import threading
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any

from cgnn_cli.errors import CgnnError, ResourceError, StoppedEarly
from cgnn_cli.execution import remote
from cgnn_cli.execution.connection import MOST_LOST, Connection, check_folder, check_versions
from cgnn_cli.execution.engine import Done, Event, Failed, Hear, Progress
from cgnn_cli.execution.messages import WorkerFault, decode_error, encode_step
from cgnn_cli.execution.runner import Runner
from cgnn_cli.pipeline import Step
from cgnn_cli.redaction import redacted_command
from cgnn_cli.store.artifact import Header
from cgnn_cli.store.disk import entries, temporary_beside

LOOK_SECONDS = 1.0  # between looks at what the cluster has
SEEN_SECONDS = 90.0  # by then a network disk shows what another machine has published


@dataclass(eq=False)
class Cluster:
    """An engine over the workers of a cluster; it is connected when the first step is missing, and until `close`."""

    runner: Runner
    asked: str
    size: int = 1
    stopped: bool = False
    remote: bool = True
    name: str = field(default_factory=lambda: os.urandom(12).hex())
    _connection: Connection | None = None
    _setup: dict[str, Any] = field(default_factory=dict)
    _open: ExitStack = field(default_factory=ExitStack)
    _tasks: dict[str, tuple[Step, Any]] = field(default_factory=dict)  # with their futures, by the keys of steps
    _told: SimpleQueue[dict[str, Any]] = field(default_factory=SimpleQueue)
    _left: set[str] = field(default_factory=set)  # keys of steps whose worker was told to end while it was at them
    _moved: dict[str, int] = field(default_factory=dict)  # how often since there was progress
    _works: int = 0
    _started: int = 0
    _threads: int = 0
    _looked: float = 0.0

    def prepare(self) -> None:
        """Connect, and see that every worker runs this cgnn and shares the store."""
        if self._connection is not None:
            return
        store, stopper = self.runner.store, self.runner.stopper
        store.check_writable()
        self.runner.reporter.begins(f"connecting to {self.asked}", passing=True)
        connection = Connection(self.asked, store.root, stopper.requested, store.warn)
        self._open.callback(connection.close)
        self._connection = connection
        try:
            check_versions(connection.client, remote.versions(), store.warn)
            token = self._open.enter_context(temporary_beside(store.root / "cluster"))
            check_folder(connection.client, token, self.name.encode())
            self._setup = self._described(token, connection.share())
        except BaseException:
            self.close()
            raise
        connection.client.subscribe_topic(remote.TOPIC, self._note)
        self._look()

    def _described(self, token: Path, share: int) -> dict[str, Any]:
        """What a worker needs to know, besides the step."""
        runner = self.runner
        return {
            "engine": self.name,
            "token": str(token),
            "store": str(runner.store.root),
            "lock_timeout": runner.store.lock_timeout,
            "compute": dataclasses.asdict(dataclasses.replace(runner.compute, cluster=None)),
            "forced": sorted(runner.forced),
            "restart": runner.restart,
            "share": share,
            "command": shlex.split(redacted_command(sys.argv)),
        }

    @property
    def client(self) -> Any:
        assert self._connection is not None
        return self._connection.client

    @property
    def running(self) -> list[Step]:
        """The steps that are being obtained."""
        return [step for step, _ in self._tasks.values()]

    @property
    def _work(self) -> str:
        """A name for what is done between entering and leaving: what is stopped is this, and not what comes later."""
        return f"{self.name}-{self._works}"

    def __enter__(self) -> Cluster:
        self.stopped = False
        self._works += 1
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Leave no task behind: a worker that is at one then saves its state."""
        tasks, self._tasks = self._tasks, {}
        with suppress(Exception):
            if tasks:
                self.client.cancel([future for _, future in tasks.values() if future is not None])

    def start(self, step: Step) -> None:
        self.prepare()
        if self._connection is None or self._connection.is_lost():
            self._tasks[step.key] = step, None  # told of by the next `wait`
            return
        os.utime(self._setup["token"])  # clean-up takes what is older than a day
        self._started += 1
        future = self.client.submit(
            remote.obtain,
            self._setup,
            self._work,
            encode_step(step),
            key=f"cgnn-{self._work}-{self._started}",
            pure=False,
            retries=MOST_LOST - 1,
        )
        self._tasks[step.key] = step, future
        self.runner.reporter.begins(step.title, step.key)
        future.add_done_callback(lambda future: self._told.put({"kind": "ended"}))

    def drop(self, keys: set[str]) -> None:
        """A worker keeps shared arrays of the step that it is at, and no others."""

    def stop(self) -> None:
        if not self.stopped:
            self.stopped = True
            self._say_stop()

    def _say_stop(self) -> None:
        """Tell all workers, in a thread: one that is lost may not answer for long."""

        def say(client: Any, work: str) -> None:
            with suppress(Exception):
                client.run(remote.stop, work, on_error="ignore")

        if self._tasks:
            threading.Thread(target=say, args=(self.client, self._work), daemon=True).start()

    def wait(self, seconds: float, hear: Hear) -> None:
        if time.monotonic() - self._looked > LOOK_SECONDS:
            self._look()
        with contextlib.suppress(Empty):
            said = self._told.get(timeout=seconds) if seconds else self._told.get_nowait()
            while True:
                if event := self._event(said):
                    hear(event)
                said = self._told.get_nowait()
        lost = self._connection is None or self._connection.is_lost() or (self.stopped and not self._threads)
        for key, (step, future) in list(self._tasks.items()):
            if lost or future.status != "pending":
                del self._tasks[key]
                if event := self._lost(step) if lost else self._end(step, future):
                    hear(event)

    def _look(self) -> None:
        """How many workers are there. Those that came after a stop hear of it; jobs that have ended are renewed."""
        connection, self._looked = self._connection, time.monotonic()
        if connection is None or connection.is_lost():
            return
        with suppress(Exception):  # what is lost shows by its status
            self._threads = sum(connection.threads().values())
            self.size = max(1, self._threads)
            if self.stopped:
                self._say_stop()
            elif connection.jobs is not None:
                connection.jobs.renew()

    def _renew(self, step: Step) -> None:
        """Work goes on: the step may be moved, and jobs that end be replaced, as often as at the start."""
        self._moved.pop(step.key, None)
        if self._connection is not None and self._connection.jobs is not None:
            self._connection.jobs.renewals = 0

    def _note(self, event: tuple[float, dict[str, Any]]) -> None:
        """An event of a worker, in a thread of dask."""
        said = event[1]
        if said.get("engine") == self.name:
            self._told.put(said)

    def _event(self, said: dict[str, Any]) -> Event | None:
        if said["kind"] == "warning":
            self.runner.store.warn(said["message"])
        if said["kind"] == "leaving":
            self._left.add(said["key"])
        if said["kind"] != "progress" or said["key"] not in self._tasks:
            return None
        step, _ = self._tasks[said["key"]]
        self._renew(step)
        return Progress(step, said["done"], said["total"], said["message"])

    def _end(self, step: Step, future: Any) -> Event | None:
        try:
            answer = future.result()
        except Exception as error:
            if future.status in ("cancelled", "lost"):
                return self._lost(step)
            if _is_of_workers(error) and step.key in self._left and self._is_moved(step):
                return None
            return Failed(step, _fault(step, error))
        if answer["kind"] == "failed":
            failure = decode_error(answer)
            return None if isinstance(failure, StoppedEarly) and self._is_moved(step) else Failed(step, failure)
        self._renew(step)
        if not self._is_seen(step):
            what = f"a worker has published {_name(step)}, and it is not in the store {self.runner.store.root}"
            return Failed(step, ResourceError(what, "check that the store lies on a disk that all machines share"))
        return Done(step, Header(**answer["header"]), answer["hit"])

    def _is_moved(self, step: Step) -> bool:
        """Begin a step again that was stopped, and not by us: its worker was to end, and others go on."""
        moved = self._moved.get(step.key, 0)
        if self.stopped or self.runner.stopper.requested() or moved >= MOST_LOST:
            return False
        self.start(step)
        self._moved[step.key] = moved + 1
        self._left.discard(step.key)
        return True

    def _is_seen(self, step: Step) -> bool:
        """Whether what a worker has published is here. A network disk may remember for a while that it was not."""
        path, limit = self.runner.store.path(step.stage.name, step.key), time.monotonic() + SEEN_SECONDS
        while not path.exists():
            entries(path.parent)  # to open a folder makes most network disks ask for what is new in it
            if time.monotonic() > limit or self.runner.stopper.requested():
                return path.exists()
            time.sleep(0.1)
        return True

    def _lost(self, step: Step) -> Failed:
        self.runner.store.warn(f"the cluster {self.asked} is lost; what its workers had finished and saved is kept")
        return Failed(step, StoppedEarly("the cluster is lost"))

    def close(self) -> None:
        """Leave the cluster, with no process of ours in it; one that was started here ends."""
        if self._connection is not None and not self._connection.is_lost():
            with suppress(Exception):
                self.client.run(remote.forget, self.name, on_error="ignore")
        self._open.close()
        self._connection = None


def _name(step: Step) -> str:
    """A step in words."""
    split = f" of split {step.config.split}" if hasattr(step.config, "split") else ""
    return f"{step.stage.name} {step.key[:12]}{split}"


def _is_of_workers(error: Exception) -> bool:
    """Whether dask has given a task up because too many workers were lost at it."""
    return type(error).__name__ == "KilledWorker"


def _fault(step: Step, error: Exception) -> Exception:
    """What a task that dask has given up says of its step."""
    if _is_of_workers(error):
        return ResourceError(
            f"the workers that were at {_name(step)} were lost, again and again",
            "see their logs; fewer workers on a machine leave more memory",
        )
    if isinstance(error, CgnnError):
        return ResourceError(f"{_name(step)}, in {MOST_LOST} attempts: {error.message}", error.hint)
    return WorkerFault(f"{_name(step)}, in {MOST_LOST} attempts: {type(error).__name__}: {error}")
