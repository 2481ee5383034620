"""Pairs of cells that an experiment is about, compared split by split, over the splits that both have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cgnn_cli.experiments.cells import Measured
from cgnn_cli.experiments.findings import COMPARISON, labels_of, runs_of
from cgnn_cli.experiments.lab import Lab
from cgnn_cli.report.comparisons import Comparison, compare_pairs, comparison_table, not_comparable
from cgnn_cli.report.labels import Label
from cgnn_cli.report.page import Block

Pair = tuple[Measured, Measured]


@dataclass(frozen=True)
class Compared:
    """The comparisons of pairs, with labels and datasets of their runs by key, and in words the pairs left out."""

    comparisons: list[Comparison]
    labels: dict[str, Label]
    datasets: dict[str, str]
    left_out: list[str]

    def blocks(self) -> list[Block]:
        """The table, and a sentence that names the pairs that are not in it."""
        table = [comparison_table(self.comparisons, self.labels)] if self.comparisons else []
        return [*table, *([f"Not compared: {'; '.join(self.left_out)}."] if self.left_out else [])]

    def records(self) -> list[dict[str, Any]]:
        """One record for each comparison."""
        return [self._record(each) for each in self.comparisons]

    def _record(self, each: Comparison) -> dict[str, Any]:
        titles = {"row": str(self.labels[each.first.key]), "against": str(self.labels[each.second.key])}
        place = {"dataset": self.datasets[each.first.key], "column": COMPARISON, "status": "done"}
        return {**each.to_json(), **place, **titles, "keys": [each.first.key, each.second.key]}


def compare_cells(lab: Lab, pairs: Sequence[Pair]) -> Compared:
    """Compare the pairs that can be; p values are corrected for all of them."""
    found = runs_of(lab, [each for pair in pairs for each in pair])
    runs = {each.result.trial.name: run for run, members in found.values() for each in members}
    datasets = {key: members[0].result.trial.dataset for key, (_, members) in found.items()}
    named, left_out = [], []
    for first, second in pairs:
        why = _missing(first, second)
        if not why:
            pair = runs[first.result.trial.name], runs[second.result.trial.name]
            why = not_comparable(*pair)
            named += [] if why else [pair]
        left_out += [f"{first.row} against {second.row}{_on(pairs, first)} ({why})"] if why else []
    return Compared(compare_pairs(named), labels_of(found), datasets, left_out)


def _missing(*pair: Measured) -> str:
    """Which of the two has no runs; empty if both have."""
    said = {"failed": "failed", "not run": "was not run"}
    named = zip(("the first", "the second"), pair, strict=True)
    return ", ".join(f"{name} {said[each.status]}" for name, each in named if each.status in said)


def _on(pairs: Sequence[Pair], cell: Measured) -> str:
    """The dataset, where the pairs are of several."""
    return f" on {cell.column}" if len({first.column for first, _ in pairs}) > 1 else ""
