"""Places by time: among the paper's methods alone."""

from cgnn_cli.paper.cells import Cell
from cgnn_cli.paper.efficiency import place_of, time_table
from cgnn_cli.report.table import DASH
from tests.runs import make_run

SECONDS = {
    "MLP": 0.5,
    "GCN": 1.0,
    "CGNN, no weights": 2.0,
    "DiGCN-IB": 2.5,
    "CGNN": 3.0,
    "GAT": 4.0,
    "CGNN (paper's settings)": 5.0,
}


def cells() -> list[Cell]:
    runs = {row: make_run([0.5], model=row, dataset="squirrel", seconds=seconds) for row, seconds in SECONDS.items()}
    found = [Cell(row, "squirrel", "squirrel", run=run, expected=1) for row, run in runs.items()]
    return [*reversed(found), Cell("GCNII", "squirrel", "squirrel", expected=1)]


def test_only_the_papers_methods_have_a_place() -> None:
    measured = cells()
    places = {each.row: place_of(each, measured) for each in measured}
    assert {row: places[row] for row in ("GCN", "CGNN", "GAT")} == {"GCN": "1 of 3", "CGNN": "2 of 3", "GAT": "3 of 3"}
    assert {places[row] for row in ("MLP", "DiGCN-IB", "CGNN, no weights")} == {DASH}
    assert places["CGNN (paper's settings)"] == "3 of 3", "in the place of the tuned CGNN"


def test_the_table_is_ordered_by_time_and_says_what_a_place_is() -> None:
    table = time_table(cells())
    assert [row[0] for row in table.rows] == [*SECONDS, "GCNII"]
    assert "among the paper's methods" in table.caption
