"""table1: every model on every dataset, beside the better of the paper's directed and undirected figures."""

from __future__ import annotations

from collections.abc import Sequence

from cgnn_cli.experiments.cells import Measured, accuracy_table, beside_table
from cgnn_cli.experiments.drawing import can_draw
from cgnn_cli.experiments.findings import Findings, Planned, labels_of, measure, planned, record_all, runs_of
from cgnn_cli.experiments.lab import Lab
from cgnn_cli.experiments.paper import NAMES, PaperResult, find_result
from cgnn_cli.experiments.rows import ROWS
from cgnn_cli.experiments.table import ALL
from cgnn_cli.report.style import Picture

OWN = ("cgnn", "cgnn-paper")  # the rows that the paper's CGNN stands beside; it has no controls and no extension


def run(lab: Lab) -> Findings:
    """Train all rows on all datasets."""
    measured = measure(lab, plans(lab))
    findings = Findings()
    opening = (
        "Each model has the settings that a bounded search found for it on validation accuracy, where there are any."
    )
    findings.add("Accuracy", [opening, accuracy_table(measured, "model")])
    findings.add("Beside the paper", [beside_table(measured, ("model", "dataset"))])
    if pictures := draw(lab, measured):
        findings.add("Figures", pictures)
    record_all(findings, measured)
    return findings


def plans(lab: Lab) -> list[Planned]:
    """All rows on each dataset, the datasets in the paper's order."""
    found = []
    for dataset in lab.datasets(ALL):
        for name, row in lab.rows(ROWS).items():
            printed = find_result("table1", NAMES[row.model], dataset) if _is_printed(name) else None
            found.append(planned(lab, row, dataset, row.on(dataset), printed=printed))
    return found


def _is_printed(name: str) -> bool:
    row = ROWS[name]
    return row.model in NAMES and (row.model != "cgnn" or name in OWN)


def draw(lab: Lab, measured: Sequence[Measured]) -> list[Picture]:
    """The scores of each dataset as a dot plot."""
    if not can_draw():
        return []
    from cgnn_cli.report.figures import draw_scores

    pictures = []
    for dataset in dict.fromkeys(each.column for each in measured):
        runs = runs_of(lab, [each for each in measured if each.column == dataset])
        shown = [run for run, _ in runs.values()]
        printed = {key: found for key, (_, cells) in runs.items() if (found := printed_for(cells))}
        pictures.append(draw_scores(f"scores-{dataset}", lab.shown(dataset), shown, labels_of(runs), printed))
    return [picture for picture in pictures if picture is not None]


def printed_for(cells: Sequence[Measured]) -> PaperResult | None:
    """The paper's figure that the table has beside the rows of a run, where these can be compared with it."""
    return next((each.printed for each in cells if each.printed is not None and each.comparable), None)
