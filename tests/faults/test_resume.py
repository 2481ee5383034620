"""Training stopped by real signals at random epochs goes on and ends with the same bits."""

import contextlib
import json
import random
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cgnn_cli.store import artifact as files
from tests.front_door import run_process

EPOCHS = 60
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


def start(store: str, *options: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "cgnn_cli", *map(str, (*TRAIN, *options)), "--store", store]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def metrics(store: str) -> list[dict[str, float]]:
    lines = [line for path in Path(store).glob("runs/*/metrics.jsonl") for line in path.read_text().splitlines()]
    return [json.loads(line) for line in lines if line.endswith("}")]


def interrupt(store: str, number: signal.Signals, epoch: int, *options: object) -> subprocess.CompletedProcess[str]:
    """Start a training and signal it once it has written the metrics of an epoch."""
    process = start(store, *options)
    while process.poll() is None and len(metrics(store)) <= epoch:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=0.01)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


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
def test_interrupted_equals_uninterrupted(undisturbed: str, number: signal.Signals) -> None:
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
    contrastive = ("--model", "digcl", "--pretrain-epochs", 40)
    assert run_process(*TRAIN, *contrastive, "--store", "whole").returncode == 0
    assert interrupt("store", signal.SIGTERM, 5, *contrastive).returncode == 75
    resumed = run_process(*TRAIN, *contrastive, "--store", "store")
    assert resumed.returncode == 0, resumed
    assert "going on with" in resumed.stderr
    for name, weights in fit_weights("whole").items():
        np.testing.assert_array_equal(weights, fit_weights("store")[name])


def test_another_thread_count_is_said_and_restart_begins_anew(undisturbed: str) -> None:
    assert interrupt("store", signal.SIGTERM, 5).returncode == 75
    saved = next(Path("store/partial").glob("*.h5")).read_bytes()
    other = run_process(*TRAIN, "--store", "store", "--threads", 2)
    assert other.returncode == 0
    assert "begun with 1 threads and goes on with 2" in other.stderr

    key = json.loads(other.stdout)["stages"][-2]["key"]
    partial = Path("store/partial") / f"{key}.h5"
    partial.write_bytes(saved)
    anew = run_process(*TRAIN, "--store", "store", "--force", "--restart")
    assert anew.returncode == 0 and "going on" not in anew.stderr
    for name, weights in fit_weights(undisturbed).items():
        np.testing.assert_array_equal(weights, fit_weights("store")[name])


def test_a_damaged_snapshot_is_not_used(undisturbed: str) -> None:
    assert interrupt("store", signal.SIGTERM, 5).returncode == 75
    (partial,) = Path("store/partial").glob("*.h5")
    partial.write_bytes(partial.read_bytes()[:-200])
    resumed = run_process(*TRAIN, "--store", "store")
    assert resumed.returncode == 0
    assert "saved state of an unfinished run is not used" in resumed.stderr
    for name, weights in fit_weights(undisturbed).items():
        np.testing.assert_array_equal(weights, fit_weights("store")[name])
