"""rewiring-commute and rewiring-density: what rewirings change in the commute times, and in the number of edges."""

from __future__ import annotations

from typing import Any

import numpy as np

from cgnn_cli.numerics.verify import spearman
from cgnn_cli.paper.cells import STANDIN
from cgnn_cli.paper.experiment_table import ALL, REWIRING, SMALL
from cgnn_cli.paper.findings import Findings, source_of
from cgnn_cli.paper.lab import Lab
from cgnn_cli.paper.printed import find_result
from cgnn_cli.paper.remarks import DENSITY
from cgnn_cli.report.table import Entry, Table, formatted
from cgnn_cli.solver_table import PAPER_RANK

SCORES = {"commute.solver": "svd", "commute.rank": PAPER_RANK}
WALKS: dict[str, dict[str, Any]] = {
    "path": {"rewire.method": "path"},
    "teleport 0.9": {"rewire.method": "teleport", "rewire.gamma": 0.9},
    "teleport 0.99": {"rewire.method": "teleport", "rewire.gamma": 0.99},
    "escape": {"rewire.method": "escape"},
}
ORDER = (
    "What each rewiring leaves of true commute times. Spearman: the rank correlation with c of the walk on the largest "
    "strongly connected component as it is, over the original edges inside; the largest c is over all edges, and "
    "entries added are those of the graph that is walked, without self-loops. 1/pi beyond 1e9: edges with an end that "
    "the walk visits less than once in 1e9 steps, which bounds c from below."
)
DELTA = (
    "delta = |c_before - c_after| / |c_before| over the original edges inside the largest strongly connected "
    "component, each c divided by its mean; before: the walk on that component as it is, after: on the rewired "
    "graph. The paper does not say how it compares the two."
)


def run_commute(lab: Lab) -> Findings:
    """delta of true times, and of the paper's truncated scores."""
    findings = Findings()
    for dataset in lab.datasets(REWIRING):
        for kind, times in (("true times", lab.true_times(dataset)), (f"svd, rank {PAPER_RANK}", SCORES)):
            findings.records.append(_commute_record(lab, dataset, kind, times))
    columns = ("dataset", "times", "delta", "paper's delta", "difference", "edges", "of all", "notes")
    forms = {"here": ".5f", "paper": ".5f", "difference": "+z.5f", "edges": ",d", "all_edges": ",d"}
    rows = [[lab.shown(row["dataset"]), row["times"], *_shown(row, forms)] for row in findings.records]
    table = Table("Change of commute times by rewiring", columns, rows, heads=2, prose=frozenset({7}))
    findings.add("Commute times before and after", [DELTA, table])
    findings.add("Three rewirings", [ORDER, _walks_table(lab, findings)])
    findings.add_sources(lab)
    return findings


def _walks_table(lab: Lab, findings: Findings) -> Table:
    """Path, teleport and escape side by side; adds a record for each."""
    rows = []
    for dataset in lab.datasets((*SMALL, *(name for name in REWIRING if name not in SMALL))):
        for name, walk in WALKS.items():
            rows.append(_walk_record(lab, dataset, name, walk))
    findings.records += rows
    columns = ("dataset", "rewiring", "Spearman", "largest c", "1/pi beyond 1e9", "entries added", "edges", "of all")
    forms = {"here": ".3f", "largest": ".2g", "beyond": ".1%", "added": ".1%", "edges": ",d", "all_edges": ",d"}
    shown = [[lab.shown(row["dataset"]), row["rewiring"], *_figures(row, forms)] for row in rows]
    return Table("Orders and sizes of commute times by rewiring", columns, shown, heads=2)


