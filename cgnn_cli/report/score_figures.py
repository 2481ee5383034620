"""Figures of scores: accuracies, learning curves, time, confusion, sensitivity; each drawn where runs have the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cgnn_cli.configs import metric_words
from cgnn_cli.execution.results import Run
from cgnn_cli.report import style
from cgnn_cli.report.beside import PaperResult
from cgnn_cli.report.placement import Point, name_points
from cgnn_cli.report.run_names import Label
from cgnn_cli.report.scores import winners, winners_words
from cgnn_cli.report.style import MUTED, PALETTE, Picture, styled_drawing
from cgnn_cli.report.table import DASH, capital, counted, score_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_CURVES = len(PALETTE)
MOST_POINTS = 250
MOST_CLASSES = 15
MOST_NAMES = 40
History = dict[str, np.ndarray]


def draw_scores(
    name: str, dataset: str, runs: Sequence[Run], labels: dict[str, Label], printed: Mapping[str, PaperResult]
) -> Picture | None:
    """Mean and deviation of each run as a dot and a bar, each split as a tick, and the paper's figure beside.

    printed: the paper's figures by the keys of the runs.
    """
    if not runs:
        return None
    ordered = sorted(runs, key=lambda run: run.mean)
    best = winners(runs)[0]
    names = [style.short(str(labels[run.key])) for run in ordered]
    measured = best.measured_words
    with styled_drawing(min(4 + 0.07 * max(map(len, names)), 9), 1.5 + 0.28 * len(ordered)) as drawing:
        axes = drawing.subplots()
        for place, run in enumerate(ordered):
            axes.plot([100 * value for value in run.scores], [place] * len(run.splits), "|", color=MUTED, ms=9)
            label = "mean ± standard deviation; thin ticks: single splits" if not place else None
            dot: Any = {"color": PALETTE[0], "markersize": 7, "capsize": 3, "lw": 2, "zorder": 3, "label": label}
            axes.errorbar(100 * run.mean, place, xerr=100 * (run.std or 0.0), fmt="o", **dot)
        figures = [(printed[run.key].value, place) for place, run in enumerate(ordered) if run.key in printed]
        if known := [(value, place) for value, place in figures if value is not None]:
            values, places = zip(*known, strict=True)
            mark: Any = {"color": style.PAPER, "markeredgecolor": PALETTE[4], "markeredgewidth": 1.6}
            axes.plot(values, places, "D", label="the paper's figure", zorder=2, markersize=8, **mark)
        axes.set_yticks(range(len(ordered)), names)
        axes.set_ylim(-0.6, len(ordered) - 0.4)
        axes.set_xlabel(f"{measured} in %")
        axes.grid(axis="x")
        style.legend_below(drawing, axes, 1)
        style.head(drawing, f"{dataset}: {measured} of {counted(len(ordered), 'run')}, the best at the top")
        named = f"{counted(len(best.splits), 'split')}: {winners_words(runs, labels)}"
        words = f"{counted(len(ordered), 'run')} on {dataset}; the highest mean is {score_text(best.mean)} %, {named}"
        caption = f"{capital(measured)} on {dataset}"
        return Picture.of(name, caption, f"Dot plot of {measured}: {words}.", drawing)


def draw_learning(
    name: str, dataset: str, histories: Sequence[tuple[Run, list[History]]], labels: dict[str, Label]
) -> Picture | None:
    """Loss and validation score by epoch: the median over the splits, while at least half of them still train.

    What was not trained has no loss, and is left out.
    """
    known = [(run, found) for run, found in histories if found and all("loss" in history for history in found)]
    shown = sorted(known, key=lambda item: -item[0].mean)[:MOST_CURVES]
    if not shown:
        return None
    with styled_drawing(9, 3.6 + 0.2 * len(shown)) as drawing:
        left, right = drawing.subplots(1, 2)
        for number, (run, found) in enumerate(shown):
            look: Any = style.line_look(number, style.short(str(labels[run.key]), 90))
            left.plot(*_median_curve([history["loss"] for history in found]), **look)
            judged = "validation_score" if "validation_score" in found[0] else "validation_accuracy"
            epochs, values = _median_curve([history[judged] for history in found])
            right.plot(epochs, 100 * values, **look)
            highest = (epochs[values.argmax()], 100 * values.max())
            right.plot(*highest, style.MARKERS[number], color=PALETTE[number], ms=6)
        left.set(title="training loss", xlabel="epoch")
        style.logarithmic(left.yaxis)
        metrics = {run.metric for run, _ in shown}
        judged = metric_words(*metrics) if len(metrics) == 1 else "score"
        right.set(title=f"validation {judged} in %", xlabel="epoch")
        for axes in (left, right):
            axes.grid()
        style.legend_below(drawing, left, 1 if max(len(str(labels[run.key])) for run, _ in shown) > 40 else 2)
        more = len(known) > len(shown)
        rest = f"; the {len(shown)} best runs of {len(known)}" if more else ""
        caption = f"Learning curves on {dataset}, median over the splits; a mark at the highest value{rest}"
        words = f"Training loss and validation {judged} by epoch of {len(shown)} runs on {dataset}."
        return Picture.of(name, caption, words, drawing)


def _median_curve(curves: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Epochs and median values; long curves are thinned to a few hundred points. Epochs without labels hold 0."""
    length = int(np.median([len(curve) for curve in curves]))
    table = np.full((len(curves), length), np.nan)
    for row, curve in zip(table, curves, strict=True):
        row[: min(len(curve), length)] = curve[:length]
    epochs = np.unique(np.linspace(0, length - 1, min(length, MOST_POINTS)).round().astype(int))
    return epochs, np.nanmedian(table, axis=0)[epochs]


