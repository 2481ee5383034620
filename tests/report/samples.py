"""Runs made up for tests: headers as the stages write them, without any training."""

from pathlib import Path
from typing import Any

import numpy as np

from cgnn_cli.report.runs import Run
from cgnn_cli.store.artifact import Header

HOST = "secret-host"


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


def make_run(
    accuracies: list[float],
    *,
    model: str = "gcn",
    dataset: str = "demo",
    key: str = "",
    splits: list[int] | None = None,
    split_count: int | None = None,
    graph: dict[str, Any] | None = None,
    commute: dict[str, Any] | None = None,
    **train: Any,
) -> Run:
    """An evaluation on the splits 0, 1, ... of a dataset that has no more of them, unless `split_count` says so."""
    values = np.array(accuracies)
    numbers = list(range(len(accuracies))) if splits is None else splits
    spread = {"mean": float(values.mean()), "std": float(values.std()), "runs": len(values)}
    summary = {
        "splits": numbers,
        "test_accuracy": spread,
        "validation_accuracy": spread,
        "macro_f1": spread,
        "test_accuracy_per_split": accuracies,
    }
    count = len(accuracies) if split_count is None else split_count
    made_from = {
        "graph": header("graph", f"graph{dataset}", summary={"splits": count, **(graph or {})}),
        "train": header("train", "train", config={"model": model, "direction": "out", "splits": numbers, **train}),
        **{f"fit-{number}": header("fit", f"fit{number}", seconds=4.0) for number in numbers},
    }
    if commute is not None:
        made_from["commute"] = header("commute", "commute", config=commute, seconds=1.0)
    own = header(
        "eval", key or f"{model}{dataset}{sum(accuracies):.6f}", inputs={"graph": f"graph{dataset}"}, summary=summary
    )
    return Run(Path(f"{own.key}.h5"), own, made_from, dataset)
