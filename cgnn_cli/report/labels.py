"""What to call a run among others: its model, and the settings in which it differs from runs of the same model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from cgnn_cli.report.runs import Run

SHORT = ("solver", "proximity")  # whose values speak for themselves


@dataclass(frozen=True)
class Label:
    """A row of a table of scores: runs of one model with the same settings, on any dataset."""

    model: str
    setting: str

    def __str__(self) -> str:
        return f"{self.model} ({self.setting})" if self.setting else self.model


def label_runs(runs: Iterable[Run]) -> dict[str, Label]:
    """A label for each run, by key.

    An option is named where runs of one model on one dataset differ in it. What differs only from dataset to dataset,
    as tuned settings do, does not part a row.
    """
    labels: dict[str, Label] = {}
    for model, members in _by(runs, lambda run: run.model).items():
        named = _differing(members)
        for run in members:
            labels[run.key] = Label(model, _setting(run.options, named))
    return labels


def _by(runs: Iterable[Run], what: Any) -> dict[str, list[Run]]:
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(what(run), []).append(run)
    return groups


def _differing(runs: list[Run]) -> list[str]:
    """The options in which runs on one graph differ, in the order of the stages."""
    order = list(dict.fromkeys(name for run in runs for name in run.options))
    groups = _by(runs, lambda run: run.graph_key).values()
    return [name for name in order if any(len({repr(run.options.get(name)) for run in group}) > 1 for group in groups)]


def _setting(options: dict[str, Any], named: list[str]) -> str:
    present = [name for name in named if options.get(name) is not None]
    if "proximity" in present and "solver" in present and options.get("scale") == 1.0:
        present = [name for name in present if name != "scale"]
    return ", ".join(_described(name, options[name]) for name in present)


def _described(name: str, value: Any) -> str:
    if name in SHORT:
        return str(value)
    words = name.replace("_", " ")
    if isinstance(value, bool):
        return words if value else f"no {words}"
    return f"{words} {value:.6g}" if isinstance(value, float) else f"{words} {value}"
