"""Trainings in parallel processes: the same bits for any number of them, and nothing lost when they are disturbed."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest

from cgnn_cli.datasets.demo import demo_graph
from cgnn_cli.errors import CgnnError, NumericalError, ResourceError
from cgnn_cli.execution.messages import WorkerFault, decode_error, decode_step, encode_error, encode_step
from cgnn_cli.execution.sharing import SharedArrays
from cgnn_cli.graph import Graph
from cgnn_cli.models.model_table import train_config
from cgnn_cli.models.parts.propagate import Propagator
from cgnn_cli.pipeline import STAGES, CheckpointConfig, FitConfig, ScoresConfig, Step
from tests.faults.processes import Finished, artifacts_of, finish, payload_of, run, send_twice, start, wait_for
from tests.faults.soak import soak

TRAIN = ("train", "--dataset", "demo", "--hidden", 8, "--split", 0, "--split", 1, "--split", 2, "--json", "--quiet")
SHORT = ("--epochs", 5)
ENDLESS = 100_000  # no worker is done before the other has begun, however busy the machine is
LONG = ("--epochs", ENDLESS, "--patience", ENDLESS, "--snapshot-seconds", 0)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a short training done in one process."""
    store = tmp_path_factory.mktemp("alone")
    assert run(*TRAIN, *SHORT, "--store", store).code == 0
    return store


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for temporary files, which must be empty in the end."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    yield folder
    wait_for(lambda: not list(folder.glob("cgnn-*")))


def workers_of(process: subprocess.Popen[str]) -> list[psutil.Process]:
    return psutil.Process(process.pid).children()


def epochs_in(store: str) -> list[int]:
    """How many epochs each training has written."""
    return [len(path.read_text().splitlines()) for path in Path(store).glob("runs/*/metrics.jsonl")]


def interrupted(number: signal.Signals, *more: object) -> tuple[Finished, list[psutil.Process]]:
    """Start a long training on two cores, and signal it when both workers are in the middle of one."""
    process = start(*TRAIN, *LONG, "--store", "store", "--jobs", 2, *more)
    wait_for(lambda: sum(count > 3 for count in epochs_in("store")) == 2)
    workers = workers_of(process)
    process.send_signal(number)
    return finish(process), workers


@pytest.mark.parametrize("jobs", [2, 0])
def test_results_do_not_depend_on_the_number_of_jobs(jobs: int, alone: Path, temporary: Path) -> None:
    result = run(*TRAIN, *SHORT, "--store", "store", "--jobs", jobs)
    found = {path.name: payload_of(path) for path in artifacts_of(Path("store"))}
    assert found == {path.name: payload_of(path) for path in artifacts_of(alone)}
    stages = [row for row in result.json["stages"] if row["stage"] == "fit"]
    assert [row["cache"] for row in stages] == ["miss"] * 3
    assert all(row["seconds"] > 0 for row in stages)


def test_a_rerun_starts_no_process_and_force_trains_again(alone: Path, temporary: Path) -> None:
    patch = "import subprocess\nsubprocess.Popen = None"
    again = run(*TRAIN, *SHORT, "--store", alone, "--jobs", 2, patch=patch)
    assert again.json["cache"] == "hit"
    forced = run(*TRAIN, *SHORT, "--store", alone, "--jobs", 2, "--force")
    assert [row["cache"] for row in forced.json["stages"] if row["stage"] == "fit"] == ["miss"] * 3


def test_provenance_names_the_command_of_the_user(temporary: Path) -> None:
    run(*TRAIN, *SHORT, "--store", "store", "--jobs", 2)
    record = json.loads(next(Path("store/fit").glob("*.json")).read_text())
    assert record["header"]["provenance"]["command"].startswith("cgnn train --dataset demo")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 75), (signal.SIGUSR1, 75), (signal.SIGINT, 130)])
def test_case_15_signals_stop_all_workers_with_their_state_saved(
    number: signal.Signals, code: int, temporary: Path
) -> None:
    stopped, workers = interrupted(number)
    assert (stopped.code, stopped.out) == (code, ""), stopped
    assert "Traceback" not in stopped.err and "run the same command again" in stopped.err
    assert not any(worker.is_running() for worker in workers)
    assert len(list(Path("store/partial").glob("*.h5"))) == 2


def test_a_stopped_training_goes_on_in_all_workers(temporary: Path) -> None:
    interrupted(signal.SIGTERM)
    before = sorted(epochs_in("store"))
    process = start(*TRAIN[:-1], *LONG, "--store", "store", "--jobs", 2)
    wait_for(lambda: all(now > then for now, then in zip(sorted(epochs_in("store")), before, strict=True)))
    process.terminate()
    assert finish(process).err.count("going on with") == 2


def test_workers_end_when_their_parent_is_killed(temporary: Path) -> None:
    stopped, workers = interrupted(signal.SIGKILL)
    assert stopped.code == -9
    wait_for(lambda: not any(worker.is_running() for worker in workers))
    assert len(list(Path("store/partial").glob("*.h5"))) == 2


def test_case_15_workers_that_are_signalled_themselves_save_their_state(temporary: Path) -> None:
    """A scheduler signals every process of a job."""
    process = start(*TRAIN, *LONG, "--store", "store", "--jobs", 2)
    wait_for(lambda: sum(count > 3 for count in epochs_in("store")) == 2)
    for worker in workers_of(process):
        worker.terminate()
    result = finish(process)
    assert (result.code, result.out) == (75, ""), result
    assert len(list(Path("store/partial").glob("*.h5"))) == 2


