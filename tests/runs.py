"""Runs made up for tests: headers as the stages write them, without any training. And who hears what a runner tells."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cgnn_cli.execution.results import Run
from cgnn_cli.store.artifact import Header

HOST = "secret-host"


class Listener:
    """Keeps what a runner tells."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []
        self.stages: list[tuple[str, bool]] = []
        self.lines: list[str] = []
        self.begun: list[str] = []

    def stage_done(self, header: Header, *, hit: bool) -> None:
        self.told.append((header.stage, header.key))
        self.stages.append((header.stage, hit))

    def begins(self, what: str, key: str = "", *, passing: bool = False) -> None:
        self.begun += [] if passing else [what]

    def progress(self, done: int, total: int, message: str) -> None:
        self.lines.append(message)

    def computed(self, stage: str) -> int:
        return self.stages.count((stage, False))


def header(stage: str, key: str, *, config: dict[str, Any] | None = None, **parts: Any) -> Header:
    """A header with a provenance, as of an artifact that took two seconds."""
    provenance = {
        "command": f"cgnn {stage} <b>",
        "seconds": parts.pop("seconds", 2.0),
        "host": HOST,
        "versions": {"cgnn": "0.1.0", "numpy": "2.0"},
        "revision": "",
    }
    return Header(stage, key, 1, config or {}, parts.get("inputs", {}), parts.get("summary", {}), provenance)


def fit_headers(validation: Sequence[float], splits: Sequence[int] | None = None, seconds: float = 4.0) -> Any:
    """Trainings of one epoch by role, with their validation accuracies."""
    numbers = range(len(validation)) if splits is None else splits
    return {
        f"fit-{number}": header(
            "fit", f"fit{number}", seconds=seconds, summary={"validation_accuracy": accuracy, "epochs": 1}
        )
        for number, accuracy in zip(numbers, validation, strict=True)
    }


def make_run(
    accuracies: Sequence[float],
    *,
    model: str = "gcn",
    dataset: str = "demo",
    key: str = "",
    splits: list[int] | None = None,
    split_count: int | None = None,
    graph: dict[str, Any] | None = None,
    commute: dict[str, Any] | None = None,
    seconds: float = 4.0,
    seconds_before: float = 1.0,
    **train: Any,
) -> Run:
    """A scored run on the splits 0, 1, ... of a dataset that has no more of them, unless `split_count` says so."""
    values = np.array(accuracies)
    numbers = list(range(len(accuracies))) if splits is None else splits
    spread = {"mean": float(values.mean()), "std": float(values.std()), "runs": len(values)}
    summary = {
        "splits": numbers,
        "test_accuracy": spread,
        "validation_accuracy": spread,
        "macro_f1": spread,
        "test_accuracy_per_split": list(accuracies),
    }
    count = len(accuracies) if split_count is None else split_count
    headers = {
        "graph": header("graph", f"graph{dataset}", summary={"splits": count, **(graph or {})}),
        "train": header("train", "train", config={"model": model, "direction": "out", "splits": numbers, **train}),
        **fit_headers(accuracies, numbers, seconds),
    }
    if commute is not None:
        headers["commute"] = header("commute", "commute", config=commute, seconds=seconds_before)
    own = key or f"{model}{dataset}{sum(accuracies):.6f}"
    headers["eval"] = header("eval", own, inputs={"graph": f"graph{dataset}"}, summary=summary)
    return Run(model, dataset, status="done", headers=headers, path=Path(f"{own}.h5"))
