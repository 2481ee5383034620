"""Training stopped by real signals at random epochs goes on and ends with the same bits."""

import dataclasses
import json
import random
import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest

from cgnn_cli.store import artifact as files
from cgnn_cli.store.artifact import Artifact
from tests.faults.processes import finish, start, wait_for
from tests.front_door import run_process

EPOCHS = 24
TRAIN = (
    "train",
    "--dataset",
    "demo",
    "--split",
    0,
    "--epochs",
    EPOCHS,
    "--hidden",
    8,
    "--patience",
    EPOCHS,
    "--snapshot-seconds",
    0,
    "--json",
    "--quiet",
)
CODES = {signal.SIGTERM: 75, signal.SIGUSR1: 75, signal.SIGINT: 130, signal.SIGKILL: -9}


def metrics(store: str) -> list[dict[str, float]]:
    lines = [line for path in Path(store).glob("runs/*/metrics.jsonl") for line in path.read_text().splitlines()]
    return [json.loads(line) for line in lines if line.endswith("}")]


# A training waits for its signal after so many metrics: on a busy machine it might be done before the signal is sent.
HOLD = """
import time
from cgnn_cli.execution.snapshots import SnapshotWatch
from cgnn_cli.signals import STOPPER
record, left = SnapshotWatch.record, [{count}]
def hold(watch, metrics):
    record(watch, metrics)
    left[0] -= 1
    while not left[0] and STOPPER.received is None:
        time.sleep(0.01)
SnapshotWatch.record = hold
"""


def interrupt(store: str, number: signal.Signals, epoch: int, *options: object) -> subprocess.CompletedProcess[str]:
    """Start a training and signal it once it has written the metrics of an epoch."""
    process = start(*TRAIN, *options, "--store", store, patch=HOLD.format(count=epoch + 1))
    wait_for(lambda: process.poll() is not None or len(metrics(store)) > epoch)
    process.send_signal(number)
    ended = finish(process)
    return subprocess.CompletedProcess(process.args, ended.code, ended.out, ended.err)


