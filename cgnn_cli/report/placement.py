"""Names beside the points of a drawing, where they cover neither each other nor a point."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cgnn_cli.report.style import MUTED, PAPER

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

BESIDE = 7.0  # from a point to its name, in points of print
MARK, BAR = 5.0, 1.5  # half the width of a mark and of its bar
NEAR, FAR = 10, 200  # quarters of a line that a name is moved
Box = tuple[float, float, float, float]  # left, bottom, right, top


@dataclass(frozen=True)
class Point:
    """A point of a drawing with its name, and the deviation of its y, which is drawn as a bar."""

    name: str
    x: float
    y: float
    deviation: float = 0.0


def name_points(drawing: Drawing, axes: Axes, points: Sequence[Point]) -> None:
    """Write each name right or left of its point, moved up or down as far as needed; a line leads to one that moved.

    Call it last: the axes must not move any more.
    """
    from matplotlib.patheffects import withStroke

    drawing.draw_without_rendering()
    unit = 72 / drawing.dpi
    frame = axes.get_window_extent()
    inside: Box = (frame.x0 * unit, frame.y0 * unit, frame.x1 * unit, frame.y1 * unit)

    def on_paper(x: float, y: float) -> tuple[float, float]:
        across, up = axes.transData.transform((x, y))
        return float(unit * across), float(unit * up)

    places = [on_paper(point.x, point.y) for point in points]
    covered = [(x - MARK, y - MARK, x + MARK, y + MARK) for x, y in places]
    ends = [[on_paper(each.x, each.y + sign * each.deviation)[1] for sign in (-1, 1)] for each in points]
    bars = [(x - BAR, low, x + BAR, high) for (x, _), (low, high) in zip(places, ends, strict=True)]
    for point, (x, y) in zip(points, places, strict=True):
        style: Any = {"textcoords": "offset points", "va": "center", "fontsize": 8.5, "in_layout": False}
        text = axes.annotate(point.name, (point.x, point.y), (0, 0), **style)
        size = text.get_window_extent()
        text.remove()
        wide, high = size.width * unit, size.height * unit
        left, middle = find_place((x, y), (wide, high), covered, bars, inside)
        covered.append((left, middle - high / 2, left + wide, middle + high / 2))
        if abs(middle - y) > high / 2:
            line: Any = {"arrowstyle": "-", "color": MUTED, "lw": 0.6, "shrinkA": 0, "shrinkB": 3}
            style["arrowprops"] = {**line, "relpos": (0 if left > x else 1, 0.5)}
        halo = [withStroke(linewidth=2.5, foreground=PAPER)]
        axes.annotate(point.name, (point.x, point.y), (left - x, middle - y), path_effects=halo, zorder=4, **style)


def find_place(
    point: tuple[float, float], size: tuple[float, float], covered: Sequence[Box], bars: Sequence[Box], inside: Box
) -> tuple[float, float]:
    """Left end and middle of a name: a free place near by, else the nearest that covers bars alone."""
    wide, high = size
    for steps, avoided in ((NEAR, (*covered, *bars)), (FAR, covered)):
        for left, middle in _nearby(point, size, steps):
            box = (left, middle - high / 2, left + wide, middle + high / 2)
            within = inside[0] <= box[0] and inside[1] <= box[1] and box[2] <= inside[2] and box[3] <= inside[3]
            if within and not any(_overlap(box, other) for other in avoided):
                return left, middle
    return point[0] + BESIDE, point[1]


def _nearby(point: tuple[float, float], size: tuple[float, float], steps: int) -> Iterator[tuple[float, float]]:
    """Places right and left of a point, the nearest first."""
    (x, y), (wide, high) = point, size
    for step in range(steps):
        for sign in (1, -1) if step else (1,):
            for left in (x + BESIDE, x - BESIDE - wide):
                yield left, y + sign * step * high / 4


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
