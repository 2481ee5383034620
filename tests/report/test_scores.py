"""Tables of scores: what is marked, what is missing, and what stands beside the paper."""

import pytest

from cgnn_cli.experiments.paper import find_result
from cgnn_cli.experiments.remarks import SPLITS, SYMMETRISED, TWINS
from cgnn_cli.report.beside import beside_paper
from cgnn_cli.report.labels import label_runs
from cgnn_cli.report.runs import Run
from cgnn_cli.report.scores import Cell, RowName, ScoreTable, paper_table, score_table, score_values, shown_runs
from cgnn_cli.report.table import DASH, Entry
from tests.report.samples import make_run

PAPER_COMMUTE = {"solver": "svd", "proximity": "exp", "rank": 5, "scale": 1.0}
CHAMELEON = {"dataset": "chameleon", "protocol": "published"}


def rows_of(*runs: Run) -> list[list[Entry]]:
    return score_table(runs, label_runs(runs)).to_table().entries()


def test_best_is_marked_second_too_and_missing_is_shown() -> None:
    runs = (
        make_run([0.5, 0.7], model="gcn", dataset="a"),
        make_run([0.8, 0.8], model="mlp", dataset="a"),
        make_run([0.1, 0.2], model="sage", dataset="a"),
        make_run([0.9, 0.9], model="gcn", dataset="b"),
    )
    table = {row[0].text: row[2:] for row in rows_of(*runs)}
    assert [entry.emphasis for entry in (table["mlp"][0], table["gcn"][0], table["sage"][0])] == ["best", "second", ""]
    assert table["gcn"][0] == Entry("60.00 ± 10.00", "second", "2")
    assert table["mlp"][1] == Entry(DASH, "missing")
    assert table["gcn"][1].emphasis == "", "one run has no rival"


def test_a_cell_with_fewer_runs_says_so_and_is_not_best() -> None:
    full, lucky = make_run([0.5, 0.6], split_count=2), make_run([0.9], model="mlp", split_count=2)
    worse = make_run([0.4, 0.4], model="sage", split_count=2)
    table = {row[0].text: row[2] for row in rows_of(full, lucky, worse)}
    assert table["mlp"] == Entry("90.00", "", "1 of 2"), "a single run has no deviation"
    assert (table["gcn"].emphasis, table["sage"].emphasis) == ("best", "second")


def test_equal_means_are_both_best() -> None:
    emphasis = [
        row[2].emphasis for row in rows_of(make_run([0.5]), make_run([0.5], model="mlp"), make_run([0.4], model="x"))
    ]
    assert emphasis == ["best", "best", "second"]


def test_a_failed_cell_says_what_happened() -> None:
    cells: dict[tuple[RowName, str], Cell] = {
        (("gcn",), "a"): Cell(None, note="out of memory"),
        (("mlp",), "a"): Cell(50.0, 1.0, 3),
    }
    table = ScoreTable("scores", ("model",), ("a",), cells).to_table().entries()
    assert table[0][1] == Entry("out of memory", "missing")
    assert table[1][1] == Entry("50.00 ± 1.00", "", "3")


def test_of_two_runs_for_a_cell_the_one_with_more_splits_counts_then_the_newer() -> None:
    short, long = make_run([0.9], split_count=2, key="short"), make_run([0.5, 0.6], split_count=2, key="long")
    newer = make_run([0.7, 0.7], split_count=2, key="newer")
    assert [run.key for run in shown_runs([long, short], label_runs([long, short]))] == ["long"]
    assert [run.key for run in shown_runs([long, newer], label_runs([long, newer]))] == ["newer"]


def chameleon(accuracies: list[float], model: str = "cgnn", **parts: object) -> Run:
    commute = parts.pop("commute", PAPER_COMMUTE if model == "cgnn" else None)
    graph = {**CHAMELEON, **parts.pop("graph", {})}  # type: ignore[dict-item]
    return make_run(accuracies, model=model, dataset="chameleon", graph=graph, commute=commute, **parts)  # type: ignore[arg-type]


def test_the_papers_figure_with_the_difference() -> None:
    found = beside_paper(chameleon([0.80, 0.81]))
    assert found is not None and (found.result.value, found.result.std) == (79.62, 2.33)
    assert found.difference == pytest.approx(0.88) and found.within is True and found.notes == (TWINS,)
    far = beside_paper(chameleon([0.70, 0.71]))
    assert far is not None and far.within is False


