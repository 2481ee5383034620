"""sensitivity: CGNN's accuracy over the number of layers and the width, each with the other at the paper's value."""

from __future__ import annotations

from collections.abc import Sequence

from cgnn_cli.paper.cells import DASH, Cell, accuracy_table, on_shared_splits
from cgnn_cli.paper.charts import Curve, draw_curves
from cgnn_cli.paper.experiment_table import SENSITIVITY
from cgnn_cli.paper.findings import Findings, record_all
from cgnn_cli.paper.lab import QUICK, Lab
from cgnn_cli.paper.printed import find_result
from cgnn_cli.paper.rows import ROWS
from cgnn_cli.report.page import Block
from cgnn_cli.report.style import Picture
from cgnn_cli.report.table import Table

ROW = ROWS["cgnn-paper"]
VARIED: dict[str, tuple[int, ...]] = {"layers": (1, 2, 3, 4, 5), "hidden": (32, 64, 128, 256, 512)}
QUICK_VARIED: dict[str, tuple[int, ...]] = {"layers": (1, 2), "hidden": (8, QUICK["train.hidden"])}
SHARED = "splits that all trained values of an option share"


def run(lab: Lab) -> Findings:
    """Train CGNN along both lines."""
    measured = lab.measure([plan for dataset in lab.datasets(SENSITIVITY) for plan in plans(lab, dataset)])
    findings = Findings()

    def blocks(there: list[Cell]) -> list[Block | None]:
        return [accuracy_table(there, "varied"), best_table(there), draw(lab, there)]

    findings.add_parts(lab, "Layers and width", "All other settings are the paper's for the dataset.", measured, blocks)
    record_all(findings, measured)
    return findings


def plans(lab: Lab, dataset: str) -> list[Cell]:
    """One training for each value of each option."""
    base = ROW.on(dataset).settings
    options = (QUICK_VARIED if lab.request.quick else VARIED).items()
    varied = [(option, value) for option, values in options for value in values]
    return [ROW.on(dataset, {**base, f"train.{name}": value}, title=f"{name} {value}") for name, value in varied]


def lines(measured: Sequence[Cell]) -> dict[str, list[Cell]]:
    """The cells of each option that have runs, on the splits that these share."""
    return {option: on_shared_splits(each for each in measured if each.row.startswith(option)) for option in VARIED}


def counted(found: dict[str, list[Cell]]) -> str:
    """How many splits the cells of each option share."""
    return ", ".join(f"{option}: {cells[0].runs}" for option, cells in found.items() if cells) or "none yet"


def best_table(measured: Sequence[Cell]) -> Table:
    """The best value of each option, over the splits that all its values have, beside the paper's."""
    rows, found, first = [], lines(measured), measured[0]
    for option, there in found.items():
        best = max(there, key=lambda each: each.mean or 0.0).row.split()[1] if there else DASH
        printed = find_result("sensitivity", "CGNN", first.column, metric=option) if first.comparable else None
        rows.append([option, best, f"{printed.value:.0f}" if printed and printed.value is not None else DASH])
    caption = f"The value with the highest mean test accuracy over the {SHARED} ({counted(found)})"
    return Table(caption, ("option", "here", "paper"), rows)


def draw(lab: Lab, measured: Sequence[Cell]) -> Picture | None:
    """Accuracy over each option."""
    found, dataset = lines(measured), measured[0].dataset
    curves = [
        Curve(option, [(float(each.row.split()[1]), each.mean or 0.0, each.std or 0.0) for each in cells])
        for option, cells in found.items()
    ]
    caption = f"Sensitivity of CGNN on {lab.shown(dataset)}: mean and deviation over the {SHARED} ({counted(found)})"
    title = f"{lab.shown(dataset)}: accuracy of CGNN by layers and by width"
    return draw_curves(f"sensitivity-{dataset}", title, caption, curves)
