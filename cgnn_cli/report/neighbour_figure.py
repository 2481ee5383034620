"""The figure of `cgnn explain`: a node among its neighbours, as SVG of few words, or drawn by matplotlib."""

from __future__ import annotations

from typing import Any

from cgnn_cli.analysis.reasons import Reasons
from cgnn_cli.printable import printable
from cgnn_cli.report.neighbourhood import WIDTH, Drawing, Mark, lay_out
from cgnn_cli.report.page import template
from cgnn_cli.report.style import INK, MUTED, save_drawing, styled_drawing

POINTS_A_PIXEL = 0.75


def draw_neighbours(reasons: Reasons, kind: str) -> bytes:
    """The picture as a file of its own: `svg`, which follows the reader's light or dark, `png` or `pdf` on white."""
    drawing = lay_out(reasons, with_title=True)
    return to_svg(drawing, alone=True).encode() if kind == "svg" else _drawn(drawing, kind)


def to_svg(drawing: Drawing, *, alone: bool) -> str:
    """An SVG element, whose colours are variables of its page; `alone` as a file with colours of its own."""
    filters: dict[str, Any] = {
        "n": lambda value: f"{value:.4g}",
        "at": lambda place: f"{place[0]:.4g} {place[1]:.4g}",
        "shown": printable,
    }
    return template("neighbourhood.svg", filters).render(drawing=drawing, alone=alone).strip() + "\n"


def _drawn(drawing: Drawing, kind: str) -> bytes:
    """The same by matplotlib."""
    from matplotlib.patches import Polygon

    inch = 72 / POINTS_A_PIXEL
    with styled_drawing(WIDTH / inch, drawing.height / inch) as figure:
        figure.set_layout_engine("none")
        axes: Any = figure.add_axes((0, 0, 1, 1))
        axes.set(xlim=(0, WIDTH), ylim=(drawing.height, 0))
        axes.axis("off")
        for arrow in drawing.arrows:
            (x, y), style = zip(arrow.start, arrow.end, strict=True), (0, (2.2, 1.6)) if arrow.dashed else "-"
            axes.plot(x, y, color=MUTED, lw=arrow.width * POINTS_A_PIXEL, ls=style, solid_capstyle="butt")
            for head in arrow.heads:
                axes.add_patch(Polygon(head, color=MUTED, lw=0))
        for mark in drawing.marks:
            _draw_mark(axes, mark)
        for word in drawing.words:
            weight, size = "bold" if word.bold else "normal", word.size * POINTS_A_PIXEL
            axes.text(*word.place, word.text, size=size, weight=weight, va="baseline")
        return save_drawing(figure, kind)


def _draw_mark(axes: Any, mark: Mark) -> None:
    from matplotlib.patches import Circle
    from matplotlib.patheffects import withStroke

    look = {"facecolor": mark.colour, "lw": 0} if mark.known else {"facecolor": "white", "lw": 3 * POINTS_A_PIXEL}
    radius = mark.radius if mark.known else mark.radius - 1.5
    axes.add_patch(Circle(mark.place, radius, edgecolor=mark.colour, zorder=3, **look))
    for number, (y, words) in enumerate(mark.lines):
        size, colour = (10.5, MUTED) if number else (11.5, INK)
        text = axes.text(mark.place[0], y, words, ha="center", zorder=4)
        text.set(size=size * POINTS_A_PIXEL, color=colour, path_effects=[withStroke(linewidth=2.2, foreground="white")])
