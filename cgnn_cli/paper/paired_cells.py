"""Pairs of cells that an experiment is about, compared split by split, over the splits that both have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cgnn_cli.paper.cells import Cell
from cgnn_cli.paper.findings import COMPARISON, labels_of, runs_of
from cgnn_cli.paper.lab import Lab
from cgnn_cli.report.comparisons import Comparison, compare_pairs, comparison_table, not_comparable, split_ratios
from cgnn_cli.report.page import Block
from cgnn_cli.report.run_names import Label

Pair = tuple[Cell, Cell]
MISSING = {"failed": "failed", "not run": "was not run"}


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
        found = []
        for each in self.comparisons:
            first, second = each.first.key, each.second.key
            place = {"dataset": self.datasets[first], "column": COMPARISON, "status": "done"}
            titles = {"row": str(self.labels[first]), "against": str(self.labels[second])}
            found.append({**each.to_json(), **place, **titles, "keys": [first, second]})
        return found


def compare_cells(lab: Lab, pairs: Sequence[Pair]) -> Compared:
    """Compare the pairs that can be; p values are corrected for all of them, so call it once for a page."""
    found = runs_of(lab, [each for pair in pairs for each in pair])
    datasets = {key: members[0].dataset for key, (_, members) in found.items()}
    several = len({first.column for first, _ in pairs}) > 1
    named, left_out = [], []
    for first, second in pairs:
        said = (("the first", first), ("the second", second))
        why = ", ".join(f"{name} {MISSING[each.status]}" for name, each in said if each.status in MISSING)
        if not why:
            pair = found[first.run.key][0], found[second.run.key][0]
            why = not_comparable(*pair)
            named += [] if why else [pair]
        place = f" on {first.column}" if several else ""
        left_out += [f"{first.row} against {second.row}{place} ({why})"] if why else []
    return Compared(compare_pairs(named, split_ratios(lab.runner.store)), labels_of(found), datasets, left_out)
