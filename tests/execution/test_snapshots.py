"""What is written about a training while it runs: metrics, and TensorBoard's scalars."""

import json
import sys
import types
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tests.front_door import FrontDoor, run_process

SHORT = ("--model", "gcn", "--epochs", 4, "--split", 0)


class FakeWriter:
    """Stands in for TensorBoard's writer and remembers what it is given."""

    made: ClassVar[list["FakeWriter"]] = []

    def __init__(self, folder: str, *, purge_step: int, flush_secs: int) -> None:
        self.folder, self.purge_step = Path(folder), purge_step
        self.scalars: dict[str, list[tuple[int, float]]] = {}
        self.closed = False
        self.made.append(self)

    def add_scalar(self, name: str, value: float, step: int) -> None:
        self.scalars.setdefault(name, []).append((step, value))

    def flush(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def writers(monkeypatch: pytest.MonkeyPatch) -> list[FakeWriter]:
    monkeypatch.setattr(FakeWriter, "made", [])
    module = types.ModuleType("torch.utils.tensorboard")
    module.SummaryWriter = FakeWriter  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", module)
    monkeypatch.setattr("cgnn_cli.execution.snapshots.find_spec", lambda name: True)
    return FakeWriter.made


def metrics_of(writer: FakeWriter) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (writer.folder / "metrics.jsonl").read_text().splitlines()]


def test_tensorboard_gets_what_the_metrics_hold(cgnn: FrontDoor, writers: list[FakeWriter]) -> None:
    plain = cgnn.ok("train", "--dataset", "demo", *SHORT, "--json").json
    assert not writers
    logged = cgnn.ok("train", "--dataset", "demo", *SHORT, "--tensorboard", "--force", "--json").json
    assert logged["key"] == plain["key"]  # how to compute is never part of a key
    (writer,) = writers
    assert writer.closed and writer.purge_step == 0
    rows = metrics_of(writer)
    assert set(writer.scalars) == {"loss", "validation_loss", "validation_accuracy"}
    for name, values in writer.scalars.items():
        assert values == [(row["epoch"], row[name]) for row in rows]


def test_a_resumed_training_purges_the_epochs_it_does_again(
    cgnn: FrontDoor, writers: list[FakeWriter], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "cgnn_cli.execution.snapshots.SnapshotWatch.stop_requested", lambda watch: len(writers[0].scalars["loss"]) == 2
    )
    assert cgnn("train", "--dataset", "demo", *SHORT, "--tensorboard").code != 0
    monkeypatch.setattr("cgnn_cli.execution.snapshots.SnapshotWatch.stop_requested", lambda watch: False)
    cgnn.ok("train", "--dataset", "demo", *SHORT, "--tensorboard")
    assert [writer.purge_step for writer in writers] == [0, 2]
    assert [step for step, _ in writers[1].scalars["loss"]] == [2, 3]


def test_without_the_package_it_says_what_to_install(cgnn: FrontDoor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cgnn_cli.execution.snapshots.find_spec", lambda name: None)
    message = cgnn.fails(2, "train", "--dataset", "demo", *SHORT, "--tensorboard")
    assert "pip install tensorboard" in message


def test_the_files_are_tensorboards(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="tensorboard is not installed")
    done = run_process("train", "--dataset", "demo", *SHORT, "--tensorboard", "--store", tmp_path, "--quiet")
    assert done.returncode == 0, done.stderr
    (folder,) = (tmp_path / "runs").iterdir()
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder)).Reload()
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    for name in ("loss", "validation_loss", "validation_accuracy"):
        found = [(event.step, event.value) for event in events.Scalars(name)]
        assert found == [(row["epoch"], pytest.approx(row[name])) for row in rows]
