"""Cells: beside the paper's figure, with the difference, and marked where runs are missing."""

import dataclasses
import statistics
from typing import Any

import pytest

from cgnn_cli.execution.results import Run, Status
from cgnn_cli.paper.cells import Cell, accuracy_table, beside_table, failures, origins
from cgnn_cli.paper.printed import find_result
from cgnn_cli.paper.table1 import printed_for
from cgnn_cli.report.page import to_markdown
from tests.report.samples import page_with
from tests.runs import make_run

CHAMELEON = find_result("table1", "CGNN", "chameleon")  # 79.62 ± 2.33
OUT_OF_MEMORY = find_result("table1", "GAT", "snap-patents")


def run(*accuracies: float, status: Status = "done", message: str = "") -> Run:
    """A run with these test accuracies, or without any."""
    return make_run(accuracies, key="f" * 32) if accuracies else Run("a", "demo", status=status, message=message)


def cell(row: str, column: str, run: Run, expected: int, **parts: Any) -> Cell:
    return Cell(row, column, column, run=run, expected=expected, **parts)


def test_mean_and_population_deviation_in_per_cent() -> None:
    made = cell("CGNN", "chameleon", run(0.8, 0.7, 0.75), 3)
    assert made.mean == pytest.approx(75.0)
    assert made.std == pytest.approx(100 * statistics.pstdev([0.8, 0.7, 0.75]))
    assert made.status == "done" and made.difference is None and made.within is None
    assert cell("CGNN", "chameleon", run(0.8), 3).std is None


@pytest.mark.parametrize(("accuracy", "within"), [(0.7962, True), (0.8194, True), (0.8196, False), (0.7728, False)])
def test_within_one_deviation_of_the_paper(accuracy: float, within: bool) -> None:
    made = cell("CGNN", "chameleon", run(accuracy), 1, printed=CHAMELEON)
    assert made.difference == pytest.approx(100 * accuracy - 79.62)
    assert made.within is within


def test_what_cannot_be_compared_has_no_difference() -> None:
    standin = cell("CGNN", "chameleon", run(0.8), 1, printed=CHAMELEON, comparable=False)
    assert standin.difference is None and standin.within is None
    assert cell("GAT", "snap-patents", run(0.8), 1, printed=OUT_OF_MEMORY).difference is None
    assert cell("CGNN", "chameleon", run(), 1, printed=CHAMELEON).difference is None


@pytest.mark.parametrize(
    ("found", "status"),
    [
        (run(0.5, 0.6), "partial"),
        (run(0.5, 0.6, 0.7), "done"),
        (run(status="failed", message="no"), "failed"),
        (run(status="not run"), "not run"),
    ],
)
def test_status(found: Run, status: str) -> None:
    made = cell("CGNN", "chameleon", found, 3)
    assert made.status == status
    assert made.to_json()["status"] == status
    assert made.to_json()["runs"] == len(found.accuracies)


def test_tables_mark_partial_and_failed_cells() -> None:
    cells = [
        cell("CGNN", "chameleon", run(0.80, 0.82), 10, printed=CHAMELEON, notes=("a note",)),
        cell("GCN", "chameleon", run(status="failed", message="diverged"), 10),
        cell("SAGE", "chameleon", run(status="not run"), 10, printed=CHAMELEON),
    ]
    text = to_markdown(page_with(accuracy_table(cells, "model")))
    assert "| CGNN | 81.00 ± 1.00 (2 of 10) |" in text
    assert "| GCN | failed |" in text and "| SAGE | not run |" in text
    beside = beside_table(cells, ("model", "dataset"))
    assert beside is not None
    assert [str(row[0]) for row in beside.rows] == ["CGNN", "SAGE"]
    text = to_markdown(page_with(beside))
    assert "| 81.00 ± 1.00 (2 of 10) | 79.62 ± 2.33 | +1.38 | yes | a note |" in text
    assert "| not run | 79.62 ± 2.33 | \u2013 | \u2013 |" in text
    failed = failures(cells)
    assert failed is not None and [list(row) for row in failed.rows] == [["GCN", "chameleon", "diverged"]]
    assert [row[3] for row in origins(cells).rows] == ["f" * 32, "\u2013", "\u2013"]


def test_no_table_without_figures_of_the_paper() -> None:
    cells = [cell("CGNN", "demo", run(0.8), 1)]
    assert beside_table(cells, ("model", "dataset")) is None and failures(cells) is None


def test_a_stand_in_is_marked_and_has_no_best() -> None:
    cells = [
        cell(row, column, run(accuracy), 1, standin=column == "toy")
        for column in ("toy", "demo")
        for row, accuracy in (("CGNN", 0.8), ("GCN", 0.7))
    ]
    text = to_markdown(page_with(accuracy_table(cells, "model")))
    assert "| CGNN | 80.00 (1, stand-in) | **80.00** (1) |" in text
    assert "| GCN | 70.00 (1, stand-in) | <u>70.00</u> (1) |" in text
    assert [each.to_json()["standin"] for each in cells] == [True, True, False, False]
    missing = cell("GCN", "toy", run(status="failed"), 1, standin=True)
    assert "| GCN | failed |" in to_markdown(page_with(accuracy_table([missing], "model")))


def test_a_figure_has_the_papers_value_of_the_table_where_it_can_be_compared() -> None:
    control = cell("CGNN, no weights", "chameleon", run(0.8), 1)
    own = cell("CGNN", "chameleon", run(0.8), 1, printed=CHAMELEON)
    assert printed_for([control]) is None
    assert printed_for([control, own]) is CHAMELEON
    assert printed_for([dataclasses.replace(own, comparable=False)]) is None
