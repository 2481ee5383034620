"""directed-undirected: each model on the graph as it is, and on its symmetrised version, with the same settings."""

from __future__ import annotations

from typing import Any

from cgnn_cli.models.model_table import MODELS
from cgnn_cli.paper.cells import Cell, accuracy_table, beside_table
from cgnn_cli.paper.experiment_table import ALL
from cgnn_cli.paper.findings import Findings, record_all
from cgnn_cli.paper.lab import Lab
from cgnn_cli.paper.printed import NAMES, find_result
from cgnn_cli.paper.remarks import BOTH_DIRECTIONS
from cgnn_cli.paper.rows import ROWS, Row
from cgnn_cli.report.page import Block

VERSIONS = {"directed": False, "undirected": True}
OPENING = (
    "Both versions have the settings of the model on the dataset, but for the graph: symmetrised, every edge goes both "
    "ways. A model whose settings ignore directions takes the first direction that it has on both. Models without "
    "messages are left out."
)


def run(lab: Lab) -> Findings:
    """Train all models on both versions."""
    measured = lab.measure([plan for dataset in lab.datasets(ALL) for plan in plans(lab, dataset)])
    findings = Findings()

    def blocks(there: list[Cell]) -> list[Block | None]:
        return [accuracy_table(there, "model"), beside_table(there, ("model", "version"))]

    findings.add_parts(lab, "Both versions of each graph", OPENING, measured, blocks)
    record_all(findings, measured)
    return findings


def plans(lab: Lab, dataset: str) -> list[Cell]:
    """Each model that has messages, on both versions of a dataset."""
    usual = [
        name for name, row in ROWS.items() if MODELS[row.model].operator and (row.model != "cgnn" or name == "cgnn")
    ]
    found = []
    for row in lab.rows(usual).values():
        for version, undirected in VERSIONS.items():
            settings = on_version(row, dataset, undirected=undirected)
            printed = find_result("directed-undirected", NAMES.get(row.model, row.title), dataset, setting=version)
            notes = BOTH_DIRECTIONS.get(dataset, ())
            found.append(row.on(dataset, settings, column=version, printed=printed, notes=notes))
    return found


def on_version(row: Row, dataset: str, *, undirected: bool) -> dict[str, Any]:
    """The settings of a row with a direction, on one of the versions."""
    settings = row.on(dataset).settings
    own = settings.get("train.direction", "auto")
    able = [name for name in MODELS[row.model].directions if name != "undirected"]
    directed: dict[str, Any] = {"train.direction": own if own in able else able[0], "graph.undirected": undirected}
    return {**settings, **directed}