def draw_time(name: str, dataset: str, runs: Sequence[Run], labels: dict[str, Label]) -> Picture | None:
    """Test scores against the cold seconds of one training with the stages before it."""
    timed = [(run.seconds, run) for run in runs if run.seconds]
    if len(timed) < 2:
        return None
    timed.sort(key=lambda item: -item[1].mean)
    measured = timed[0][1].measured_words
    named = timed[:MOST_NAMES]
    with styled_drawing(7.5, 3.8 + 0.12 * len(named)) as drawing:
        axes = drawing.subplots()
        for seconds, run in timed[MOST_NAMES:]:
            axes.plot(seconds, 100 * run.mean, ".", color=MUTED, ms=5)
        for number, (seconds, run) in enumerate(named):
            turn, kind = divmod(number, len(PALETTE))  # a colour that comes again has another mark
            look: Any = {
                "color": PALETTE[kind],
                "fmt": style.MARKERS[(kind + turn) % len(style.MARKERS)],
                "markersize": 7,
            }
            axes.errorbar(seconds, 100 * run.mean, yerr=100 * (run.std or 0.0), **look)
        axes.set(xlabel="seconds of one training and the stages before it", ylabel=f"{measured} in %")
        style.logarithmic(axes.xaxis)
        axes.grid()
        names = [style.short(str(labels[run.key]), 44) for _, run in named]
        points = [
            Point(name, seconds, 100 * run.mean, 100 * (run.std or 0.0))
            for name, (seconds, run) in zip(names, named, strict=True)
        ]
        style.head(drawing, f"{dataset}: {measured} against time; bars: standard deviation")
        name_points(drawing, axes, points)
        rest = f"; the {len(named)} best of {len(timed)} are named" if len(timed) > len(named) else ""
        caption = (
            f"{capital(measured)} against time on {dataset}: seconds as recorded when each artifact was made{rest}"
        )
        words = f"Scatter plot of {measured} against seconds for {len(timed)} runs on {dataset}."
        return Picture.of(name, caption, words, drawing)


