"""Labels name what differs between runs of one model on one graph, and nothing else."""

from cgnn_cli.report.run_names import label_runs
from tests.runs import make_run


def labels_of(*runs: object) -> list[str]:
    found = label_runs(runs)  # type: ignore[arg-type]
    return [str(found[run.key]) for run in runs]  # type: ignore[attr-defined]


def test_a_single_run_of_a_model_needs_no_setting() -> None:
    assert labels_of(make_run([0.5], hidden=64), make_run([0.6], model="mlp", hidden=8)) == ["gcn", "mlp"]


def test_what_differs_on_one_dataset_is_named_and_defaults_are_not() -> None:
    narrow, wide = make_run([0.5], hidden=8, dropout=0.5), make_run([0.6], hidden=64, dropout=0.5)
    assert labels_of(narrow, wide) == ["gcn (hidden 8)", "gcn"]


def test_tuned_settings_of_datasets_share_a_row() -> None:
    one, other = make_run([0.5], dataset="a", hidden=8), make_run([0.6], dataset="b", hidden=16)
    assert labels_of(one, other) == ["gcn", "gcn"]


def test_weights_come_first_and_speak_for_themselves() -> None:
    paper = make_run([0.5], model="cgnn", commute={"solver": "svd", "proximity": "exp", "rank": 5, "scale": 1.0})
    ratio = make_run([0.6], model="cgnn", hidden=8, commute={"solver": "exact", "proximity": "ratio", "scale": 0.1})
    assert labels_of(paper, ratio) == ["cgnn (svd, exp)", "cgnn (exact, ratio, scale 0.1, hidden 8)"]


def test_settings_that_differ_in_a_default_alone_are_still_told_apart() -> None:
    silent, said = make_run([0.5]), make_run([0.6], hidden=64)
    assert len(set(labels_of(silent, said))) == 2


def test_flags_read_as_words() -> None:
    plain, scaled = make_run([0.5], l2_norm=False), make_run([0.6], l2_norm=True)
    assert labels_of(plain, scaled) == ["gcn", "gcn (l2 norm)"]
