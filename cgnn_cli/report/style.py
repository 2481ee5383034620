"""How figures look: one palette that colour-blind readers can tell apart, and the same bytes for the same data."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

# Okabe and Ito's colours but for yellow, which is too pale for lines on white.
PALETTE = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#7f7f7f")
MARKERS = "osD^vPX"
INK, MUTED, GRID, PAPER = "#1b2733", "#5b6b7a", "#dde3e8", "#fdfefe"
THEMED = {INK: "var(--ink)", MUTED: "var(--muted)", GRID: "var(--line)", PAPER: "var(--page)"}
STYLE: dict[str, Any] = {
    "svg.hashsalt": "cgnn",
    "svg.fonttype": "path",
    "font.size": 10,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "text.color": INK,
    "text.parse_math": False,
    "legend.frameon": False,
    "legend.fontsize": 9,
}


@dataclass(frozen=True)
class Picture:
    """A drawn figure: `name` for its files, a caption, and in words what it shows, for those who cannot see it."""

    name: str
    caption: str
    alternative: str
    svg: bytes
    png: bytes
    inline: str

    @classmethod
    def of(cls, name: str, caption: str, alternative: str, drawing: Drawing) -> Picture:
        inline = _save(drawing, "svg", "none").decode("utf-8")
        svg, png = (_save(drawing, kind, "white") for kind in ("svg", "png"))
        return cls(name, caption, alternative, svg, png, _for_page(inline, name))


@contextmanager
def drawing_style() -> Iterator[None]:
    """Draw with the style of the reports; letters that the font does not have become boxes, without a warning."""
    import matplotlib as mpl

    with mpl.rc_context(STYLE), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def new_drawing(width: float, height: float) -> Drawing:
    """An empty figure that needs no display and keeps its parts from overlapping."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _save(drawing: Drawing, kind: str, background: str) -> bytes:
    image = io.BytesIO()
    metadata = {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}
    drawing.savefig(image, format=kind, dpi=150, facecolor=background, metadata=metadata)
    return image.getvalue()


def _for_page(svg: str, name: str) -> str:
    """The drawing as an element of a page: no prologue, ids of its own, ink and paper of the page's theme."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r' (?:width|height)="[\d.]+pt"', "", svg, count=2)
    svg = re.sub(r'(\sid="|url\(#|href="#)', rf"\g<1>{name}-", svg)
    for colour, variable in THEMED.items():
        svg = svg.replace(colour, variable)
    return svg.strip()


def legend_below(drawing: Drawing, axes: Axes, columns: int) -> None:
    """The legend of one panel for the whole figure, below it, where it covers nothing."""
    handles, labels = axes.get_legend_handles_labels()
    if len(labels) > 1:
        drawing.legend(handles, labels, loc="outside lower left", ncols=columns)


def short(text: str, longest: int = 44) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"