def fit_weights(store: str) -> dict[str, np.ndarray]:
    (path,) = Path(store).glob("fit/*.h5")
    weights: dict[str, np.ndarray] = files.read(path).elements["weights"]
    return weights


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store with the same training done in one go, and the stages before it."""
    store = str(tmp_path_factory.mktemp("undisturbed"))
    assert run_process(*TRAIN, "--store", store).returncode == 0
    return store


@pytest.mark.parametrize("number", CODES)
def test_case_15_interrupted_equals_uninterrupted(undisturbed: str, number: signal.Signals) -> None:
    epoch = random.Random(int(number)).randrange(2, EPOCHS // 2)
    stopped = interrupt("store", number, epoch)
    assert stopped.returncode == CODES[number], stopped
    assert stopped.stdout == "" and "Traceback" not in stopped.stderr
    if CODES[number] == 75:
        assert "run the same command again" in stopped.stderr
    assert not list(Path("store").glob("fit/*.h5"))
    if number != signal.SIGKILL:
        assert not list(Path("store").rglob("*.tmp"))

    resumed = run_process(*TRAIN, "--store", "store")
    assert resumed.returncode == 0, resumed
    assert "going on with" in resumed.stderr
    for name, weights in fit_weights(undisturbed).items():
        np.testing.assert_array_equal(weights, fit_weights("store")[name])
    assert metrics("store") == metrics(undisturbed)
    assert [row["epoch"] for row in metrics("store")] == list(range(EPOCHS))
    assert not list(Path("store/partial").glob("*.h5"))


def test_a_training_that_is_stopped_before_it_has_seen_a_label_goes_on() -> None:
    contrastive = ("--model", "digcl", "--pretrain-epochs", 10)
    assert run_process(*TRAIN, *contrastive, "--store", "whole").returncode == 0
    assert interrupt("store", signal.SIGTERM, 5, *contrastive).returncode == 75
    resumed = run_process(*TRAIN, *contrastive, "--store", "store")
    assert resumed.returncode == 0, resumed
    assert "going on with" in resumed.stderr
    for name, weights in fit_weights("whole").items():
        np.testing.assert_array_equal(weights, fit_weights("store")[name])


def saved_state() -> Path:
    """Where a training that is stopped after some epochs has left its state."""
    assert interrupt("store", signal.SIGTERM, 5).returncode == 75
    (path,) = Path("store/partial").glob("*.h5")
    return path


def test_case_16_another_thread_count_is_said_and_restart_begins_anew(undisturbed: str) -> None:
    partial = saved_state()
    saved = partial.read_bytes()
    other = run_process(*TRAIN, "--store", "store", "--threads", 2)
    assert other.returncode == 0
    assert "begun with 1 threads and goes on with 2" in other.stderr
    assert json.loads(other.stdout)["stages"][-2]["key"] == partial.stem

    partial.write_bytes(saved)
    anew = run_process(*TRAIN, "--store", "store", "--force", "--restart")
    assert anew.returncode == 0 and "going on" not in anew.stderr
    for name, weights in fit_weights(undisturbed).items():
        np.testing.assert_array_equal(weights, fit_weights("store")[name])


def test_case_16_another_number_of_jobs_changes_no_bit(undisturbed: str) -> None:
    """Begun alone, ended by a worker beside another: one thread each."""
    saved_state()
    together = run_process(*TRAIN, "--split", 1, "--jobs", 2, "--store", "store")
    assert together.returncode == 0 and "going on with" in together.stderr, together
    (alone,) = Path(undisturbed).glob("fit/*.h5")
    assert files.read(Path("store/fit", alone.name)).header.payload == files.read(alone).header.payload


def test_case_16_other_versions_of_libraries_are_said(undisturbed: str) -> None:
    partial = saved_state()
    artifact = files.read(partial)
    header = dataclasses.replace(artifact.header, config={**artifact.header.config, "torch": "2.0", "numpy": "1.26"})
    partial.unlink()
    files.write_h5(partial, files.sealed(Artifact(header, artifact.elements)))
    resumed = run_process(*TRAIN, "--store", "store")
    assert resumed.returncode == 0
    assert "going on with" in resumed.stderr and "begun with other versions of numpy, torch" in resumed.stderr
    for name, weights in fit_weights(undisturbed).items():
        np.testing.assert_array_equal(weights, fit_weights("store")[name])


def test_case_16_the_state_of_another_run_is_refused(undisturbed: str) -> None:
    """A state is moved to the name of a run with other options: it is neither gone on from nor replaced."""
    partial = saved_state()
    other = (*TRAIN, "--lr", 0.02, "--store", "store")
    key = json.loads(run_process(*other).stdout)["stages"][-2]["key"]
    fresh = files.read(Path("store/fit", f"{key}.h5")).header.payload
    moved = partial.rename(partial.with_stem(key))
    content = moved.read_bytes()
    for way in ((), ("--restart",)):
        again = run_process(*other, "--force", *way)
        assert again.returncode == 4 and f"{moved} is in the place of what this run saves" in again.stderr
        assert moved.read_bytes() == content
    moved.rename(partial)
    again = run_process(*other, "--force")
    assert again.returncode == 0 and "going on" not in again.stderr
    assert files.read(Path("store/fit", f"{key}.h5")).header.payload == fresh and partial.exists()


def test_a_damaged_snapshot_is_not_used(undisturbed: str) -> None:
    assert interrupt("store", signal.SIGTERM, 5).returncode == 75
    (partial,) = Path("store/partial").glob("*.h5")
    partial.write_bytes(partial.read_bytes()[:-200])
    resumed = run_process(*TRAIN, "--store", "store")
    assert resumed.returncode == 0
    assert "saved state of an unfinished run is not used" in resumed.stderr
    for name, weights in fit_weights(undisturbed).items():
        np.testing.assert_array_equal(weights, fit_weights("store")[name])
