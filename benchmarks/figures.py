"""The figures of the benchmark page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cgnn_cli.report.placement import Point, name_points
from cgnn_cli.report.style import MUTED, PALETTE, head, legend_below, logarithmic, save_for_both, styled_drawing

SOLVERS = ("series", "dense method", "svd", "exact", "sketch", "series, no tail", "P @ P")
COLOURS = {**dict(zip(SOLVERS, PALETTE, strict=True)), "pi-only": MUTED}
Axes = Any


def draw_growth(points: Sequence[dict[str, Any]], folder: Path) -> None:
    """Time and memory against edges, a line a solver."""
    labels = {"seconds": "seconds", "bytes": "memory beyond the walk, MiB"}
    with styled_drawing(6.4, 7.4) as drawing:
        panels = drawing.subplots(2, 1)
        for axes, (key, label), scale in zip(panels, labels.items(), (1, 2**20), strict=True):
            for solver in dict.fromkeys(point["solver"] for point in points):
                chosen = [point for point in points if point["solver"] == solver]
                edges, values = [point["edges"] for point in chosen], [point[key] / scale for point in chosen]
                axes.plot(edges, values, "o-", color=COLOURS[solver], label=solver, markersize=4)
            _logarithmic(axes, "edges of the graph", label)
        legend_below(drawing, panels[0], 4)
        head(drawing, "Time and memory of the solvers as graphs grow")
        _save(drawing, folder / "benchmark-growth.svg")


def draw_tradeoff(curves: dict[str, dict[str, list[tuple[str, float, float]]]], folder: Path) -> None:
    """Error against time, a panel a graph: points (label, time in products P @ P, median relative error)."""
    with styled_drawing(6.4, 4.1 * len(curves) + 1) as drawing:
        panels = drawing.subplots(len(curves), 1, squeeze=False)[:, 0]
        for axes, (graph, solvers) in zip(panels, curves.items(), strict=True):
            for solver, points in solvers.items():
                _draw_solver(axes, solver, points)
            axes.margins(0.1)
            axes.set_title(graph)
            _logarithmic(axes, "time (1: the walk's matrix times itself once)", "median error of the times, %")
        legend_below(drawing, panels[0], 3)
        head(drawing, "What a smaller error costs: lower left is better")
        for axes, solvers in zip(panels, curves.values(), strict=True):
            named = [
                Point(label, time, 100 * error)
                for solver, points in solvers.items()
                for label, time, error in points
                if label and solver != "exact"
            ]
            name_points(drawing, axes, named)
        _save(drawing, folder / "benchmark-error.svg")


def _draw_solver(axes: Axes, solver: str, points: Sequence[tuple[str, float, float]]) -> None:
    if solver == "exact":  # the reference: a time without an error
        axes.axvline(points[0][1], color=COLOURS[solver], linestyle="--", label="exact (the reference)")
        return
    times, errors = [time for _, time, _ in points], [100 * error for *_, error in points]
    axes.plot(times, errors, "o-", color=COLOURS[solver], label=solver, markersize=4)


def _logarithmic(axes: Axes, across: str, up: str) -> None:
    axes.set(xlabel=across, ylabel=up)
    logarithmic(axes.xaxis)
    logarithmic(axes.yaxis)
    axes.grid()


def _save(drawing: Any, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(save_for_both(drawing))
