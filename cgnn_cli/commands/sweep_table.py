"""What a sweep shows: a live table on a terminal, a line a configuration elsewhere."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING

from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from cgnn_cli.commands.console import Talker
from cgnn_cli.store.artifact import Header

if TYPE_CHECKING:
    from rich.live import Live

    from cgnn_cli.trials import TrialResult

SHOWN_ROWS = 15


def sorted_results(results: list[TrialResult]) -> list[TrialResult]:
    """The finished ones by validation accuracy, the first of equals first; then those that failed, then the rest."""
    order = {"done": 0, "failed": 1, "not run": 2}
    return sorted(results, key=lambda result: (order[result.status], -result.mean_validation_accuracy))


def accuracy_text(result: TrialResult) -> str:
    """Mean and standard deviation of the validation accuracy in per cent; a single split has no deviation."""
    mean = f"{100 * result.mean_validation_accuracy:.2f}"
    return f"{mean} ± {100 * result.validation_deviation:.2f}" if len(result.splits) > 1 else mean


def sweep_table(results: list[TrialResult], title: str) -> Table:
    """The configurations with their validation accuracy, the best first."""
    table = Table(title=title, box=box.SIMPLE_HEAD)
    table.pad_edge = False
    table.add_column("configuration")
    for name in ("validation", "splits", "epochs", "seconds"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("status")
    for result in sorted_results(results):
        count = len(result.splits)
        figures = ["", str(count), "", ""]
        if count:
            epochs, seconds = sum(result.epochs) / count, sum(result.seconds) / count
            figures = [accuracy_text(result), str(count), f"{epochs:.0f}", f"{seconds:.2f}"]
        status = result.status if result.status != "failed" else f"failed: {result.message}"
        table.add_row(result.trial.name, *figures, status)
    return table


class Board:
    """Hears what happens in a sweep, and shows it."""

    def __init__(self, talker: Talker, title: str, total: int) -> None:
        self.talker, self.title, self.total = talker, title, total
        self.results: list[TrialResult] = []
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

    def note(self, message: str) -> None:
        self.talker.note(message)

    def warn(self, message: str) -> None:
        self.talker.warn(message)

    def finished(self, result: TrialResult) -> None:
        """A configuration is done or has failed."""
        self.results.append(result)
        if self._live is not None:
            self._refresh()
            return
        outcome = f"validation {accuracy_text(result)}" if result.status == "done" else f"failed: {result.message}"
        self.talker.say(f"{len(self.results)} of {self.total}  {result.trial.name}  {outcome}")

    def _refresh(self) -> None:
        assert self._live is not None
        self._shown = time.monotonic()
        best = sorted_results(self.results)[:SHOWN_ROWS]
        self._live.update(Group(sweep_table(best, self.title), Text(self._status)), refresh=True)