def test_case_14_the_second_ctrl_c_ends_the_workers_too(temporary: Path) -> None:
    """Their epochs take for ever: nothing is saved in them, and nobody waits for that."""
    endless = """
import os, subprocess, sys
import cgnn_cli.execution.pool as pool
pool.PROGRAM = pool.PROGRAM.replace("main()", '''
import cgnn_cli.stages.train as train, signal
def endless(*values):
    open(f"there-{os.getpid()}", "w").close()
    while True:
        signal.pause()
import os
train.run_epoch = endless
main()
''')
"""
    process = start(*TRAIN, *LONG, "--store", "store", "--jobs", 2, patch=endless)
    wait_for(lambda: len(list(Path().glob("there-*"))) == 2)
    workers = workers_of(process)
    send_twice(psutil.Process(process.pid))
    assert finish(process).code == 130
    wait_for(lambda: not any(worker.is_running() for worker in workers))


def test_case_25_a_killed_worker_is_one_clear_error(temporary: Path) -> None:
    process = start(*TRAIN, *LONG, "--store", "store", "--jobs", 2)
    wait_for(lambda: sum(count > 3 for count in epochs_in("store")) == 2)
    workers_of(process)[0].kill()
    result = finish(process)
    assert (result.code, result.out) == (7, "")
    assert len(result.err.splitlines()) == 1
    assert "a worker process was killed" in result.err and "run the same command again" in result.err
    assert len(list(Path("store/partial").glob("*.h5"))) == 2


def test_case_25_killed_workers_and_drivers_lose_nothing_beside_gc_and_verify(tmp_path: Path) -> None:
    """The fast form of `make soak`."""
    tally = soak(tmp_path, 8, iter([(1, "worker"), (2, "driver")]))
    assert (tally.workers_killed, tally.drivers_killed) == (1, 1)
    assert (tally.lost, tally.left_running, tally.complaints) == (0, 0, [])
    assert tally.rounds >= 2 and tally.gc_runs and tally.verify_runs


def test_errors_of_a_worker_keep_their_message_and_code(temporary: Path) -> None:
    diverging = ("--lr", 1e11, "--epochs", 50, "--store", "store")
    single = run(*TRAIN, *diverging)
    several = run(*TRAIN, *diverging, "--jobs", 2)
    assert single.code == several.code == 8
    assert several.err.startswith("error: the training loss became")
    assert len(several.err.splitlines()) == 1


def test_a_worker_imports_no_more_than_it_needs() -> None:
    code = """
import sys
import cgnn_cli.execution.worker, cgnn_cli.stages.train
heavy = {"torch_geometric", "typer", "rich", "pandas", "pyarrow", "sklearn", "joblib"} & sys.modules.keys()
assert not heavy, heavy
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def fit_step() -> Step:
    graph = Step(STAGES["graph"], None, {}, "0" * 32)
    operators = Step(STAGES["operators"], None, {}, "1" * 32, file=Path("/operators.h5"))
    return Step.of("fit", FitConfig(train_config(model="gcn", lr=0.3), 4), {"graph": graph, "operators-x": operators})


def test_steps_travel_as_json() -> None:
    fit = fit_step()
    config = train_config(model="gcn", lr=0.3)
    trained = Step.of("train", CheckpointConfig(config, (4,)), {"graph": fit.inputs["graph"], "fit-4": fit})
    scored = Step.of("eval", ScoresConfig(config), {"graph": fit.inputs["graph"], "train": trained})
    for step in (fit, trained, scored):
        arrived = decode_step(json.loads(json.dumps(encode_step(step))))
        assert (arrived.key, arrived.config, arrived.inputs) == (step.key, step.config, step.inputs)
        assert arrived.can_be_made()


def test_errors_travel_as_json() -> None:
    arrived = decode_error(encode_error(NumericalError("a", "b")))
    assert isinstance(arrived, NumericalError) and (arrived.message, arrived.hint) == ("a", "b")
    assert isinstance(decode_error(encode_error(MemoryError())), ResourceError)
    fault = decode_error(encode_error(ValueError("odd")))
    assert isinstance(fault, WorkerFault) and str(fault) == "ValueError: odd"
    assert not isinstance(fault, CgnnError)


@pytest.mark.filterwarnings("error")
def test_shared_arrays_are_mapped_and_a_torch_operator_does_not_copy_them(tmp_path: Path) -> None:
    import torch

    graph = demo_graph()
    rows = np.zeros((graph.node_count, 500), dtype=np.float32)
    graph = Graph(adjacency=graph.adjacency.astype(np.float32), features=rows, labels=graph.labels)
    reads = []

    def read() -> tuple[dict[str, object], dict[str, object]]:
        reads.append(1)
        return graph.to_elements(), {"nodes": graph.node_count}

    shared = SharedArrays(tmp_path)
    first, second = (shared.get("key", Graph, read) for _ in range(2))
    assert len(reads) == 1
    assert isinstance(first, Graph) and isinstance(second, Graph)
    assert second.summary == {"nodes": graph.node_count}
    assert isinstance(first.features, np.memmap)
    assert (second.adjacency != graph.adjacency).nnz == 0
    first.features[0, 0] = 1  # stays in this process
    assert isinstance(second.features, np.memmap) and second.features[0, 0] == 0
    data = second.adjacency.data
    assert Propagator(second.adjacency, torch.device("cpu")).forward.values.data_ptr() == data.ctypes.data
    shared.drop("key")
    assert os.listdir(tmp_path) == []
    assert second.features[0, 0] == 0
