"""sensitivity: CGNN's accuracy over the number of layers and the width, each with the other at the paper's value."""

from __future__ import annotations

from collections.abc import Sequence

from cgnn_cli.experiments.cells import DASH, Measured, accuracy_table, on_shared_splits
from cgnn_cli.experiments.drawing import Curve, can_draw, draw_curves
from cgnn_cli.experiments.findings import Findings, Planned, measure, planned, record_all
from cgnn_cli.experiments.lab import QUICK, Lab
from cgnn_cli.experiments.paper import find_result
from cgnn_cli.experiments.rows import ROWS, Chosen
from cgnn_cli.experiments.table import SENSITIVITY
from cgnn_cli.report.page import Block, Section
from cgnn_cli.report.style import Picture
from cgnn_cli.report.table import Table

ROW = ROWS["cgnn-paper"]
VARIED: dict[str, tuple[int, ...]] = {"layers": (1, 2, 3, 4, 5), "hidden": (32, 64, 128, 256, 512)}
QUICK_VARIED: dict[str, tuple[int, ...]] = {"layers": (1, 2), "hidden": (8, QUICK["train.hidden"])}
SHARED = "splits that all trained values of an option share"


def run(lab: Lab) -> Findings:
    """Train CGNN along both lines."""
    datasets = lab.datasets(SENSITIVITY)
    measured = measure(lab, [plan for dataset in datasets for plan in plans(lab, dataset)])
    findings = Findings()
    parts = []
    for dataset in datasets:
        there = [each for each in measured if each.column == dataset]
        blocks: list[Block] = [accuracy_table(there, "varied"), best_table(there), *draw(lab, dataset, there)]
        parts.append(Section(lab.shown(dataset), blocks))
    findings.add("Layers and width", ["All other settings are the paper's for the dataset."], parts)
    record_all(findings, measured)
    return findings


def varied(lab: Lab) -> dict[str, tuple[int, ...]]:
    return QUICK_VARIED if lab.asked.quick else VARIED


def plans(lab: Lab, dataset: str) -> list[Planned]:
    """One trial for each value of each option."""
    base = ROW.on(dataset)
    found = []
    for option, values in varied(lab).items():
        for value in values:
            chosen = Chosen({**base.settings, f"train.{option}": value}, base.origin)
            found.append(planned(lab, ROW, dataset, chosen, title=f"{option} {value}"))
    return found


def lines(measured: Sequence[Measured]) -> dict[str, list[Measured]]:
    """The cells of each option that have runs, on the splits that these share."""
    return {option: on_shared_splits(each for each in measured if each.row.startswith(option)) for option in VARIED}


def counted(found: dict[str, list[Measured]]) -> str:
    """How many splits the cells of each option share."""
    return ", ".join(f"{option}: {cells[0].runs}" for option, cells in found.items() if cells) or "none yet"


def best_table(measured: Sequence[Measured]) -> Table:
    """The best value of each option, over the splits that all its values have, beside the paper's."""
    rows, found, first = [], lines(measured), measured[0]
    for option, there in found.items():
        best = max(there, key=lambda each: each.mean or 0.0).row.split()[1] if there else DASH
        printed = find_result("sensitivity", "CGNN", first.column, metric=option) if first.comparable else None
        rows.append([option, best, f"{printed.value:.0f}" if printed and printed.value is not None else DASH])
    caption = f"The value with the highest mean test accuracy over the {SHARED} ({counted(found)})"
    return Table(caption, ("option", "here", "paper"), rows)


def draw(lab: Lab, dataset: str, measured: Sequence[Measured]) -> list[Picture]:
    """Accuracy over each option."""
    if not can_draw():
        return []
    found = lines(measured)
    curves = [Curve(option, [_point(each) for each in cells]) for option, cells in found.items()]
    caption = f"Sensitivity of CGNN on {lab.shown(dataset)}: mean and deviation over the {SHARED} ({counted(found)})"
    picture = draw_curves(f"sensitivity-{dataset}", caption, curves)
    return [picture] if picture else []


def _point(each: Measured) -> tuple[float, float, float]:
    return float(each.row.split()[1]), each.mean or 0.0, each.std or 0.0
