"""A run beside the figure that the paper prints for it. Which figure that is, a report is told (paper/matching.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from cgnn_cli.execution.results import Run
from cgnn_cli.printable import signed_text
from cgnn_cli.report.table import DASH, Entry, Table, score_text

CAPTION = "Beside the paper, in %. Within one std: the difference is at most the standard deviation the paper prints"


@dataclass(frozen=True)
class PaperResult:
    """One printed figure. `value` is None where a word stands in its place, like OOM (out of memory), or nothing."""

    experiment: str
    model: str
    dataset: str
    setting: str
    metric: str
    value: float | None
    std: float | None
    word: str

    @property
    def text(self) -> str:
        """The figure as the paper prints it."""
        if self.value is None:
            return self.word
        return score_text(self.value, self.std, unit=1)


@dataclass(frozen=True)
class Beside:
    """A mean accuracy and the paper's figure, both in per cent, with notes on what differs.

    comparable: whether a difference says anything; without it none is told.
    """

    mean: float | None
    result: PaperResult
    notes: tuple[str, ...] = ()
    comparable: bool = True

    @property
    def difference(self) -> float | None:
        """From the paper's figure, in percentage points."""
        if self.mean is None or self.result.value is None or not self.comparable:
            return None
        return self.mean - self.result.value

    @property
    def within(self) -> bool | None:
        """Whether the difference is at most the standard deviation that the paper prints."""
        if self.difference is None or self.result.std is None:
            return None
        return abs(self.difference) <= self.result.std

    def to_json(self) -> dict[str, Any]:
        return {
            "experiment": self.result.experiment,
            "setting": self.result.setting,
            "value": self.result.value,
            "std": self.result.std,
            "word": self.result.word,
            "difference": self.difference,
            "within_one_paper_std": self.within,
            "notes": list(self.notes),
        }


Match = Callable[[Run], Beside | None]  # what the paper has beside a run, if anything


def lines_beside(
    heads: tuple[str, str], lines: Iterable[tuple[Entry | str, str, Entry, Beside]], notes: str = "notes"
) -> Table | None:
    """One line for each figure of the paper: two names, the score here and the figure; nothing where there is none."""
    rows: list[Sequence[Entry | str]] = []
    for first, second, here, beside in lines:
        gap = DASH if beside.difference is None else signed_text(beside.difference)
        within = {True: "yes", False: "no", None: DASH}[beside.within]
        rows.append([first, second, here, beside.result.text or DASH, gap, within, "; ".join(beside.notes)])
    columns = (*heads, "here", "paper", "difference", "within one std", notes)
    return Table(CAPTION, columns, rows, heads=2, words=frozenset({5}), prose=frozenset({6})) if rows else None
