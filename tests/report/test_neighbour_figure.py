"""The figure of `cgnn explain`: what is written on it."""

import math

import pytest
from matplotlib.figure import Figure

from cgnn_cli.analysis.explanation import Neighbour, Neighbourhood
from cgnn_cli.report.neighbour_figure import draw_neighbours

OUT = [Neighbour(f"n{k} $x_1$", None, k == 0, 0.01 * 10.0**k, 0.02, 0.1 * 10.0**k, 0.5, 1 / (k + 1)) for k in range(5)]
OUTSIDE = Neighbour(
    "a name of more letters than there is room for", None, False, math.nan, math.nan, math.nan, math.nan, 0
)


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    figures: list[Figure] = []

    def keep(figure: Figure, kind: str) -> bytes:
        figure.draw_without_rendering()
        figures.append(figure)
        return kind.encode()

    monkeypatch.setattr("cgnn_cli.report.neighbour_figure.save_drawing", keep)
    return figures


def test_names_are_written_as_they_are_and_ticks_are_numbers(drawn: list[Figure]) -> None:
    draw_neighbours(Neighbourhood("me", "red", OUT, [OUTSIDE]), "svg", top=3)
    weights, times, into, outside = drawn[0].axes
    assert [label.get_text() for label in weights.get_yticklabels()] == [f"n{k} $x_1$" for k in range(3)]
    assert weights.get_title(loc="left") == "5 out-neighbours, the 3 heaviest"
    labels = [label.get_text() for label in times.get_xticklabels()]
    assert "10" in labels and not any("$" in label for label in labels)
    assert times.get_xlim() == outside.get_xlim(), "one range for both directions"
    assert [text.get_text() for text in outside.texts] == ["outside the walk"]
    assert into.get_yticklabels()[0].get_text().endswith("\u2026")


def test_a_direction_without_neighbours_is_left_out(drawn: list[Figure]) -> None:
    assert draw_neighbours(Neighbourhood("me", None, OUT, []), "png", top=9) == b"png"
    assert len(drawn[0].axes) == 2
