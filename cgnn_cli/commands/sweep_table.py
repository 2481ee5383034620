"""What a sweep shows: a live table on a terminal, a line a configuration elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, pstdev
from types import TracebackType
from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.table import Table

from cgnn_cli.commands.console import Talker, figure, make_table
from cgnn_cli.pipeline import role_name
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


def validation_values(run: Run) -> dict[str, Any]:
    """Accuracy on the validation nodes for `--json`, and what configurations are compared by if not that."""
    values = {"validation_accuracy": run.validation_accuracies}
    if run.metric != "accuracy":
        values["validation_score"] = run.validation_scores
    told = {name: {"mean": fmean(found), "std": pstdev(found), "runs": len(found)} for name, found in values.items()}
    return told | ({} if run.metric == "accuracy" else {"metric": run.metric})


def configuration_values(run: Run) -> dict[str, Any]:
    """What `--json` says of a configuration."""
    return {
        "name": run.name,
        "settings": run.settings,
        "status": run.status,
        "message": run.message,
        "splits": run.splits,
        **(validation_values(run) if run.splits else {"validation_accuracy": None}),
        "validation_accuracy_per_split": run.validation_accuracies,
        "epochs": run.epochs,
        "seconds": run.fit_seconds,
        "keys": {"train": run.checkpoint} | {role_name("fit", split): fit.key for split, fit in run.fits.items()},
    }


def sweep_table(results: Sequence[Run], title: str, settled: Sequence[float] = ()) -> Table:
    """The configurations with their validation scores, in the order given; in a tune also what it settles at."""
    figures = (figure(name, no_wrap=True) for name in ("validation", "splits", "epochs", "seconds"))
    columns = (*([figure("settled", no_wrap=True)] if settled else []), *figures)
    table = make_table("configuration", *columns, "status", title=title, pad_edge=False)
    for place, result in enumerate(results):
        count = len(result.splits)
        cells = ["", str(count), "", ""]
        if count:
            epochs, seconds = sum(result.epochs) / count, sum(result.fit_seconds) / count
            cells = [validation_text(result), str(count), f"{epochs:.0f}", f"{seconds:.2f}"]
        status = result.status if result.status != "failed" else f"failed: {result.message}"
        ranked_by = [f"{100 * settled[place]:.2f}" if settled[place] else ""] if settled else []
        table.add_row(result.name, *ranked_by, *cells, status)
    return table


class Board:
    """Hears what happens in a sweep, and shows it. `total`: the number of its configurations, where it is known."""

    def __init__(self, talker: Talker, title: str, total: int | None = None) -> None:
        self.talker, self.title, self.total = talker, title, total
        self.results: list[Run] = []
        self.computed = False
        self._status: Any = ""
        self._live: Live | None = None
        self._begun: set[str] = set()

    def __enter__(self) -> Board:
        if self.talker.draws and not self.talker.quiet:
            from rich.live import Live

            self.talker.clear()
            self._live = Live(console=self.talker.console, transient=True, auto_refresh=False)
            self._live.start()
            self.talker.screen = self._show
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.talker.screen = None
        if self._live is not None:
            self._live.stop()

    def stage_done(self, header: Header, *, hit: bool) -> None:
        """Stages are told once, when they are computed; trainings are told with their configuration."""
        self.computed |= not hit
        if header.stage != "fit" and not hit:
            self.talker.stage_done(header, hit=hit)

    def begins(self, what: str, key: str = "", *, passing: bool = False) -> None:
        """In a log, only the first of a kind: what follows is told when it is done."""
        kind = what.split(maxsplit=1)[0]
        self.talker.begins(what, key, passing=passing or kind in self._begun)
        self._begun.add(kind)

    def progress(self, done: int, total: int, message: str) -> None:
        self.talker.progress(done, total, message)

    def finished(self, result: Run) -> None:
        """A configuration is done or has failed; one that goes on to more splits is so again."""
        self.results += [] if result in self.results else [result]
        if self._live is not None:
            self._refresh()
            return
        outcome = f"validation {validation_text(result)}" if result.status == "done" else f"failed: {result.message}"
        place = f"{len(self.results)} of {self.total}  " if self.total is not None else ""
        over = "" if self.total is not None else f"  splits {len(result.splits)}"
        self.talker.say(f"{place}{result.name}  {outcome}{over}")

    def _show(self, status: Any) -> None:
        self._status = status
        self._refresh()

    def _refresh(self) -> None:
        assert self._live is not None
        best = best_first(self.results)[:SHOWN_ROWS]
        self._live.update(Group(sweep_table(best, self.title), self._status), refresh=True)
