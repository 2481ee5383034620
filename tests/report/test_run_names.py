"""Names of runs: model, weights and preset, and as few of the settings that differ as tell them apart."""

import itertools
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from cgnn_cli.configs import Facts, TrainConfig
from cgnn_cli.execution.results import Run
from cgnn_cli.presets.lookup import rows_of
from cgnn_cli.report.run_names import LONGEST, label_runs, name_runs, name_settings, preset_of
from cgnn_cli.settings import Settings
from cgnn_cli.tuning.starting_points import starting_points
from tests.runs import make_run

SVD = {"solver": "svd", "proximity": "exp", "rank": 5, "scale": 1.0}
NONE = {"solver": "pi-only", "proximity": "none"}


def labels_of(*runs: Run) -> list[str]:
    found = label_runs(runs)
    return [str(found[run.key]) for run in runs]


def tuned_run(dataset: str, accuracy: float, **changes: Any) -> Run:
    """A run of GCN with the tuned settings for a dataset, or some others."""
    row = rows_of("tuned", ["gcn"])[dataset, "gcn"].settings
    train = Settings.of({**row, "train.model": "gcn"}, "a test").config("train").resolved(Facts())
    assert isinstance(train, TrainConfig)
    graph = {"dataset": dataset, "undirected": False}
    options = {name: value for name, value in train.to_dict().items() if name not in ("model", "splits")}
    return make_run([accuracy], dataset=dataset, graph=graph, **{**options, **changes})


def test_a_single_run_of_a_model_needs_no_setting() -> None:
    assert labels_of(make_run([0.5], hidden=64), make_run([0.6], model="mlp", hidden=8)) == ["gcn", "mlp"]


def test_what_differs_on_one_dataset_is_named_and_defaults_are_not() -> None:
    narrow, wide = make_run([0.5], hidden=8, dropout=0.5), make_run([0.6], hidden=64, dropout=0.5)
    assert labels_of(narrow, wide) == ["gcn (hidden 8)", "gcn"]


def test_only_what_tells_runs_apart_is_named_the_shortest_first() -> None:
    one = make_run([0.5], hidden=8, lr=0.02555, weight_decay=0.001, activation="elu")
    other = make_run([0.6], hidden=16, lr=0.01, weight_decay=0.1, activation="relu")
    assert labels_of(one, other) == ["gcn (hidden 8)", "gcn (hidden 16)"]


def test_two_options_are_named_where_one_does_not_do() -> None:
    runs = [
        make_run([0.5 + place / 10], hidden=hidden, layers=layers, patience=7 * hidden + layers)
        for place, (hidden, layers) in enumerate(itertools.product((8, 16), (1, 3)))
    ]
    names = labels_of(*runs)
    assert len(set(names)) == 4 and all(name.count(",") == 0 and "patience" in name for name in names), "one tells all"
    for run in runs:
        del run.headers["train"].config["patience"]
    fresh = [Run(run.name, run.dataset, headers=run.headers) for run in runs]
    assert labels_of(*fresh)[0] == "gcn (layers 1, hidden 8)"


def test_tuned_settings_of_datasets_share_a_row() -> None:
    one, other = make_run([0.5], dataset="a", hidden=8), make_run([0.6], dataset="b", hidden=16)
    assert labels_of(one, other) == ["gcn", "gcn"]
    weights = make_run([0.5], dataset="a", model="cgnn", commute=SVD)
    others = make_run([0.5], dataset="b", model="cgnn", commute=NONE)
    assert labels_of(weights, others) == ["cgnn", "cgnn"]


def test_weights_come_first_and_speak_for_themselves() -> None:
    paper = make_run([0.5], model="cgnn", commute=SVD)
    ratio = make_run([0.6], model="cgnn", hidden=8, commute={"solver": "exact", "proximity": "ratio", "scale": 0.1})
    plain = make_run([0.7], model="cgnn", commute=NONE)
    assert labels_of(paper) == ["cgnn (svd, exp)"], "also those of a single run"
    assert labels_of(paper, ratio, plain) == ["cgnn (svd, exp)", "cgnn (exact, ratio 0.1)", "cgnn (no weights)"]
    wide = make_run([0.8], model="cgnn", hidden=8, commute=SVD)
    assert labels_of(paper, wide) == ["cgnn (svd, exp)", "cgnn (svd, exp, hidden 8)"]


