"""datasets: the figures of each graph beside those that the paper prints."""

from __future__ import annotations

from typing import Any

from cgnn_cli.paper.cells import DASH, STANDIN
from cgnn_cli.paper.experiment_table import ALL
from cgnn_cli.paper.findings import Findings, source_of
from cgnn_cli.paper.lab import Lab
from cgnn_cli.paper.printed import find_result
from cgnn_cli.paper.remarks import STATISTICS
from cgnn_cli.report.table import Entry, Table

PRINTED = ("nodes", "edges", "features", "classes", "homophily")
OWN = ("clean_edges", "self_loops", "reciprocity", "components", "largest_component", "sinks", "sources", "isolated")
HEADINGS = {"clean_edges": "edges without self-loops", "largest_component": "largest component"}


def run(lab: Lab) -> Findings:
    """Load each graph and count."""
    from cgnn_cli.datasets.graph_statistics import graph_statistics

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
    findings.add_sources(lab)
    return findings


def records(dataset: str, found: dict[str, Any] | None, source: dict[str, Any]) -> list[dict[str, Any]]:
    """One record for each figure that the paper prints."""
    rows = []
    for metric in PRINTED:
        printed = find_result("datasets", "", dataset, metric=metric)
        here = found[metric] if found is not None else None
        notes = [STANDIN] if source["standin"] else list(STATISTICS.get((dataset, metric), ()))
        paper = printed.value if printed else None
        known = not (here is None or paper is None or source["standin"])
        agrees = f"{here:.2f}" == f"{paper:.2f}" if known else None  # homophily is printed with two decimals
        figures = {"dataset": dataset, "metric": metric, "here": here, "paper": paper, "agrees": agrees}
        rows.append(figures | source | {"notes": notes})
    return rows


def beside(lab: Lab, records: list[dict[str, Any]]) -> Table:
    said = {True: "yes", False: "no", None: DASH}
    rows: list[list[Entry | str]] = []
    for row in records:
        here = _number(row["here"]) if row["here"] is not None else Entry(row["status"], "missing")
        compared = (here, _number(row["paper"], decimals=2), said[row["agrees"]], "; ".join(row["notes"]))
        rows.append([lab.shown(row["dataset"]), row["metric"], *compared])
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
