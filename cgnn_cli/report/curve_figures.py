"""Figures of probabilities: precision against recall of each class, and how often what is likely is right."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from cgnn_cli.numerics.calibration import calibration_error
from cgnn_cli.numerics.classification import RECALLS
from cgnn_cli.report import style
from cgnn_cli.report.style import MUTED, PALETTE, Picture, styled_drawing
from cgnn_cli.report.table import counted

MOST_CURVES = len(PALETTE)
DOT = 160.0  # area of the dot of a bin that holds all nodes


def draw_precision_recall(
    name: str, title: str, curve: np.ndarray, support: np.ndarray, classes: Sequence[str], focus: str | None
) -> Picture | None:
    """Precision where recall reaches each share, the mean over the splits: of one class, or of the smallest ones.

    curve: by split, class and recall. support: test nodes by split and class; their share is what chance would reach.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a class that no split tests has no mean
        mean = np.nanmean(curve, axis=0)
    known = [k for k in np.argsort(support.sum(axis=0), kind="stable") if not np.isnan(mean[k]).any()]
    shown = [classes.index(focus)] if focus in classes else known[:MOST_CURVES]
    shown = [k for k in shown if k in known]
    if not shown:
        return None
    share = support.sum(axis=0) / support.sum()
    with styled_drawing(5.6, 3.6 + 0.2 * len(shown)) as drawing:
        axes = drawing.subplots()
        for number, k in enumerate(shown):
            axes.plot(100 * RECALLS, 100 * mean[k], **style.line_look(number, style.short(classes[k], 40)))
            chance = "chance: the share of the class" if not number else None
            axes.axhline(100 * share[k], color=PALETTE[number], lw=1.3, ls=":", label=chance, zorder=1)
        axes.set(xlabel="recall in %: of the class, how much is found", ylabel="precision in %")
        axes.set(xlim=(0, 100), ylim=(0, 102))
        axes.grid()
        style.legend_below(drawing, axes, 2)
        over = f"mean over {len(curve)} splits" if len(curve) > 1 else "1 split"
        rest = f"; the {len(shown)} smallest of {len(classes)} classes" if 1 < len(shown) < len(known) else ""
        caption = f"Precision and recall of {title}: each class against the rest, {over}{rest}"
        words = f"Curves of precision against recall of {title} for {', '.join(classes[k] for k in shown)}."
        return Picture.of(name, caption, words, drawing)


def draw_reliability(name: str, title: str, bins: np.ndarray, before: np.ndarray | None) -> Picture | None:
    """Of nodes whose likeliest class has about the same probability, the share that is right, over all splits."""
    kinds = {"as they are": bins} if before is None else {"before calibration": before, "calibrated": bins}
    with styled_drawing(5.6, 4.2) as drawing:
        axes = drawing.subplots()
        axes.plot([0, 100], [0, 100], color=MUTED, lw=1.3, ls=":", label="what is said is what is right")
        for number, (kind, found) in enumerate(kinds.items()):
            count, said, right = found.sum(axis=0).T
            filled = count > 0
            x, y = 100 * said[filled] / count[filled], 100 * right[filled] / count[filled]
            error = np.mean(list(map(calibration_error, found)))
            look = style.line_look(number, f"{kind}: calibration error {100 * error:.1f} %")
            axes.plot(x, y, **look)
            axes.scatter(x, y, s=DOT * count[filled] / count.sum() + 6, color=look["color"], zorder=3)
        axes.set(xlabel="probability of the likeliest class in %", ylabel="of these, how many are right in %")
        axes.set(xlim=(0, 102), ylim=(0, 102))
        axes.grid()
        style.legend_below(drawing, axes, 1)
        caption = (
            f"Reliability of the probabilities of {title}, test nodes of {counted(len(bins), 'split')}; dots by nodes"
        )
        words = f"Share of right predictions against their probability for {title}."
        return Picture.of(name, caption, words, drawing)
