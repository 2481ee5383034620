"""A mean beside a printed figure: the difference, whether it is within the deviation, and the table."""

import dataclasses

import pytest

from cgnn_cli.report.beside import Beside, PaperResult, lines_beside
from cgnn_cli.report.table import DASH, Entry

PRINTED = PaperResult("table1", "CGNN", "chameleon", "", "accuracy", 79.62, 2.33, "")
WORD = dataclasses.replace(PRINTED, value=None, std=None, word="OOM")


@pytest.mark.parametrize(("mean", "within"), [(79.62, True), (81.94, True), (81.96, False), (77.28, False)])
def test_within_one_deviation(mean: float, within: bool) -> None:
    beside = Beside(mean, PRINTED)
    assert beside.difference == pytest.approx(mean - 79.62) and beside.within is within
    assert beside.to_json()["within_one_paper_std"] is within


def test_without_a_figure_or_a_mean_there_is_no_difference() -> None:
    unsaid = dataclasses.replace(PRINTED, std=None)
    assert Beside(80.0, unsaid).difference is not None and Beside(80.0, unsaid).within is None
    for beside in (Beside(80.0, WORD), Beside(None, PRINTED), Beside(80.0, PRINTED, comparable=False)):
        assert beside.difference is None and beside.within is None


def test_the_table_has_a_line_for_each_figure() -> None:
    lines = [
        ("CGNN", "a", Entry("80.00"), Beside(80.0, PRINTED, ("one", "two"))),
        ("GAT", "a", Entry("1"), Beside(1, WORD)),
    ]
    table = lines_beside(("model", "dataset"), lines)
    assert table is not None and list(table.rows[0][3:]) == ["79.62 ± 2.33", "+0.38", "yes", "one; two"]
    assert list(table.rows[1][3:]) == ["OOM", DASH, DASH, ""]
    assert lines_beside(("model", "dataset"), []) is None
