"""Layers and width: values are compared over the splits that all of them have."""

from cgnn_cli.paper.cells import Cell, accuracy_table
from cgnn_cli.paper.lab import Request
from cgnn_cli.paper.sensitivity import best_table, draw
from cgnn_cli.report.page import to_markdown
from cgnn_cli.report.table import DASH
from tests.paper.test_cells import run
from tests.paper.test_lab import lab_with
from tests.report.samples import page_with


def cell(row: str, *accuracies: float) -> Cell:
    return Cell(row, "demo", "demo", run=run(*accuracies), expected=4, comparable=False)


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
    assert "| layers 1 | 40.00 ± 33.17 (4) |" in to_markdown(page_with(accuracy_table(UNEQUAL, "varied"))).replace(
        "**", ""
    )


def test_the_figure_has_the_same_splits() -> None:
    picture = draw(lab_with(Request(quick=True)), UNEQUAL)
    assert picture is not None and "share (layers: 2, hidden: 3)" in picture.caption
    assert "layers: highest at 1 with 70.0 %" in picture.alternative


def test_an_option_without_runs_has_no_best_value() -> None:
    table = best_table([cell("layers 1"), cell("hidden 8", 0.5)])
    assert [row[1] for row in table.rows] == [DASH, "8"] and "share (hidden: 1)" in table.caption
