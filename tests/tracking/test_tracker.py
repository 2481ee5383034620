"""Results are told to MLflow and W&B: once, with what belongs to them, and without anything of the machine."""

import json
import os
import socket
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cgnn_cli import __version__
from cgnn_cli.execution.results import Run, Runs
from cgnn_cli.store.store import Store
from cgnn_cli.tracking.tracked import tracked
from tests.front_door import FrontDoor

SHORT = ("--dataset", "demo", "--model", "gcn", "--epochs", 4)
RUN = ("run", *SHORT, "--split", 0, "--split", 1, "--no-compare")
needs_mlflow = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("mlflow", "alembic")), reason='needs pip install "cgnn[track]"'
)
needs_wandb = pytest.mark.skipif(find_spec("wandb") is None, reason='needs pip install "cgnn[track]"')


def scored(store: str = ".cgnn") -> Run:
    (run,) = Runs(Store(Path(store).absolute())).all()
    return run


def closed_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


class Told:
    """A tracker that remembers what it is told."""

    def __init__(self) -> None:
        self.results: list[Any] = []

    def has(self, key: str) -> bool:
        return key in [result.key for result in self.results]

    def log(self, result: Any) -> None:
        self.results.append(result)


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    """What stands in the place of MLflow, where it is not installed."""
    made = Told()
    monkeypatch.setattr("cgnn_cli.tracking.tracker.find_spec", lambda name: True)
    monkeypatch.setattr("cgnn_cli.tracking.mlflow_runs.MlflowRuns", lambda: made)
    return made


def test_a_result_is_told_whole(cgnn: FrontDoor) -> None:
    cgnn.ok(*RUN)
    run = scored()
    result = tracked(run, Store(Path(".cgnn").absolute()), "gcn")
    assert result.key == run.key
    assert result.tags["dataset"] == "demo" and result.tags["version"] == __version__
    assert result.tags["splits"] == "0,1" and result.tags["trained"] == run.checkpoint
    assert result.options["model"] == "gcn" and result.options["epochs"] == 4
    assert result.scores["test_accuracy"] == np.mean(run.accuracies)
    assert result.scores["test_accuracy_std"] == pytest.approx(np.std(run.accuracies))
    for split, header in run.fits.items():
        lines = (Path(".cgnn/runs") / header.key / "metrics.jsonl").read_text().splitlines()
        rows = [json.loads(line) for line in lines]
        assert {name: list(values) for name, values in result.curves[split].items()} == {
            name: [row[name] for row in rows] for name in ("loss", "validation_loss", "validation_accuracy")
        }
    said = json.dumps([result.name, dict(result.tags), dict(result.options)])
    assert os.getcwd() not in said and socket.gethostname() not in said


def test_stages_and_sweeps_tell_of_what_they_make(cgnn: FrontDoor, told: Told) -> None:
    cgnn.ok("train", *SHORT, "--split", 0, "--track", "mlflow")
    (trained,) = told.results
    assert set(trained.scores) == {"validation_accuracy"} and trained.name == "gcn"
    key = cgnn.ok("eval", *SHORT, "--split", 0, "--track", "mlflow", "--json").json["key"]
    assert told.results[1].key == key and "test_accuracy" in told.results[1].scores
    swept = cgnn.ok("sweep", *SHORT, "--split", 0, "--set", "train.hidden=4,8", "--track", "mlflow", "--jobs", 2)
    assert "MLflow: 2 results logged" in swept.err
    assert {result.name for result in told.results[2:]} == {"hidden=4", "hidden=8"}
    assert [list(result.curves) for result in told.results] == [[0]] * 4
    cgnn.ok("predict")  # trains and scores nothing
    assert len(told.results) == 4


