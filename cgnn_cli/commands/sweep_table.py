"""What a sweep shows: a live table on a terminal, a line a configuration elsewhere."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table

from cgnn_cli.commands.console import Talker, figure, make_table
from cgnn_cli.report.table import score_text
from cgnn_cli.store.artifact import Header
from cgnn_cli.workspace import best_first

if TYPE_CHECKING:
    from rich.live import Live

    from cgnn_cli.execution.results import Run

SHOWN_ROWS = 15


def validation_text(result: Run) -> str:
    """Mean and standard deviation of the validation score in per cent; a single split has no deviation."""
    return score_text(result.validation, result.validation_deviation if len(result.splits) > 1 else None)


def sweep_table(results: list[Run], title: str) -> Table:
    """The configurations with their validation scores, the best first."""
    figures = (figure(name, no_wrap=True) for name in ("validation", "splits", "epochs", "seconds"))
    table = make_table("configuration", *figures, "status", title=title, pad_edge=False)
    for result in best_first(results):
        count = len(result.splits)
        cells = ["", str(count), "", ""]
        if count:
            epochs, seconds = sum(result.epochs) / count, sum(result.fit_seconds) / count
            cells = [validation_text(result), str(count), f"{epochs:.0f}", f"{seconds:.2f}"]
        status = result.status if result.status != "failed" else f"failed: {result.message}"
        table.add_row(result.name, *cells, status)
    return table


class Board:
    """Hears what happens in a sweep, and shows it."""

    def __init__(self, talker: Talker, title: str, total: int) -> None:
        self.talker, self.title, self.total = talker, title, total
        self.results: list[Run] = []
        self.computed = False
        self._status = ""
        self._live: Live | None = None
        self._shown = 0.0

    def __enter__(self) -> Board:
        if self.talker.console.is_terminal and not self.talker.quiet:
            from rich.live import Live

            self._live = Live(console=self.talker.console, transient=True, auto_refresh=False)
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def stage_done(self, header: Header, *, hit: bool) -> None:
        """Stages are told once, when they are computed; trainings are told with their configuration."""
        self.computed |= not hit
        if header.stage != "fit" and not hit:
            self.talker.stage_done(header, hit=hit)

    def progress(self, done: int, total: int, message: str) -> None:
        if self._live is None:
            self.talker.progress(done, total, message)
        elif time.monotonic() - self._shown > 0.25:
            self._status = f"{done} of {total}  {message}"
            self._refresh()

    def finished(self, result: Run) -> None:
        """A configuration is done or has failed."""
        self.results.append(result)
        if self._live is not None:
            self._refresh()
            return
        outcome = f"validation {validation_text(result)}" if result.status == "done" else f"failed: {result.message}"
        self.talker.say(f"{len(self.results)} of {self.total}  {result.name}  {outcome}")

    def _refresh(self) -> None:
        assert self._live is not None
        self._shown = time.monotonic()
        best = best_first(self.results)[:SHOWN_ROWS]
        self._live.update(Group(sweep_table(best, self.title), self._status), refresh=True)
