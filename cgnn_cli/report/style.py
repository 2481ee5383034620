"""How figures look: one palette that colour-blind readers can tell apart, and the same bytes for the same data."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure as Drawing

# Okabe and Ito's colours but for yellow, which is too pale for lines on white.
PALETTE = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#7f7f7f")
MARKERS = "osD^vPX"
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5)))
CLOSE, FEW_POWERS = 0.9, 2.2  # powers of ten that an axis spans: below these it needs marks between them
NO_WIDTH = "\u200b"
POINT = 1.28  # pixels of a page for a point of a drawing
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
INK, MUTED, GRID, PAPER = "#1b2733", "#5b6b7a", "#dde3e8", "#fdfefe"
THEMED = {INK: "var(--ink)", MUTED: "var(--muted)", GRID: "var(--line)", PAPER: "var(--page)"}
DARK = {INK: "#e6ebf0", MUTED: "#9fadba", GRID: "#323d47", PAPER: "#12171c"}  # those of the page in the dark
TITLE_SIZE = 11.5
LETTERS = 9.4  # of a title, in an inch
STYLE: dict[str, Any] = {
    **dict.fromkeys(("axes.labelcolor", "axes.titlecolor", "xtick.labelcolor", "ytick.labelcolor", "text.color"), INK),
    **dict.fromkeys(("axes.edgecolor", "xtick.color", "ytick.color"), MUTED),
    **dict.fromkeys(("axes.spines.top", "axes.spines.right", "text.parse_math", "legend.frameon"), False),
    "svg.hashsalt": "cgnn",
    "svg.fonttype": "path",
    "pdf.fonttype": 42,  # letters that a reader can search and copy
    "font.size": 10,
    "axes.facecolor": "none",
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "legend.fontsize": 9,
}


@dataclass(frozen=True)
class Picture:
    """A drawn figure: `name` for its files, a caption, and in words what it shows, for those who cannot see it.

    pdf: draws it for LaTeX, where that is asked for.
    """

    name: str
    caption: str
    alternative: str
    svg: bytes
    png: bytes
    inline: str
    pdf: Callable[[], bytes] = field(default=bytes, compare=False)

    @classmethod
    def of(cls, name: str, caption: str, alternative: str, drawing: Drawing) -> Picture:
        inline = save_drawing(drawing, "svg", "none").decode("utf-8")
        svg, png = save_for_both(drawing), save_drawing(drawing, "png")
        return cls(name, caption, alternative, svg, png, _for_page(inline, name), lambda: _as_pdf(drawing))


def can_draw() -> bool:
    """Whether matplotlib is installed; without it a page has tables alone."""
    return find_spec("matplotlib") is not None


@contextmanager
def styled_drawing(width: float, height: float) -> Iterator[Drawing]:
    """An empty figure in the style of the reports, which needs no display and keeps its parts from overlapping.

    Letters that the font does not have become boxes, without a warning.
    """
    from matplotlib.figure import Figure

    with _styled():
        yield Figure(figsize=(width, height), layout="constrained")


@contextmanager
def _styled() -> Iterator[None]:
    import matplotlib as mpl

    style: Any = STYLE
    with mpl.rc_context(style), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _as_pdf(drawing: Drawing) -> bytes:
    with _styled():
        return save_drawing(drawing, "pdf")


def save_drawing(drawing: Drawing, kind: str, background: str = "white") -> bytes:
    """The drawing as `svg`, `png` or `pdf`, with nothing in it that differs from run to run."""
    image = io.BytesIO()
    told = {"svg": ("Date", "Creator"), "png": ("Software",), "pdf": ("CreationDate", "Creator", "Producer")}
    metadata: Any = dict.fromkeys(told[kind])
    drawing.savefig(image, format=kind, dpi=150, facecolor=background, metadata=metadata)
    return image.getvalue()


def save_for_both(drawing: Drawing) -> bytes:
    """The drawing as a file that is light or dark as its reader is, also where a page shows it as an image.

    What does not know these rules shows the light one.
    """
    svg = save_drawing(drawing, "svg", PAPER).decode("utf-8")
    rules = [
        f'[style*="{kind}: {light}"]{{{kind}:{dark}!important}}'
        for light, dark in DARK.items()
        for kind in ("fill", "stroke")
    ]
    rule = f"@media (prefers-color-scheme: dark){{{''.join(rules)}}}"
    return svg.replace("</style>", f"{rule}</style>", 1).encode("utf-8")


def head(drawing: Drawing, title: str) -> None:
    """A title over the whole figure, in as many lines as it needs."""
    lines = fill(title, int(LETTERS * drawing.get_figwidth()))
    drawing.suptitle(lines, x=0.01, ha="left", fontsize=TITLE_SIZE, fontweight="bold")


def _for_page(svg: str, name: str) -> str:
    """The drawing as an element of a page: no prologue, ids of its own, ink and paper of the page's theme."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    size = re.search(r'<svg [^>]*?width="([\d.]+)pt"', svg)
    assert size is not None
    svg = re.sub(r' (?:width|height)="[\d.]+pt"', "", svg, count=2)
    svg = svg.replace("<svg ", f'<svg style="--drawn: {float(size[1]) * POINT:.0f}px" ', 1)
    svg = re.sub(r'(\sid="|url\(#|href="#)', rf"\g<1>{name}-", svg)
    for colour, variable in THEMED.items():
        svg = svg.replace(colour, variable)
    return svg.strip()


