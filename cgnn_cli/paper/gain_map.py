"""The figure of `where`: graphs in rows, what was added in columns, coloured where a test shows a difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING

from cgnn_cli.paper.additions import ADDITIONS, groups
from cgnn_cli.report import style
from cgnn_cli.report.style import Picture, styled_drawing
from cgnn_cli.report.table import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

UP, DOWN = ("#cfe4f3", "#0a5a94"), ("#fbe0cf", "#b44a00")  # of a small difference, and of a large one
LARGE = 20.0  # points of accuracy, from which on the colour is the darkest
GAP, BLOCK_GAP = 0.35, 1.4  # between groups of columns, and of rows
ROW_HEIGHT, COLUMN_WIDTH = 0.185, 0.29  # inches
LONGEST_LINE = 52
LEGEND = "Points of test accuracy beside CGNN without weights"
CAPTION = (
    "Points of test accuracy above (blue) or below (orange) the same model with nothing added, where the corrected "
    "paired test shows a difference; grey where it shows none. * fewer splits than the graph has; no cell: not "
    "compared; a graph with and without its features counts as two"
)


@dataclass(frozen=True)
class Gain:
    """A difference in points of accuracy, whether the test shows it, and whether splits are missing."""

    points: float
    shown: bool
    partial: bool


Gains = dict[tuple[str, str], Gain]  # by graph and addition


def draw_gains(name: str, gains: Gains, blocks: dict[str, dict[str, str]]) -> Picture | None:
    """A map of all comparisons, with the finding as its title; blocks of rows, each with the labels of its graphs."""
    titles = [title for title in ADDITIONS if any(title == added for _, added in gains)]
    if not gains or not style.can_draw():
        return None
    across, down = _columns(titles), _rows(blocks)
    width, height = max(across.values()) + 1, max(down.values()) + 1
    finding = headline(gains)
    with styled_drawing(1.7 + COLUMN_WIDTH * width, 1.9 + ROW_HEIGHT * (height + 2)) as drawing:
        axes = drawing.subplots()
        for (place, title), gain in gains.items():
            _draw_cell(axes, across[title], down[place], gain)
        axes.set(xlim=(-0.5, width - 0.5), ylim=(height - 0.5, -1.5))
        axes.set_xticks(list(across.values()), titles, rotation=55, ha="left", rotation_mode="anchor", fontsize=8.5)
        labels = {place: label for block in blocks.values() for place, label in block.items()}
        axes.set_yticks([down[place] for place in labels], list(labels.values()), fontsize=8)
        axes.xaxis.tick_top()
        axes.tick_params(length=0, pad=2)
        axes.spines[["left", "bottom", "top"]].set_visible(False)
        for title, block in blocks.items():
            _draw_titles(axes, min(down[place] for place in block) - 1, title, across)
        drawing.suptitle(finding, x=0.01, ha="left", fontsize=10, fontweight="bold")
        _draw_legend(drawing)
        words = f"Map of {len(gains)} comparisons. {finding}".replace("\n", " ")
        return Picture.of(name, CAPTION, words, drawing)


def headline(gains: Gains) -> str:
    """On how many graphs each group of additions has a gain that is shown."""
    lines = []
    for group, titles in groups().items():
        there = {at: gain for at, gain in gains.items() if at[1] in titles}
        helped = {place for (place, _), gain in there.items() if gain.shown and gain.points > 0}
        lines += [f"{group} on {len(helped)}"] if there else []
    count = counted(len({place for place, _ in gains}), "graph")
    early = "Too few splits yet to tell. " if any(gain.partial for gain in gains.values()) else ""
    return "\n".join(wrap(f"{early}What helps where: of {count}, {', '.join(lines)}", LONGEST_LINE))


def _rows(blocks: dict[str, dict[str, str]]) -> dict[str, float]:
    """Where each row stands, with room for a title above each block."""
    places, row = {}, 0.0
    for block in blocks.values():
        for place in block:
            places[place] = row
            row += 1
        row += BLOCK_GAP
    return places


def _columns(titles: Sequence[str]) -> dict[str, float]:
    """Where each column stands, with a gap between groups."""
    places, before, shift = {}, "", 0.0
    for number, title in enumerate(titles):
        group = ADDITIONS[title].group
        shift += GAP if before and group != before else 0
        places[title], before = number + shift, group
    return places


def _draw_titles(axes: Axes, y: float, block: str, across: dict[str, float]) -> None:
    """The title of a block before its rows, and those of the groups over their columns."""
    axes.text(-0.65, y, block, ha="right", va="center", fontsize=8, fontweight="bold")
    for group, titles in groups().items():
        if there := [across[title] for title in titles if title in across]:
            axes.text(sum(there) / len(there), y, group, ha="center", va="center", fontsize=7.5, color=style.MUTED)


def _draw_cell(axes: Axes, x: float, y: float, gain: Gain) -> None:
    from matplotlib.patches import Rectangle

    colour, ink = style.GRID, style.MUTED
    if gain.shown:
        share = min(abs(gain.points) / LARGE, 1.0)
        colour, ink = _between(*(UP if gain.points > 0 else DOWN), share), "#ffffff" if share > 0.5 else "#101418"
    axes.add_patch(Rectangle((x - 0.47, y - 0.46), 0.94, 0.92, color=colour, lw=0))
    points = round(gain.points)
    said = f"{points:+d}".replace("-", "\u2212") if points else "0"
    axes.text(x, y, f"{said}{'*' if gain.partial else ''}", ha="center", va="center", fontsize=7.2, color=ink)


def _between(first: str, last: str, share: float) -> str:
    """A colour between two; a share of 1 is no place in the table of colours, as an integer would be."""
    from matplotlib.colors import LinearSegmentedColormap, to_hex

    return to_hex(LinearSegmentedColormap.from_list("", [first, last])(float(share)))


def _draw_legend(drawing: Drawing) -> None:
    from matplotlib.patches import Patch

    kinds = {"a gain": _between(*UP, 0.6), "a loss": _between(*DOWN, 0.6), "no difference shown": style.GRID}
    patches = [Patch(color=colour, label=label) for label, colour in kinds.items()]
    drawing.legend(
        handles=patches, loc="outside lower left", ncols=3, title=LEGEND, fontsize=8, title_fontsize=8, alignment="left"
    )
