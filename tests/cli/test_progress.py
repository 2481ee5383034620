"""What is done is named before it begins: in a log as a line, on a terminal until there is more to show."""

from pathlib import Path

import pytest

from cgnn_cli.commands import console
from tests.faults.processes import on_a_terminal, run
from tests.front_door import FrontDoor

SHORT = ("--epochs", 3, "--hidden", 4)
# A module whose import is told on standard error when it begins; torch ends the process there.
HOOK = """
import os, sys
class Hook:
    def find_spec(self, name, path=None, target=None):
        if name in {names}:
            os.write(2, f"<{{name}}>".encode())
        if name == "torch":
            os._exit(7)
sys.meta_path.insert(0, Hook())
"""
READING = {
    "demo": "cgnn_cli.datasets.demo",
    "chameleon": "cgnn_cli.datasets.upstream.reading",
    "edges.csv": "cgnn_cli.datasets.files.importing",
}
STAGES = {stage: f"cgnn_cli.stages.{stage}" for stage in ("rewire", "dilap", "commute")}


def hook(*names: str) -> str:
    return HOOK.format(names=repr({*names, "torch"}))


def in_order(text: str, *parts: str) -> bool:
    """Whether parts of a text are there, each behind the one before."""
    place = 0
    for part in parts:
        place = text.find(part, place) + len(part)
        if place < len(part):
            return False
    return True


def test_in_a_log_every_step_is_named_before_anything_of_it_is_imported(tmp_path: Path) -> None:
    made = run("train", "--dataset", "demo", *SHORT, patch=hook(READING["demo"], *STAGES.values()), fresh=True)
    assert made.code == 7, made
    steps = [part for stage, module in STAGES.items() for part in (f"\n{stage} ", f"<{module}>")]
    assert in_order(made.err, "reading demo ...\n", f"<{READING['demo']}>", *steps, "loading torch ...\n", "<torch>")


def test_on_a_terminal_too() -> None:
    shown = on_a_terminal("train", "--dataset", "demo", *SHORT, patch=hook(READING["demo"], *STAGES.values()))
    steps = [part for stage, module in STAGES.items() for part in (f"{stage} ...", f"<{module}>")]
    assert in_order(shown, "reading demo ...", f"<{READING['demo']}>", *steps, "loading torch ...", "<torch>")


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("chameleon", ("rewire", "--dataset", "chameleon", "--offline", "--data", "nothing")),
        ("edges.csv", ("data", "import", "mine", "--edges", "edges.csv")),
    ],
)
def test_files_are_named_before_they_are_read(name: str, command: tuple[str, ...]) -> None:
    Path("edges.csv").write_text("source,target\na,b\nb,a\n")
    made = run(*command, patch=hook(READING[name]), fresh=True)
    assert in_order(made.err, f"reading {name} ...\n", f"<{READING[name]}>"), made


def test_predict_names_torch_before_it_is_loaded(cgnn: FrontDoor) -> None:
    cgnn.ok("train", "--dataset", "demo", *SHORT, "--split", 0)
    made = run("predict", patch=hook(), fresh=True)
    assert made.code == 7 and in_order(made.err, "the run made last", "loading torch ...\n", "<torch>"), made


def test_a_log_has_one_line_a_step(cgnn: FrontDoor) -> None:
    told = cgnn.ok("train", "--dataset", "demo", *SHORT, "--split", 0, "--solver", "series").err.splitlines()
    for stage in ("rewire", "dilap", "commute", "operators", "fit split 0"):
        (line,) = [line for line in told if line.startswith(f"{stage} ")]
        assert line.endswith(" s")


def test_progress_names_the_split(cgnn: FrontDoor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "PLAIN_LINE_SECONDS", 0.0)
    told = cgnn.ok("train", "--dataset", "demo", *SHORT, "--split", 0, "--split", 3).err.splitlines()
    for split in (0, 3):
        place = next(number for number, line in enumerate(told) if line.startswith(f"fit split {split} "))
        assert told[place + 1].startswith(f"  1 of 3  split {split}  loss ")
        assert any(line.startswith(f"fit split {split} ") and line.endswith(" s") for line in told[place + 1 :])


def test_an_error_has_a_line_of_its_own(cgnn: FrontDoor) -> None:
    refused = cgnn.fails(8, "train", "--dataset", "demo", "--model", "mlp", "--lr", "1e12", "--split", 0)
    assert refused.startswith("error: ")


def test_a_sweep_names_each_kind_of_step_once(cgnn: FrontDoor) -> None:
    told = cgnn.ok(
        "sweep", "--dataset", "demo", "--set", "train.layers=1,2", "--set", "train.epochs=2", "--split", 0
    ).err
    assert told.count("reading demo ...") == told.count("\nfit split 0 ") == 1
    assert in_order(told, "reading demo ...", "\nrewire ", "\ncommute ", "\nfit split 0 ", "1 of 2  ", "2 of 2  ")
