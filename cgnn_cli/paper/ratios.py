"""ratios: what commute times say beyond popularity, and how many neighbours the weights leave, on each dataset."""

from __future__ import annotations

from typing import Any

import numpy as np

from cgnn_cli.graph import CommuteTimes, Dilap
from cgnn_cli.numerics.verify import spearman
from cgnn_cli.paper.cells import DASH
from cgnn_cli.paper.charts import Curve, draw_shares
from cgnn_cli.paper.experiment_table import SMALL
from cgnn_cli.paper.findings import Findings, source_of
from cgnn_cli.paper.lab import Lab
from cgnn_cli.paper.label_distances import weights_of
from cgnn_cli.report.style import Picture
from cgnn_cli.report.table import Entry, Table, formatted

Ratio = tuple[np.ndarray, float | None]
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
RATIO = (
    "r = c / (1/pi_i + 1/pi_j) on every edge, from true times. Where r is nearly the same on all edges, commute times "
    "order the neighbours as their popularity does."
)


def run(lab: Lab) -> Findings:
    """The distribution of the ratio, and effective neighbours for several kinds of weights."""
    findings = Findings()
    datasets = lab.datasets(SMALL)
    found = {dataset: ratios_of(lab, dataset) for dataset in datasets}
    spread_rows: list[list[Entry | str]] = []
    for dataset, ratio in found.items():
        row = _ratio_record(dataset, *ratio)
        findings.records.append(row)
        shown: list[Entry | str] = [f"{value:.3f}" for value in row["quantiles"]] or [Entry(row["status"], "missing")]
        rank = formatted(row["spearman_with_pi"], "z.4f")
        spread_rows.append([lab.shown(dataset), *shown, *[DASH] * (len(QUANTILES) - len(shown)), rank])
    columns = ("dataset", *(f"{level:.0%}" for level in QUANTILES), "Spearman of c with 1/pi_i + 1/pi_j")
    table = Table("Quantiles of the ratio over the edges", columns, spread_rows)
    picture = draw(lab, {dataset: ratio for dataset, (ratio, _) in found.items() if ratio})
    findings.add("The ratio", [RATIO, table, picture])
    neighbours = [
        effective_neighbours(lab, dataset, kind, settings)
        for dataset in datasets
        for kind, settings in weights_of(lab, dataset).items()
    ]
    findings.records += neighbours
    findings.add("Effective neighbours", [neighbour_table(lab, neighbours)])
    findings.add_sources(lab)
    return findings


def ratios_of(lab: Lab, dataset: str) -> tuple[Ratio | None, dict[str, Any]]:
    """The ratio of each edge that has one, with the rank correlation of c with its base; and where they come from."""
    settings = {**lab.true_times(dataset), "commute.proximity": "ratio", "commute.scale": "0.5"}
    times = lab.obtain("commute", dataset, settings)
    dilap = lab.obtain("dilap", dataset, settings)
    known = times.data is not None and dilap.data is not None
    return _ratio(times.data, dilap.data) if known else None, source_of(lab, dataset, times, dilap)


def _ratio(times: CommuteTimes, dilap: Dilap) -> Ratio:
    inverse = np.full(int(max(dilap.nodes.max(), times.source.max(), times.target.max())) + 1, np.nan)
    inverse[dilap.nodes] = 1 / dilap.perron
    base = inverse[times.source] + inverse[times.target]
    known = np.isfinite(base) & np.isfinite(times.commute)
    return times.commute[known] / base[known], spearman(times.commute[known], base[known])


def _ratio_record(dataset: str, found: Ratio | None, source: dict[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = {"dataset": dataset, "figure": "ratio", "quantiles": [], "spearman_with_pi": None}
    if found is not None:
        values, rank = found
        row |= {"quantiles": [float(value) for value in np.quantile(values, QUANTILES)], "spearman_with_pi": rank}
        row["edges"] = len(values)
    return row | source


def effective_neighbours(lab: Lab, dataset: str, kind: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Effective out- and in-neighbours with a kind of weights, and where they come from."""
    obtained = lab.obtain("commute", dataset, settings)
    row: dict[str, Any] = {"dataset": dataset, "figure": "effective neighbours", "weights": kind}
    summary = obtained.header.summary if obtained.header else {}
    row |= {side: summary.get(f"effective_neighbours_{side}") or None for side in ("out", "in")}
    return row | source_of(lab, dataset, obtained)


def neighbour_table(lab: Lab, records: list[dict[str, Any]]) -> Table:
    rows = [[lab.shown(row["dataset"]), row["weights"], _side(row, "out"), _side(row, "in")] for row in records]
    caption = "Effective neighbours (exp of the entropy of a node's weights), of all, mean over the nodes"
    return Table(caption, ("dataset", "weights", "out", "in"), rows, heads=2)


def _side(row: dict[str, Any], side: str) -> Entry | str:
    if row["status"] != "done":
        return Entry(row["status"], "missing")
    found = row[side]
    return f"{found['mean']:.2f} of {found['neighbours']:.2f}" if found else DASH


def draw(lab: Lab, found: dict[str, Ratio]) -> Picture | None:
    """The distribution of the ratio of each dataset."""
    levels, curves = np.linspace(0, 1, 201), []
    for dataset, (values, _) in found.items():
        shares = zip(np.quantile(values, levels), levels, strict=True)
        curves.append(Curve(lab.shown(dataset), [(float(value), 100 * level, 0.0) for value, level in shares]))
    caption = "Share of the edges whose ratio c / (1/pi_i + 1/pi_j) is at most so large"
    title = "What commute times add to popularity: next to nothing where the curve rises at 1"
    across = "ratio: commute time of an edge over what\nthe popularity of its two ends gives alone"
    return draw_shares("ratios", title, caption, curves, across)
