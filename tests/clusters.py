"""A dask cluster for tests: a scheduler and workers in processes of their own, as somebody else would start them."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from cgnn_cli.execution.pool import PROGRAM
from tests.faults.processes import wait_for

QUIET = {"DASK_LOGGING__DISTRIBUTED": "critical"}


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def is_ours(process: psutil.Process) -> bool:
    """Whether this is a worker process of a pool; one that has ended is none."""
    try:
        return PROGRAM in process.cmdline()
    except psutil.NoSuchProcess:
        return False


@dataclass
class DaskCluster:
    """Processes that listen on the loopback interface."""

    folder: Path
    port: int = field(default_factory=free_port)
    scheduler: subprocess.Popen[bytes] | None = None
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"tcp://127.0.0.1:{self.port}"

    def _start(self, *words: object) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", *map(str, words), "--no-dashboard"]
        with open(self.folder / "log", "ab") as log:
            return subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder, env={**os.environ, **QUIET})

    def start(self, workers: int) -> None:
        words = ("--host", "127.0.0.1", "--port", self.port)
        self.scheduler = self._start("distributed.cli.dask_scheduler", *words)
        for _ in range(workers):
            self.start_worker()

    def start_worker(self) -> None:
        words = ("--nthreads", 1, "--memory-limit", 0, "--no-nanny", "--host", "127.0.0.1")
        self.workers.append(self._start("distributed.cli.dask_worker", self.address, *words))

    def computing(self) -> list[psutil.Process]:
        """The processes of cgnn under the workers, which may have others for a moment."""
        alive = [psutil.Process(worker.pid) for worker in self.workers if worker.poll() is None]
        return [child for worker in alive for child in worker.children() if is_ours(child)]

    def kill_scheduler(self) -> None:
        assert self.scheduler is not None
        self.scheduler.kill()
        self.scheduler.wait()

    def end(self) -> None:
        for process in filter(None, (*self.workers, self.scheduler)):
            process.send_signal(signal.SIGKILL)
            process.wait()


@contextmanager
def dask_cluster(folder: Path, workers: int = 2) -> Iterator[DaskCluster]:
    """A cluster with so many workers of one thread."""
    cluster = DaskCluster(folder)
    try:
        cluster.start(workers)
        yield cluster
    finally:
        computing = cluster.computing()
        cluster.end()
        wait_for(lambda: not any(process.is_running() for process in computing))
