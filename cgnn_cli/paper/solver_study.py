"""solvers: does a classifier gain from truer commute times? Accuracy against the measured error of each solver."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cgnn_cli.paper.cells import DASH, Cell
from cgnn_cli.paper.charts import Point, draw_points
from cgnn_cli.paper.experiment_table import SMALL
from cgnn_cli.paper.findings import Findings, record_all
from cgnn_cli.paper.lab import Lab
from cgnn_cli.paper.rows import ROWS
from cgnn_cli.report.page import Block
from cgnn_cli.report.style import Picture
from cgnn_cli.report.table import Entry, Table, formatted
from cgnn_cli.solver_table import PAPER_RANK

ROW = ROWS["cgnn"]
Errors = dict[tuple[str, str], dict[str, Any] | None]  # by dataset and row
VERIFIED = 64  # edges whose exact times are solved for
PROXIMITY = {"commute.proximity": "inverse", "commute.scale": "4"}
SOLVERS: dict[str, dict[str, Any]] = {
    f"svd, rank {PAPER_RANK}": {"solver": "svd", "rank": PAPER_RANK},
    "svd, rank 50": {"solver": "svd", "rank": 50},
    "series, 2 steps": {"solver": "series", "steps": 2},
    "series, 10 steps": {"solver": "series", "steps": 10},
    "sketch, 64 probes": {"solver": "sketch", "probes": 64},
    "exact": {"solver": "exact"},
    "pi-only": {"solver": "pi-only"},
}
OPENING = (
    "One model and one proximity, inverse with scale 4, whose weights do not depend on the unit of the times; only the "
    "solver changes. The error is measured by exact solves on random edges."
)


def run(lab: Lab) -> Findings:
    """Measure the error of each solver, which is soon done, and train with its times."""
    cells = [cell for dataset in lab.datasets(SMALL) for cell in plans(dataset)]
    # The same commute times with their measured error: artifacts of their own, which no training reads.
    verified = [lab.obtain("commute", cell.dataset, {**cell.settings, "commute.verify": VERIFIED}) for cell in cells]
    errors: Errors = {
        (cell.dataset, cell.row): found.header.summary.get("verify") if found.header else None
        for cell, found in zip(cells, verified, strict=True)
    }
    measured, findings = lab.measure(cells), Findings()

    def blocks(there: list[Cell]) -> list[Block | None]:
        return [table_of(there, errors), draw(lab, there, errors)]

    findings.add_parts(lab, "Solvers", OPENING, measured, blocks)
    record_all(findings, measured)
    for record in findings.records:
        record["verify"] = errors[record["dataset"], record["row"]]
    return findings


def plans(dataset: str) -> list[Cell]:
    """The model with each solver."""
    base = {path: value for path, value in ROW.on(dataset).settings.items() if not path.startswith("commute.")}
    found = []
    for title, options in SOLVERS.items():
        solver = {f"commute.{name}": value for name, value in options.items()}
        found.append(ROW.on(dataset, {**base, **PROXIMITY, **solver}, title=title))
    return found


def table_of(measured: Sequence[Cell], errors: Errors) -> Table:
    rows: list[list[Entry | str]] = []
    for each in measured:
        found, commute = errors[each.dataset, each.row], each.run.headers.get("commute")
        shown = [DASH] * 3
        if found and found["median_relative_error"] is not None:
            shares = (f"{100 * found[name]:.3g} %" for name in ("median_relative_error", "p95_relative_error"))
            shown = [*shares, formatted(found["spearman"], "z.4f")]
        rows.append([each.row, each.entry(), *shown, f"{commute.seconds:,.2f}" if commute else DASH])
    columns = ("solver", "test accuracy", "median error", "95th percentile", "Spearman", "seconds")
    caption = f"Test accuracy in %, error of c on {VERIFIED} edges, and seconds of the commute stage"
    return Table(caption, columns, rows)


def draw(lab: Lab, measured: Sequence[Cell], errors: Errors) -> Picture | None:
    """Accuracy against the error."""
    points, dataset = [], measured[0].dataset
    for each in measured:
        found = errors[dataset, each.row]
        if each.mean is not None and found and found["median_relative_error"] is not None:
            points.append(Point(each.row, found["median_relative_error"], each.mean, each.std or 0.0))
    caption = f"Accuracy on {lab.shown(dataset)} against the median relative error of the commute times"
    title = f"{lab.shown(dataset)}: does accuracy need exact commute times?"
    across = "median relative error of the commute times (left: exact, 1: no times at all)"
    return draw_points(f"solvers-{dataset}", title, caption, points, across)
