"""A dask cluster as an engine: it tells what the others tell, leaves nothing behind, and says what is wrong with it."""

import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cgnn_cli.configs import ComputeConfig
from cgnn_cli.errors import ClusterError, NumericalError, ResourceError, StoppedEarly, UsageError
from cgnn_cli.execution import cluster as engines
from cgnn_cli.execution import connection, remote
from cgnn_cli.execution.cluster import Cluster
from cgnn_cli.execution.engine import Done, Event, Failed, Progress
from cgnn_cli.execution.messages import WorkerFault, encode_error
from cgnn_cli.pipeline import Step
from tests.clusters import DaskCluster, dask_cluster
from tests.execution.steps import fits_for, runner_over
from tests.execution.test_engine import ends, obtain
from tests.faults.processes import artifacts_of, payload_of, run, temporaries_of, wait_for


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskCluster]:
    with dask_cluster(tmp_path_factory.mktemp("dask")) as cluster:
        yield cluster


def fits_in(store: str) -> dict[str, str]:
    return {path.name: payload_of(path) for path in artifacts_of(Path(store), "fit")}


def keys_of(running: DaskCluster) -> Any:
    """What the scheduler has of anybody's tasks."""
    from distributed import Client

    with Client(running.address, set_as_default=False) as client:
        return client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.tasks))


def test_a_cluster_tells_what_one_process_tells_and_is_left_as_it_was(running: DaskCluster) -> None:
    """Steps that are done, that fail and that are stopped, all on the same two workers."""
    alone = runner_over("alone")
    expected = {step.config.split: alone.obtain(step)[0].summary for step in fits_for(alone, 0, 1)}
    runner = runner_over("together", compute=ComputeConfig(snapshot_seconds=0))
    (diverging,) = fits_for(runner, 2, lr=1e11, epochs=50, model="mlp", hidden=4, layers=2)
    with Cluster(runner, running.address) as engine:
        first = obtain(engine, [diverging, *fits_for(runner, 0, 1)])
        assert engine.size == 2 and len(running.computing()) == 2
    found = ends(first)
    assert found[2][0] is NumericalError and "training loss became" in found[2][1]
    assert (found[0], found[1]) == ((False, expected[0]), (False, expected[1]))
    assert [event for event in first if isinstance(event, Progress)]
    assert fits_in("alone") == fits_in("together")

    def stop(event: Event) -> None:
        engine.stop()

    with engine:
        stopped = obtain(engine, fits_for(runner, 3, epochs=100_000, patience=100_000), stop)
    assert isinstance(stopped[-1], Failed) and isinstance(stopped[-1].error, StoppedEarly)
    assert list(Path("together/partial").glob("*.h5"))
    engine.close()
    wait_for(lambda: not running.computing() and not keys_of(running))
    assert temporaries_of(Path("together")) == []


def test_workers_with_another_cgnn_are_refused(running: DaskCluster) -> None:
    patch = "import cgnn_cli.store.provenance as p\np.__version__ = '99.0'"
    refused = run("train", "--dataset", "demo", "--split", 0, "--cluster", running.address, patch=patch)
    assert (refused.code, refused.out) == (2, "")
    assert "has cgnn 0.1.0, and here is 99.0" in refused.err.splitlines()[-1]
    assert not list(Path(".cgnn").glob("commute/*")), "nothing is computed before it is known"


def test_a_scheduler_that_does_not_answer_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    patch = "import cgnn_cli.execution.connection as c\nc.CONNECT_SECONDS = 0.2"
    refused = run("sweep", "--dataset", "demo", "--split", 0, "--cluster", "tcp://127.0.0.1:1", "--quiet", patch=patch)
    assert (refused.code, refused.out, len(refused.err.splitlines())) == (2, "", 1)
    assert refused.err.startswith("error: no scheduler answers at tcp://127.0.0.1:1")


def test_hits_need_no_dask_and_misses_name_the_extra() -> None:
    words = ("sweep", "--dataset", "demo", "--model", "linear", "--epochs", 1, "--split", 0, "--quiet")
    patch = "import sys\nsys.modules['distributed'] = None"
    refused = run(*words, "--cluster", "local:2", patch=patch)
    assert refused.code == 2
    assert refused.err == ("error: --cluster local:2 needs the package distributed (pip install 'cgnn[cluster]')\n")
    run(*words)
    assert run(*words, "--cluster", "local:2", patch=patch).code == 0


@pytest.mark.parametrize("asked", ["tcp://host", "local:0", "local:two", "host:8786", "slurm", ""])
def test_what_is_no_cluster_is_refused(asked: str) -> None:
    with pytest.raises(UsageError, match="is not a cluster"):
        ComputeConfig(cluster=asked)


@pytest.mark.parametrize("asked", ["tcp://host:8786", "tls://10.0.0.1:1", "local:12", "jobs/slurm.toml"])
def test_what_is_a_cluster_is_taken(asked: str) -> None:
    assert isinstance(engines_of(asked), Cluster)


