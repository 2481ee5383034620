"""Figures of the experiments: curves over an option, points in a plane, cumulative shares, bars beside a standard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cgnn_cli.report import style
from cgnn_cli.report.placement import Point
from cgnn_cli.report.style import PALETTE, Picture, styled_drawing

LEAST_ERROR = 1e-12  # a logarithm cannot show an error of 0


@dataclass(frozen=True)
class Curve:
    """Points (x, y, deviation of y) in order."""

    label: str
    points: Sequence[tuple[float, float, float]]


def draw_curves(name: str, title: str, caption: str, curves: Sequence[Curve]) -> Picture | None:
    """Test accuracy over one option each, side by side; the values of the option are evenly spaced."""
    shown = [curve for curve in curves if curve.points]
    if not shown or not style.can_draw():
        return None
    with styled_drawing(3.4 * len(shown), 3.4) as drawing:
        panels = drawing.subplots(1, len(shown), sharey=True, squeeze=False)[0]
        for axes, curve in zip(panels, shown, strict=True):
            values, means, deviations = zip(*curve.points, strict=True)
            places = range(len(values))
            axes.errorbar(places, means, yerr=deviations, fmt="o-", color=PALETTE[0], capsize=3, lw=1.8)
            axes.set_xticks(places, [f"{value:g}" for value in values])
            axes.set(xlabel=curve.label)
            axes.grid()
        panels[0].set_ylabel("test accuracy in %")
        style.head(drawing, title)
        best = [(curve.label, *max(curve.points, key=lambda point: point[1])) for curve in shown]
        words = "; ".join(f"{label}: highest at {value:g} with {mean:.1f} %" for label, value, mean, _ in best)
        return Picture.of(name, caption, f"{caption}. {words}.", drawing)


def draw_points(name: str, title: str, caption: str, points: Sequence[Point], across: str) -> Picture | None:
    """Test accuracy against a figure on a logarithmic axis."""
    if len(points) < 2 or not style.can_draw():
        return None
    with styled_drawing(6.4, 3.8 + 0.1 * len(points)) as drawing:
        axes = drawing.subplots()
        for number, point in enumerate(points):
            place = max(point.x, LEAST_ERROR)
            axes.errorbar(place, point.y, yerr=point.deviation, **style.mark_look(number, point.name))
        axes.set(xlabel=across, ylabel="test accuracy in %")
        style.logarithmic(axes.xaxis)
        axes.grid()
        style.legend_below(drawing, axes, 2)
        style.head(drawing, title)
        words = "; ".join(f"{point.name}: {point.y:.1f} % at {point.x:.2g}" for point in points)
        return Picture.of(name, caption, f"Scatter plot. {words}.", drawing)


def draw_shares(name: str, title: str, caption: str, curves: Sequence[Curve], across: str) -> Picture | None:
    """Cumulative shares in per cent, one line each."""
    known = [curve for curve in curves if curve.points]
    shown = known[: len(PALETTE)]
    if not shown or not style.can_draw():
        return None
    with styled_drawing(6.4, 4.4) as drawing:
        axes = drawing.subplots()
        for number, curve in enumerate(shown):
            values, up, _ = zip(*curve.points, strict=True)
            axes.plot(values, up, **style.line_look(number, curve.label))
        axes.set(xlabel=across, ylabel="share of the edges up to there, in %")
        axes.grid()
        style.legend_below(drawing, axes, 3)
        style.head(drawing, title)
        caption += style.first_of(len(shown), len(known))
        return Picture.of(name, caption, f"{caption}, for {', '.join(curve.label for curve in shown)}.", drawing)


def draw_bars(
    name: str, title: str, caption: str, panels: dict[str, dict[str, dict[str, float]]], up: str
) -> Picture | None:
    """Bars by panel, kind and group, the kinds of a group side by side; a line at 1 is what they are measured by."""
    shown = {panel: kinds for panel, kinds in panels.items() if any(kinds.values())}
    if not shown or not style.can_draw():
        return None
    with styled_drawing(6.8, 2.7 * len(shown) + 1) as drawing:
        rows = drawing.subplots(len(shown), 1, squeeze=False)[:, 0]
        for axes, (panel, kinds) in zip(rows, shown.items(), strict=True):
            groups = list(dict.fromkeys(group for values in kinds.values() for group in values))
            width = 0.8 / len(kinds)
            for number, (kind, values) in enumerate(kinds.items()):
                places = [groups.index(group) + (number - (len(kinds) - 1) / 2) * width for group in values]
                color = PALETTE[number % len(PALETTE)]
                axes.bar(places, list(values.values()), width * 0.9, color=color, label=kind)
            axes.axhline(1, color=style.INK, lw=1)
            axes.set_xticks(range(len(groups)), groups)
            axes.set(title=panel, ylabel=up)
            axes.grid(axis="y")
        style.legend_below(drawing, axes, 2)
        style.head(drawing, title)
        words = "; ".join(
            f"{panel}, {kind}: " + ", ".join(f"{group} {value:.2f}" for group, value in values.items())
            for panel, kinds in shown.items()
            for kind, values in kinds.items()
        )
        return Picture.of(name, caption, f"{caption}. {words}.", drawing)
