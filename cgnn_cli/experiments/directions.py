"""directed-undirected: each model on the graph as it is, and on its symmetrised version, with the same settings."""

from __future__ import annotations

from typing import Any

from cgnn_cli.experiments.cells import accuracy_table, beside_table
from cgnn_cli.experiments.findings import Findings, Planned, measure, planned, record_all
from cgnn_cli.experiments.lab import Lab
from cgnn_cli.experiments.paper import NAMES, find_result
from cgnn_cli.experiments.remarks import BOTH_DIRECTIONS
from cgnn_cli.experiments.rows import ROWS, Chosen, Row
from cgnn_cli.experiments.table import ALL
from cgnn_cli.models.table import MODELS
from cgnn_cli.report.page import Section

VERSIONS = {"directed": False, "undirected": True}
OPENING = (
    "Both versions have the settings of the model on the dataset, but for the graph: symmetrised, every edge goes both "
    "ways. A model whose settings ignore directions takes the first direction that it has on both. Models without "
    "messages are left out."
)


def run(lab: Lab) -> Findings:
    """Train all models on both versions."""
    datasets = lab.datasets(ALL)
    measured = measure(lab, [plan for dataset in datasets for plan in plans(lab, dataset)])
    findings = Findings()
    parts = []
    for dataset in datasets:
        there = [each for each in measured if each.result.trial.dataset == dataset]
        blocks = [accuracy_table(there, "model"), beside_table(there, ("model", "version"))]
        parts.append(Section(lab.shown(dataset), [block for block in blocks if block is not None]))
    findings.add("Both versions of each graph", [OPENING], parts)
    record_all(findings, measured)
    return findings


def plans(lab: Lab, dataset: str) -> list[Planned]:
    """Each model that has messages, on both versions of a dataset."""
    usual = [
        name for name, row in ROWS.items() if MODELS[row.model].operator and (row.model != "cgnn" or name == "cgnn")
    ]
    found = []
    for row in lab.rows(usual).values():
        for version, undirected in VERSIONS.items():
            chosen = on_version(row, dataset, undirected=undirected)
            printed = find_result("directed-undirected", NAMES.get(row.model, row.title), dataset, setting=version)
            notes = BOTH_DIRECTIONS.get(dataset, ())
            found.append(planned(lab, row, dataset, chosen, column=version, printed=printed, notes=notes))
    return found


def on_version(row: Row, dataset: str, *, undirected: bool) -> Chosen:
    """The settings of a row with a direction, on one of the versions."""
    chosen = row.on(dataset)
    own = chosen.settings.get("train.direction", "auto")
    able = [name for name in MODELS[row.model].directions if name != "undirected"]
    directed: dict[str, Any] = {"train.direction": own if own in able else able[0], "graph.undirected": undirected}
    return Chosen({**chosen.settings, **directed}, chosen.origin, chosen.notes)
