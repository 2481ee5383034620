"""A node among its neighbours, as marks, arrows and words in places: what a figure and a card of a review draw."""

from __future__ import annotations

import math
import textwrap
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from cgnn_cli.analysis.reasons import Reason, Reasons
from cgnn_cli.printable import printable, signed_text
from cgnn_cli.report.style import PALETTE

ASKED, OTHERS, MORE = PALETTE[4], (PALETTE[0], PALETTE[2], PALETTE[3], PALETTE[1], PALETTE[5]), PALETTE[6]
WIDTH, MOST = 400.0, 10
CENTRE, RING = (200.0, 152.0), (148.0, 108.0)
BIG, SMALL = 26.0, 13.0
LINE = 13.0
THIN, THICK = 1.2, 6.0
LABEL_COLUMNS, TITLE_COLUMNS, LINE_COLUMNS, NAME_COLUMNS = 11, 38, 54, 24

Point = tuple[float, float]


@dataclass(frozen=True)
class Mark:
    """A node as a disc, or as a ring where its class is only predicted; its words stand where no arrow arrives."""

    place: Point
    radius: float
    colour: str
    known: bool
    words: tuple[str, ...] = ()
    above: bool = False

    @property
    def lines(self) -> list[tuple[float, str]]:
        """Its words, and how low the line of each is."""
        first = self.place[1] + self.radius + LINE
        if self.above:
            first = self.place[1] - self.radius - 5 - LINE * (len(self.words) - 1)
        return [(first + LINE * number, words) for number, words in enumerate(self.words)]


@dataclass(frozen=True)
class Arrow:
    """A line between two nodes, with a head where an edge arrives; dashed where the neighbour speaks against."""

    start: Point
    end: Point
    width: float
    dashed: bool
    heads: tuple[tuple[Point, Point, Point], ...]


@dataclass(frozen=True)
class Word:
    """A line of text that begins at a place."""

    place: Point
    text: str
    size: float
    bold: bool = False


@dataclass(frozen=True)
class Drawing:
    """All that is drawn, in units of a pixel; `alternative` says in words what it shows."""

    height: float
    alternative: str
    arrows: Sequence[Arrow]
    marks: Sequence[Mark]
    words: Sequence[Word]


def lay_out(reasons: Reasons, *, with_title: bool) -> Drawing:
    """The node in the middle, and the neighbours that move it most around it, at even distances."""
    shown = reasons.neighbours[:MOST]
    colours = class_colours(reasons.about, reasons.probabilities)
    largest = max((abs(reason.adds or 0) for reason in shown), default=0) or 1
    marks, arrows = [], []
    for place, reason in zip(_ring(len(shown)), shown, strict=True):
        words = (cut(reason.id, LABEL_COLUMNS), *([points(reason.adds)] if reasons.hear else []))
        look = colours[reason.shown_class], reason.label is not None
        marks.append(Mark(place, SMALL, *look, words, above=place[1] < CENTRE[1] - 1))
        arrows.append(_arrow(place, reason, THIN + (THICK - THIN) * abs(reason.adds or 0) / largest))
    middle = Mark(CENTRE, BIG, colours[reasons.shown_class], reasons.label is not None)
    drawing = Drawing(310.0, reasons.sentence, arrows, [middle, *marks], [])
    return _with_title(drawing, reasons, colours) if with_title else drawing


def class_colours(about: str, classes: Iterable[str]) -> dict[str, str]:
    """One colour for the class that is asked about, and others for the rest, in their order."""
    others = [name for name in classes if name != about]
    return {about: ASKED, **dict(zip(others, [*OTHERS, *[MORE] * len(others)], strict=False))}


def classes_shown(reasons: Reasons) -> set[str]:
    """The classes whose colours a drawing has."""
    return {reasons.shown_class, *(reason.shown_class for reason in reasons.neighbours[:MOST])}


def points(adds: float | None) -> str:
    """What a neighbour adds to a probability, in points of a hundred."""
    if adds is None:
        return "not tried"
    if abs(adds) < 0.00005:
        return "0" if adds == 0 else "~0"
    return signed_text(100 * adds, 1 if abs(adds) >= 0.0005 else 2)


