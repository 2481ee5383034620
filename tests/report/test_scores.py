"""Tables of scores: what is marked, what is missing, and what stands beside the paper."""

import dataclasses

import pytest

from cgnn_cli.execution.results import Run
from cgnn_cli.paper.matching import beside_paper
from cgnn_cli.report.beside import Beside, PaperResult
from cgnn_cli.report.content import is_measured
from cgnn_cli.report.run_names import label_runs
from cgnn_cli.report.scores import (
    RowName,
    metric_table,
    paper_table,
    run_table,
    score_entry,
    score_table,
    score_values,
    shown_runs,
    winners,
    winners_words,
)
from cgnn_cli.report.table import DASH, Entry
from tests.runs import make_run

PRINTED = PaperResult("table1", "CGNN", "chameleon", "the better", "accuracy", 79.62, 2.33, "")


def rows_of(*runs: Run) -> list[list[Entry]]:
    return run_table(runs, label_runs(runs)).entries()


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


def test_where_all_are_equal_all_are_best() -> None:
    third = [1 / 3, 2 / 3]  # whose mean is 0.5 but for rounding
    for others in ([make_run([0.5, 0.5], model="mlp")], [make_run(third, model="x"), make_run([0.5, 0.5], model="y")]):
        assert {row[2].emphasis for row in rows_of(make_run([0.1, 0.9]), *others)} == {"best"}
    alone = rows_of(make_run([0.5]), make_run([0.5], model="mlp", splits=[1]))
    assert {row[2].emphasis for row in alone} == {"best"}


def test_the_winners_are_those_that_are_best_in_the_table() -> None:
    lucky, tied = make_run([0.9], model="sage", split_count=2), make_run([0.7, 0.5], model="mlp")
    runs = [lucky, make_run([0.6, 0.6]), tied, make_run([0.1, 0.2], model="x")]
    assert winners(runs) == [runs[1], tied], "not the one with fewer splits"
    marked = [row[0].text for row in rows_of(*runs) if row[2].emphasis == "best"]
    assert sorted(marked) == sorted(run.model for run in winners(runs))
    labels = label_runs(runs)
    assert winners_words(runs, labels) == "tie of gcn and mlp" and winners_words(runs[2:], labels) == "mlp"
    many = [make_run([0.5], model=f"m{place}") for place in range(6)]
    assert winners_words(many, label_runs(many)) == "tie of m0, m1, m2 and 3 more"


def test_one_split_has_no_deviation_in_caption_and_cells() -> None:
    runs = [make_run([0.5]), make_run([0.6], model="mlp")]
    table = run_table(runs, label_runs(runs))
    assert table.caption == "Test accuracy in %, and in brackets the number of splits"
    assert not any("±" in entry.text for row in table.entries() for entry in row)


def test_a_failed_cell_says_what_happened() -> None:
    failed, done = Run("gcn", "a", status="failed"), make_run([0.49, 0.5, 0.51])
    scores: dict[tuple[RowName, str], tuple[Entry, Run]] = {
        (("gcn",), "a"): (Entry("out of memory", "missing"), failed),
        (("mlp",), "a"): (score_entry(done, 3), done),
    }
    table = score_table(("model",), ("a",), scores).entries()
    assert table[0][1] == Entry("out of memory", "missing")
    assert table[1][1] == Entry("50.00 ± 0.82", "", "3")


def test_of_two_runs_for_a_cell_the_one_with_more_splits_counts_then_the_newer() -> None:
    short, long = make_run([0.9], split_count=2, key="short"), make_run([0.5, 0.6], split_count=2, key="long")
    newer = make_run([0.7, 0.7], split_count=2, key="newer")
    assert [run.key for run in shown_runs([long, short], label_runs([long, short]))] == ["long"]
    assert [run.key for run in shown_runs([long, newer], label_runs([long, newer]))] == ["newer"]


def test_the_table_beside_the_paper() -> None:
    runs = [make_run([0.80, 0.81], dataset="chameleon"), make_run([0.5])]
    table = paper_table(runs, label_runs(runs), {runs[0].key: Beside(80.5, PRINTED, ("a note",))})
    assert table is not None and len(table.rows) == 1
    texts = [entry.text for entry in table.entries()[0]]
    assert texts[2:] == ["80.50 ± 0.50", "79.62 ± 2.33", "+0.88", "yes", "the better; a note"]
    assert paper_table(runs, label_runs(runs), {}) is None
    single = make_run([0.80])
    alone = paper_table([single], label_runs([single]), {single.key: Beside(80.0, PRINTED)})
    assert alone is not None and alone.entries()[0][2] == Entry("80.00", note="1")


def test_values_have_everything_and_seconds_are_cold() -> None:
    run = make_run([0.5, 0.7], model="cgnn", commute={"solver": "svd"})
    values = score_values(run, label_runs([run])[run.key], Beside(100 * run.mean, PRINTED))
    assert values["seconds"] == pytest.approx(1 + 4), "commute, and one split"
    assert values["paper"]["within_one_paper_std"] is False and values["paper"]["value"] == 79.62
    assert values["options"]["solver"] == "svd" and values["splits"] == [0, 1]
    assert score_values(run, label_runs([run])[run.key])["paper"] is None


def test_a_run_is_told_in_the_metric_that_it_is_measured_by() -> None:
    run = make_run([0.5, 0.7], metric="auc", metric_class="fraud")
    run.header.summary["metrics"] = {"auc": {"mean": 0.85, "std": 0.05, "runs": 2, "per_split": [0.8, 0.9]}}
    run.header.summary["metrics"]["average-precision"] = {"mean": 0.4, "std": 0, "runs": 1, "per_split": [0.4, None]}
    assert (run.metric, run.scores, run.mean, run.measured_words) == ("auc", [0.5, 0.7], 0.6, "test accuracy")
    ranked = dataclasses.replace(run, measured="auc")
    assert ranked.scores == [0.8, 0.9] and ranked.accuracies == [0.5, 0.7]
    assert ranked.measured_words == "test AUC of fraud"
    table = run_table([ranked], label_runs([ranked]))
    assert table.caption.startswith("Test AUC of fraud in %") and table.entries()[0][2].text == "85.00 ± 5.00"
    assert is_measured(run, "auc") and not is_measured(run, "average-precision") and not is_measured(run, "macro-f1")
    values = score_values(ranked, label_runs([ranked])[ranked.key])
    assert (values["metric"], values["score_per_split"]) == ("auc", [0.8, 0.9])
    (row,) = metric_table([ranked], label_runs([ranked])).entries()
    assert [entry.text for entry in row[1:]] == ["60.00 ± 10.00", "60.00 ± 10.00", DASH, "85.00 ± 5.00", "40.00", DASH]


def test_only_accuracies_stand_beside_the_paper() -> None:
    run = make_run([0.7, 0.8], model="gcn", dataset="chameleon", graph={"dataset": "chameleon"})
    run.header.summary["metrics"] = {"auc": {"mean": 0.9, "std": 0.0, "runs": 2, "per_split": [0.9, 0.9]}}
    assert beside_paper(run) is not None and beside_paper(dataclasses.replace(run, measured="auc")) is None
    weighted = make_run(
        [0.7, 0.8], model="gcn", dataset="chameleon", graph={"dataset": "chameleon"}, class_weights="balanced"
    )
    assert beside_paper(weighted) is None
