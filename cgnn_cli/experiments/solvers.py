"""solvers: does a classifier gain from truer commute times? Accuracy against the measured error of each solver."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cgnn_cli.experiments.cells import DASH, Measured
from cgnn_cli.experiments.drawing import Point, can_draw, draw_points
from cgnn_cli.experiments.findings import Findings, Planned, measure, planned, record_all
from cgnn_cli.experiments.lab import Lab, Obtained
from cgnn_cli.experiments.rows import ROWS, Chosen
from cgnn_cli.experiments.table import SMALL
from cgnn_cli.report.page import Section
from cgnn_cli.report.style import Picture
from cgnn_cli.report.table import Entry, Table
from cgnn_cli.trials import Trial

ROW = ROWS["cgnn"]
VERIFIED = 64  # edges whose exact times are solved for
PROXIMITY = {"commute.proximity": "inverse", "commute.scale": "4"}
SOLVERS: dict[str, dict[str, Any]] = {
    "svd, rank 5": {"solver": "svd", "rank": 5},
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
    datasets = lab.datasets(SMALL)
    wanted = {dataset: plans(lab, dataset) for dataset in datasets}
    errors = {dataset: {plan.row: _verified(lab, plan.trial) for plan in rows} for dataset, rows in wanted.items()}
    measured = measure(lab, [plan for rows in wanted.values() for plan in rows])
    findings, parts = Findings(), []
    record_all(findings, measured)
    for dataset, checked in errors.items():
        there = [each for each in measured if each.column == dataset]
        parts.append(Section(lab.shown(dataset), [table_of(lab, there, checked), *draw(lab, dataset, there, checked)]))
        for record in findings.records:
            if record.get("dataset") == dataset:
                record["verify"] = _figures(checked[record["row"]])
    findings.sections.insert(0, Section("Solvers", [OPENING], parts))
    return findings


def plans(lab: Lab, dataset: str) -> list[Planned]:
    """The model with each solver."""
    base = ROW.on(dataset)
    found = []
    for title, options in SOLVERS.items():
        chosen = Chosen({**_without_solver(base.settings), **_settings(options)}, base.origin)
        found.append(planned(lab, ROW, dataset, chosen, title=title))
    return found


def _settings(options: dict[str, Any]) -> dict[str, Any]:
    return {**PROXIMITY, **{f"commute.{name}": value for name, value in options.items()}}


def _without_solver(settings: dict[str, Any]) -> dict[str, Any]:
    return {path: value for path, value in settings.items() if not path.startswith("commute.")}


def _verified(lab: Lab, trial: Trial) -> Obtained:
    """The same commute times with their measured error: an artifact of its own, which no training reads."""
    return lab.obtain("commute", trial.dataset, {**trial.settings, "commute.verify": VERIFIED})


def _figures(obtained: Obtained) -> dict[str, Any] | None:
    return obtained.header.summary.get("verify") if obtained.header else None


def table_of(lab: Lab, measured: Sequence[Measured], checked: dict[str, Obtained]) -> Table:
    rows: list[list[Entry | str]] = []
    for each in measured:
        found = _figures(checked[each.row])
        seconds = _seconds(lab, each)
        rows.append([each.row, each.entry(), *_errors(found), DASH if seconds is None else f"{seconds:,.2f}"])
    columns = ("solver", "test accuracy", "median error", "95th percentile", "Spearman", "seconds")
    caption = f"Test accuracy in %, error of c on {VERIFIED} edges, and seconds of the commute stage"
    return Table(caption, columns, rows)


def _errors(found: dict[str, Any] | None) -> list[str]:
    if not found or found["median_relative_error"] is None:
        return [DASH] * 3
    rank = found["spearman"]
    errors = (f"{100 * found[name]:.3g} %" for name in ("median_relative_error", "p95_relative_error"))
    return [*errors, DASH if rank is None else f"{rank:.4f}"]


def _seconds(lab: Lab, each: Measured) -> float | None:
    """Cold seconds of the commute stage without the verification."""
    if each.result.status == "failed":
        return None
    header = lab.store.find("commute", lab.step("commute", each.column, each.result.trial.settings).key)
    return header.seconds if header else None


def draw(lab: Lab, dataset: str, measured: Sequence[Measured], checked: dict[str, Obtained]) -> list[Picture]:
    """Accuracy against the error."""
    if not can_draw():
        return []
    points = []
    for each in measured:
        found = _figures(checked[each.row])
        if each.mean is not None and found and found["median_relative_error"] is not None:
            points.append(Point(each.row, found["median_relative_error"], each.mean, each.std or 0.0))
    caption = f"Accuracy on {lab.shown(dataset)} against the median relative error of the commute times"
    picture = draw_points(f"solvers-{dataset}", caption, points, "median relative error of c")
    return [picture] if picture else []
