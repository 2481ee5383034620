"""Tables of scores: models by datasets, with mean, deviation and number of runs, the best marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from cgnn_cli.experiments.paper import PaperResult
from cgnn_cli.report.beside import beside_paper
from cgnn_cli.report.labels import Label, row_name
from cgnn_cli.report.runs import Run
from cgnn_cli.report.table import DASH, Entry, Table

MISSING = Entry(DASH, "missing")
RowName = tuple[Entry | str, ...]


@dataclass(frozen=True)
class Cell:
    """One score in per cent. A cell without a mean is one that failed or was not run, and its note says so."""

    mean: float | None
    std: float | None = None
    runs: int = 0
    expected_runs: int | None = None
    paper: PaperResult | None = None
    note: str = ""
    key: str = ""

    @property
    def is_partial(self) -> bool:
        return self.expected_runs is not None and self.runs < self.expected_runs

    def counted(self) -> str:
        """The number of runs, beside the number of splits where some are missing."""
        return f"{self.runs} of {self.expected_runs}" if self.is_partial else str(self.runs)


@dataclass(frozen=True)
class ScoreTable:
    """Cells by row and column; where there is none, the table shows that it is missing.

    Each row is named by as many entries as there are `heads`, like a model and its direction.
    """

    caption: str
    heads: Sequence[str]
    columns: Sequence[str]
    cells: dict[tuple[RowName, str], Cell] = field(default_factory=dict)

    def rows(self) -> list[RowName]:
        return list(dict.fromkeys(row for row, _ in self.cells))

    def to_table(self) -> Table:
        """Best bold and second underlined in each column, among the cells with the most runs of that column."""
        emphasis = {column: self._emphasis(column) for column in self.columns}
        rows = [[*row, *(self._entry(row, column, emphasis[column]) for column in self.columns)] for row in self.rows()]
        return Table(self.caption, [*self.heads, *self.columns], rows, words=frozenset(range(1, len(self.heads))))

    def _entry(self, row: RowName, column: str, emphasis: dict[float, str]) -> Entry:
        cell = self.cells.get((row, column))
        if cell is None:
            return MISSING
        if cell.mean is None:
            return Entry(cell.note or DASH, "missing")
        ranked = cell.runs == self._most_runs(column)
        notes = ", ".join(filter(None, (cell.counted(), cell.note)))
        return Entry(spread(cell.mean, cell.std), emphasis.get(cell.mean, "") if ranked else "", notes)

    def _most_runs(self, column: str) -> int:
        return max((cell.runs for (_, place), cell in self.cells.items() if place == column), default=0)

    def _emphasis(self, column: str) -> dict[float, str]:
        most = self._most_runs(column)
        cells = (cell for (_, place), cell in self.cells.items() if place == column)
        means = sorted({cell.mean for cell in cells if cell.mean is not None and cell.runs == most}, reverse=True)
        return dict(zip(means, ("best", "second"), strict=False)) if len(means) > 1 else {}


def spread(mean: float, std: float | None) -> str:
    """Mean and standard deviation with two decimals."""
    return f"{mean:.2f}" + ("" if std is None else f" ± {std:.2f}")


def score_text(run: Run) -> str:
    """Mean and standard deviation of a run in per cent."""
    return spread(100 * run.mean, None if run.std is None else 100 * run.std)


def cell_of(run: Run) -> Cell:
    """The score of a run."""
    found = beside_paper(run)
    note = "stand-in" if "standin" in run.graph_notes else ""
    paper = found.result if found else None
    std = None if run.std is None else 100 * run.std
    return Cell(100 * run.mean, std, len(run.splits), run.split_count, paper, note, run.key)


def score_table(runs: Sequence[Run], labels: dict[str, Label]) -> ScoreTable:
    """Models by datasets. Of runs that share a cell, the one with the most splits counts, then the newest."""
    shown = shown_runs(runs, labels)
    directions: dict[Label, list[str]] = {}
    for run in shown:
        directions.setdefault(labels[run.key], []).append(run.direction)
    names: dict[Label, RowName] = {
        label: (row_name(label), ", ".join(dict.fromkeys(found))) for label, found in directions.items()
    }
    best = {label: max(run.mean for run in shown if labels[run.key] == label) for label in directions}
    model_best = {label: max(best[other] for other in best if other.model == label.model) for label in best}
    ordered = sorted(
        shown, key=lambda run: (-model_best[labels[run.key]], -best[labels[run.key]], str(labels[run.key]))
    )
    return ScoreTable(
        caption="Test accuracy in %: mean ± population standard deviation over the splits, in brackets their number",
        heads=("model", "direction"),
        columns=list(dict.fromkeys(run.dataset for run in shown)),
        cells={(names[labels[run.key]], run.dataset): cell_of(run) for run in ordered},
    )


def shown_runs(runs: Sequence[Run], labels: dict[str, Label]) -> list[Run]:
    """One run for each cell, in the order of the datasets."""
    chosen: dict[tuple[str, Label], Run] = {}
    for run in runs:
        place = (run.dataset, labels[run.key])
        if place not in chosen or len(run.splits) >= len(chosen[place].splits):
            chosen[place] = run
    return sorted(chosen.values(), key=lambda run: run.dataset)


def paper_table(runs: Sequence[Run], labels: dict[str, Label]) -> Table | None:
    """Runs beside what the paper prints for their model and dataset."""
    rows: list[list[Entry | str]] = []
    for run in runs:
        found = beside_paper(run)
        if found is not None:
            gap = DASH if found.difference is None else f"{found.difference:+.2f}"
            within = {True: "yes", False: "no", None: DASH}[found.within]
            here = Entry(score_text(run), note=cell_of(run).counted())
            notes = "; ".join(filter(None, (found.result.setting, *found.notes)))
            rows.append([row_name(labels[run.key]), run.dataset, here, found.result.text, gap, within, notes])
    columns = ("run", "dataset", "here", "paper", "difference", "within one std", "paper's setting; notes")
    caption = (
        "Beside the paper, in %. Within one std: the difference is at most the standard deviation the paper prints"
    )
    return Table(caption, columns, rows, words=frozenset({1, 5}), prose=frozenset({6})) if rows else None


def score_values(run: Run, label: Label) -> dict[str, Any]:
    """All that is known of a run's score, for other programs. Accuracies are shares, as in the artifacts."""
    found = beside_paper(run)
    return {
        "key": run.key,
        "dataset": run.dataset,
        "model": run.model,
        "setting": label.setting,
        "direction": run.direction,
        "test_accuracy": run.header.summary["test_accuracy"],
        "validation_accuracy": run.header.summary["validation_accuracy"],
        "macro_f1": run.header.summary["macro_f1"],
        "splits": run.splits,
        "test_accuracy_per_split": run.accuracies,
        "splits_of_dataset": run.split_count,
        "partial": run.is_partial,
        "standin": run.graph_notes.get("standin"),
        "seconds": run.seconds,
        "options": run.options,
        "paper": found.to_json() if found else None,
    }