def test_what_was_told_is_not_told_twice(cgnn: FrontDoor, told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    cgnn.ok(*RUN)  # found later, and told all the same
    assert not told.results
    monkeypatch.setenv("CGNN_COMPUTE_TRACK", "mlflow")
    assert "MLflow: 1 result logged" in cgnn.ok(*RUN).err
    assert "MLflow: 1 result there already" in cgnn.ok(*RUN).err
    assert len(told.results) == 1


def test_the_comparison_of_a_run_is_told_by_its_short_names(cgnn: FrontDoor, told: Told) -> None:
    cgnn.ok("run", "--epochs", 2, "--split", 0, "--track", "mlflow")
    names = [result.name for result in told.results]
    assert len(names) == len(set(names)) >= 4 and all(name.startswith("cgnn (") for name in names)


def test_a_tracker_that_fails_is_a_warning(cgnn: FrontDoor, told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(key: str) -> bool:
        raise ConnectionError("http://ann:s3cret@tracker.example.org/api?token=s3cret does not answer")

    monkeypatch.setattr(told, "has", refuse)
    result = cgnn.ok("sweep", *SHORT, "--split", 0, "--set", "train.hidden=4,8", "--track", "mlflow", "--json")
    (warning,) = [text for text in result.json["warnings"] if "MLflow" in text]
    assert "could not be told" in warning and "does not answer" in warning
    assert "s3cret" not in result.err + result.out


@pytest.mark.parametrize(("name", "title"), [("mlflow", "MLflow"), ("wandb", "W&B")])
def test_a_missing_package_is_told_first(
    cgnn: FrontDoor, monkeypatch: pytest.MonkeyPatch, name: str, title: str
) -> None:
    monkeypatch.setattr("cgnn_cli.tracking.tracker.find_spec", lambda package: None)
    message = cgnn.fails(2, *RUN, "--track", name)
    assert title in message and 'pip install "cgnn[track]"' in message
    assert not list(Path().glob(".cgnn/fit/*"))


def test_tensorboard_is_one_of_them(cgnn: FrontDoor) -> None:
    pytest.importorskip("tensorboard", reason="tensorboard is not installed")
    cgnn.ok("train", *SHORT, "--split", 0, "--track", "tensorboard")
    assert list(Path().glob(".cgnn/runs/*/events.*"))


@needs_mlflow
def test_mlflow_has_what_was_logged(cgnn: FrontDoor) -> None:
    key = cgnn.ok(*RUN, "--track", "mlflow", "--json").json["key"]
    assert "there already" in cgnn.ok(*RUN, "--track", "mlflow").err
    from mlflow.tracking import MlflowClient

    client = MlflowClient()
    experiment = client.get_experiment_by_name("cgnn")
    (run,) = client.search_runs([experiment.experiment_id])
    result = tracked(scored(), Store(Path(".cgnn").absolute()), "gcn")
    assert run.info.run_name == "gcn" and run.info.status == "FINISHED"
    assert run.data.tags["cgnn.key"] == key and run.data.tags["cgnn.dataset"] == "demo"
    assert set(run.data.tags) == {*(f"cgnn.{name}" for name in result.tags), "mlflow.runName"}
    assert run.data.params == {name: str(value) for name, value in result.options.items()}
    for name, value in result.scores.items():
        assert run.data.metrics[name] == pytest.approx(value)
    for split, metrics in result.curves.items():
        for name, values in metrics.items():
            found = client.get_metric_history(run.info.run_id, f"split{split}/{name}")
            assert [(point.step, point.value) for point in found] == list(enumerate(map(pytest.approx, values)))


@needs_mlflow
def test_a_server_of_mlflow_that_is_not_there_costs_a_warning(cgnn: FrontDoor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://ann:s3cret@127.0.0.1:{closed_port()}")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    result = cgnn.ok(*RUN, "--track", "mlflow")
    assert "warning: MLflow could not be told of gcn" in result.err
    assert "s3cret" not in result.err


@needs_wandb
def test_wandb_has_what_was_logged(cgnn: FrontDoor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_MODE", "offline")
    key = cgnn.ok(*RUN, "--track", "wandb", "--json").json["key"]
    assert "W&B: 1 result there already" in cgnn.ok(*RUN, "--track", "wandb").err
    (file,) = Path("wandb").glob(f"offline-run-*/run-{key[:32]}.wandb")
    content = file.read_bytes()
    for said in (b"split0/loss", b"split1/validation_accuracy", b"test_accuracy_std", key.encode(), b"hidden"):
        assert said in content
    assert socket.gethostname().encode() not in content and os.getcwd().encode() not in content


@needs_wandb
def test_wandb_without_a_login_costs_a_warning(
    cgnn: FrontDoor, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("WANDB_MODE", "WANDB_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    monkeypatch.setenv("WANDB_CONFIG_DIR", str(tmp_path / "config"))
    assert "WANDB_MODE=offline" in cgnn.ok(*RUN, "--track", "wandb").err
