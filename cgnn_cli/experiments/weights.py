"""weights: do commute weights help? CGNN against the same network without weights and with those of pi alone."""

from __future__ import annotations

from cgnn_cli.experiments.cells import Measured, accuracy_table
from cgnn_cli.experiments.findings import Findings, Planned, measure, planned, record_all
from cgnn_cli.experiments.lab import Lab
from cgnn_cli.experiments.pairs import Pair, compare_cells
from cgnn_cli.experiments.table import SMALL
from cgnn_cli.report.page import Section

FORMS = ("cgnn", "cgnn-paper", "cgnn-extended")
CONTROLS = ("none", "pi")
OPENING = (
    "Each pair has the same settings and seeds, but for the weights, and is compared split by split, over the splits "
    "that both have. Gains are those of the commute weights: above 0 they help. p values are corrected for all of a "
    "dataset."
)


def run(lab: Lab) -> Findings:
    """Train three forms of CGNN with their weights and with both controls, and compare."""
    names = [row for form in FORMS for row in (form, *(f"{form}-{control}" for control in CONTROLS))]
    rows = lab.rows(names)
    datasets = lab.datasets(SMALL)
    plans: dict[tuple[str, str], Planned] = {
        (dataset, name): planned(lab, row, dataset, row.on(dataset))
        for dataset in datasets
        for name, row in rows.items()
    }
    measured = dict(zip(plans, measure(lab, list(plans.values())), strict=True))
    findings = Findings()
    findings.add("Accuracy", [accuracy_table(measured.values(), "model")])
    record_all(findings, list(measured.values()))
    parts = []
    for dataset in datasets:
        there = {name: each for (place, name), each in measured.items() if place == dataset}
        compared = compare_cells(lab, pairs_of(there))
        parts.append(Section(lab.shown(dataset), compared.blocks() or ["There is no pair of rows to compare."]))
        findings.records += compared.records()
    findings.sections.insert(1, Section("Weights against no weights", [OPENING], parts))
    return findings


def pairs_of(measured: dict[str, Measured]) -> list[Pair]:
    """Each form with each of its controls, of the rows that were asked for."""
    names = [(form, f"{form}-{control}") for form in FORMS for control in CONTROLS]
    return [(measured[form], measured[control]) for form, control in names if {form, control} <= measured.keys()]
