"""Curves of precision and recall and of reliability are drawn where there is something to draw."""

import numpy as np

from cgnn_cli.report.curve_figures import MOST_CURVES, draw_precision_recall, draw_reliability

LINES = np.linspace(1, 0.2, 101)


def test_a_class_in_focus_is_drawn_alone_else_the_smallest() -> None:
    curve = np.stack([np.stack([LINES] * 9)] * 2)
    curve[0, 8], curve[:, 7] = np.nan, np.nan  # one split does not test class 8, none tests class 7
    support = np.array([[90, 80, 70, 60, 50, 40, 30, 0, 5]] * 2)
    names = [f"class {k} $x$ <b>" for k in range(9)]
    alone = draw_precision_recall("a", "gcn on demo", curve, support, names, names[2])
    assert alone is not None and names[2] in alone.alternative and names[3] not in alone.alternative
    several = draw_precision_recall("a", "gcn on demo", curve, support, names, None)
    assert several is not None and f"the {MOST_CURVES} smallest of 9 classes" in several.caption
    assert [name in several.alternative for name in names] == [False, *[True] * 6, False, True]
    assert draw_precision_recall("a", "gcn", np.full_like(curve, np.nan), support, names, None) is None
    assert draw_precision_recall("a", "gcn", curve, support, names, names[7]) is None


def test_reliability_shows_both_sides_of_a_calibration() -> None:
    bins = np.zeros((2, 15, 3))
    bins[:, 12], bins[:, 14] = (10, 8.3, 9), (30, 29, 20)
    plain, both = (draw_reliability("r", "gcn on demo", bins, before) for before in (None, bins * [1, 1, 0.5]))
    assert plain is not None and both is not None and plain.svg != both.svg
    assert "2 splits" in plain.caption and len(both.svg) < 100_000
