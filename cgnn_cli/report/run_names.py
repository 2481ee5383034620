"""What to call a run among others: its model, and the settings in which it differs from runs of the same model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from cgnn_cli.configs import CONFIGS
from cgnn_cli.execution.results import Run
from cgnn_cli.report.table import Entry
from cgnn_cli.settings import KEYS

SHORT = ("solver", "proximity")  # whose values speak for themselves
FIRST = (*SHORT, "scale")
# What goes without saying; `auto` is settled in what was run, and the paper's choice is the usual one.
DEFAULTS = {key.name: key.default for key in KEYS.values() if key.section in CONFIGS}
DEFAULTS |= {"method": "path", "aggregation": "mean"}


@dataclass(frozen=True)
class Label:
    """A row of a table of scores: runs of one model with the same settings, on any dataset."""

    model: str
    setting: str

    def __str__(self) -> str:
        return f"{self.model} ({self.setting})" if self.setting else self.model


def row_name(label: Label) -> Entry:
    """A model, and its setting in small print."""
    return Entry(label.model, note=label.setting)


def label_runs(runs: Iterable[Run]) -> dict[str, Label]:
    """A label for each run, by key.

    An option is named where runs of one model on one graph differ in it; what differs only from dataset to dataset, as
    tuned settings do, does not part a row. Defaults go without saying, unless labels would then be the same.
    """
    labels: dict[str, Label] = {}
    for model, members in _by(runs, lambda run: run.model).items():
        named = _differing(members)
        for briefly in (True, False):
            found = {run.key: Label(model, describe(run.options, named, briefly=briefly)) for run in members}
            settings = {(found[run.key], repr([run.options.get(name) for name in named])) for run in members}
            if len(settings) == len(set(found.values())):  # runs with different settings have different labels
                break
        labels |= found
    return labels


def _by(runs: Iterable[Run], what: Callable[[Run], str]) -> dict[str, list[Run]]:
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(what(run), []).append(run)
    return groups


def _differing(runs: list[Run]) -> list[str]:
    """The options in which runs on one graph differ: weights first, the rest in the order of the stages."""
    groups = _by(runs, lambda run: run.graph_key).values()
    present = {name for run in runs for name in run.options}
    order = [*FIRST, *(name for name in DEFAULTS if name not in FIRST), *sorted(present - DEFAULTS.keys())]
    return [name for name in order if any(len({repr(run.options.get(name)) for run in group}) > 1 for group in groups)]


def describe(options: dict[str, Any], named: Sequence[str], *, briefly: bool = True) -> str:
    """The named options with their values, in words; briefly, without defaults."""
    present = [name for name in named if options.get(name) is not None]
    usual = {name: (str(value), f"{value}.0") for name, value in DEFAULTS.items()} if briefly else {}
    said = [name for name in present if name in SHORT or str(options[name]) not in usual.get(name, ())]
    return ", ".join(_described(name, options[name]) for name in said)


def _described(name: str, value: Any) -> str:
    if name in SHORT:
        return str(value)
    words = name.replace("_", " ")
    if isinstance(value, bool):
        return words if value else f"no {words}"
    return f"{words} {value:.6g}" if isinstance(value, float) else f"{words} {value}"
