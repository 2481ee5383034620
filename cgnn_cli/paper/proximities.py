"""proximity: which function of the commute times, at which scale, makes weights that help?"""

from __future__ import annotations

from typing import Any

from cgnn_cli.paper.cells import Cell, accuracy_table
from cgnn_cli.paper.experiment_table import SMALL
from cgnn_cli.paper.findings import Findings, record_all
from cgnn_cli.paper.lab import Lab
from cgnn_cli.paper.ratios import effective_neighbours, neighbour_table
from cgnn_cli.paper.rows import ROWS

ROW = ROWS["cgnn"]
SCALES = {"exp": ("1", "row-mean", "median"), "inverse": ("1", "2", "4", "8"), "ratio": ("0.1", "0.25", "0.5", "1")}
OPENING = (
    "One model; only the weights change, from all 1 over the paper's to three functions of true commute times. "
    "Effective neighbours say how many of a node's out-neighbours and of its in-neighbours count: near their number "
    "the weights do nothing, near 1 they drop all neighbours but one."
)


def run(lab: Lab) -> Findings:
    """Train with each kind of weights."""
    measured = lab.measure([plan for dataset in lab.datasets(SMALL) for plan in plans(lab, dataset)])
    # Of the weights alone: they may be there where nothing was trained.
    neighbours = [effective_neighbours(lab, each.dataset, each.row, each.run.settings) for each in measured]
    findings = Findings()
    tables = (accuracy_table(measured, "weights"), neighbour_table(lab, neighbours))
    findings.add("Proximity and scale", [OPENING, *tables])
    record_all(findings, measured)
    for record, found in zip(findings.records, neighbours, strict=True):
        record |= {f"effective_neighbours_{side}": found[side] for side in ("out", "in")}
    return findings


def plans(lab: Lab, dataset: str) -> list[Cell]:
    """The model with each kind of weights, by name."""
    weights: dict[str, dict[str, Any]] = {
        "none": {"commute.solver": "pi-only", "commute.proximity": "none"},
        "svd, exp (paper)": {"commute.solver": "svd", "commute.proximity": "exp"},
    }
    for proximity, scales in SCALES.items():
        true = {**lab.true_times(dataset), "commute.proximity": proximity}
        weights |= {f"{proximity} {scale}": {**true, "commute.scale": scale} for scale in scales}
    plain = {path: value for path, value in ROW.on(dataset).settings.items() if not path.startswith("commute.")}
    return [ROW.on(dataset, {**plain, **each}, title=title) for title, each in weights.items()]
