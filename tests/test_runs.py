"""What is written about a training while it runs: TensorBoard's scalars, and the time that is left."""

import json
import sys
import types
from pathlib import Path
from typing import Any, ClassVar

import pytest

from cgnn_cli.commands import console
from cgnn_cli.commands.console import Talker
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
    monkeypatch.setattr("cgnn_cli.runs.find_spec", lambda name: True)
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
    monkeypatch.setattr("cgnn_cli.runs.RunWatch.stop_requested", lambda watch: len(writers[0].scalars["loss"]) == 2)
    assert cgnn("train", "--dataset", "demo", *SHORT, "--tensorboard").code != 0
    monkeypatch.setattr("cgnn_cli.runs.RunWatch.stop_requested", lambda watch: False)
    cgnn.ok("train", "--dataset", "demo", *SHORT, "--tensorboard")
    assert [writer.purge_step for writer in writers] == [0, 2]
    assert [step for step, _ in writers[1].scalars["loss"]] == [2, 3]


def test_without_the_package_it_says_what_to_install(cgnn: FrontDoor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cgnn_cli.runs.find_spec", lambda name: None)
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


class Clock:
    """Time that moves when it is told to."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(console, "time", clock)
    return clock


def test_plain_lines_tell_the_time_left(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    talker = Talker(quiet=False)
    for done, now in ((1, 0), (2, 5), (11, 50), (12, 51), (41, 200)):
        clock.now = now
        talker.progress(done, 101, "loss 0.500  validation 0.700")
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "  11 of 101  loss 0.500  validation 0.700  about 8 min left",  # 5 s each, 90 to go
        "  41 of 101  loss 0.500  validation 0.700  about 5 min left",
    ]


def test_the_pace_is_that_of_this_computation(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    talker = Talker(quiet=False)
    for done, total, now in ((1, 9, 0), (9, 9, 9), (70, 100, 100), (1, 5, 200), (2, 5, 220), (3, 5, 240)):
        clock.now = now
        talker.progress(done, total, "")
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1] == "  3 of 5    about 40 s left"  # the second computation began at 200
    talker.progress(3, 5, "epoch 7  about 1 min left")
    clock.now = 300
    talker.progress(3, 5, "epoch 8  about 1 min left")
    assert capsys.readouterr().err.splitlines() == ["  3 of 5  epoch 8  about 1 min left"]
