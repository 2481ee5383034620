"""Pairs of cells: compared where they can be, and named where they cannot; times beside the paper's."""

from typing import Any

import pytest

from cgnn_cli.experiments.cells import Measured
from cgnn_cli.experiments.pairs import compare_cells
from cgnn_cli.experiments.variants import pairs_of, time_table
from cgnn_cli.report.runs import Run
from cgnn_cli.report.table import to_markdown
from cgnn_cli.trials import Status, Trial, TrialResult
from tests.report.samples import make_run


class Shelf:
    """A lab that has runs, and nothing else."""

    def __init__(self) -> None:
        self.found: dict[str, Run] = {}

    def runs(self, results: list[TrialResult]) -> dict[str, Run]:
        return {result.trial.name: self.found[result.trial.name] for result in results if result.keys}

    def cell(self, row: str, *accuracies: float, column: str = "demo", status: Status = "done") -> Measured:
        result = TrialResult(Trial(f"{row} | {column}", column), status, test_accuracy=list(accuracies))
        result.splits = list(range(len(accuracies)))
        if accuracies:
            run = make_run(list(accuracies), model=row, dataset=column, split_count=10)
            self.found[result.trial.name] = run
            result.keys = {"eval": run.key}
        return Measured(row, column, result, 10)


@pytest.fixture
def shelf() -> Any:
    return Shelf()


def test_unequal_splits_are_compared_over_those_in_common(shelf: Any) -> None:
    found = compare_cells(shelf, [(shelf.cell("A", 0.5, 0.6, 0.9), shelf.cell("B", 0.4, 0.3))])
    (record,) = found.records()
    assert (record["splits"], record["row"], record["against"], record["dataset"]) == (2, "A", "B", "demo")
    assert record["mean_difference"] == pytest.approx(0.2) and len(record["keys"]) == 2 and found.left_out == []


def test_pairs_that_are_not_compared_are_named_with_the_reason(shelf: Any) -> None:
    whole = shelf.cell("A", 0.5, 0.6, 0.9)
    others = [shelf.cell("B", status="not run"), shelf.cell("C", 0.5), shelf.cell("D", status="failed")]
    found = compare_cells(shelf, [(whole, other) for other in others])
    (said,) = found.blocks()
    assert said == (
        "Not compared: A against B (the second was not run); A against C (fewer than two splits in common: splits 0 to "
        "2, and split 0); A against D (the second failed)."
    )


def test_rows_are_compared_with_the_papers_own_on_each_dataset(shelf: Any) -> None:
    cells = [shelf.cell(row, 0.5, 0.6, column=column) for row in ("q=3", "q=5") for column in ("a", "b")]
    cells[3] = shelf.cell("q=5", column="b", status="not run")
    found = compare_cells(shelf, pairs_of(cells, "q=5"))
    assert [(each["dataset"], each["row"], each["against"]) for each in found.records()] == [("a", "q=5", "q=3")]
    assert found.left_out == ["q=5 against q=3 on b (the first was not run)"]


def test_times_have_two_decimals_and_ratios_here_and_in_the_paper(shelf: Any) -> None:
    cells = [shelf.cell(row, 0.5, column="squirrel") for row in ("CGNN", "CGNN_ppr")]
    for cell, seconds in zip(cells, (8.0, 12.0), strict=True):
        cell.result.seconds, cell.result.preparation_seconds = [seconds], 2.0
    text = to_markdown(time_table(cells, "ppr"))
    assert "| CGNN | squirrel | 10.00 | 2.00 | 99.25 | \u2013 | \u2013 |" in text
    assert "| CGNN\\_ppr | squirrel | 14.00 | 2.00 | 257.84 | 1.40 | 2.60 |" in text