def test_the_version_of_the_graph_decides_which_figure() -> None:
    directed = beside_paper(chameleon([0.6], model="gcn"))
    undirected = beside_paper(chameleon([0.6], model="gcn", graph={"undirected": True}))
    assert directed is not None and directed.result.value == 63.37
    assert undirected is not None and undirected.result.value == 67.96


def test_variants_have_figures_of_their_own_or_a_note() -> None:
    symmetric = beside_paper(
        make_run([0.7], model="cgnn", dataset="squirrel", graph={"dataset": "squirrel"}, walk="symmetric")
    )
    assert symmetric is not None and symmetric.result.model == "CGNN_sym" and symmetric.within is None
    ranked = beside_paper(
        make_run(
            [0.9], model="cgnn", dataset="am-photo", graph={"dataset": "am-photo"}, commute={**PAPER_COMMUTE, "rank": 7}
        )
    )
    assert ranked is not None and ranked.result.value == 90.19
    exact = beside_paper(chameleon([0.8], commute={"solver": "exact", "proximity": "inverse", "scale": 1.0}))
    assert exact is not None and exact.notes == ("not the paper's weights (solver, proximity)", TWINS)


def test_out_of_memory_in_the_paper_is_a_word() -> None:
    found = beside_paper(make_run([0.5], model="dgcn", dataset="arxiv-year", graph={"dataset": "arxiv-year"}))
    assert found is not None and found.result.text == "OOM" and found.difference is None


def test_what_cannot_be_compared_says_so_or_is_not() -> None:
    assert beside_paper(chameleon([0.5], graph={"standin": "chameleon"})) is None
    assert beside_paper(make_run([0.5], model="cgnn")) is None
    partial = beside_paper(chameleon([0.5], split_count=10))
    assert partial is not None and partial.notes == ("1 of 10 splits", TWINS)
    other = beside_paper(chameleon([0.5], graph={"protocol": "random"}, label_input=True))
    assert other is not None and other.notes == ("with label input", "random splits", TWINS)


def notes_on(model: str, dataset: str, **graph: object) -> tuple[str, ...]:
    found = beside_paper(make_run([0.5], model=model, dataset=dataset, graph={"dataset": dataset, **graph}))
    assert found is not None
    return found.notes


def test_what_is_odd_about_the_papers_figure_is_said() -> None:
    assert "79.54" in notes_on("gcn", "chameleon")[0]
    assert notes_on("gat", "roman-empire") == (SPLITS,) and notes_on("gat", "am-photo") == (SYMMETRISED,)
    assert notes_on("gat", "cora-ml") == ()


def test_a_remark_that_is_not_true_of_the_run_is_left_out() -> None:
    assert notes_on("gat", "am-photo", undirected=True) == ()
    ignoring = make_run([0.5], model="gat", dataset="am-photo", graph={"dataset": "am-photo"}, direction="undirected")
    found = beside_paper(ignoring)
    assert found is not None and found.notes == ()
    for dataset in ("roman-empire", "arxiv-year"):
        assert notes_on("gat", dataset, protocol="random") == ("random splits",)


@pytest.mark.parametrize(("dataset", "setting"), [("squirrel", "undirected"), ("chameleon", "directed")])
def test_figures_in_the_remarks_on_dgcn_are_those_printed(dataset: str, setting: str) -> None:
    one, other = (
        find_result("table1", "DGCN", dataset),
        find_result("directed-undirected", "DGCN", dataset, setting=setting),
    )
    assert one is not None and other is not None
    assert f"{one.value}" in notes_on("dgcn", dataset)[0] and f"{other.value}" in notes_on("dgcn", dataset)[0]


def test_the_table_beside_the_paper() -> None:
    runs = [chameleon([0.80, 0.81]), make_run([0.5])]
    table = paper_table(runs, label_runs(runs))
    assert table is not None and len(table.rows) == 1
    texts = [entry.text for entry in table.entries()[0]]
    assert texts[2:6] == ["80.50 ± 0.50", "79.62 ± 2.33", "+0.88", "yes"]
    assert paper_table([runs[1]], label_runs(runs)) is None
    single = paper_table([chameleon([0.80])], label_runs([chameleon([0.80])]))
    assert single is not None and single.entries()[0][2] == Entry("80.00", note="1")


def test_values_have_everything_and_seconds_are_cold() -> None:
    run = chameleon([0.5, 0.7])
    values = score_values(run, label_runs([run])[run.key])
    assert values["seconds"] == pytest.approx(1 + 4), "commute, and one split"
    assert values["paper"]["within_one_paper_std"] is False
    assert values["options"]["solver"] == "svd" and values["splits"] == [0, 1]
