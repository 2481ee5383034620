"""Which runs are compared, how often, and what the table says."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from cgnn_cli.report.comparisons import (
    MOST_PAIRS,
    compare_pairs,
    compare_runs,
    comparison_table,
    not_comparable,
    split_ratios,
    uncompared,
)
from cgnn_cli.report.run_names import label_runs
from cgnn_cli.store.artifact import Artifact, Header, sealed
from cgnn_cli.store.store import Store
from tests.runs import make_run


def ratio(graph: str, splits: Sequence[int]) -> float:
    """Two test nodes for five that train."""
    return 0.4


def test_only_runs_on_the_same_splits_of_one_graph_are_compared() -> None:
    a, b = make_run([0.5, 0.7, 0.6]), make_run([0.4, 0.5, 0.5], model="mlp")
    others = [make_run([0.5, 0.6, 0.7], model="x", splits=[1, 2, 3]), make_run([0.1, 0.2, 0.3], dataset="other")]
    found = compare_runs([b, a, *others], ratio)
    assert [(each.first.key, each.second.key) for each in found] == [(a.key, b.key)]
    assert found[0].corrected == found[0].paired.t_test


def test_a_tie_is_no_minus_nothing() -> None:
    third = [1 / 3, 2 / 3]
    runs = [make_run(third), make_run([0.5, 0.5], model="mlp"), make_run([0.6, 0.4 - 1e-12], model="x")]
    table = comparison_table(compare_runs(runs, ratio), label_runs(runs))
    assert all(row[2].text.startswith("0.00 ± ") for row in table.entries()), table.rows


def test_single_splits_are_not_compared() -> None:
    assert compare_runs([make_run([0.5]), make_run([0.6], model="mlp")], ratio) == []


def test_all_pairs_and_the_correction_counts_them() -> None:
    runs = [make_run([0.5, 0.7 + step / 100, 0.6], model=f"m{step}") for step in range(4)]
    found = compare_runs(runs, ratio)
    assert len(found) == 6
    smallest = min(each.paired.t_test or 1 for each in found)
    assert min(each.corrected or 1 for each in found) == min(1, 6 * smallest)
    table = comparison_table(found, label_runs(runs))
    assert "6 paired comparisons" in table.caption and len(table.rows) == 6


def test_many_runs_are_compared_with_the_best() -> None:
    runs = [make_run([0.1 * step, 0.101 * step, 0.1 * step], model=f"m{step}") for step in range(9)]
    found = compare_runs(runs, ratio)
    assert MOST_PAIRS < 9 * 8 / 2 and len(found) == 8
    assert {each.first.model for each in found} == {"m8"}
    smallest = min(each.paired.t_test or 1 for each in found)
    assert min(each.corrected or 1 for each in found) == 36 * smallest < 1, "the best was picked from 36 pairs"
    assert found[0].to_json()["holm_family"] == 36
    assert "over all 36 pairs" in comparison_table(found, label_runs(runs)).caption
    assert "paired comparisons of the run with the highest mean," in comparison_table(found, label_runs(runs)).caption


def test_only_pairs_that_were_picked_for_the_highest_mean_are_said_to_be() -> None:
    low, *high = [make_run([0.1 * step, 0.101 * step], model=f"m{step}") for step in range(1, 4)]
    pairs = compare_pairs([(low, other) for other in high], ratio)
    caption = comparison_table(pairs, label_runs([low, *high])).caption
    assert "highest mean" not in caption and "correction over the 2 of the page in bold" in caption
    assert pairs[0].to_json()["holm_family"] == 2


def test_the_correction_is_over_the_runs_of_all_graphs() -> None:
    runs = [
        make_run([0.5, 0.7 + step / 100, 0.6], model=f"m{step}", dataset=dataset)
        for dataset in ("a", "b")
        for step in range(3)
    ]
    found = compare_runs(runs, ratio)
    assert len(found) == 6 and {each.family for each in found} == {6}
    smallest = min(each.paired.t_test or 1 for each in found)
    assert min(each.corrected or 1 for each in found) == min(1, 6 * smallest)
    table = comparison_table([each for each in found if each.first.dataset == "a"], label_runs(runs))
    assert "a: 3 paired comparisons" in table.caption and "over the 6 of the page" in table.caption


def test_sizes_of_splits_are_read_from_the_graph(tmp_path: Path) -> None:
    splits = np.array([[1, 1, 2, 3, 3, 3], [1, 1, 1, 2, 0, 3]], dtype=np.uint8)
    store, key = Store(tmp_path), "abc".ljust(32, "0")
    store.publish(sealed(Artifact(Header("graph", key, 1, {}, {}, {}), {"splits": splits})))
    known = split_ratios(store)
    assert known(key, [0]) == 1.5 and known(key, [0, 1]) == 4 / 5
    assert known("f" * 32, [0]) is None and known("", [0]) is None


def test_without_the_graph_there_is_no_t_test() -> None:
    runs = [make_run([0.5, 0.7, 0.6]), make_run([0.4, 0.5, 0.5], model="mlp")]
    (found,) = compare_runs(runs, lambda graph, splits: None)
    assert found.paired.t_test is None and found.corrected is None and found.paired.sign_flips is not None
    assert "needs their graph in the store" in comparison_table([found], label_runs(runs)).caption


def test_many_on_some_splits_and_few_on_others() -> None:
    many = [make_run([0.1 * step, 0.101 * step], model=f"m{step}") for step in range(9)]
    few = [make_run([0.5, 0.5 + step / 10], model=f"n{step}", splits=[3, 4]) for step in range(3)]
    found = compare_runs([*many, *few], ratio)
    caption = comparison_table(found, label_runs([*many, *few])).caption
    assert len(found) == 8 + 3 and "(of many runs on the same splits, of the one with the highest" in caption
    assert "over all 39 pairs" in caption


def test_runs_on_other_splits_are_named() -> None:
    runs = [make_run([0.5, 0.7, 0.6], model=f"m{step}") for step in range(5)]
    assert uncompared(runs, label_runs(runs)) == ""
    runs += [make_run([0.5, 0.7], model="mlp"), make_run([0.6], model="sage"), make_run([0.7], model="gat")]
    said = uncompared(runs, label_runs(runs))
    assert said.startswith("18 of 28 pairs of runs cannot be compared"), "the 10 of the first five can"
    assert said.endswith("m0, m1, m2 and 2 more on splits 0 to 2; mlp on splits 0, 1; sage, gat on split 0.")


def test_named_pairs_are_compared_over_the_splits_that_both_have() -> None:
    long, short = make_run([0.5, 0.7, 0.6, 0.9]), make_run([0.5, 0.4], model="mlp", splits=[3, 1])
    (found,) = compare_pairs([(long, short), (long, short)], ratio)
    assert found.paired.gaps == (0.7 - 0.4, 0.9 - 0.5)
    assert found.corrected == found.paired.t_test, "a pair that comes twice counts once"
    assert not_comparable(long, short) == ""
    assert "p below 0.05 in bold" in comparison_table([found], label_runs([long, short])).caption


def test_why_two_runs_cannot_be_compared() -> None:
    run = make_run([0.5, 0.7, 0.6])
    assert "one and the same" in not_comparable(run, run)
    assert "graphs" in not_comparable(run, make_run([0.5, 0.7, 0.6], dataset="other"))
    assert "splits 0 to 2, and split 0" in not_comparable(run, make_run([0.5], model="mlp"))


def test_a_table_of_several_datasets_names_them() -> None:
    runs = [make_run([0.5, 0.7, 0.6], model=model, dataset=name) for name in ("a", "b") for model in ("gcn", "mlp")]
    table = comparison_table(compare_pairs([(runs[0], runs[1]), (runs[2], runs[3])], ratio), label_runs(runs))
    assert table.columns[:3] == ("dataset", "run", "against") and [row[0] for row in table.rows] == ["a", "b"]
    assert table.caption.startswith("a, b: 2 paired comparisons")