def engines_of(asked: str) -> Any:
    from cgnn_cli.execution.engine import chosen_engine

    return chosen_engine(runner_over(compute=ComputeConfig(cluster=asked)))


class FakeClient:
    """Answers for its workers."""

    status = "running"

    def __init__(self, answers: dict[str, Any]) -> None:
        self.answers = answers

    def run(self, function: Any, *values: Any, **options: Any) -> dict[str, Any]:
        return {name: answer(*values) if callable(answer) else answer for name, answer in self.answers.items()}


@pytest.mark.parametrize(
    ("theirs", "message"),
    [
        ({"cgnn": "0.2", "python": "3.12.1", "torch": "2"}, "the worker w has cgnn 0.2, and here is 0.1"),
        ({"cgnn": "0.1", "python": "3.11.9", "torch": "2"}, "has python 3.11.9, and here is 3.12.1"),
        (ModuleNotFoundError("No module named 'cgnn_cli'"), "cannot run cgnn 0.1: No module named 'cgnn_cli'"),
    ],
)
def test_other_versions_are_refused(theirs: Any, message: str) -> None:
    own = {"cgnn": "0.1", "python": "3.12.1", "torch": "2"}
    with pytest.raises(ClusterError, match=message) as refused:
        connection.check_versions(FakeClient({"w": theirs}), own, lambda text: None)
    assert refused.value.exit_code == 2


def test_other_libraries_are_told() -> None:
    own, told = {"cgnn": "0.1", "python": "3.12.1", "torch": "2"}, list[str]()
    connection.check_versions(FakeClient({"w": {**own, "python": "3.12.7", "torch": "3"}}), own, told.append)
    assert told == [
        "the worker w has python 3.12.7, and here is 3.12.1: last digits may differ",
        "the worker w has torch 3, and here is 2: last digits may differ",
    ]


def other_content(token: str) -> str:
    path = Path(token + "-other")
    path.write_bytes(b"of another driver")
    return str(path)


def written_elsewhere(token: str) -> str:
    return str(Path(token).with_name("not-here"))


@pytest.mark.parametrize(
    ("worker", "reason"),
    [
        (FileNotFoundError("[Errno 2] No such file: '/store/x'"), "No such file"),
        (written_elsewhere, "No such file"),
        (other_content, "what it wrote there is not here"),
    ],
)
def test_a_folder_that_a_worker_does_not_share_is_refused(worker: Any, reason: str) -> None:
    token = Path(".cluster.x.cgnn.tmp").absolute()
    connection.check_folder(FakeClient({"good": remote.greet}), token, b"mine")
    with pytest.raises(ClusterError, match="does not share the store") as refused:
        connection.check_folder(FakeClient({"good": remote.greet, "odd": worker}), token, b"mine")
    assert reason in refused.value.message
    assert [path.name for path in Path().iterdir()] == [token.name], "the answers are removed"


def future(status: str, outcome: Any = None) -> Any:
    """What dask says of a task."""

    def result() -> Any:
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    return SimpleNamespace(status=status, result=result)


class KilledWorker(Exception):
    """As dask names it."""


def engine_at_work(outcome: Any, status: str = "finished") -> tuple[Cluster, Step]:
    """An engine with a task that has ended, beside another that is at work."""
    runner = runner_over()
    (step,) = fits_for(runner, 0)
    engine = Cluster(runner, "tcp://nowhere:1")
    connected: Any = SimpleNamespace(is_lost=lambda: False, jobs=None, threads=lambda: {"w": 1})
    engine._connection = connected
    engine._tasks = {step.key: (step, future(status, outcome)), "other": (step, future("pending"))}
    return engine, step


def told(outcome: Any, status: str = "finished") -> Exception:
    """What an engine tells of a task that failed."""
    engine, step = engine_at_work(outcome, status)
    events = list[Event]()
    engine.wait(0, events.append)
    assert list(engine._tasks) == ["other"]
    (failed,) = events
    assert isinstance(failed, Failed) and failed.step is step
    return failed.error


def test_a_step_whose_workers_are_lost_again_and_again_is_named() -> None:
    error = told(KilledWorker("x"))
    assert isinstance(error, ResourceError) and "fit" in error.message and "of split 0 were lost" in error.message
    error = told(ResourceError("a worker process was killed", "hint"))
    assert (
        isinstance(error, ResourceError) and "of split 0, in 3 attempts: a worker process was killed" in error.message
    )
    error = told(ValueError("odd"))
    assert isinstance(error, WorkerFault) and "ValueError: odd" in str(error)
    assert isinstance(told(RuntimeError("cancelled"), "cancelled"), StoppedEarly)


STOPPED = {"kind": "failed", **encode_error(StoppedEarly("stopped by a signal"))}


