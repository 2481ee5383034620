"""Layers and width: values are compared over the splits that all of them have."""

from cgnn_cli.experiments.cells import Measured, accuracy_table
from cgnn_cli.experiments.drawing import can_draw
from cgnn_cli.experiments.lab import Asked
from cgnn_cli.experiments.sensitivity import best_table, draw
from cgnn_cli.report.table import DASH, to_markdown
from tests.experiments.test_cells import result
from tests.experiments.test_lab import lab_with


def cell(row: str, *accuracies: float) -> Measured:
    return Measured(row, "demo", result(*accuracies), 4, comparable=False)


UNEQUAL = [
    cell("layers 1", 0.9, 0.5, 0.1, 0.1),  # better where the other one was trained, worse over all its splits
    cell("layers 2", 0.6, 0.6),
    cell("layers 3"),
    cell("hidden 8", 0.5, 0.5, 0.5),
    cell("hidden 16", 0.6, 0.6, 0.6),
]


def test_the_best_value_is_that_of_the_splits_that_all_have() -> None:
    table = best_table(UNEQUAL)
    assert [row[:2] for row in table.rows] == [["layers", "1"], ["hidden", "16"]]
    assert "share (layers: 2, hidden: 3)" in table.caption
    assert "| layers 1 | 40.00 ± 33.17 (4) |" in to_markdown(accuracy_table(UNEQUAL, "varied")).replace("**", "")


def test_the_figure_has_the_same_splits() -> None:
    assert can_draw()
    (picture,) = draw(lab_with(Asked(quick=True)), "demo", UNEQUAL)
    assert "share (layers: 2, hidden: 3)" in picture.caption
    assert "layers: highest at 1 with 70.0 %" in picture.alternative


def test_an_option_without_runs_has_no_best_value() -> None:
    table = best_table([cell("layers 1"), cell("hidden 8", 0.5)])
    assert [row[1] for row in table.rows] == [DASH, "8"] and "share (hidden: 1)" in table.caption