def test_the_seed_of_a_verification_tells_no_runs_apart() -> None:
    exact, verified = {"solver": "exact", "proximity": "ratio", "scale": 0.1}, {"verify": 64, "solver_seed": 1}
    alone = make_run([0.5], model="cgnn", key="alone", commute=exact)
    checked = make_run([0.6], model="cgnn", key="checked", commute=exact | verified)
    assert labels_of(alone, checked) == ["cgnn (exact, ratio 0.1)", "cgnn (exact, ratio 0.1)"]
    seeded = [
        make_run([0.5 + seed / 10], model="cgnn", commute=SVD | {"verify": 64, "solver_seed": seed}) for seed in (0, 1)
    ]
    assert labels_of(*seeded) == ["cgnn (svd, exp)", "cgnn (svd, exp, solver seed 1)"], "svd reads it itself"


def test_equal_weights_by_two_solvers_are_told_apart() -> None:
    one = make_run([0.5], model="cgnn", commute=NONE)
    other = make_run([0.6], model="cgnn", commute={"solver": "exact", "proximity": "none"})
    assert labels_of(one, other) == ["cgnn (no weights, pi-only)", "cgnn (no weights, exact)"]


def test_a_preset_is_known_by_its_settings_and_said() -> None:
    tuned, wider = tuned_run("chameleon", 0.5), tuned_run("chameleon", 0.6, hidden=48)
    assert (preset_of(tuned), preset_of(wider)) == ("tuned", "")
    assert labels_of(tuned) == ["gcn (tuned)"]
    assert labels_of(tuned, wider) == ["gcn (tuned)", "gcn"], "one word tells them apart"
    elsewhere = tuned_run("squirrel", 0.7)
    assert labels_of(tuned, elsewhere) == ["gcn (tuned)", "gcn (tuned)"], "one row"
    moved = make_run([0.5], dataset="demo", graph={"dataset": "demo"}, **tuned.headers["train"].config)
    assert preset_of(moved) == "", "settings for another dataset"
    assert preset_of(tuned_run("chameleon", 0.5)) == "tuned"
    tuned.headers["graph"].summary["undirected"] = True
    assert preset_of(tuned) == "", "another form of the graph"


def test_settings_that_differ_in_a_default_alone_are_still_told_apart() -> None:
    silent, said = make_run([0.5]), make_run([0.6], hidden=64)
    assert len(set(labels_of(silent, said))) == 2


def test_flags_read_as_words() -> None:
    plain, scaled = make_run([0.5], l2_norm=False), make_run([0.6], l2_norm=True)
    assert labels_of(plain, scaled) == ["gcn", "gcn (l2 norm)"]


def test_a_long_name_leaves_out_what_it_can_spare() -> None:
    ratio = {"solver": "series", "proximity": "ratio", "scale": 0.1}
    runs = [
        make_run([0.5], model="cgnn", commute=SVD, epochs=3),
        make_run([0.6], model="cgnn", commute=SVD, epochs=40),
        make_run([0.7], model="cgnn", commute=SVD, epochs=40, layers=3),
        make_run([0.8], model="cgnn", commute=ratio, epochs=40, layers=3),
        make_run([0.9], model="cgnn", commute=ratio, epochs=40, layers=3, lr=0.02),
    ]
    names = labels_of(*runs)
    assert len(set(names)) == 5 and max(map(len, names)) <= LONGEST
    assert names[0] == "cgnn (svd, exp, epochs 3)" and names[4] == "cgnn (series, ratio 0.1, lr 0.02)"


def test_names_come_in_the_order_of_the_runs() -> None:
    runs = [make_run([0.5], hidden=8), make_run([0.5], model="mlp"), make_run([0.6])]
    assert list(name_runs(runs)) == runs


def test_runs_that_are_still_to_be_made_are_named_by_their_settings() -> None:
    for has_features in (True, False):
        points = starting_points(1000, has_features=has_features)
        names = name_settings(points)
        assert len(set(names)) == len(points) and max(map(len, names)) <= LONGEST + 3  # which tell two apart
        assert [name.split()[0] for name in names] == [point["train.model"] for point in points]


OPTIONS = {
    "hidden": st.sampled_from([4, 8, 64]),
    "layers": st.sampled_from([1, 2, 3]),
    "lr": st.sampled_from([0.01, 0.1]),
    "epochs": st.sampled_from([5, 1000]),
    "l2_norm": st.booleans(),
    "class_weights": st.sampled_from(["none", "balanced", "a file with quite a long name.csv"]),
}
WEIGHTS = st.sampled_from([SVD, NONE, {"solver": "series", "proximity": "neighbours"}])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.fixed_dictionaries(OPTIONS), WEIGHTS, st.sampled_from("ab")), min_size=1, max_size=8))
def test_runs_of_one_graph_have_one_name_only_if_their_settings_are_one(found: list[Any]) -> None:
    runs = [make_run([0.5], model="cgnn", commute=weights, dataset=of, **options) for options, weights, of in found]
    labels = name_runs(runs)
    for one, other in itertools.combinations(runs, 2):
        if one.dataset == other.dataset:
            assert (labels[one] == labels[other]) == (one.options == other.options)
