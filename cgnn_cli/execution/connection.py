"""The dask clusters that `--cluster` names: one that runs, one of processes here, or one of Slurm jobs."""

from __future__ import annotations

import contextlib
import logging
import os
import time
import warnings
from collections import Counter
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cgnn_cli.errors import ClusterError, StoppedEarly
from cgnn_cli.execution import remote
from cgnn_cli.execution.slurm import SlurmJobs, start_slurm

CONNECT_SECONDS = 20.0
WORKER_SECONDS = 60.0  # until the first worker of a cluster that runs, or all of those started here, are there
CLOSE_SECONDS = 10.0
MOST_LOST = 3  # workers that are lost at one step before it fails
LOGGERS = ("distributed", "dask_jobqueue", "tornado", "asyncio")
RUNNING, HERE, FILE = ("tcp://", "tls://"), "local:", ".toml"
OURS = {  # of clusters that are started here
    "distributed.scheduler.allowed-failures": MOST_LOST - 1,
    "distributed.worker.profile.enabled": False,
}


class Connection:
    """A client of a cluster's scheduler. A cluster that was started for it ends with it."""

    def __init__(self, asked: str, shared: Path, stopped: Callable[[], bool], warn: Callable[[str], None]) -> None:
        check_installed(asked)
        self.asked, self.stopped = asked, stopped
        self.jobs: SlurmJobs | None = None
        self.client: Any = None
        self._open = contextlib.ExitStack()
        with warnings.catch_warnings():  # that versions differ is said in one line, by those who compare them
            warnings.simplefilter("ignore")
            try:
                self._connect(shared)
                self._await_workers(warn)
            except BaseException:
                self.close()
                raise

    def _connect(self, shared: Path) -> None:
        import dask
        from distributed import Client, LocalCluster

        if not os.environ.get("CGNN_DEBUG"):
            for name in LOGGERS:
                logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        place: Any = self.asked
        if not self.asked.startswith(RUNNING):
            self._open.enter_context(dask.config.set(OURS))
        if self.asked.startswith(HERE):
            place = LocalCluster(
                n_workers=int(self.asked.removeprefix(HERE)),
                threads_per_worker=1,
                memory_limit=0,  # dask's own; that of a step is --memory-limit
                dashboard_address=None,
                security=True,  # others on this machine cannot connect
                silence_logs=logging.CRITICAL,
                preload=[remote.__name__],
            )
            self._open.callback(place.close, CLOSE_SECONDS)
        elif self.asked.endswith(FILE):
            private = self._open.enter_context(TemporaryDirectory(prefix=".cluster-", dir=shared))
            self.jobs = start_slurm(Path(self.asked), Path(private), remote.__name__)
            place = self.jobs.cluster
            self._open.callback(place.close, CLOSE_SECONDS)
        try:
            self.client = Client(place, timeout=CONNECT_SECONDS, set_as_default=False, name="cgnn")
        except (OSError, ValueError, ImportError) as error:
            hint = "check the address, and that `dask scheduler` runs there; TLS is set up in dask's configuration"
            raise ClusterError(f"no scheduler answers at {self.asked}", hint) from error
        self._open.callback(self.client.close, CLOSE_SECONDS)

    def _await_workers(self, warn: Callable[[str], None]) -> None:
        """Wait for workers: for the first of those that a queue lets begin, however long that takes."""
        begun, wanted = time.monotonic(), int(self.asked.removeprefix(HERE)) if self.asked.startswith(HERE) else 1
        told = False
        while len(self.threads()) < wanted:
            if self.stopped():
                raise StoppedEarly("stopped before there was a worker")
            if self.jobs is not None:
                self.jobs.check()
                if not told and (told := time.monotonic() - begun > 1):
                    warn(f"waiting for the first of {self.jobs.count} Slurm jobs to begin")
            elif time.monotonic() - begun > WORKER_SECONDS:
                hint = f"start some with `dask worker {self.asked} --nthreads 1`"
                raise ClusterError(f"the cluster at {self.asked} has no worker", hint)
            time.sleep(0.1)

    def threads(self) -> dict[str, int]:
        """The workers by address, with how many steps each takes at a time."""
        found: dict[str, int] = self.client.nthreads()
        return found

    def share(self) -> int:
        """How many steps may share the memory of a machine. A Slurm job has its own."""
        if self.jobs is not None:
            return 1
        hosts = Counter[str]()
        for address, threads in self.threads().items():
            hosts[address.rpartition(":")[0]] += threads
        return max(hosts.values())

    def is_lost(self) -> bool:
        """Whether the scheduler is gone, or no job is left and none will come."""
        return self.client.status != "running" or (self.jobs is not None and self.jobs.is_over())

    def close(self) -> None:
        """Leave a cluster that was there as it was; end one that was started here."""
        with contextlib.suppress(Exception):
            self._open.close()


def check_installed(asked: str) -> None:
    """Refuse a cluster whose packages are missing, without importing them."""
    needed = ["distributed"]
    needed += [] if asked.startswith(RUNNING) else ["cryptography"]
    needed += ["dask_jobqueue"] if asked.endswith(FILE) else []
    if missing := [name for name in needed if find_spec(name) is None]:
        raise ClusterError(f"--cluster {asked} needs the package {missing[0]}", "pip install 'cgnn[cluster]'")


def check_versions(client: Any, own: dict[str, str], warn: Callable[[str], None]) -> None:
    """Refuse workers with another cgnn or Python; say where other libraries differ."""
    found = client.run(remote.versions, on_error="return")
    for address, said in sorted(found.items()):
        if isinstance(said, Exception):
            text = " ".join(str(said).split())
            raise ClusterError(f"the worker {address} cannot run cgnn {own['cgnn']}: {text}", same_environment())
        for name in (name for name in own if said.get(name) != own[name]):
            what = f"the worker {address} has {name} {said.get(name)}, and here is {own[name]}"
            if name == "cgnn" or (name == "python" and _feature(said[name]) != _feature(own[name])):
                raise ClusterError(what, same_environment())
            warn(f"{what}: last digits may differ")


def _feature(version: str) -> str:
    """3.12.1 -> 3.12"""
    return version.rpartition(".")[0]


def same_environment() -> str:
    """What to do about workers that run other code."""
    return "start scheduler and workers from the environment of this command"


def check_folder(client: Any, token: Path, content: bytes) -> None:
    """See that every worker reads what was written here, and that what it writes is read here."""
    token.write_bytes(content)
    for address, answer in sorted(client.run(remote.greet, str(token), on_error="return").items()):
        path = None if isinstance(answer, Exception) else Path(answer)
        try:
            if path is not None and remote.read_at_most(path, remote.TOKEN_BYTES) == content:
                continue
            reason = str(answer) if path is None else "what it wrote there is not here"
        except OSError as error:
            reason = str(error)
        finally:
            if path is not None:
                path.unlink(missing_ok=True)
        what = f"the worker {address} does not share the store {token.parent}: {reason}"
        raise ClusterError(what, "name a --store in a folder that this machine and all workers see and may write")
