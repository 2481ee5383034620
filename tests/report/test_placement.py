"""Names of points are beside them, and cover neither each other nor a point."""

from itertools import combinations

import numpy as np
import pytest
from matplotlib.text import Text

from cgnn_cli.report.placement import BESIDE, Point, find_place, name_points
from cgnn_cli.report.style import logarithmic, styled_drawing

INSIDE = (0.0, 0.0, 200.0, 100.0)
SIZE = (40.0, 10.0)


def test_a_free_place_is_on_the_right() -> None:
    assert find_place((50, 50), SIZE, [], [], INSIDE) == (50 + BESIDE, 50)


def test_at_the_edge_it_is_on_the_left() -> None:
    assert find_place((190, 50), SIZE, [], [], INSIDE) == (190 - BESIDE - 40, 50)


def test_what_is_taken_moves_a_name_as_little_as_needed() -> None:
    row = (0.0, 44.0, 200.0, 51.0)
    assert find_place((50, 50), SIZE, [row], [], INSIDE) == (50 + BESIDE, 57.5)


def test_a_bar_is_avoided_near_by_and_crossed_rather_than_going_far() -> None:
    low, high = (0.0, 48.0, 200.0, 52.0), (0.0, 0.0, 200.0, 100.0)
    assert find_place((50, 50), SIZE, [], [low], INSIDE) == (50 + BESIDE, 57.5)
    assert find_place((50, 50), SIZE, [], [high], INSIDE) == (50 + BESIDE, 50)


@pytest.mark.parametrize("count", [2, 5, 19])
def test_names_of_crowded_points_do_not_touch(count: int) -> None:
    random = np.random.default_rng(count)
    seconds, accuracies = 10 ** random.uniform(0.8, 1.2, count), random.normal(78, 0.8, count)
    points = [Point(f"a longer name {k}", x, y, 1.0) for k, (x, y) in enumerate(zip(seconds, accuracies, strict=True))]
    with styled_drawing(9, 5) as drawing:
        axes = drawing.subplots()
        axes.errorbar(seconds, accuracies, yerr=1.0, fmt="o")
        logarithmic(axes.xaxis)
        name_points(drawing, axes, points)
        drawing.draw_without_rendering()
        boxes = [Text.get_window_extent(text) for text in axes.texts]  # without the line that leads to it
        marks = axes.transData.transform(np.column_stack([seconds, accuracies]))
    assert [text.get_text() for text in axes.texts] == [point.name for point in points]
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
    assert not any(box.contains(*mark) for box in boxes for mark in marks)
