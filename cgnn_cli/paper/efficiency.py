"""efficiency: accuracy against running time of every model, with cold seconds."""

from __future__ import annotations

from collections.abc import Sequence

from cgnn_cli.paper.cells import DASH, Cell
from cgnn_cli.paper.experiment_table import EFFICIENCY
from cgnn_cli.paper.findings import Findings, labels_of, record_all, runs_of
from cgnn_cli.paper.lab import Lab
from cgnn_cli.paper.printed import NAMES, find_result
from cgnn_cli.paper.remarks import TIMES
from cgnn_cli.paper.rows import ROWS
from cgnn_cli.report.page import Block
from cgnn_cli.report.score_figures import draw_time
from cgnn_cli.report.style import Picture, can_draw
from cgnn_cli.report.table import Entry, Table

OWN = {name: name for name in NAMES.values()} | {ROWS["cgnn-paper"].title: "CGNN"}  # the paper's method that a row is
CAPTION = (
    "Cold seconds as recorded when each artifact was made, and test accuracy in %. Place: by seconds, among the "
    "paper's methods; CGNN with the paper's settings has the one it would have as the paper's CGNN"
)
USUAL = [name for name, row in ROWS.items() if row.model != "cgnn" or name in ("cgnn", "cgnn-paper", "cgnn-none")]


def run(lab: Lab) -> Findings:
    """Train all models, and order them by their seconds."""
    datasets, rows = lab.datasets(EFFICIENCY), lab.rows(USUAL).values()
    measured = lab.measure([row.on(dataset) for dataset in datasets for row in rows])
    findings = Findings()

    def blocks(there: list[Cell]) -> list[Block | None]:
        printed = find_result("efficiency", "CGNN", there[0].dataset, metric="")
        said = f"The paper: {printed.setting if printed else 'nothing about this dataset'}."
        return [said if there[0].comparable else "Not compared with the paper.", time_table(there), draw(lab, there)]

    opening = f"Seconds of one training and all stages before it; {TIMES}."
    findings.add_parts(lab, "Accuracy against time", opening, measured, blocks)
    record_all(findings, measured)
    for record, each in zip(findings.records, measured, strict=True):
        record["seconds"] = each.run.seconds
        record["seconds_before_training"] = each.run.seconds_before
    return findings


def time_table(measured: Sequence[Cell]) -> Table:
    """Rows from the fastest to the slowest; those without a time last."""
    ordered = sorted(measured, key=lambda each: each.run.seconds or float("inf"))
    rows: list[list[Entry | str]] = []
    for each in ordered:
        seconds = each.run.seconds
        if each.mean is None or seconds is None:
            rows.append([each.row, Entry(each.status, "missing", each.run.message), "", "", ""])
        else:
            before = f"{each.run.seconds_before:,.2f}"
            rows.append([each.row, place_of(each, measured), f"{seconds:,.2f}", before, each.entry()])
    columns = ("model", "place", "seconds", "before training", "test accuracy")
    return Table(CAPTION, columns, rows)


def place_of(cell: Cell, measured: Sequence[Cell]) -> str:
    """The place by seconds among the paper's methods that have a time; a dash for what the paper has not."""
    own = OWN.get(cell.row)
    if own is None:
        return DASH
    rivals = [each for each in measured if each.row in NAMES.values() and each.row != own]
    times = [seconds for each in rivals if (seconds := each.run.seconds) is not None]
    faster = sum(seconds < (cell.run.seconds or 0.0) for seconds in times)
    return f"{faster + 1} of {len(times) + 1}"


def draw(lab: Lab, measured: Sequence[Cell]) -> Picture | None:
    """Accuracy against seconds as a scatter plot."""
    dataset, runs = measured[0].dataset, runs_of(lab, measured)
    shown = [run for run, _ in runs.values()] if can_draw() else []
    return draw_time(f"time-{dataset}", lab.shown(dataset), shown, labels_of(runs))
