"""label-similarity: how near plain edges and commute weights are to knowing which neighbours share a label."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from cgnn_cli.graph import CommuteTimes, Graph
from cgnn_cli.numerics.csr import row_of_entries
from cgnn_cli.paper.cells import DASH
from cgnn_cli.paper.charts import draw_bars
from cgnn_cli.paper.experiment_table import SMALL
from cgnn_cli.paper.findings import Findings, source_of
from cgnn_cli.paper.lab import Lab
from cgnn_cli.report.style import Picture
from cgnn_cli.report.table import Entry, Table, formatted

FIGURES = ("adjacency", "weights", "adjacency_scaled", "weights_scaled")
DEFINITION = (
    "M_ij = 1 if i -> j or j -> i and the labels agree. The paper compares the squared distances |M - (A + A^T)|^2 and "
    "|M - (C_in + C_out)|^2, in a figure without numbers. A common factor below 1 alone can bring the second nearer, "
    "whatever the weights know, so the distances of the best multiple of each stand beside: only these compare what "
    "the weights know."
)


def weights_of(lab: Lab, dataset: str) -> dict[str, dict[str, Any]]:
    """The paper's weights, and those of true times."""
    true = lab.true_times(dataset)
    return {
        "svd, exp (paper)": {"commute.solver": "svd", "commute.proximity": "exp"},
        "true times, inverse 4": {**true, "commute.proximity": "inverse", "commute.scale": "4"},
        "true times, ratio 0.5": {**true, "commute.proximity": "ratio", "commute.scale": "0.5"},
        "pi-only, inverse 4": {"commute.solver": "pi-only", "commute.proximity": "inverse", "commute.scale": "4"},
    }


def run(lab: Lab) -> Findings:
    """Measure the distances for several kinds of weights."""
    findings = Findings()
    for dataset in lab.datasets(SMALL):
        for kind, settings in weights_of(lab, dataset).items():
            findings.records.append(_record(lab, dataset, kind, settings))
    columns = ("dataset", "weights", "A + A^T", "C_in + C_out", "A + A^T, scaled", "C_in + C_out, scaled", "gain")
    rows = [[lab.shown(row["dataset"]), row["weights_kind"], *_shown(row)] for row in findings.records]
    said = "Squared distances to the label-similarity matrix"
    caption = f"{said}; gain: how much nearer the weights are, at the best scales"
    table = Table(caption, columns, rows, heads=2)
    findings.add("Distances to the labels", [DEFINITION, table, draw(lab, findings.records)])
    findings.add_sources(lab)
    return findings


def _record(lab: Lab, dataset: str, kind: str, settings: dict[str, Any]) -> dict[str, Any]:
    times = lab.obtain("commute", dataset, settings)
    graph = lab.obtain("graph", dataset)
    known = times.data is not None and graph.data is not None
    found = label_similarity(graph.data, times.data) if known else None
    row: dict[str, Any] = {"dataset": dataset, "weights_kind": kind}
    row |= {name: found[name] if found else None for name in FIGURES}
    gain = 1 - found["weights_scaled"] / found["adjacency_scaled"] if found and found["adjacency_scaled"] else None
    return row | {"gain": gain} | source_of(lab, dataset, times, graph)


def label_similarity(graph: Graph, times: CommuteTimes) -> dict[str, float] | None:
    """Squared Frobenius distances of the label-similarity matrix M to A + A^T and to C_in + C_out.

    M_ij = 1 if i -> j or j -> i and the labels agree, over pairs of labelled nodes. Smaller numbers alone bring a
    matrix nearer to M, so the distances of the best multiple of each are there too: only these compare what weights
    know.
    """
    if graph.labels is None:
        return None
    known = graph.labels >= 0
    shape, ends = graph.adjacency.shape, (times.source, times.target)
    links, weights = (
        csr_array(csr_array((out, ends), shape=shape) + csr_array((into, ends), shape=shape).T)
        for out, into in (2 * (np.ones(len(times.source)),), (times.weight_out, times.weight_in))
    )
    first, second = row_of_entries(links), links.indices
    counted = known[first] & known[second]
    if not counted.any():
        return None
    agree = (graph.labels[first] == graph.labels[second])[counted].astype(np.float64)
    links_here = links.data[counted]
    weights_here = np.asarray(weights[first, second]).ravel()[counted]
    return {
        "adjacency": float(np.square(agree - links_here).sum()),
        "weights": float(np.square(agree - weights_here).sum()),
        "adjacency_scaled": _nearest_multiple(agree, links_here),
        "weights_scaled": _nearest_multiple(agree, weights_here),
    }


def _nearest_multiple(goal: np.ndarray, values: np.ndarray) -> float:
    """The least squared distance of the goal to a multiple of the values."""
    length = values @ values
    factor = (goal @ values) / length if length else 0.0
    return float(np.square(goal - factor * values).sum())


def _shown(row: dict[str, Any]) -> list[Entry | str]:
    if row["weights"] is None:
        return [Entry(row["status"], "missing"), *[DASH] * len(FIGURES)]
    return [*(f"{row[name]:,.0f}" for name in FIGURES), formatted(row["gain"], "+z.1%")]


def draw(lab: Lab, records: list[dict[str, Any]]) -> Picture | None:
    """The distances of the weights as shares of those of the plain edges: as the paper compares them, and scaled."""
    panels: dict[str, dict[str, dict[str, float]]] = {}
    for title, end in (("weights as they are", ""), ("weights times the factor that fits best", "_scaled")):
        panels[title] = {}
        for row in records:
            here, standard = row[f"weights{end}"], row[f"adjacency{end}"]
            if here is not None and standard:
                panels[title].setdefault(row["weights_kind"], {})[lab.shown(row["dataset"])] = here / standard
    caption = "Squared distance of the weights to the labels, as a share of the plain edges': below 1 they are nearer"
    title = "How far the weights are from the labels of the neighbours: below 1 they are nearer than plain edges"
    return draw_bars("label-similarity", title, caption, panels, "squared distance\n(plain edges = 1)")
