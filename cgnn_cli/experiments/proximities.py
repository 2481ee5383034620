"""proximity: which function of the commute times, at which scale, makes weights that help?"""

from __future__ import annotations

from typing import Any

from cgnn_cli.experiments.cells import Measured, accuracy_table
from cgnn_cli.experiments.findings import Findings, Planned, measure, planned, record_all
from cgnn_cli.experiments.lab import Lab
from cgnn_cli.experiments.ratios import effective_neighbours, neighbour_table
from cgnn_cli.experiments.rows import ROWS, Chosen
from cgnn_cli.experiments.table import SMALL
from cgnn_cli.experiments.walks import true_times

ROW = ROWS["cgnn"]
SCALES = {
    "exp": ("1", "row-mean", "median"),
    "inverse": ("1", "2", "4", "8"),
    "ratio": ("0.1", "0.25", "0.5", "1"),
}
OPENING = (
    "One model; only the weights change, from all 1 over the paper's to three functions of true commute times. "
    "Effective neighbours say how many of a node's out-neighbours and of its in-neighbours count: near their number "
    "the weights do nothing, near 1 they drop all neighbours but one."
)


def run(lab: Lab) -> Findings:
    """Train with each kind of weights."""
    datasets = lab.datasets(SMALL)
    measured = measure(lab, [plan for dataset in datasets for plan in plans(lab, dataset)])
    neighbours = [_neighbours(lab, each) for each in measured]
    findings = Findings()
    findings.add(
        "Proximity and scale", [OPENING, accuracy_table(measured, "weights"), neighbour_table(lab, neighbours)]
    )
    record_all(findings, measured)
    for record, found in zip(findings.records, neighbours, strict=True):
        record |= {f"effective_neighbours_{side}": found[side] for side in ("out", "in")}
    return findings


def kinds(lab: Lab, dataset: str) -> dict[str, dict[str, Any]]:
    """The weights that are compared, by name."""
    true = true_times(lab, dataset)
    found: dict[str, dict[str, Any]] = {
        "none": {"commute.solver": "pi-only", "commute.proximity": "none"},
        "svd, exp (paper)": {"commute.solver": "svd", "commute.proximity": "exp"},
    }
    for proximity, scales in SCALES.items():
        for scale in scales:
            found[f"{proximity} {scale}"] = {**true, "commute.proximity": proximity, "commute.scale": scale}
    return found


def plans(lab: Lab, dataset: str) -> list[Planned]:
    """The model with each kind of weights."""
    base = ROW.on(dataset)
    plain = {path: value for path, value in base.settings.items() if not path.startswith("commute.")}
    return [
        planned(lab, ROW, dataset, Chosen({**plain, **weights}, base.origin), title=title)
        for title, weights in kinds(lab, dataset).items()
    ]


def _neighbours(lab: Lab, each: Measured) -> dict[str, Any]:
    """Effective neighbours on both sides, of the weights alone: they may be there where nothing was trained."""
    return effective_neighbours(lab, each.column, each.row, each.result.trial.settings)
