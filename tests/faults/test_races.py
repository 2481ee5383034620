"""Many processes at once on one store: all succeed with the same artifact, with locks and without."""

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from cgnn_cli.store.store import Store
from tests.faults.processes import (
    COMMUTE,
    Finished,
    artifacts_of,
    assert_nothing_half_written,
    finish,
    payload_of,
    run,
    start,
    temporaries_of,
    wait_for,
)

TOGETHER = """
import os, time
def together(folder, count):
    os.makedirs(folder, exist_ok=True)
    open(f"{folder}/{os.getpid()}", "w").close()
    limit = time.monotonic() + 60
    while len(os.listdir(folder)) < count and time.monotonic() < limit:
        time.sleep(0.005)
"""
START_TOGETHER = (
    TOGETHER
    + """
import cgnn_cli.commands.main, h5py, scipy.sparse
together("started", int(os.environ["PROCESSES"]))
"""
)
NO_LOCKS = """
import filelock
class NoLock:
    def __init__(self, path): pass
    def acquire(self, timeout=None): pass
    def release(self): pass
filelock.FileLock = NoLock
"""
PUBLISH_TOGETHER = (
    TOGETHER
    + """
from cgnn_cli.store.store import Store
publish = Store.publish
def publish_together(store, artifact):
    together("publishing-" + artifact.header.stage, int(os.environ["PROCESSES"]))
    return publish(store, artifact)
Store.publish = publish_together
"""
)
HOLD_THE_LOCK = """
import signal
from cgnn_cli.store.store import Store
def hold(store, artifact):
    open("holding", "w").close()
    signal.pause()
Store.publish = hold
"""


def race(count: int, patch: str) -> list[Finished]:
    processes = [start(*COMMUTE, patch=patch, environment={"PROCESSES": str(count)}) for _ in range(count)]
    return [finish(process) for process in processes]


def assert_all_made_the_same(results: list[Finished], payload: str) -> None:
    """All exit 0 with one path, and what lies there has the right content."""
    paths = {result.json["artifact"] for result in results}
    assert len(paths) == 1, paths
    assert payload_of(paths.pop()) == payload
    assert_nothing_half_written(Path("store"))
    assert temporaries_of(Path("store")) == []


def misses(results: list[Finished], stage: str) -> int:
    """How many of the processes computed a stage."""
    rows = [row for result in results for row in result.json["stages"]]
    return sum(row["stage"] == stage and row["cache"] == "miss" for row in rows)


def test_case_07_eight_processes_with_locks_compute_each_stage_once(fresh: Path, payloads: dict[str, str]) -> None:
    results = race(8, START_TOGETHER)
    assert_all_made_the_same(results, payloads["commute"])
    assert [misses(results, stage) for stage in ("rewire", "dilap", "commute")] == [1, 1, 1]
    assert sorted(result.json["cache"] for result in results) == ["hit"] * 7 + ["miss"]


def test_case_08_eight_processes_without_locks_all_succeed(upstream: Path, payloads: dict[str, str]) -> None:
    results = race(8, NO_LOCKS + PUBLISH_TOGETHER)
    assert_all_made_the_same(results, payloads["commute"])
    assert misses(results, "commute") == 8
    warnings: list[str] = []
    header = Store(upstream, warn=warnings.append).find("commute", artifacts_of(upstream, "commute")[0].stem)
    assert header is not None and warnings == []
    assert not (upstream / "quarantine").exists()


def test_a_damaged_entry_is_replaced_once_by_many_processes(full: Path, payloads: dict[str, str]) -> None:
    (path,) = artifacts_of(full, "commute")
    path.chmod(0o644)
    path.write_bytes(path.read_bytes()[:-1000])
    results = race(3, START_TOGETHER)
    assert_all_made_the_same(results, payloads["commute"])
    assert misses(results, "commute") == 1
    assert len(list((full / "quarantine").iterdir())) == 1


@pytest.fixture
def holder(upstream: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that holds the lock of the commute artifact until it is killed."""
    process = start(*COMMUTE, patch=HOLD_THE_LOCK)
    wait_for(lambda: Path("holding").exists() or process.poll() is not None)
    assert process.poll() is None, process.communicate()
    yield process
    process.kill()
    process.communicate()


def test_case_09_the_lock_of_a_killed_holder_is_free(holder: subprocess.Popen[str], payloads: dict[str, str]) -> None:
    busy = run(*COMMUTE, "--lock-timeout", 0.1)
    owner = f"{os.uname().nodename}:{holder.pid}"
    assert (busy.code, busy.out) == (6, "")
    assert f"error: {owner} has been computing commute" in busy.err and "--lock-timeout" in busy.err

    waiting = start(*COMMUTE)
    assert waiting.stderr is not None
    assert any(f"waiting for {owner}" in line for line in waiting.stderr)
    holder.send_signal(signal.SIGKILL)
    assert_all_made_the_same([result := finish(waiting)], payloads["commute"])
    assert result.json["cache"] == "miss"


def test_where_locks_do_not_work_it_goes_on_without(upstream: Path, payloads: dict[str, str]) -> None:
    refusing = (
        NO_LOCKS + "def refuse(lock, timeout=None): raise OSError(37, 'No locks available')\nNoLock.acquire = refuse"
    )
    result = run(*COMMUTE, patch=refusing)
    assert_all_made_the_same([result], payloads["commute"])
    assert "no locks in" in result.err and "No locks available" in result.err
