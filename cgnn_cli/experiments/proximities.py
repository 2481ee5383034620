"""proximity: which function of the commute times, at which scale, makes weights that help?"""

from __future__ import annotations

from typing import Any

from cgnn_cli.experiments.cells import DASH, accuracy_table
from cgnn_cli.experiments.findings import Findings, Planned, measure, planned, record_all
from cgnn_cli.experiments.lab import Lab
from cgnn_cli.experiments.rows import ROWS, Chosen
from cgnn_cli.experiments.table import SMALL
from cgnn_cli.experiments.walks import true_times
from cgnn_cli.report.table import Table

ROW = ROWS["cgnn"]
SCALES = {
    "exp": ("1", "row-mean", "median"),
    "inverse": ("1", "2", "4", "8"),
    "ratio": ("0.1", "0.25", "0.5", "1"),
}
OPENING = (
    "One model; only the weights change, from all 1 over the paper's to three functions of true commute times. "
    "Effective neighbours say how many of the neighbours count: near their number the weights do nothing, near 1 "
    "they drop all neighbours but one."
)


def run(lab: Lab) -> Findings:
    """Train with each kind of weights."""
    datasets = lab.datasets(SMALL)
    measured = measure(lab, [plan for dataset in datasets for plan in plans(lab, dataset)])
    effective = {(each.row, each.column): _effective(lab, each.column, each.result.trial.settings) for each in measured}
    columns = list(dict.fromkeys(each.column for each in measured))
    rows = [
        [row, *(_shown(effective.get((row, column))) for column in columns)]
        for row in dict.fromkeys(each.row for each in measured)
    ]
    neighbours = Table(
        "Effective out-neighbours, of all, mean over the nodes", ["weights", *map(lab.shown, columns)], rows
    )
    findings = Findings()
    findings.add("Proximity and scale", [OPENING, accuracy_table(measured, "weights"), neighbours])
    record_all(findings, measured)
    for record in findings.records:
        record["effective_neighbours_out"] = effective[record["row"], record["column"]]
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


def _effective(lab: Lab, dataset: str, settings: dict[str, Any]) -> dict[str, float] | None:
    header = lab.obtain("commute", dataset, settings).header
    return header.summary["effective_neighbours_out"] or None if header else None


def _shown(found: dict[str, float] | None) -> str:
    return f"{found['mean']:.2f} of {found['neighbours']:.2f}" if found else DASH
