"""Results as cells of tables, each beside the figure that the paper prints."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from cgnn_cli.execution.results import Run
from cgnn_cli.report.beside import Beside, PaperResult, lines_beside
from cgnn_cli.report.scores import RowName, score_entry, score_table
from cgnn_cli.report.table import DASH, Entry, Table

STANDIN = "a stand-in, whose figures say nothing about the dataset: not compared"
QUICK = "quick run: not compared"


@dataclass(frozen=True)
class Cell:
    """A place in the table of an experiment: what is run for it, what came of that, and what the paper prints there.

    settings: by their paths; origin: where they come from, in words.
    expected: the number of splits that the protocol asks for. comparable: whether a difference says anything. standin:
    whether the graph is not the dataset.
    """

    row: str
    column: str
    dataset: str
    settings: dict[str, Any] = field(default_factory=dict)
    origin: str = ""
    printed: PaperResult | None = None
    notes: tuple[str, ...] = ()
    run: Run = field(default_factory=lambda: Run("", ""))
    expected: int | None = None
    comparable: bool = True
    standin: bool = False

    @property
    def mean(self) -> float | None:
        """Test accuracy in %, over the splits."""
        return 100 * self.run.mean if self.run.is_scored else None

    @property
    def std(self) -> float | None:
        """The population's standard deviation, in percentage points; a single split has none."""
        return None if self.run.std is None else 100 * self.run.std

    @property
    def runs(self) -> int:
        return len(self.run.accuracies)

    @property
    def beside(self) -> Beside | None:
        """The cell beside the paper's figure, if there is one."""
        return Beside(self.mean, self.printed, self.notes, self.comparable) if self.printed else None

    @property
    def difference(self) -> float | None:
        return self.beside.difference if self.beside else None

    @property
    def within(self) -> bool | None:
        return self.beside.within if self.beside else None

    @property
    def status(self) -> str:
        """done, partial (fewer runs than the protocol has), failed or not run."""
        if self.mean is None:
            return "failed" if self.run.status == "failed" else "not run"
        return "partial" if self.expected is not None and self.runs < self.expected else "done"

    def on_splits(self, splits: Iterable[int]) -> Cell:
        """The cell as it would be on some of its splits alone."""
        return dataclasses.replace(self, run=self.run.on_splits(splits))

    def entry(self) -> Entry:
        """Mean and deviation with the number of runs, or what stands in their place."""
        if self.mean is None:
            return Entry(self.status, "missing")
        return score_entry(self.run, self.expected, standin=self.standin)

    def to_json(self) -> dict[str, Any]:
        return {
            "dataset": self.dataset,
            "row": self.row,
            "column": self.column,
            "standin": self.standin,
            "status": self.status,
            "message": self.run.message,
            "test_accuracy": None if self.mean is None else round(self.mean / 100, 8),
            "std": None if self.std is None else round(self.std / 100, 8),
            "runs": self.runs,
            "expected_runs": self.expected,
            "paper": self.printed.value if self.printed else None,
            "paper_std": self.printed.std if self.printed else None,
            "paper_word": self.printed.word if self.printed else "",
            "difference": None if self.difference is None else round(self.difference, 4),
            "within_one_paper_std": self.within,
            "notes": list(self.notes),
            "settings_from": self.origin,
            "settings": self.run.settings,
            "splits": self.run.splits if self.runs else [],
            "test_accuracy_per_split": self.run.accuracies,
            "key": self.run.key or None,
        }


def on_shared_splits(cells: Iterable[Cell]) -> list[Cell]:
    """The cells that have runs, each on the splits that all of them have: only so do their means say which is best."""
    known = [each for each in cells if each.runs]
    shared = set.intersection(*(set(each.run.splits) for each in known)) if known else set()
    return [each.on_splits(shared) for each in known] if shared else []


def accuracy_table(cells: Iterable[Cell], head: str) -> Table:
    """Rows by columns, best bold and second underlined; a stand-in has no best."""
    cells = list(cells)
    scores: dict[tuple[RowName, str], tuple[Entry, Run]] = {
        ((each.row,), each.column): (each.entry(), each.run) for each in cells
    }
    columns = list(dict.fromkeys(each.column for each in cells))
    return score_table((head,), columns, scores, unranked={each.column for each in cells if each.standin})


def beside_table(cells: Iterable[Cell], heads: tuple[str, str]) -> Table | None:
    """One line for each figure of the paper, with the difference; nothing where the paper has none."""
    lines = [(each.row, each.column, each.entry(), each.beside) for each in cells if each.beside]
    return lines_beside(heads, lines)


def failures(cells: Iterable[Cell]) -> Table | None:
    """The cells that failed, each with its reason."""
    rows = [[each.row, each.column, each.run.message] for each in cells if each.status == "failed"]
    return Table("Failed", ("row", "column", "why"), rows, heads=2, prose=frozenset({2})) if rows else None


def origins(cells: Iterable[Cell]) -> Table:
    """Where the settings of each cell come from, and the artifact that holds its scores."""
    rows = [[each.row, each.column, each.origin, each.run.key or DASH, "; ".join(each.notes)] for each in cells]
    caption = "Settings are in results.json; `cgnn show KEY` tells all about an artifact"
    columns = ("row", "column", "settings", "eval artifact", "notes")
    return Table(caption, columns, rows, heads=2, words=frozenset({2, 3}), prose=frozenset({4}))
