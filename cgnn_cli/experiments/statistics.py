"""datasets: the figures of each graph beside those that the paper prints."""

from __future__ import annotations

from typing import Any

from cgnn_cli.experiments.cells import DASH, STANDIN
from cgnn_cli.experiments.findings import Findings, source_of
from cgnn_cli.experiments.lab import Lab
from cgnn_cli.experiments.paper import find_result
from cgnn_cli.experiments.remarks import STATISTICS
from cgnn_cli.experiments.table import ALL
from cgnn_cli.report.table import Entry, Table

PRINTED = ("nodes", "edges", "features", "classes", "homophily")
OWN = ("clean_edges", "self_loops", "reciprocity", "components", "largest_component", "sinks", "sources", "isolated")
HEADINGS = {"clean_edges": "edges without self-loops", "largest_component": "largest component"}


def run(lab: Lab) -> Findings:
    """Load each graph and count."""
    from cgnn_cli.datasets.statistics import graph_statistics

    findings = Findings()
    figures = {}
    for dataset in lab.datasets(ALL):
        obtained = lab.obtain("graph", dataset)
        found = graph_statistics(obtained.data) if obtained.data is not None else None
        findings.records += records(dataset, found, source_of(lab, dataset, obtained))
        if found is not None:
            figures[lab.shown(dataset)] = found
    findings.add("Beside the paper", [beside(lab, findings.records)])
    findings.add("More about the graphs", [own_table(figures)] if figures else [])
    findings.add_missing()
    findings.add_artifacts(lab)
    return findings


def records(dataset: str, found: dict[str, Any] | None, source: dict[str, Any]) -> list[dict[str, Any]]:
    """One record for each figure that the paper prints."""
    rows = []
    for metric in PRINTED:
        printed = find_result("datasets", "", dataset, metric=metric)
        here = found[metric] if found is not None else None
        notes = [STANDIN] if source["standin"] else list(STATISTICS.get((dataset, metric), ()))
        row: dict[str, Any] = {"dataset": dataset, "metric": metric, "here": here}
        row["paper"] = printed.value if printed else None
        row["agrees"] = None if source["standin"] else _agrees(here, row["paper"])
        rows.append(row | source | {"notes": notes})
    return rows


def _agrees(here: float | None, paper: float | None) -> bool | None:
    """Whether a figure is the paper's, as far as that is printed: homophily has two decimals."""
    return None if here is None or paper is None else round(here, 2) == round(paper, 2)


def beside(lab: Lab, records: list[dict[str, Any]]) -> Table:
    said = {True: "yes", False: "no", None: DASH}
    rows = [
        [
            lab.shown(row["dataset"]),
            row["metric"],
            _number(row["here"]) if row["here"] is not None else Entry(row["status"], "missing"),
            _number(row["paper"], decimals=2),
            said[row["agrees"]],
            "; ".join(row["notes"]),
        ]
        for row in records
    ]
    columns = ("dataset", "figure", "here", "paper", "the same", "notes")
    caption = "Figures of the graphs; an edge counts once, self-loops included"
    return Table(caption, columns, rows, heads=2, words=frozenset({4}), prose=frozenset({5}))


def own_table(figures: dict[str, dict[str, Any]]) -> Table:
    columns = ["dataset", *(HEADINGS.get(name, name.replace("_", " ")) for name in OWN)]
    rows = [[dataset, *(_number(found[name]) for name in OWN)] for dataset, found in figures.items()]
    return Table("What the paper does not print: ways back, dead ends and lone nodes", columns, rows)


def _number(value: float | None, decimals: int = 3) -> str:
    if value is None:
        return DASH
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:.{decimals}f}"
