"""weights: do commute weights help? CGNN against the same network without weights and with those of pi alone."""

from __future__ import annotations

from typing import Any

from cgnn_cli.experiments.cells import Measured, accuracy_table
from cgnn_cli.experiments.findings import Findings, Planned, labels_of, measure, planned, record_all, runs_of
from cgnn_cli.experiments.lab import Lab
from cgnn_cli.experiments.table import SMALL
from cgnn_cli.report.comparisons import Comparison, comparison_table
from cgnn_cli.report.labels import Label
from cgnn_cli.report.page import Block, Section
from cgnn_cli.report.paired import holm, paired_difference
from cgnn_cli.report.runs import Run

FORMS = ("cgnn", "cgnn-paper", "cgnn-extended")
CONTROLS = ("none", "pi")
OPENING = (
    "Each pair has the same settings, splits and seeds, but for the weights, so that they are compared split by split. "
    "Gains are those of the commute weights: above 0 they help. p values are corrected for all of a dataset."
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
        comparisons = compare(lab, there)
        labels = labels_of(runs_of(lab, there.values()))
        blocks: list[Block] = (
            [comparison_table(comparisons, labels)] if comparisons else ["Nothing can be compared yet."]
        )
        parts.append(Section(lab.shown(dataset), blocks))
        findings.records += [_record(dataset, each, labels) for each in comparisons]
    findings.sections.insert(1, Section("Weights against no weights", [OPENING], parts))
    return findings


def compare(lab: Lab, measured: dict[str, Measured]) -> list[Comparison]:
    """Each form against each of its controls, where both were done on the same splits, at least two.

    Controls that are one and the same run are compared once: Holm's correction is for different hypotheses.
    """
    runs = lab.runs([each.result for each in measured.values()])
    pairs: dict[tuple[str, str], tuple[Run, Run]] = {}
    for form in FORMS:
        for control in CONTROLS:
            names = [measured[name].result.trial.name for name in (form, f"{form}-{control}") if name in measured]
            if len(names) == 2 and all(name in runs for name in names):
                first, second = (runs[name] for name in names)
                if first.splits == second.splits and len(first.splits) > 1 and first.key != second.key:
                    pairs[first.key, second.key] = (first, second)
    found = [paired_difference(first.accuracies, second.accuracies) for first, second in pairs.values()]
    corrected = holm([paired.t_test for paired in found])
    return [Comparison(*pair, paired, p) for pair, paired, p in zip(pairs.values(), found, corrected, strict=True)]


def _record(dataset: str, each: Comparison, labels: dict[str, Label]) -> dict[str, Any]:
    titles = {"row": str(labels[each.first.key]), "against": str(labels[each.second.key])}
    return {**each.to_json(), "dataset": dataset, **titles, "column": "comparison", "status": "done"}
