"""What a tracker is told of a run: its options, the metrics of every epoch of its trainings, and its scores.

Nothing of the machine: no path, no host name, no command. A key names the same result wherever it was computed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cgnn_cli import __version__
from cgnn_cli.execution.results import Run
from cgnn_cli.store import artifact as files
from cgnn_cli.store.store import Store

SCORES = ("test_accuracy", "validation_accuracy", "macro_f1")


@dataclass(frozen=True)
class Tracked:
    """A run as trackers take it.

    key: of its scores or, where nothing was scored, of its trained models. curves: by split and metric, for each epoch.
    """

    key: str
    name: str
    tags: Mapping[str, str]
    options: Mapping[str, Any]
    curves: Mapping[int, Mapping[str, Sequence[float]]] = field(default_factory=dict)
    scores: Mapping[str, float] = field(default_factory=dict)


def tracked(run: Run, store: Store, name: str) -> Tracked:
    """A run that is done, from what its artifacts have."""
    key = run.key or run.checkpoint
    tags = {"key": key, "trained": run.checkpoint, "dataset": run.dataset, "graph": run.graph_key}
    tags |= {"version": __version__, "splits": ",".join(map(str, run.splits))}
    if "standin" in run.graph_notes:
        tags["standin"] = str(run.graph_notes["standin"])
    options = {"dataset": run.dataset, "model": run.model, **run.options}
    return Tracked(key, name, tags, options, _curves(run, store), _scores(run))


def _curves(run: Run, store: Store) -> dict[int, dict[str, list[float]]]:
    """The history of each training; without those that the store no longer has."""
    curves: dict[int, dict[str, list[float]]] = {}
    for split, header in run.fits.items():
        path = store.path("fit", header.key)
        if split in run.splits and path.exists():
            history = files.read(path).elements["history"]
            curves[split] = {name: values.tolist() for name, values in sorted(history.items())}
    return curves


def _scores(run: Run) -> dict[str, float]:
    """Mean and standard deviation over the splits of all that was scored, or of what the trainings were chosen by."""
    if not run.is_scored:
        found = {"mean": run.validation, "std": run.validation_deviation, "runs": len(run.splits)}
        return _spread("validation_accuracy" if run.metric == "accuracy" else "validation_score", found)
    summary = run.header.summary
    spreads = {name: summary[name] for name in SCORES} | {
        f"test_{name}": values for name, values in summary.get("metrics", {}).items() if name != "accuracy"
    }
    return {name: value for title, values in spreads.items() for name, value in _spread(title, values).items()}


def _spread(title: str, values: Mapping[str, Any]) -> dict[str, float]:
    if values.get("mean") is None:
        return {}
    several = values.get("runs", 1) > 1 and values.get("std") is not None
    return {title: float(values["mean"])} | ({f"{title}_std": float(values["std"])} if several else {})