def draw_confusion(
    name: str, title: str, confusion: np.ndarray, classes: Sequence[str], accuracy: float
) -> Picture | None:
    """Of each true class, the share predicted as each class, over all splits."""
    counts = confusion.sum(axis=0).astype(np.float64)
    size = len(counts)
    if not counts.sum() or size > MOST_CLASSES:
        return None
    shares = 100 * counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    with styled_drawing(2.6 + 0.56 * size, 1.9 + 0.46 * size) as drawing:
        axes = drawing.subplots()
        names = [style.short(str(name), 14) for name in classes]
        _draw_cells(axes, shares, names, names, "{:.0f}", limits=(0, 100))
        axes.set(xlabel="predicted", ylabel="true class")
        axes.tick_params(axis="x", rotation=40 if max(map(len, names)) > 4 else 0)
        caption = f"Confusion of {title}: of each true class, the % predicted as each, over all splits"
        words = f"Confusion matrix of {title} over {size} classes; {accuracy:.1f} % of the test nodes are right."
        return Picture.of(name, caption, words, drawing)


def _draw_cells(
    axes: Axes, values: np.ndarray, columns: Sequence[str], rows: Sequence[str], form: str, limits: tuple[float, float]
) -> None:
    """A heat map whose cells carry their numbers; empty cells say so."""
    axes.pcolormesh(values, cmap="cividis", vmin=limits[0], vmax=limits[1], edgecolor=style.GRID, linewidth=0.6)
    for (row, column), value in np.ndenumerate(values):
        dark = (value - limits[0]) / (limits[1] - limits[0]) < 0.55
        said = DASH if np.isnan(value) else form.format(value)
        ink = MUTED if np.isnan(value) else ("#ffffff" if dark else "#101418")
        axes.text(column + 0.5, row + 0.5, said, ha="center", va="center", fontsize=8.5, color=ink)
    axes.set_xticks(np.arange(len(columns)) + 0.5, columns)
    axes.set_yticks(np.arange(len(rows)) + 0.5, rows)
    axes.invert_yaxis()
    axes.tick_params(length=0)
    axes.spines[["left", "bottom"]].set_visible(False)


def draw_sensitivity(name: str, dataset: str, model: str, runs: Sequence[Run]) -> Picture | None:
    """Mean score over layers and hidden, where runs that are otherwise alike vary both."""
    alike: dict[str, list[Run]] = {}  # runs that differ in layers and hidden only
    for run in runs:
        if {"layers", "hidden"} <= run.options.keys():
            rest = {name: value for name, value in run.options.items() if name not in ("layers", "hidden")}
            alike.setdefault(repr((run.graph_key, sorted(rest.items()), run.splits)), []).append(run)
    largest = max(alike.values(), key=len, default=[])
    measured = largest[0].measured_words if largest else ""
    grid = {(run.options["layers"], run.options["hidden"]): 100 * run.mean for run in largest}
    layers, widths = sorted({place[0] for place in grid}), sorted({place[1] for place in grid})
    if len(layers) < 2 or len(widths) < 2:
        return None
    values = np.array([[grid.get((depth, width), np.nan) for width in widths] for depth in layers])
    with styled_drawing(2.4 + 0.75 * len(widths), 1.7 + 0.5 * len(layers)) as drawing:
        axes = drawing.subplots()
        limits = (float(np.nanmin(values)) - 0.1, float(np.nanmax(values)) + 0.1)
        _draw_cells(axes, values, list(map(str, widths)), list(map(str, layers)), "{:.1f}", limits)
        axes.set(xlabel="hidden", ylabel="layers")
        axes.yaxis.label.set_color(style.INK)
        caption = f"Sensitivity of {model} on {dataset}: mean {measured} in %"
        size = f"{len(layers)} depths and {len(widths)} widths"
        words = f"Heat map of {measured} of {model} on {dataset} over {size}."
        return Picture.of(name, caption, words, drawing)
