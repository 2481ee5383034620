"""On the workers of a dask cluster: a step is given to a worker process of ours, as `--jobs` does it.

So stopping, signals, memory and crashes are what they are on one machine, and dask's own process, which imports neither
torch nor numpy, always answers. What came of a step returns as JSON. A worker process that dies is an exception: dask
tries the step again, on any worker, a few times.
"""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Any

from cgnn_cli.configs import ComputeConfig
from cgnn_cli.errors import CgnnError, StoppedEarly
from cgnn_cli.execution.engine import Done, Event, Failed, Progress
from cgnn_cli.execution.messages import decode_step, encode_error
from cgnn_cli.execution.pool import Pool
from cgnn_cli.execution.runner import Runner, Silence
from cgnn_cli.extensions import load_extensions
from cgnn_cli.pipeline import Step
from cgnn_cli.store.disk import read_at_most
from cgnn_cli.store.provenance import library_versions
from cgnn_cli.store.store import Store

TOPIC = "cgnn"  # of the events by which a worker tells how far a step is
POLL_SECONDS = 0.25
IDLE_SECONDS = 60.0  # after which a process ends whose engine is gone, or has no work
TOKEN_BYTES = 64
TEMPORARY = ".cgnn.tmp"

_at_work: dict[str, tuple[str, str]] = {}  # engines and keys of steps, by task
_idle: dict[str, list[tuple[Pool, threading.Timer]]] = {}  # by engine
_stopped: set[str] = set()  # what engines have stopped
_lock = threading.Lock()


def dask_setup(worker: Any) -> None:
    """In the workers that we start: Ctrl-C and a scheduler's warning are for the process that started them."""
    for number in (signal.SIGINT, signal.SIGUSR1):
        signal.signal(number, signal.SIG_IGN)


def dask_teardown(worker: Any) -> None:
    """A worker that we started is told to end, as by Slurm: this is not the fault of what it is at."""
    for engine, key in list(_at_work.values()):
        worker.log_event(TOPIC, {"engine": engine, "kind": "leaving", "key": key})


def versions() -> dict[str, str]:
    """What is installed here, wherever dask runs this."""
    return library_versions()


def greet(token: str) -> str:
    """Read a file that the engine wrote into the store, and write its content into one beside it; its path."""
    content = read_at_most(Path(token), TOKEN_BYTES)
    answer = token.removesuffix(TEMPORARY) + f"-{os.urandom(6).hex()}{TEMPORARY}"
    Path(answer).write_bytes(content)
    return answer


def stop(work: str) -> None:
    """The steps of some work are to save their state and end."""
    _stopped.add(work)


def forget(engine: str) -> None:
    """End the idle processes of an engine."""
    with _lock:
        idle = _idle.pop(engine, [])
    for pool, timer in idle:
        timer.cancel()
        pool.close()


def obtain(setup: dict[str, Any], work: str, values: dict[str, Any]) -> dict[str, Any]:
    """Obtain a step; what came of it."""
    from distributed import get_worker

    worker = get_worker()
    task = str(worker.get_current_task())

    def tell(**said: Any) -> None:
        worker.log_event(TOPIC, {"engine": setup["engine"], **said})

    pool = None
    try:
        if work in _stopped:
            raise StoppedEarly("stopped before a training began")
        step = decode_step(values)
        _at_work[task] = setup["engine"], step.key
        pool = _taken(setup["engine"]) or _new_pool(setup, tell)
        end = _carried_out(pool, step, lambda: work not in _stopped and _is_wanted(worker, task), tell)
    except CgnnError as error:
        return {"kind": "failed", **encode_error(error)}
    finally:
        _at_work.pop(task, None)
        if pool is not None:
            _lay_aside(setup["engine"], pool)
    if isinstance(end, Done):
        return {"kind": "done", "header": end.header.to_json(), "hit": end.hit}
    if not pool.workers and not isinstance(end.error, StoppedEarly):
        raise end.error
    return {"kind": "failed", **encode_error(end.error)}


def _carried_out(pool: Pool, step: Step, is_wanted: Any, tell: Any) -> Done | Failed:
    ends: list[Done | Failed] = []

    def hear(event: Event) -> None:
        if isinstance(event, Progress):
            tell(kind="progress", key=step.key, done=event.done, total=event.total, message=event.message)
        else:
            ends.append(event)

    pool.keep_only({needed.key for needed in step.lineage})
    pool.start(step)
    while not ends:
        if not is_wanted():
            pool.stop()
        pool.wait(POLL_SECONDS, hear)
    return ends[0]


def _is_wanted(worker: Any, task: str) -> bool:
    """Whether somebody waits for a task: its engine may be gone, the scheduler too, or the worker about to end."""
    state = worker.state.tasks.get(task)
    return state is not None and state.state in ("executing", "long-running") and worker.status.name == "running"


def _new_pool(setup: dict[str, Any], tell: Any) -> Pool:
    """A process that has not been started yet, beside others on this machine that share its memory."""
    if read_at_most(Path(setup["token"]), TOKEN_BYTES).decode() != setup["engine"]:
        raise OSError(f"{setup['token']} is another file here")
    load_extensions()
    store = Store(Path(setup["store"]), lambda message: tell(kind="warning", message=message), setup["lock_timeout"])
    compute, forced = ComputeConfig(**setup["compute"]), frozenset(setup["forced"])
    runner = Runner(store, Silence(), compute, setup["restart"], forced)
    # Dask's nannies make malloc return memory at once: a training, which allocates all the time, takes twice as long.
    environment = {name: value for name, value in os.environ.items() if name != "MALLOC_TRIM_THRESHOLD_"}
    return Pool(runner, setup["share"], setup["command"], environment)


def _taken(engine: str) -> Pool | None:
    with _lock:
        if not _idle.get(engine):
            return None
        pool, timer = _idle[engine].pop()
    timer.cancel()
    return pool


def _lay_aside(engine: str, pool: Pool) -> None:
    """Keep a process for the next step, but not for ever."""
    if pool.stopped or not pool.workers:
        pool.close()
        return
    timer = threading.Timer(IDLE_SECONDS, _end_idle, (engine, pool))
    timer.daemon = True
    with _lock:
        _idle.setdefault(engine, []).append((pool, timer))
    timer.start()


def _end_idle(engine: str, pool: Pool) -> None:
    with _lock:
        kept = [entry for entry in _idle.get(engine, []) if entry[0] is not pool]
        was_idle = len(kept) < len(_idle.pop(engine, []))
        if kept:
            _idle[engine] = kept
    if was_idle:
        pool.close()
