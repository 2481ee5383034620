"""Results as cells of tables, each beside the figure that the paper prints."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from cgnn_cli.experiments.paper import PaperResult
from cgnn_cli.report.scores import Cell, RowName, ScoreTable, spread
from cgnn_cli.report.table import Entry, Table
from cgnn_cli.trials import TrialResult

DASH = "\u2013"
WITHIN = {True: "yes", False: "no", None: DASH}
STANDIN = "a stand-in, whose figures say nothing about the dataset: not compared"
QUICK = "quick run: not compared"
ACCURACY = "Test accuracy in %: mean ± population standard deviation over the splits, and in brackets their number"
BESIDE = "Beside the paper, in %. Within one std: the difference is at most the standard deviation the paper prints"


@dataclass(frozen=True)
class Measured:
    """What came of a trial in an experiment, in a row and a column of its table, and what the paper has in its place.

    expected: the number of runs that the protocol asks for. comparable: whether a difference says anything. standin:
    whether the graph is not the dataset.
    """

    row: str
    column: str
    result: TrialResult
    expected: int | None = None
    printed: PaperResult | None = None
    notes: tuple[str, ...] = ()
    comparable: bool = True
    origin: str = ""
    standin: bool = False

    @property
    def mean(self) -> float | None:
        """Test accuracy in %, over the splits."""
        found = self.result.test_accuracy
        return 100 * statistics.fmean(found) if found else None

    @property
    def std(self) -> float | None:
        """The population's standard deviation, in percentage points; a single run has none."""
        found = self.result.test_accuracy
        return 100 * statistics.pstdev(found) if len(found) > 1 else None

    @property
    def runs(self) -> int:
        return len(self.result.test_accuracy)

    @property
    def difference(self) -> float | None:
        """From the paper's figure, in percentage points."""
        known = self.printed is not None and self.printed.value is not None and self.mean is not None
        return self.mean - self.printed.value if known and self.comparable else None  # type: ignore[operator,union-attr]

    @property
    def within(self) -> bool | None:
        """Whether the difference is at most the standard deviation that the paper prints."""
        if self.difference is None or self.printed is None or self.printed.std is None:
            return None
        return abs(self.difference) <= self.printed.std

    @property
    def status(self) -> str:
        """done, partial (fewer runs than the protocol has), failed or not run."""
        if self.mean is None:
            return "failed" if self.result.status == "failed" else "not run"
        return "partial" if self.expected is not None and self.runs < self.expected else "done"

    def on_splits(self, splits: Iterable[int]) -> Measured:
        """The cell as it would be on some of its splits alone."""
        wanted = set(splits)
        known = zip(self.result.splits, self.result.test_accuracy, strict=True) if self.runs else ()
        kept = [(split, accuracy) for split, accuracy in known if split in wanted]
        numbers, accuracies = [split for split, _ in kept], [accuracy for _, accuracy in kept]
        return dataclasses.replace(
            self, result=dataclasses.replace(self.result, splits=numbers, test_accuracy=accuracies)
        )

    def cell(self) -> Cell:
        note = self.status if self.mean is None else "stand-in" if self.standin else ""
        return Cell(self.mean, self.std, self.runs, self.expected, self.printed, note, self.result.keys.get("eval", ""))

    def entry(self) -> Entry:
        """Mean and deviation with the number of runs, for a table where nothing is ranked."""
        cell = self.cell()
        if cell.mean is None:
            return Entry(cell.note, "missing")
        return Entry(spread(cell.mean, cell.std), note=", ".join(filter(None, (cell.counted(), cell.note))))

    def to_json(self) -> dict[str, Any]:
        return {
            "dataset": self.result.trial.dataset,
            "row": self.row,
            "column": self.column,
            "standin": self.standin,
            "status": self.status,
            "message": self.result.message,
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
            "settings": self.result.trial.settings,
            "splits": self.result.splits if self.runs else [],
            "test_accuracy_per_split": self.result.test_accuracy,
            "key": self.result.keys.get("eval"),
        }


def on_shared_splits(measured: Iterable[Measured]) -> list[Measured]:
    """The cells that have runs, each on the splits that all of them have: only so do their means say which is best."""
    known = [each for each in measured if each.runs]
    shared = set.intersection(*(set(each.result.splits) for each in known)) if known else set()
    return [each.on_splits(shared) for each in known] if shared else []


def accuracy_table(measured: Iterable[Measured], head: str, caption: str = ACCURACY) -> Table:
    """Rows by columns, best bold and second underlined; a stand-in has no best."""
    measured = list(measured)
    cells: dict[tuple[RowName, str], Cell] = {((each.row,), each.column): each.cell() for each in measured}
    table = ScoreTable(caption, (head,), list(dict.fromkeys(column for _, column in cells)), cells).to_table()
    standins = {each.column for each in measured if each.standin}
    rows = [
        [_unranked(entry) if column in standins else entry for column, entry in zip(table.columns, row, strict=True)]
        for row in table.entries()
    ]
    return dataclasses.replace(table, rows=rows)


def _unranked(entry: Entry) -> Entry:
    return dataclasses.replace(entry, emphasis="") if entry.emphasis in ("best", "second") else entry


def beside_table(measured: Iterable[Measured], heads: tuple[str, str], caption: str = BESIDE) -> Table | None:
    """One line for each figure of the paper, with the difference; nothing where the paper has none."""
    rows: list[Sequence[Entry | str]] = []
    for each in measured:
        if each.printed is None:
            continue
        gap = DASH if each.difference is None else f"{each.difference:+.2f}"
        paper, within = each.printed.text or DASH, WITHIN[each.within]
        rows.append([each.row, each.column, each.entry(), paper, gap, within, "; ".join(each.notes)])
    columns = (*heads, "here", "paper", "difference", "within one std", "notes")
    return Table(caption, columns, rows, heads=2, words=frozenset({5}), prose=frozenset({6})) if rows else None


def failures(measured: Iterable[Measured]) -> Table | None:
    """The cells that failed, each with its reason."""
    rows = [[each.row, each.column, each.result.message] for each in measured if each.status == "failed"]
    return Table("Failed", ("row", "column", "why"), rows, heads=2, prose=frozenset({2})) if rows else None


def origins(measured: Iterable[Measured]) -> Table:
    """Where the settings of each cell come from, and the artifact that holds its scores."""
    rows = [
        [each.row, each.column, each.origin, each.result.keys.get("eval", DASH), "; ".join(each.notes)]
        for each in measured
    ]
    caption = "Settings are in results.json; `cgnn show KEY` tells all about an artifact"
    columns = ("row", "column", "settings", "eval artifact", "notes")
    return Table(caption, columns, rows, heads=2, words=frozenset({2, 3}), prose=frozenset({4}))