def _walk_record(lab: Lab, dataset: str, name: str, walk: dict[str, Any]) -> dict[str, Any]:
    settings = {**lab.true_times(dataset), "commute.proximity": "none"}
    before = lab.obtain("commute", dataset, {**settings, "rewire.method": "none"})
    rewired = lab.obtain("rewire", dataset, walk)
    after = lab.obtain("commute", dataset, {**settings, **walk})
    figures: dict[str, Any] = dict.fromkeys(("here", "largest", "beyond", "added", "edges", "all_edges"))
    if rewired.header is not None:
        figures["added"] = rewired.header.summary["density_change"]
    if after.header is not None:
        figures |= {"largest": float(after.data.commute.max()), "beyond": after.header.summary.get("share_beyond_1e9")}
        figures["all_edges"] = len(after.data.commute)
    if before.data is not None and after.data is not None:
        known = np.isfinite(before.data.commute)
        figures |= {"here": spearman(before.data.commute[known], after.data.commute[known]), "edges": int(known.sum())}
    return {"dataset": dataset, "rewiring": name, **figures} | source_of(lab, dataset, before, rewired, after)


def _commute_record(lab: Lab, dataset: str, kind: str, times: dict[str, Any]) -> dict[str, Any]:
    before = lab.obtain("commute", dataset, {**times, "rewire.method": "none"})
    after = lab.obtain("commute", dataset, {**times, "rewire.method": "path"})
    row: dict[str, Any] = {"dataset": dataset, "times": kind, "here": None, "edges": None, "all_edges": None}
    if before.data is not None and after.data is not None:
        row["here"] = relative_change(before.data.commute, after.data.commute)
        row["edges"], row["all_edges"] = int(np.isfinite(before.data.commute).sum()), len(before.data.commute)
    return (
        row | _beside(lab, "rewiring-commute", dataset, "delta", row["here"]) | source_of(lab, dataset, before, after)
    )


def relative_change(before: np.ndarray, after: np.ndarray) -> float:
    """|a - b| / |a| of the two, each divided by its mean, where there is a value before."""
    known = np.isfinite(before)
    first, second = before[known] / before[known].mean(), after[known] / after[known].mean()
    return float(np.linalg.norm(first - second) / np.linalg.norm(first))


def run_density(lab: Lab) -> Findings:
    """The relative increase of the edges by rewiring, without and with self-loops."""
    findings = Findings()
    for dataset in lab.datasets(ALL):
        obtained = lab.obtain("rewire", dataset, WALKS["path"])
        summary = obtained.header.summary if obtained.header else {}
        here = summary.get("density_change")
        row: dict[str, Any] = {"dataset": dataset, "here": here, "added_edges": summary.get("added_edges")}
        row["with_self_loops"] = summary.get("density_change_with_self_loops")
        row |= _beside(lab, "rewiring-density", dataset, "relative increase", here) | source_of(lab, dataset, obtained)
        findings.records.append(row | {"notes": [*row["notes"], *DENSITY.get(dataset, ())]})
    columns = ("dataset", "new edges", "increase", "with self-loops", "paper's increase", "difference", "notes")
    forms = {"added_edges": ",d", "here": ".1%", "with_self_loops": ".1%", "paper": ".1%", "difference": "+z.1%"}
    rows = [[lab.shown(row["dataset"]), *_shown(row, forms)] for row in findings.records]
    findings.add("Edges before and after", [Table("New edges by rewiring", columns, rows, prose=frozenset({6}))])
    findings.add_sources(lab)
    return findings


def _beside(lab: Lab, experiment: str, dataset: str, metric: str, here: float | None) -> dict[str, Any]:
    """The paper's figure, the difference, and what to say about it."""
    printed = find_result(experiment, "", dataset, metric=metric)
    paper, standin = printed.value if printed else None, lab.is_standin(dataset)
    return {
        "paper": paper,
        "difference": None if here is None or paper is None or standin else here - paper,
        "notes": [STANDIN] if standin else [],
    }


def _shown(row: dict[str, Any], forms: dict[str, str]) -> list[Entry | str]:
    """Figures of a record in their formats, or why there is none here; and the notes."""
    return [*_figures(row, forms), "; ".join(row["notes"])]


def _figures(row: dict[str, Any], forms: dict[str, str]) -> list[Entry | str]:
    shown: dict[str, Entry | str] = {name: formatted(row[name], form) for name, form in forms.items()}
    if row["here"] is None:
        shown["here"] = Entry(row["status"], "missing")
    return list(shown.values())
