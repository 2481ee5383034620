"""The figure of `cgnn explain`: what each neighbour weighs, and how far away it is."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from cgnn_cli.analysis.explanation import Neighbour, Neighbourhood
from cgnn_cli.report.style import GRID, MUTED, logarithmic, save_drawing, short, styled_drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, ORANGE = "#2166ac", "#d9822b"
LONGEST_LABEL = 26
ROW_HEIGHT = 0.27


def draw_neighbours(node: Neighbourhood, kind: str, *, top: int) -> bytes:
    """The heaviest neighbours of a node in both directions, as `svg` or `png`."""
    directions = (("out-neighbours", node.out), ("in-neighbours", node.into))
    parts = [(title, rows[:top], len(rows)) for title, rows in directions if rows]
    heights = [max(len(rows), 2) * ROW_HEIGHT for _, rows, _ in parts]
    with styled_drawing(10, sum(heights) + 0.75 * len(parts) + 1.0) as figure:
        layout: Any = figure.get_layout_engine()
        layout.set(w_pad=0.1, h_pad=0.08)
        grid = figure.subplots(len(parts), 2, width_ratios=(1, 1.25), height_ratios=heights, squeeze=False)
        for (weights, distances), (title, rows, count) in zip(grid, parts, strict=True):
            heaviest = "" if len(rows) == count else f", the {len(rows)} heaviest"
            _draw_weights(weights, rows, f"{count} {title}{heaviest}")
            _draw_times(distances, rows)
        _same_times_axis([distances for _, distances in grid])
        grid[-1][0].set_xlabel("weight (the best neighbour of a direction has 1)")
        grid[-1][1].set_xlabel("hitting and commute times, logarithmic")
        label = f" ({node.label})" if node.label else ""
        figure.suptitle(f"Neighbours of {short(node.id, LONGEST_LABEL)}{label}", weight="bold", fontsize=12)
        _draw_legend(figure)
        return save_drawing(figure, kind)


def _draw_weights(axes: Axes, rows: list[Neighbour], title: str) -> None:
    places = range(len(rows))
    axes.barh(places, [row.weight for row in rows], color=[ORANGE if row.mutual else BLUE for row in rows], height=0.68)
    for place, row in zip(places, rows, strict=True):
        said = f"{row.weight:.3f}" if row.weight >= 0.001 or row.weight == 0 else f"{row.weight:.0e}"
        axes.text(row.weight + 0.015, place, said, va="center", fontsize=8, color=MUTED)
    axes.set_xlim(0, 1.17)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])
    axes.set_yticks(places, [short(row.id, LONGEST_LABEL) for row in rows])
    axes.set_title(title)
    axes.set_ylim(max(len(rows), 2) - 0.4, -0.6)


def _draw_times(axes: Axes, rows: list[Neighbour]) -> None:
    """Commute time as a dot between its two parts; what a logarithm cannot show is said in words."""
    axes.set_xscale("log")
    for place, row in enumerate(rows):
        parts = [time for time in (row.hitting, row.hitting_back) if time > 0]
        shown = [*parts, row.commute] if row.commute > 0 else parts
        if shown:
            axes.plot([min(shown), max(shown)], [place, place], color=GRID, lw=2, zorder=1)
        for time, marker in ((row.hitting, ">"), (row.hitting_back, "<")):
            if time > 0:
                axes.plot(time, place, marker, color="white", markeredgecolor=MUTED, markersize=5, zorder=2)
        if row.commute > 0:
            axes.plot(row.commute, place, "o", color=ORANGE if row.mutual else BLUE, markersize=6.5, zorder=3)
        else:
            said = "outside the walk" if math.isnan(row.commute) else f"commute time {row.commute:.3g}"
            where = axes.get_yaxis_transform()
            axes.text(0.99, place, said, transform=where, ha="right", va="center", fontsize=8, color=MUTED)
    axes.set_yticks(range(len(rows)), [""] * len(rows))
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x")
    axes.set_ylim(max(len(rows), 2) - 0.4, -0.6)


def _same_times_axis(panels: list[Any]) -> None:
    """One range for both directions, a little wider than the data, with at least two labelled powers of ten."""
    limits = [value for axes in panels if axes.has_data() for value in axes.dataLim.intervalx if 0 < value < math.inf]
    low, high = (min(limits), max(limits)) if limits else (1.0, 10.0)
    for axes in panels:
        axes.set_xlim(10 ** math.floor(math.log10(low) - 0.05), 10 ** math.ceil(math.log10(high) + 0.05))
        logarithmic(axes.xaxis)


def _draw_legend(figure: Any) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    hollow: dict[str, Any] = {"color": "none", "markerfacecolor": "white", "markeredgecolor": MUTED, "markersize": 5}
    dot: dict[str, Any] = {"color": "none", "markerfacecolor": MUTED, "markeredgecolor": MUTED, "markersize": 6.5}
    figure.legend(
        handles=[
            Patch(color=ORANGE, label="mutual tie"),
            Patch(color=BLUE, label="one way"),
            Line2D([], [], marker="o", label="commute time", **dot),
            Line2D([], [], marker=">", label="hitting time, to the neighbour", **hollow),
            Line2D([], [], marker="<", label="hitting time, back", **hollow),
        ],
        loc="outside lower center",
        ncols=5,
        fontsize=8.5,
        handletextpad=0.4,
        columnspacing=1.4,
    )