@pytest.mark.parametrize("left", [False, True])
def test_a_step_whose_worker_was_told_to_end_is_begun_again(left: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """As often as there is progress in between, and three times where there is none; after a stop of ours never."""
    outcome = KilledWorker("x") if left else STOPPED
    begun = list[Step]()
    monkeypatch.setattr(Cluster, "start", lambda self, step: begun.append(step))

    def end(engine: Cluster, step: Step) -> list[Event]:
        events = list[Event]()
        engine._tasks = {step.key: (step, future("finished", outcome))}
        if left:
            engine._told.put({"kind": "leaving", "key": step.key})
        engine.wait(0, events.append)
        return events

    engine, step = engine_at_work(outcome)
    for _ in range(2):
        engine._tasks = {step.key: (step, future("pending"))}
        engine._told.put({"kind": "progress", "key": step.key, "done": 1, "total": 2, "message": ""})
        engine.wait(0, lambda event: None)
        assert [end(engine, step) for _ in range(3)] == [[], [], []]
    assert begun == [step] * 6
    (event,) = end(engine, step)
    assert isinstance(event, Failed)

    engine, step = engine_at_work(outcome)
    engine.stopped = True
    (event,) = end(engine, step)
    assert isinstance(event, Failed) and len(begun) == 6


def test_a_worker_that_ends_says_what_it_was_at() -> None:
    said: list[Any] = []
    remote._at_work["task"] = "engine", "key"
    try:
        remote.dask_teardown(SimpleNamespace(log_event=lambda topic, event: said.append((topic, event))))
    finally:
        del remote._at_work["task"]
    assert said == [("cgnn", {"engine": "engine", "kind": "leaving", "key": "key"})]


def test_what_a_worker_published_must_be_seen_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "SEEN_SECONDS", 0.0)
    error = told({"kind": "done", "header": {}, "hit": False})
    assert isinstance(error, ResourceError) and "is not in the store" in error.message


class FakePool:
    """A pool with one process, which is or is not at work."""

    def __init__(self) -> None:
        self.stopped, self.workers, self.closed = False, ["process"], threading.Event()

    def close(self) -> None:
        self.closed.set()


def test_an_idle_process_is_kept_for_its_engine_and_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    pool: Any = FakePool()
    remote._lay_aside("engine", pool)
    taken: list[Any] = [remote._taken(name) for name in ("another", "engine", "engine")]
    assert taken == [None, pool, None]
    monkeypatch.setattr(remote, "IDLE_SECONDS", 0.0)
    remote._lay_aside("engine", pool)
    assert pool.closed.wait(60) and not remote._idle
    monkeypatch.setattr(remote, "IDLE_SECONDS", 1000.0)
    pool.closed.clear()
    remote._lay_aside("engine", pool)
    remote.forget("engine")
    assert pool.closed.is_set() and not remote._idle
    for stopped, workers in ((True, ["process"]), (False, [])):
        pool.stopped, pool.workers = stopped, workers
        pool.closed.clear()
        remote._lay_aside("engine", pool)
        assert pool.closed.is_set() and not remote._idle


@pytest.mark.parametrize(
    ("state", "status", "wanted"),
    [
        ("executing", "running", True),
        ("cancelled", "running", False),
        ("executing", "closing", False),
        (None, "running", False),
    ],
)
def test_a_task_that_nobody_waits_for_is_stopped(state: str | None, status: str, wanted: bool) -> None:
    tasks = {} if state is None else {"task": SimpleNamespace(state=state)}
    worker = SimpleNamespace(state=SimpleNamespace(tasks=tasks), status=SimpleNamespace(name=status))
    assert remote._is_wanted(worker, "task") is wanted


def test_workers_that_we_start_leave_ctrl_c_to_us(monkeypatch: pytest.MonkeyPatch) -> None:
    ignored = []
    monkeypatch.setattr(signal, "signal", lambda number, action: ignored.append((number, action)))
    remote.dask_setup(None)
    assert ignored == [(signal.SIGINT, signal.SIG_IGN), (signal.SIGUSR1, signal.SIG_IGN)]


def test_dask_does_not_make_trainings_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """What nannies set for malloc makes every allocation a matter of the system: twice the time."""
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "65536")
    engine = Cluster(runner_over(), "tcp://nowhere:1")
    token = Path("token").absolute()
    token.write_text(engine.name)
    environment = remote._new_pool(engine._described(token, 1), print).environment
    assert environment is not None and "MALLOC_TRIM_THRESHOLD_" not in environment and environment["PATH"]


def test_no_results_travel_but_headers() -> None:
    """Tasks carry configurations and keys: a step is a few kilobytes, whatever its graph."""
    import json

    from cgnn_cli.execution.messages import encode_step

    runner = runner_over()
    (step,) = fits_for(runner, 0)
    engine = Cluster(runner, "tcp://nowhere:1")
    task = json.dumps([engine._described(Path("/store/token"), 2), encode_step(step)])
    assert len(task) < 20_000
    assert isinstance(Done(step, runner.obtain(step)[0], False).header.to_json(), dict)
