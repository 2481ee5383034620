"""Trainings that cannot be done: refused before anything is computed, or ended with a reason."""

from pathlib import Path

import pytest

from tests.faults.imports import SHORT
from tests.front_door import FrontDoor


@pytest.mark.parametrize(("rate", "shown"), [("1e9", "1e+09"), ("1e12", "1e+12")])
def test_case_42_a_loss_that_explodes(cgnn: FrontDoor, rate: str, shown: str) -> None:
    line = cgnn.fails(8, "train", "--dataset", "demo", "--split", 0, "--lr", rate, "--epochs", 50)
    assert "epoch" in line and shown in line and "smaller --lr" in line
    assert not list(Path(".cgnn").glob("train/*")) and not list(Path(".cgnn").rglob("*.tmp"))


def test_case_42_no_improvement_stops_early_and_keeps_the_best_epoch(cgnn: FrontDoor) -> None:
    options = ("--dataset", "demo", "--split", 0, "--model", "linear", "--lr", 1e-12, "--epochs", 40, "--patience", 2)
    (fit,) = (row for row in cgnn.ok("train", *options, "--json").json["stages"] if row["stage"] == "fit")
    summary = cgnn.ok("show", fit["key"], "--json").json["header"]["summary"]
    assert summary["epochs"] < 40 and summary["epochs"] == summary["best_epoch"] + 3


@pytest.mark.parametrize("device", ["cuda", "cuda:7"])
def test_case_43_cuda_asked_but_absent(cgnn: FrontDoor, monkeypatch: pytest.MonkeyPatch, device: str) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    for command in ("train", "eval", "run"):
        assert "--device cpu" in cgnn.fails(2, command, "--dataset", "demo", "--device", device, *SHORT)
    assert not list(Path(".cgnn").rglob("*.h5")), "not even the graph is made"
    train = ("train", "--dataset", "demo", "--split", 0, *SHORT, "--json")
    cgnn.ok(*train)
    assert cgnn.ok(*train, "--device", device).json["cache"] == "hit"  # what is there needs no device


def computed() -> set[str]:
    """The stages of which the store has something; the graph of the demo is made to see how many splits it has."""
    return {path.parent.name for path in Path(".cgnn").rglob("*.h5")} - {"graph"}


@pytest.mark.parametrize(
    ("code", "said", "arguments"),
    [
        (2, "has no CUDA", ("train", "--device", "cuda")),
        (2, "has no CUDA", ("eval", "--device", "cuda:1", "--jobs", 2)),
        (2, "has no CUDA", ("run", "--device", "cuda")),
        (2, "has no CUDA", ("sweep", "--device", "cuda", "--set", "train.layers=1,2")),
        (2, "tensorboard", ("train", "--tensorboard")),
        (2, "splits 0 to 4", ("train", "--split", 5)),
        (2, "splits 0 to 4", ("sweep", "--split", 5, "--set", "train.layers=1,2")),
        (2, "nix/x.toml", ("sweep", "--record", "nix/x.toml", "--set", "train.layers=1,2")),
        (2, "broken.toml", ("sweep", "--record", "broken.toml", "--set", "train.layers=1,2")),
        (2, "nix/x.csv", ("predict", "--output", "nix/x.csv")),
        (2, "nix/x.npz", ("predict", "--output", "x.csv", "--embeddings", "nix/x.npz")),
        (2, "nix/x.svg", ("explain", "0", "--figure", "nix/x.svg")),
        (2, ".svg, .png, .pdf", ("explain", "0", "--figure", "x.gif")),
        (3, "no node 'nix'", ("explain", "nix")),
        (3, "nix.csv", ("commute", "--pairs", "nix.csv")),
        (3, "'nix' is no node", ("commute", "--pairs", "pairs.csv")),
        (2, "--batch-norm", ("train", "--model", "cgnn", "--batch-nodes", 10, "--batch-norm")),
        (2, "--scale median", ("commute", "--proximity", "inverse", "--scale", "median")),
    ],
)
def test_f29_refusals_that_need_no_computing_come_first(
    cgnn: FrontDoor, monkeypatch: pytest.MonkeyPatch, code: int, said: str, arguments: tuple[object, ...]
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setattr("cgnn_cli.execution.snapshots.find_spec", lambda name: None)
    Path("broken.toml").write_text("[")
    Path("pairs.csv").write_text("0,1\nnix,2\n")
    assert said in cgnn.fails(code, *arguments, "--dataset", "demo")
    assert computed() == set()


def test_case_43_cuda_out_of_memory(cgnn: FrontDoor, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    def exhausted(*arguments: object) -> None:
        raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")

    monkeypatch.setattr("cgnn_cli.stages.train.run_epoch", exhausted)
    line = cgnn.fails(7, "train", "--dataset", "demo", *SHORT)
    assert "smaller --hidden" in line and "--batch-nodes" in line and "--device cpu" in line
    assert computed() == {"rewire", "dilap", "commute", "operators"}, "what was finished stays"
