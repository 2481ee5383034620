"""What the user sees: data on standard output, everything else on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.table import Column
from rich.table import Table as RichTable
from rich.text import Text

from cgnn_cli.execution.pace import Pace
from cgnn_cli.pipeline import STAGES
from cgnn_cli.printable import printable
from cgnn_cli.redaction import redacted
from cgnn_cli.signals import STOPPER
from cgnn_cli.solver_table import caveat_of
from cgnn_cli.store.artifact import Header

if TYPE_CHECKING:
    from rich.live import Live

    from cgnn_cli.report.table import Table

PLAIN_LINE_SECONDS, DRAWN_SECONDS = 10.0, 0.1  # between two lines, and two drawings of a bar
PIPE_WIDTH, BAR_WIDTH = 120, 24


class PlainConsole(Console):
    """A console to which every string is data: no markup, no emoji codes, nothing that a terminal would obey.

    So a string may stand in any table, title or message; what has a style is made with `styled`.
    """

    def render_str(self, text: str, **look: Any) -> Text:
        return Text(printable(text), **{name: look[name] for name in ("style", "justify", "overflow") if name in look})


def styled(text: str, style: str = "") -> Text:
    """A piece of data in a style."""
    return Text(printable(text), style)


def stderr_console() -> Console:
    """Messages, one line each. NO_COLOR, FORCE_COLOR and TERM=dumb are respected by rich."""
    width = None if sys.stderr.isatty() else PIPE_WIDTH
    return PlainConsole(stderr=True, highlight=False, soft_wrap=True, width=width)


def stdout_console() -> Console:
    """Tables, as wide as the terminal; where there is none, wide enough not to cut them."""
    return PlainConsole(highlight=False, width=None if sys.stdout.isatty() else PIPE_WIDTH)


def figure(name: str, *, no_wrap: bool = False) -> Column:
    """A column of numbers."""
    return Column(name, justify="right", no_wrap=no_wrap)


def make_table(*columns: str | Column, rows: Iterable[Iterable[Any]] = (), **more: Any) -> RichTable:
    """A table with no lines but that under its head."""
    table = RichTable(*columns, box=box.SIMPLE_HEAD, **more)
    for row in rows:
        table.add_row(*row)
    return table


def terminal_table(table: Table) -> Any:
    """A table of a report, for a terminal."""
    columns = [name if table.is_text(place) else figure(name) for place, name in enumerate(table.columns)]
    shown = make_table(*columns, title=table.caption)
    styles = {"best": "bold", "second": "underline", "missing": "dim"}
    for row in table.entries():
        notes = [f" ({entry.note})" if entry.note else "" for entry in row]
        shown.add_row(*(styled(e.text + note, styles.get(e.emphasis, "")) for e, note in zip(row, notes, strict=True)))
    return shown


def verify_line(measured: dict[str, Any]) -> str:
    """What `--verify` found, in a line."""

    def described(figures: dict[str, Any]) -> str:
        median, high = (100 * figures[name] for name in ("median_relative_error", "p95_relative_error"))
        rank = "-" if figures["spearman"] is None else f"{figures['spearman']:z.4f}"
        return f"median {median:.3g} %, 95th percentile {high:.3g} %, Spearman {rank}"

    return (
        f"verify: {measured['edges']} edges, relative error of c: {described(measured)}; "
        f"of h: {described(measured['hitting'])}"
    )


class Talker:
    """Tells the user what happens: stages, notes, warnings, progress. Repeats nothing.

    asked: the options that the user named. screen: where the line of progress is drawn on a terminal, if somebody draws
    there. Nothing is drawn but by calls of this: no thread could draw below an error.
    """

    def __init__(self, *, quiet: bool, asked: Collection[str] = ()) -> None:
        self.console = stderr_console()
        self.quiet, self.asked = quiet, asked
        self.warnings: list[str] = []
        self.stages: list[dict[str, Any]] = []
        self.screen: Callable[[Any], None] | None = None
        self._live: Live | None = None
        self._open = ""  # the line of an artifact that is not done yet
        self._last_line = self._drawn = time.monotonic()
        self._pace = Pace()

    def __enter__(self) -> Talker:
        return self

    def __exit__(self, *error: object) -> None:
        """Leave no bar behind, nor a hidden cursor, however the command ends."""
        self.clear()

    def say(self, message: str) -> None:
        if not self.quiet:
            self.clear()
            self.console.print(message)

    def show(self, table: Any) -> None:
        if not self.quiet:
            self.clear()
            self.console.print(table, soft_wrap=False)

    def warn(self, message: str) -> None:
        if message not in self.warnings:
            self.clear()
            self.warnings.append(message)
            self.console.print(f"warning: {message}", style="yellow")

    def note(self, message: str) -> None:
        """Something that belongs with the result: also in `--json` under warnings."""
        if message not in self.warnings:
            self.warnings.append(message)
            self.say(f"note: {message}")

    def stage_done(self, header: Header, *, hit: bool) -> None:
        cache = "hit" if hit else "miss"
        self.stages.append({"stage": header.stage, "key": header.key, "cache": cache, "seconds": header.seconds})
        split = f" split {header.config['split']}" if header.stage == "fit" else ""
        took = "cached" if hit else f"{header.seconds:.2f} s"
        model = ""  # of a result, with where its messages come from and how they are added
        if STAGES[header.stage].is_result and "direction" in header.summary:
            said = [f"{name} {header.summary[name]}" for name in ("direction", "aggregation") if name in header.summary]
            model = f"  {', '.join([header.summary['model'], *said])}"
        head = _head(header.stage + split, header.key)
        if head == self._open:
            self._open, STOPPER.unended = "", False
            self.console.print(took + model)
        else:
            self.say(head + took + model)
        caveat = caveat_of(str(header.config.get("solver")), header.summary)
        is_known = hit or "commute.rank" in self.asked
        for message in header.summary.get("notes", ()):
            if message != caveat or not is_known:
                self.note(message)
        for message in header.summary.get("warnings", ()):
            self.warn(message)
        if measured := header.summary.get("verify"):
            self.say(verify_line(measured))
        if name := header.summary.get("standin"):
            self.warn(f"made from a stand-in for {name}: figures say nothing about {name} itself")

    @property
    def draws(self) -> bool:
        """Whether lines can be taken back: on a terminal that moves its cursor."""
        return self.console.is_terminal and not self.console.is_dumb_terminal

    def begins(self, what: str, key: str = "", *, passing: bool = False) -> None:
        """Name what is done next, before anything of it: on a terminal until there is more to show, else in a line.

        In a log the line of an artifact, with its key, is ended when it is done, and what is passing has none.
        """
        if self.quiet:
            return
        what = redacted(what)
        if self.draws:
            self._draw(styled(f"{what} ..."))
        elif not passing:
            self.clear()
            self._open = _head(what, key) if key else ""
            STOPPER.unended = bool(key)
            self.console.print(self._open or f"{what} ...", end="" if key else "\n")

    def progress(self, done: int, total: int, message: str) -> None:
        """A bar on a terminal; elsewhere a plain line every ten seconds. Both with the time left."""
        if not STOPPER.holding:  # what is held is asked by whoever saves its state
            STOPPER.hear()
        if self.quiet:
            return
        left = self._pace.time_left(done, total)
        if self.draws:
            if not done or time.monotonic() - self._drawn >= DRAWN_SECONDS:
                self._draw(_bar(done, total, f"{message}  {left}"))
        elif time.monotonic() - self._last_line >= PLAIN_LINE_SECONDS:
            self._last_line = time.monotonic()
            self.clear()
            self.console.print(f"  {done} of {total}  {message}  {left}".rstrip())

    def _draw(self, line: Any) -> None:
        self._drawn = time.monotonic()
        if self.screen is not None:
            self.screen(line)
            return
        if self._live is None:
            from rich.live import Live

            self._live = Live(console=self.console, transient=True, auto_refresh=False)
            self._live.start()
        self._live.update(line, refresh=True)

    def clear(self) -> None:
        """Take the line of progress off the terminal; in a log, end one that is open."""
        live, self._live = self._live, None
        if live is not None:
            live.stop()
        if self._open:
            self._open, STOPPER.unended = "", False
            self.console.print()


def _bar(done: int, total: int, message: str) -> RichTable:
    from rich.progress_bar import ProgressBar

    line = RichTable.grid(Column(width=BAR_WIDTH), Column(no_wrap=True), padding=(0, 1))
    line.add_row(ProgressBar(total, done, BAR_WIDTH), f"{done:>{len(str(total))}}/{total} {message.rstrip()}")
    return line


def _head(title: str, key: str) -> str:
    return f"{title:<13} {key[:12]}  "
