"""efficiency: accuracy against running time of every model, with cold seconds."""

from __future__ import annotations

from collections.abc import Sequence

from cgnn_cli.experiments.cells import DASH, Measured
from cgnn_cli.experiments.drawing import can_draw
from cgnn_cli.experiments.findings import Findings, labels_of, measure, planned, record_all, runs_of
from cgnn_cli.experiments.lab import Lab
from cgnn_cli.experiments.paper import NAMES, find_result
from cgnn_cli.experiments.remarks import TIMES
from cgnn_cli.experiments.rows import ROWS
from cgnn_cli.experiments.table import EFFICIENCY
from cgnn_cli.experiments.variants import cold_seconds
from cgnn_cli.report.page import Block, Section
from cgnn_cli.report.style import Picture
from cgnn_cli.report.table import Entry, Table

OWN = {name: name for name in NAMES.values()} | {ROWS["cgnn-paper"].title: "CGNN"}  # the paper's method that a row is
CAPTION = (
    "Cold seconds as recorded when each artifact was made, and test accuracy in %. Place: by seconds, among the "
    "paper's methods; CGNN with the paper's settings has the one it would have as the paper's CGNN"
)
USUAL = [name for name, row in ROWS.items() if row.model != "cgnn" or name in ("cgnn", "cgnn-paper", "cgnn-none")]


def run(lab: Lab) -> Findings:
    """Train all models, and order them by their seconds."""
    datasets = lab.datasets(EFFICIENCY)
    rows = lab.rows(USUAL).values()
    measured = measure(lab, [planned(lab, row, dataset, row.on(dataset)) for dataset in datasets for row in rows])
    findings = Findings()
    parts = []
    for dataset in datasets:
        there = [each for each in measured if each.column == dataset]
        said = f"The paper: {_said(dataset)}." if there[0].comparable else "Not compared with the paper."
        blocks: list[Block] = [said, time_table(there), *draw(lab, dataset, there)]
        parts.append(Section(lab.shown(dataset), blocks))
    findings.add("Accuracy against time", [f"Seconds of one training and all stages before it; {TIMES}."], parts)
    record_all(findings, measured)
    for record, each in zip(findings.records, measured, strict=True):
        record["seconds"] = cold_seconds(each.result)
        record["seconds_before_training"] = each.result.preparation_seconds
    return findings


def _said(dataset: str) -> str:
    printed = find_result("efficiency", "CGNN", dataset, metric="")
    return printed.setting if printed else "nothing about this dataset"


def time_table(measured: Sequence[Measured]) -> Table:
    """Rows from the fastest to the slowest; those without a time last."""
    ordered = sorted(measured, key=lambda each: cold_seconds(each.result) or float("inf"))
    rows: list[list[Entry | str]] = []
    for each in ordered:
        seconds = cold_seconds(each.result)
        if each.mean is None or seconds is None:
            rows.append([each.row, Entry(each.status, "missing", each.result.message), "", "", ""])
        else:
            before = f"{each.result.preparation_seconds:,.2f}"
            rows.append([each.row, place_of(each, measured), f"{seconds:,.2f}", before, each.entry()])
    columns = ("model", "place", "seconds", "before training", "test accuracy")
    return Table(CAPTION, columns, rows)


def place_of(cell: Measured, measured: Sequence[Measured]) -> str:
    """The place by seconds among the paper's methods that have a time; a dash for what the paper has not."""
    own = OWN.get(cell.row)
    if own is None:
        return DASH
    rivals = [each for each in measured if each.row in NAMES.values() and each.row != own]
    times = [seconds for each in rivals if (seconds := cold_seconds(each.result)) is not None]
    faster = sum(seconds < (cold_seconds(cell.result) or 0.0) for seconds in times)
    return f"{faster + 1} of {len(times) + 1}"


def draw(lab: Lab, dataset: str, measured: Sequence[Measured]) -> list[Picture]:
    """Accuracy against seconds as a scatter plot."""
    if not can_draw():
        return []
    from cgnn_cli.report.figures import draw_time

    runs = runs_of(lab, measured)
    picture = draw_time(f"time-{dataset}", lab.shown(dataset), [run for run, _ in runs.values()], labels_of(runs))
    return [picture] if picture else []
