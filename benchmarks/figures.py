"""The figures of the benchmark page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

INK = "#1b2733"
COLOURS = {"series": "#2166ac", "svd": "#1b7837", "sketch": "#d9822b", "exact": "#762a83", "dense method": "#b2182b"}
COLOURS |= {"P @ P": "#9aa7b3", "pi-only": "#5b6b7a", "series, no tail": "#92c5de"}


def draw_growth(points: Sequence[dict[str, Any]], folder: Path) -> None:
    """Time and memory against edges, a line a solver."""
    figure, panels = _panels(2)
    labels = {"seconds": "seconds", "bytes": "memory beyond the walk, MiB"}
    for axes, (key, label), scale in zip(panels, labels.items(), (1, 2**20), strict=True):
        for solver in dict.fromkeys(point["solver"] for point in points):
            chosen = [point for point in points if point["solver"] == solver]
            edges, values = [point["edges"] for point in chosen], [point[key] / scale for point in chosen]
            axes.plot(edges, values, "o-", color=COLOURS[solver], label=solver, markersize=4)
        axes.set(xscale="log", yscale="log", xlabel="edges", ylabel=label)
    panels[0].legend(frameon=False)
    _save(figure, folder / "benchmark-growth.svg")


def draw_tradeoff(curves: dict[str, dict[str, list[tuple[str, float, float]]]], folder: Path) -> None:
    """Error against time, a panel a graph: points (label, time in products P @ P, median relative error)."""
    figure, panels = _panels(len(curves))
    for axes, (graph, solvers) in zip(panels, curves.items(), strict=True):
        for solver, points in solvers.items():
            if solver == "exact":  # the reference: a time without an error
                axes.axvline(points[0][1], color=COLOURS[solver], linestyle="--", label="exact (the reference)")
                continue
            times, errors = np.array([time for _, time, _ in points]), np.array([error for *_, error in points])
            axes.plot(times, 100 * errors, "o-", color=COLOURS[solver], label=solver, markersize=4)
            for (label, *_), time, error in zip(points, times, errors, strict=True):
                axes.annotate(
                    label, (time, 100 * error), (3, 3), textcoords="offset points", fontsize=7, color=COLOURS[solver]
                )
        axes.set(xscale="log", yscale="log", xlabel="time, in products P @ P", title=graph)
        axes.set_ylabel("median relative error of c, %")
    panels[0].legend(frameon=False, fontsize=8)
    _save(figure, folder / "benchmark-error.svg")


def _panels(count: int) -> tuple[Any, list[Any]]:
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams.update({"svg.hashsalt": "cgnn", "font.size": 10, "axes.spines.top": False, "axes.spines.right": False})
    mpl.rcParams.update({"text.color": INK, "axes.labelcolor": INK, "axes.grid": True, "grid.color": "#e3e8ec"})
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, count, figsize=(5.75 * count, 4), layout="constrained", squeeze=False)
    return figure, list(panels[0])


def _save(figure: Any, path: Path) -> None:
    import matplotlib.pyplot as plt

    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None}, facecolor="white")
    plt.close(figure)
