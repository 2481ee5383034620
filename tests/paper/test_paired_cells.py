"""Pairs of cells: compared where they can be, and named where they cannot; times beside the paper's."""

import pytest

from cgnn_cli.execution.results import Run, Status
from cgnn_cli.paper.cells import Cell
from cgnn_cli.paper.cgnn_variants import pairs_of, time_table
from cgnn_cli.paper.paired_cells import compare_cells
from cgnn_cli.report.page import to_markdown
from tests.paper.test_lab import lab_with
from tests.report.samples import page_with
from tests.runs import make_run


def cell(row: str, *accuracies: float, column: str = "demo", status: Status = "done") -> Cell:
    """A cell of a dataset with ten splits."""
    scored = make_run(accuracies, model=row, dataset=column, split_count=10) if accuracies else None
    return Cell(row, column, column, run=scored or Run(row, column, status=status), expected=10)


def test_unequal_splits_are_compared_over_those_in_common() -> None:
    found = compare_cells(lab_with(), [(cell("A", 0.5, 0.6, 0.9), cell("B", 0.4, 0.3))])
    (record,) = found.records()
    assert (record["splits"], record["row"], record["against"], record["dataset"]) == (2, "A", "B", "demo")
    assert record["mean_difference"] == pytest.approx(0.2) and len(record["keys"]) == 2 and found.left_out == []


def test_pairs_that_are_not_compared_are_named_with_the_reason() -> None:
    whole = cell("A", 0.5, 0.6, 0.9)
    others = [cell("B", status="not run"), cell("C", 0.5), cell("D", status="failed")]
    found = compare_cells(lab_with(), [(whole, other) for other in others])
    (said,) = found.blocks()
    assert said == (
        "Not compared: A against B (the second was not run); A against C (fewer than two splits in common: splits 0 to "
        "2, and split 0); A against D (the second failed)."
    )


def test_rows_are_compared_with_the_papers_own_on_each_dataset() -> None:
    cells = [cell(row, 0.5, 0.6, column=column) for row in ("q=3", "q=5") for column in ("a", "b")]
    cells[3] = cell("q=5", column="b", status="not run")
    found = compare_cells(lab_with(), pairs_of(cells, "q=5"))
    assert [(each["dataset"], each["row"], each["against"]) for each in found.records()] == [("a", "q=5", "q=3")]
    assert found.left_out == ["q=5 against q=3 on b (the first was not run)"]


def test_times_have_two_decimals_and_ratios_here_and_in_the_paper() -> None:
    times = {"CGNN": 8.0, "CGNN_ppr": 12.0}
    runs = [make_run([0.5], model=row, commute={}, seconds=taken, seconds_before=2.0) for row, taken in times.items()]
    cells = [Cell(run.name, "squirrel", "squirrel", run=run) for run in runs]
    text = to_markdown(page_with(time_table(cells, "ppr")))
    assert "| CGNN | squirrel | 10.00 | 2.00 | 99.25 | \u2013 | \u2013 |" in text
    assert "| CGNN\\_ppr | squirrel | 14.00 | 2.00 | 257.84 | 1.40 | 2.60 |" in text
