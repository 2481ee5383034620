"""The figure of `cgnn explain`: what is drawn and written on it, and that nothing lies on anything else."""

import itertools
from typing import Any

import pytest
from matplotlib.figure import Figure

from cgnn_cli.report.neighbour_figure import draw_neighbours, to_svg
from cgnn_cli.report.neighbourhood import MOST, cut, lay_out, points
from tests.report.test_review_page import HOSTILE, reasons


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    figures: list[Figure] = []

    def keep(figure: Figure, kind: str) -> bytes:
        figure.draw_without_rendering()
        figures.append(figure)
        return kind.encode()

    monkeypatch.setattr("cgnn_cli.report.neighbour_figure.save_drawing", keep)
    return figures


@pytest.mark.parametrize("count", [1, 2, 3, 5, 9, 10, 30])
def test_no_words_lie_on_others_or_outside(drawn: list[Figure], count: int) -> None:
    draw_neighbours(reasons("Account 17", tuple(f"{k} Wolverhampton" for k in range(count))), "png")
    axes: Any = drawn[0].axes[0]
    boxes = [text.get_window_extent() for text in axes.texts]
    for first, second in itertools.combinations(boxes, 2):
        assert not first.overlaps(second)
    width, height = drawn[0].get_size_inches() * drawn[0].dpi
    assert all(box.x0 >= 0 and box.x1 <= width and box.y0 >= 0 and box.y1 <= height for box in boxes)


def test_marks_and_arrows_say_class_influence_and_direction() -> None:
    found = lay_out(reasons("17", ("a", "b", "c", "d")), with_title=False)
    middle, *around = found.marks
    assert [mark.known for mark in around] == [False, True, True, False] and not middle.known
    assert around[0].colour == around[2].colour == middle.colour != around[1].colour
    assert [len(arrow.heads) for arrow in found.arrows] == [1, 1, 2, 0]
    widths = [arrow.width for arrow in found.arrows]
    assert widths == sorted(widths, reverse=True) and widths[0] > 3 * widths[3]
    assert [arrow.dashed for arrow in found.arrows] == [False] * 4
    assert lay_out(reasons("17", tuple("abcdefg")), with_title=False).arrows[5].dashed


def test_the_title_is_a_sentence_and_the_rest_is_counted() -> None:
    found = reasons("17", tuple(f"n{k}" for k in range(30)))
    assert found.sentence == "17 is predicted fraud (90 %): 15 of its 23 neighbours are fraud"
    words = " ".join(word.text for word in lay_out(found, with_title=True).words)
    assert found.sentence in words and f"Neighbours that are not drawn: {30 - MOST}." in words
    assert reasons("17", ()).sentence.endswith("it has no neighbours")


def test_hostile_names_are_escaped_and_short() -> None:
    svg = to_svg(lay_out(reasons(HOSTILE[0], HOSTILE), with_title=True), alone=True)
    assert "<script" not in svg and "<img" not in svg and "\u202e" not in svg and "x" * 20 not in svg
    assert cut("\u6f22\u5b57" * 9, 11) == "\u6f22\u5b57" * 2 + "\u2026" and cut("short", 11) == "short"


def test_points_of_a_hundred() -> None:
    shown = {0.031: "+3.1", -0.2: "-20.0", 0.0: "0", 1e-9: "~0", -0.0004: "-0.04", None: "not tried"}
    assert [points(value) for value in shown] == list(shown.values())
