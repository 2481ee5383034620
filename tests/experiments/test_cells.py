"""Cells: beside the paper's figure, with the difference, and marked where runs are missing."""

import dataclasses
import statistics

import pytest

from cgnn_cli.experiments.cells import Measured, accuracy_table, beside_table, failures, origins
from cgnn_cli.experiments.paper import find_result
from cgnn_cli.experiments.table1 import printed_for
from cgnn_cli.report.table import to_markdown
from cgnn_cli.trials import Status, Trial, TrialResult

CHAMELEON = find_result("table1", "CGNN", "chameleon")  # 79.62 ± 2.33
OUT_OF_MEMORY = find_result("table1", "GAT", "snap-patents")


def result(*accuracies: float, status: Status = "done", message: str = "") -> TrialResult:
    splits = list(range(len(accuracies)))
    found = TrialResult(Trial("a", "chameleon"), status, message, splits=splits, test_accuracy=list(accuracies))
    found.keys = {"eval": "f" * 32} if accuracies else {}
    return found


def test_mean_and_population_deviation_in_per_cent() -> None:
    cell = Measured("CGNN", "chameleon", result(0.8, 0.7, 0.75), 3)
    assert cell.mean == pytest.approx(75.0)
    assert cell.std == pytest.approx(100 * statistics.pstdev([0.8, 0.7, 0.75]))
    assert cell.status == "done" and cell.difference is None and cell.within is None
    assert Measured("CGNN", "chameleon", result(0.8), 3).std is None


@pytest.mark.parametrize(("accuracy", "within"), [(0.7962, True), (0.8194, True), (0.8196, False), (0.7728, False)])
def test_within_one_deviation_of_the_paper(accuracy: float, within: bool) -> None:
    cell = Measured("CGNN", "chameleon", result(accuracy), 1, CHAMELEON)
    assert cell.difference == pytest.approx(100 * accuracy - 79.62)
    assert cell.within is within


def test_what_cannot_be_compared_has_no_difference() -> None:
    standin = Measured("CGNN", "chameleon", result(0.8), 1, CHAMELEON, comparable=False)
    assert standin.difference is None and standin.within is None
    assert Measured("GAT", "snap-patents", result(0.8), 1, OUT_OF_MEMORY).difference is None
    assert Measured("CGNN", "chameleon", result(), 1, CHAMELEON).difference is None


@pytest.mark.parametrize(
    ("found", "status"),
    [
        (result(0.5, 0.6), "partial"),
        (result(0.5, 0.6, 0.7), "done"),
        (result(status="failed", message="no"), "failed"),
        (result(status="not run"), "not run"),
    ],
)
def test_status(found: TrialResult, status: str) -> None:
    cell = Measured("CGNN", "chameleon", found, 3)
    assert cell.status == status
    assert cell.to_json()["status"] == status
    assert cell.to_json()["runs"] == len(found.test_accuracy)


def test_tables_mark_partial_and_failed_cells() -> None:
    cells = [
        Measured("CGNN", "chameleon", result(0.80, 0.82), 10, CHAMELEON, ("a note",)),
        Measured("GCN", "chameleon", result(status="failed", message="diverged"), 10, None),
        Measured("SAGE", "chameleon", result(status="not run"), 10, CHAMELEON),
    ]
    text = to_markdown(accuracy_table(cells, "model"))
    assert "| CGNN | 81.00 ± 1.00 (2 of 10) |" in text
    assert "| GCN | failed |" in text and "| SAGE | not run |" in text
    beside = beside_table(cells, ("model", "dataset"))
    assert beside is not None
    assert [str(row[0]) for row in beside.rows] == ["CGNN", "SAGE"]
    text = to_markdown(beside)
    assert "| 81.00 ± 1.00 (2 of 10) | 79.62 ± 2.33 | +1.38 | yes | a note |" in text
    assert "| not run | 79.62 ± 2.33 | \u2013 | \u2013 |" in text
    failed = failures(cells)
    assert failed is not None and [list(row) for row in failed.rows] == [["GCN", "chameleon", "diverged"]]
    assert [row[3] for row in origins(cells).rows] == ["f" * 32, "\u2013", "\u2013"]


def test_no_table_without_figures_of_the_paper() -> None:
    cells = [Measured("CGNN", "demo", result(0.8), 1)]
    assert beside_table(cells, ("model", "dataset")) is None and failures(cells) is None


def test_a_stand_in_is_marked_and_has_no_best() -> None:
    cells = [
        Measured(row, column, result(accuracy), 1, standin=column == "toy")
        for column in ("toy", "demo")
        for row, accuracy in (("CGNN", 0.8), ("GCN", 0.7))
    ]
    text = to_markdown(accuracy_table(cells, "model"))
    assert "| CGNN | 80.00 (1, stand-in) | **80.00** (1) |" in text
    assert "| GCN | 70.00 (1, stand-in) | <u>70.00</u> (1) |" in text
    assert [cell.to_json()["standin"] for cell in cells] == [True, True, False, False]
    missing = Measured("GCN", "toy", result(status="failed"), 1, standin=True)
    assert "| GCN | failed |" in to_markdown(accuracy_table([missing], "model"))


def test_a_figure_has_the_papers_value_of_the_table_where_it_can_be_compared() -> None:
    control = Measured("CGNN, no weights", "chameleon", result(0.8), 1)
    own = Measured("CGNN", "chameleon", result(0.8), 1, CHAMELEON)
    assert printed_for([control]) is None
    assert printed_for([control, own]) is CHAMELEON
    assert printed_for([dataclasses.replace(own, comparable=False)]) is None
