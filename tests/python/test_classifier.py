"""NodeClassifier: the command line's keys and scores, scikit-learn's conventions, and what it returns."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import ParameterGrid

from cgnn_cli import NodeClassifier
from cgnn_cli.errors import CgnnError, DataError, UsageError
from cgnn_cli.store.store import Store
from tests.front_door import FrontDoor
from tests.python.frames import FLAGS, SMALL, payments

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> NodeClassifier:
    """Of the payments, two splits."""
    edges, labels, features = payments()
    store = tmp_path_factory.mktemp("fitted") / "store"
    return NodeClassifier("sage", splits=[0, 1], store=store, **SMALL).fit(edges, labels, features)


def scores(header: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in header.items() if "seconds" not in name}


@pytest.mark.parametrize("model", ["cgnn", "sage"])
def test_the_demo_graph_has_exactly_the_scores_of_the_command_line(model: str, cgnn: FrontDoor) -> None:
    """In two stores, so that both are computed."""
    asked = ("--dataset", "demo", "--model", model, "--split", 0, "--split", 3, "--no-compare", *FLAGS, "--store", "a")
    ran = cgnn.ok("run", *asked, "--json").json
    found = NodeClassifier(model, splits=[3, 0], store="b", **SMALL).fit("demo")
    assert found.run_.key == ran["key"] and scores(found.scores_) == scores(ran["summary"])
    cgnn.ok("predict", "--output", "predicted.parquet", "--store", "a")
    table = pd.read_parquet("predicted.parquet")
    assert table["predicted"].tolist() == found.predict().tolist()
    assert table["probability"].tolist() == found.predict_proba().max(axis=1).tolist()


def test_tables_and_their_files_have_the_same_keys_and_scores(cgnn: FrontDoor) -> None:
    frames = dict(zip(("edges", "labels", "features"), payments(), strict=True))
    for name, frame in frames.items():
        frame.to_csv(f"{name}.csv", index=False)
    files = [word for name in frames for word in (f"--{name}", f"{name}.csv")]
    imported = cgnn.ok(
        "data", "import", "pay", *files, "--weight-column", "amount", "--split-count", 2, "--store", "a", "--json"
    ).json
    ran = cgnn.ok("run", "--dataset", "pay", *FLAGS, "--store", "a", "--json").json
    model = NodeClassifier("cgnn", store="b", **SMALL)
    found = model.fit(**frames, weight="amount", split_count=2)
    assert found.run_.graph_key == imported["key"] and found.run_.key == ran["key"]
    other = NodeClassifier("mlp", store="b", undirected=True, featureless=True, jobs=2, **SMALL)
    other.fit(**frames, split_count=2)
    assert other.n_features_in_ == 0 and (other.graph_.adjacency != other.graph_.adjacency.T).nnz == 0
    assert scores(found.scores_) == scores(ran["summary"])
    assert Store(Path("b").absolute()).names_of(imported["key"]) == [f"python-{imported['key'][:12]}"]
    again = NodeClassifier("cgnn", store="a", **SMALL).fit(**frames, weight="amount", split_count=2)
    assert again.run_.key == ran["key"] and Store(Path("a").absolute()).names_of(imported["key"]) == ["pay"]
    assert cgnn.ok("predict", "--store", "b", "--json").json["summary"]["splits"] == [0, 1]  # goes on from it


def test_auto_makes_the_choice_of_tune_and_finds_it_again(cgnn: FrontDoor) -> None:
    """What was chosen is taken, by the same search or, without a budget, for the same options; else it is searched."""
    fixed = ("--set", "train.epochs=5", "--split", 0, "--trials", 2)
    chosen = cgnn.ok("tune", "--dataset", "demo", *fixed, "--store", "a", "--json").json["summary"]["best"]
    ran = cgnn.ok(
        "run", "--dataset", "demo", "--preset", "auto", "--split", 0, "--no-compare", "--store", "a", "--json"
    ).json
    options: dict[str, Any] = {"epochs": 5, "splits": [0], "verbose": False}
    found = NodeClassifier(trials=2, store="b", **options).fit("demo")
    assert found.run_.model == chosen["model"] and found.run_.key == ran["key"]
    for again in (NodeClassifier(trials=2, store="b", **options), NodeClassifier(store="b", **options)):
        assert trainings("b", again.fit("demo")) == trainings("b", found)
    before = len(trainings("b", found))
    NodeClassifier(trials=2, store="b", **{**options, "epochs": 4}).fit("demo")
    assert len(trainings("b", found)) > before


def trainings(store: str, fitted: NodeClassifier) -> list[str]:
    return sorted(path.name for path in Path(store).glob("fit/*.h5"))


def test_answers_are_in_the_order_of_the_nodes_that_are_asked_for(fitted: NodeClassifier) -> None:
    chances = fitted.predict_proba()
    assert chances.shape == (60, 2) and fitted.nodes_.tolist() == sorted(fitted.nodes_)
    assert fitted.classes_.tolist() == ["person", "shop"] and fitted.n_features_in_ == 3
    np.testing.assert_allclose(chances.sum(axis=1), 1, atol=1e-6)
    some = fitted.nodes_[[7, 3, 7]]
    assert (fitted.predict_proba(some) == chances[[7, 3, 7]]).all()
    assert (fitted.predict_proba(pd.Series(some)) == chances[[7, 3, 7]]).all()
    assert fitted.predict(some[0]).tolist() == [fitted.classes_[chances[7].argmax()]]
    assert fitted.score(fitted.nodes_, fitted.predict()) == 1.0
    with pytest.raises(DataError, match="'ACC9' is no node of the graph"):
        fitted.predict(["ACC9"])


def test_tables_have_ids_labels_parts_and_chances(fitted: NodeClassifier) -> None:
    table = fitted.predict_table()
    assert isinstance(table, pd.DataFrame)
    assert list(table) == ["id", "predicted", "probability", "label", "part", "p_person", "p_shop"]
    known = payments()[1].set_index("account")["status"]
    assert (table.set_index("id")["label"][known.index] == known).all()
    ranked = fitted.ranked("shop", 5)
    assert ranked["p_shop"].is_monotonic_decreasing and (ranked["label"] == "").all() and len(ranked) == 5
    assert len(fitted.ranked("shop", labelled=True)) == 60


def test_tables_are_of_the_library_that_was_given(tmp_path: Path) -> None:
    edges, labels, _ = map(pl.from_pandas, payments())
    found = NodeClassifier("linear", splits=[0], store=tmp_path, **SMALL, encoding="degrees").fit(edges, labels)
    assert isinstance(found.predict_table(["ACC001"]), pl.DataFrame)
    assert found.predict_table(["ACC001"])["id"].to_list() == ["ACC001"]


def test_it_keeps_the_conventions_of_scikit_learn(fitted: NodeClassifier) -> None:
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params() and not hasattr(copy, "classes_")
    assert fitted.get_params()["hidden"] == 4 and "lr" not in fitted.get_params()
    assert repr(copy.set_params(lr=0.1, splits=None, verbose=None, store=None)) == (
        "NodeClassifier(model='sage', epochs=8, hidden=4, lr=0.1)"
    )
    assert is_classifier(fitted) and is_classifier(copy)
    with pytest.raises(NotFittedError):
        copy.predict()
    assert len({repr(clone(copy).set_params(**point)) for point in ParameterGrid({"hidden": [1, 2], "lr": [0.1]})}) == 2
    restored = pickle.loads(pickle.dumps(fitted))
    assert (restored.predict_proba() == fitted.predict_proba()).all()


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: NodeClassifier(hiden=3), "NodeClassifier has no option hiden; did you mean hidden?"),
        (lambda: NodeClassifier().set_params(class_weight="balanced"), "did you mean class_weights?"),
        (lambda: NodeClassifier("sag").fit("demo"), "unknown model sag"),
        (lambda: NodeClassifier("sage", hidden="3").fit("demo"), "train.hidden = '3' is not a whole number"),
        (lambda: NodeClassifier("sage", trials=3).fit("demo"), 'minutes and trials are for model="auto"'),
        (lambda: NodeClassifier(trials=3, minutes=1).fit("demo"), "minutes and trials are two budgets"),
        (lambda: NodeClassifier(preset="tuned").fit("demo"), "chooses settings, and a preset has them"),
        (lambda: NodeClassifier("sage").fit("dmo"), "unknown dataset 'dmo'; did you mean demo?"),
        (lambda: NodeClassifier("sage").fit("demo", {1: 2}), "'demo' is the name of a dataset"),
        (lambda: NodeClassifier("sage").fit([(0, 1), (1, 0)]), "the graph has no labels"),
        (lambda: NodeClassifier("sage").predict(), "this NodeClassifier has learnt nothing yet"),
        (lambda: NodeClassifier("sage", splits=[12]).fit("demo"), "this dataset has the splits 0 to 4"),
    ],
)
def test_mistakes_are_errors_of_cgnn(make: Any, said: str) -> None:
    with pytest.raises(CgnnError) as error:
        make()
    assert isinstance(error.value, UsageError | DataError) and said in error.value.message


def test_environment_and_file_hold_as_for_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("cgnn.toml").write_text('store = "own"\n[train]\nhidden = 5\n', encoding="utf-8")
    monkeypatch.setenv("CGNN_TRAIN_EPOCHS", "3")
    found = NodeClassifier("linear", splits=[0], verbose=False).fit("demo")
    assert Path("own").is_dir() and found.run_.epochs == [3]
