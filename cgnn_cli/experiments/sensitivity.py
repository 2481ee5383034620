"""sensitivity: CGNN's accuracy over the number of layers and the width, each with the other at the paper's value."""

from __future__ import annotations

from collections.abc import Sequence

from cgnn_cli.experiments.cells import DASH, Measured, accuracy_table
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


def best_table(measured: Sequence[Measured]) -> Table:
    """The best value of each option beside the paper's."""
    rows = []
    for option in VARIED:
        there = [each for each in measured if each.row.startswith(option) and each.mean is not None]
        best = max(there, key=lambda each: each.mean or 0.0).row.split()[1] if there else DASH
        first = measured[0]
        printed = find_result("sensitivity", "CGNN", first.column, metric=option) if first.comparable else None
        rows.append([option, best, f"{printed.value:.0f}" if printed and printed.value is not None else DASH])
    return Table("The value with the highest mean test accuracy", ("option", "here", "paper"), rows)


def draw(lab: Lab, dataset: str, measured: Sequence[Measured]) -> list[Picture]:
    """Accuracy over each option."""
    if not can_draw():
        return []
    curves = []
    for option, values in varied(lab).items():
        found = {each.row: each for each in measured}
        there = [(value, found[f"{option} {value}"]) for value in values]
        points = [(float(value), each.mean, each.std or 0.0) for value, each in there if each.mean is not None]
        curves.append(Curve(option, points))
    picture = draw_curves(f"sensitivity-{dataset}", f"Sensitivity of CGNN on {lab.shown(dataset)}", curves)
    return [picture] if picture else []