def logarithmic(axis: Axis) -> None:
    """A logarithmic axis as wide as its values, with labels that do not crowd."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

    name = "x" if axis is axis.axes.xaxis else "y"
    axis.axes.set(**{f"{name}scale": "log"})
    low, high = np.log10(axis.get_view_interval())
    if high - low < FEW_POWERS:
        axis.set_major_locator(MaxNLocator(5) if high - low < CLOSE else LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
        axis.set_minor_locator(NullLocator())
        return
    axis.set_major_locator(LogLocator(numticks=7))
    long = high - low > 5 or high > 4 or low < -3
    axis.set_major_formatter(FuncFormatter(lambda value, _: power_label(value, digits=not long)))
    axis.set_minor_formatter(NullFormatter())
    if high - low > 4:
        axis.set_minor_locator(NullLocator())


def power_label(value: float, *, digits: bool) -> str:
    """A power of ten, in digits or with an exponent."""
    exponent = round(np.log10(value))
    if digits or exponent in (0, 1):
        return f"{10.0**exponent:,.{max(-exponent, 0)}f}"
    return "10" + str(exponent).translate(SUPERSCRIPTS)


def line_look(number: int, label: str) -> dict[str, Any]:
    """How the line of this number is drawn."""
    return {"color": PALETTE[number], "ls": DASHES[number % len(DASHES)], "lw": 1.8, "label": _shown(label)}


def mark_look(number: int, label: str) -> dict[str, Any]:
    """How the point of this number is drawn, with a bar for its deviation."""
    colour, marker = PALETTE[number % len(PALETTE)], MARKERS[number % len(MARKERS)]
    return {"color": colour, "marker": marker, "ls": "none", "label": _shown(label), "markersize": 7, "capsize": 3}


def _shown(label: str) -> str:
    """A label that is in a legend: matplotlib leaves those out that begin with `_`, so here no character sees to it."""
    return f"{NO_WIDTH}{label}" if label.startswith("_") else label


def legend_below(drawing: Drawing, axes: Axes, columns: int) -> None:
    """The legend of one panel for the whole figure, below it, where it covers nothing."""
    handles, labels = axes.get_legend_handles_labels()
    if labels:
        drawing.legend(handles, labels, loc="outside lower left", ncols=columns)


def first_of(shown: int, known: int) -> str:
    """What a caption adds where not all is drawn."""
    return f"; the first {shown} of {known}" if shown < known else ""


def short(text: str, longest: int = 60) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"
