"""table1: every model on every dataset, beside the better of the paper's directed and undirected figures."""

from __future__ import annotations

from collections.abc import Sequence

from cgnn_cli.paper.cells import Cell, accuracy_table, beside_table
from cgnn_cli.paper.experiment_table import ALL
from cgnn_cli.paper.findings import Findings, labels_of, record_all, runs_of
from cgnn_cli.paper.lab import Lab
from cgnn_cli.paper.printed import NAMES, find_result
from cgnn_cli.paper.rows import ROWS
from cgnn_cli.report.beside import PaperResult
from cgnn_cli.report.score_figures import draw_scores
from cgnn_cli.report.style import Picture, can_draw


def run(lab: Lab) -> Findings:
    """Train all rows on all datasets."""
    measured = lab.measure(plans(lab))
    findings = Findings()
    opening = (
        "Each model has the settings that a bounded search found for it on validation accuracy, where there are any."
    )
    findings.add("Accuracy", [opening, accuracy_table(measured, "model")])
    findings.add("Beside the paper", [beside_table(measured, ("model", "dataset"))])
    findings.add("Figures", draw(lab, measured))
    record_all(findings, measured)
    return findings


def plans(lab: Lab) -> list[Cell]:
    """All rows on each dataset, the datasets in the paper's order."""
    found = []
    for dataset in lab.datasets(ALL):
        for row in lab.rows(ROWS).values():
            printed = find_result("table1", NAMES.get(row.model, ""), dataset)
            found.append(row.on(dataset, printed=printed))
    return found


def draw(lab: Lab, measured: Sequence[Cell]) -> list[Picture | None]:
    """The scores of each dataset as a dot plot."""
    pictures = []
    for dataset in dict.fromkeys(each.column for each in measured if can_draw()):
        runs = runs_of(lab, [each for each in measured if each.column == dataset])
        shown = [run for run, _ in runs.values()]
        printed = {key: found for key, (_, cells) in runs.items() if (found := printed_for(cells))}
        pictures.append(draw_scores(f"scores-{dataset}", lab.shown(dataset), shown, labels_of(runs), printed))
    return pictures


def printed_for(cells: Sequence[Cell]) -> PaperResult | None:
    """The paper's figure that the table has beside the rows of a run, where these can be compared with it."""
    return next((each.printed for each in cells if each.printed is not None and each.comparable), None)