def cut(text: str, columns: int) -> str:
    """A text that takes no more than so many columns, of which wide letters take two."""
    text, taken = printable(text), 0
    for place, letter in enumerate(text):
        taken += 2 if unicodedata.east_asian_width(letter) in "WF" else not unicodedata.combining(letter)
        if taken > columns:
            return text[: max(place - 1, 1)] + "\u2026"
    return text


def _ring(count: int) -> list[Point]:
    """Places around the middle, none straight above or below it where there are two or more."""
    turns = [2 * math.pi * (number + 0.5) / count - math.pi / 2 for number in range(count)]
    return [(CENTRE[0] + RING[0] * math.cos(turn), CENTRE[1] + RING[1] * math.sin(turn)) for turn in turns]


def _arrow(place: Point, reason: Reason, width: float) -> Arrow:
    """From the rim of the middle to that of a neighbour, shorter by the heads."""
    across, down = place[0] - CENTRE[0], place[1] - CENTRE[1]
    length = math.hypot(across, down)
    along = across / length, down / length
    start, end = _moved(CENTRE, along, BIG + 2), _moved(place, along, -SMALL - 2)
    size, heads = 7 + width, []
    if reason.edge in ("to", "both"):
        heads.append(_head(end, along, size))
        end = _moved(end, along, -size + 1)
    if reason.edge in ("from", "both"):
        back = -along[0], -along[1]
        heads.append(_head(start, back, size))
        start = _moved(start, back, -size + 1)
    return Arrow(start, end, width, (reason.adds or 0) < 0, tuple(heads))


def _moved(place: Point, along: Point, distance: float) -> Point:
    return place[0] + along[0] * distance, place[1] + along[1] * distance


def _head(tip: Point, along: Point, size: float) -> tuple[Point, Point, Point]:
    foot, half = _moved(tip, along, -size), size / 2
    side = -along[1], along[0]
    return tip, _moved(foot, side, half), _moved(foot, side, -half)


def _with_title(drawing: Drawing, reasons: Reasons, colours: dict[str, str]) -> Drawing:
    """The same below a title, above a legend."""
    lines = textwrap.wrap(printable(reasons.sentence_on(cut(reasons.id, NAME_COLUMNS))), TITLE_COLUMNS)
    title = [Word((12, 24 + 19 * number), line, 15, bold=True) for number, line in enumerate(lines)]
    down = 19.0 * len(lines) + 14
    arrows = [
        replace(
            arrow,
            start=_lower(arrow.start, down),
            end=_lower(arrow.end, down),
            heads=tuple((_lower(a, down), _lower(b, down), _lower(c, down)) for a, b, c in arrow.heads),
        )
        for arrow in drawing.arrows
    ]
    marks = [replace(mark, place=_lower(mark.place, down)) for mark in drawing.marks]
    y, words, drawn = drawing.height + down + 8, [], classes_shown(reasons)
    colours = {name: colour for name, colour in colours.items() if name in drawn}
    for number, (name, colour) in enumerate(colours.items()):
        place = 12 + 188.0 * (number % 2), y + 18 * (number // 2)
        marks.append(Mark((place[0] + 5, place[1] - 4), 5, colour, known=True))
        words.append(Word((place[0] + 16, place[1]), cut(name, NAME_COLUMNS), 11.5))
    y += 18 * math.ceil(len(colours) / 2) + 2
    for line in said_of_drawing(reasons):
        for part in textwrap.wrap(line, LINE_COLUMNS):
            words.append(Word((12, y), part, 11))
            y += 15
    return Drawing(y + 4, drawing.alternative, arrows, marks, [*title, *words])


def said_of_drawing(reasons: Reasons, *, alone: bool = True) -> list[str]:
    """How a picture is to be read; one that stands alone also says how much of the neighbourhood it shows."""
    lines = ["Filled: the class is known. Hollow: it is predicted. Arrows: direction of edges."]
    if reasons.hear:
        about = f"Numbers: points that a neighbour adds to the probability of {cut(reasons.about, NAME_COLUMNS)}"
        lines.append(f"{about}; thick: many; dashed: it speaks against.")
    if alone and len(reasons.neighbours) > MOST:
        lines.append(f"Neighbours that are not drawn: {len(reasons.neighbours) - MOST:,}.")
    return lines


def _lower(place: Point, down: float) -> Point:
    return place[0], place[1] + down
