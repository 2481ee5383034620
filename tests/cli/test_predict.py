"""`cgnn predict`: every class, the run that it takes, ranks, and models on other graphs."""

import csv
import math
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from tests.front_door import FrontDoor

SHORT = ("--epochs", 3, "--hidden", 4)
COUNT = 40


def rows_of(path: str = "p.csv") -> list[dict[str, str]]:
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write_graph(name: str, order: Iterable[int] = range(COUNT), *, columns: int = 3, start: str = "n") -> None:
    """Two rings with links between them, under chosen ids in a chosen order; every fourth node has no label."""
    ids = {node: f"{start}{place:03}" for place, node in enumerate(order)}
    links = [(node, (node + 2) % COUNT) for node in range(COUNT)] + [
        (node, (7 * node + 1) % COUNT) for node in range(9)
    ]
    features = np.random.default_rng(3).normal(size=(COUNT, columns)) + np.arange(COUNT)[:, None] % 2
    labels = {node: ("even", "odd")[node % 2] if node % 4 else "" for node in ids}
    tables = {
        "edges": ["source,target", *(f"{ids[a]},{ids[b]}" for a, b in links if a in ids and b in ids)],
        "labels": ["id,label", *(f"{ids[node]},{label}" for node, label in labels.items())],
        "features": [",".join(["id", *"pqruv"[:columns]])],
    }
    tables["features"] += [",".join([ids[node], *map(str, features[node].tolist())]) for node in ids]
    for kind, lines in tables.items():
        Path(f"{name}-{kind}.csv").write_text("\n".join(lines) + "\n")


def imported(cgnn: FrontDoor, name: str, *options: object, kinds: tuple[str, ...] = ("labels", "features")) -> None:
    given = [word for kind in kinds for word in (f"--{kind}", f"{name}-{kind}.csv")]
    splits = ("--split-count", 3) if "labels" in kinds else ()
    cgnn.ok("data", "import", name, "--edges", f"{name}-edges.csv", *given, *splits, *options, "-q")


@pytest.fixture
def mine(cgnn: FrontDoor) -> FrontDoor:
    write_graph("mine")
    imported(cgnn, "mine")
    return cgnn


def trained(cgnn: FrontDoor, *options: object) -> str:
    key: str = cgnn.ok("train", "--dataset", "mine", *SHORT, *options, "--json").json["key"]
    return key


def no_more_trained(cgnn: FrontDoor, *arguments: object) -> dict[str, Any]:
    """The summary and the key of a prediction, for which nothing is trained."""
    before = sorted(path for stage in ("fit", "train", "eval") for path in Path(".cgnn", stage).glob("*"))
    found: dict[str, Any] = cgnn.ok("predict", *arguments, "--json").json
    assert sorted(path for stage in ("fit", "train", "eval") for path in Path(".cgnn", stage).glob("*")) == before
    return found


# --- the table --------------------------------------------------------------------------------------------------------


def test_every_class_the_label_and_the_part_are_beside_the_winner(mine: FrontDoor) -> None:
    scored = mine.ok("eval", "--dataset", "mine", *SHORT, "--split", 1, "--json").json
    mine.ok("predict", "--output", "p.csv")
    mine.ok("export", scored["artifact"], "--to", "csv", "--output", "scores.csv")
    rows, scores = rows_of(), {row["id"]: row for row in rows_of("scores.csv")}
    assert list(rows[0]) == ["id", "predicted", "probability", "label", "part", "p_even", "p_odd"]
    for row in rows:
        chances = {name: float(row[f"p_{name}"]) for name in ("even", "odd")}
        assert math.isclose(sum(chances.values()), 1, abs_tol=1e-6)
        assert float(row["probability"]) == chances[row["predicted"]] == max(chances.values())
        assert all(row[name] == scores[row["id"]][name] for name in ("predicted", "label", "part"))
    assert sum(row["label"] == "" for row in rows) == COUNT // 4
    mine.ok("predict", "--output", "p.parquet")
    table = pq.read_table("p.parquet").to_pydict()
    assert [str(value) for value in table["p_odd"]] == [row["p_odd"] for row in rows]


def test_several_splits_are_averaged_and_parts_are_counted(mine: FrontDoor) -> None:
    trained(mine, "--split", 0, "--split", 2)
    both = no_more_trained(mine, "--output", "p.csv")
    assert both["summary"]["splits"] == [0, 2] and "honest scores" in "".join(both["warnings"])
    single = []
    for split in (0, 2):
        mine.ok("predict", "--split", split, "--output", "one.csv")
        single.append(rows_of("one.csv"))
    for row, first, second in zip(rows_of(), *single, strict=True):
        assert math.isclose(float(row["p_odd"]), (float(first["p_odd"]) + float(second["p_odd"])) / 2, abs_tol=1e-6)
        if first["part"] == second["part"]:
            assert row["part"] == first["part"]
        else:
            assert set(row["part"].split()) == {f"{first['part']}:1", f"{second['part']}:1"}


# --- the run that is taken --------------------------------------------------------------------------------------------


def test_without_options_it_is_the_run_made_last_and_nothing_is_trained(mine: FrontDoor) -> None:
    mine.ok("run", "--dataset", "mine", *SHORT, "--split", 0, "--split", 1)
    first = no_more_trained(mine)["key"]
    assert no_more_trained(mine)["summary"]["splits"] == [0, 1], "those that were trained, and not the third"
    second = trained(mine, "--model", "mlp")
    result = mine.ok("predict")
    assert f"the run made last: {second[:12]}, mlp on mine, splits 0, 1, 2" in result.err
    assert "predicted class" in result.out and "without a label" in result.out
    mine.ok("run", "--dataset", "mine", *SHORT, "--split", 0, "--split", 1)  # a cache hit: asked for last
    assert no_more_trained(mine)["key"] == first


def test_settings_that_are_named_find_their_run(mine: FrontDoor) -> None:
    wide = trained(mine, "--hidden", 6, "--solver", "exact", "--split", 0)
    flat = trained(mine, "--model", "mlp", "--dropout", 0.1)
    last = trained(mine, "--split", 1)
    for options, key in (
        (("--hidden", 6), wide),
        (("--solver", "exact"), wide),
        (("--set", "train.hidden=6", "--dataset", "mine"), wide),
        (("--input", Path(".cgnn/train", f"{wide}.h5")), wide),
        (("--model", "mlp"), flat),
        (("--split", 2), flat),
        (("--dataset", "mine"), last),
        (("--epochs", 3), last),
        (("--rank", 5), last),
        (("--run", wide[:10]), wide),
        (("--run", Path(".cgnn/train", f"{flat}.h5")), flat),
    ):
        assert no_more_trained(mine, *options)["key"] == key, options
    commute = mine.ok("commute", "--dataset", "mine", "--solver", "exact", "-q").path
    assert no_more_trained(mine, "--input", commute)["key"] == wide
    scores = mine.ok("eval", "--input", Path(".cgnn/train", f"{flat}.h5"), "-q").path
    assert no_more_trained(mine, "--run", scores)["key"] == no_more_trained(mine, "--input", scores)["key"] == flat


def test_a_preset_finds_the_run_that_was_made_with_it(mine: FrontDoor) -> None:
    Path("rows.toml").write_text("[mine.cgnn]\ntrain.hidden = 5\ntrain.epochs = 2\n")
    key = mine.ok("train", "--dataset", "mine", "--preset", "rows.toml", "--split", 0, "--json").json["key"]
    trained(mine)
    assert no_more_trained(mine, "--dataset", "mine", "--preset", "rows.toml")["key"] == key
    said = mine.fails(4, "predict", "--dataset", "mine", "--preset", "rows.toml", "--lr", 0.5)
    assert "cgnn run --dataset mine --lr 0.5 --preset rows.toml" in said


def test_a_run_that_is_missing_says_how_to_make_it(mine: FrontDoor) -> None:
    assert "has no trained model (`cgnn run --dataset mine`" in mine.fails(4, "predict"), "the only import"
    assert "`cgnn run --dataset demo --store empty`" in mine.fails(4, "predict", "--store", "empty")
    assert "`cgnn run --dataset mine --split 1` makes it" in mine.fails(4, "predict", "--dataset", "mine", "--split", 1)
    key = trained(mine, "--split", 0)
    said = mine.fails(4, "predict", "--hidden", 7, "--no-tail", "--store", ".cgnn")
    assert "has --no-tail --hidden 7" in said and "cgnn run --dataset mine --no-tail --hidden 7 --store .cgnn" in said
    other = mine.fails(4, "predict", "--dataset", "demo")
    assert "no run on demo" in other and f"cgnn predict --run {key[:12]} --dataset demo" in other
    assert "only the splits [0]" in mine.fails(2, "predict", "--split", 2)
    assert not [*Path(".cgnn/eval").glob("*")]


@pytest.mark.parametrize(
    ("code", "options", "said"),
    [
        (2, ("--run", "KEY", "--input", "x.h5"), "two different starting points"),
        (2, ("--run", "KEY", "--hidden", 3), "--hidden belongs to train"),
        (2, ("--run", "KEY", "--undirected"), "--undirected belongs to graph"),
        (2, ("--run", "GRAPH"), "is a graph artifact, and no run"),
        (4, ("--run", "fffff"), "neither a file nor a key"),
        (2, ("--undirected",), "--undirected is for a --dataset"),
        (2, ("--top", 3), "no class is named"),
        (2, ("--class", "nix"), "no class nix (its classes are even, odd)"),
        (2, ("--class", "odd", "--top", 0), "--top"),
        (2, ("--device", "cuda"), "has no CUDA"),
    ],
)
def test_what_does_not_go_together(mine: FrontDoor, code: int, options: tuple[object, ...], said: str) -> None:
    words = {"KEY": trained(mine, "--split", 0), "GRAPH": next(Path(".cgnn/graph").glob("*.h5")).stem}
    assert said in mine.fails(code, "predict", *(words.get(str(word), word) for word in options))


# --- ranks ------------------------------------------------------------------------------------------------------------


def test_ranks_are_by_the_probability_of_the_class_among_unlabelled_nodes(mine: FrontDoor) -> None:
    trained(mine, "--split", 0)
    mine.ok("predict", "--output", "p.csv")
    rows = sorted(rows_of(), key=lambda row: -float(row["p_odd"]))
    unlabelled = [row for row in rows if not row["label"]]
    mine.ok("predict", "--class", "odd", "--output", "ranked.csv")
    assert rows_of("ranked.csv") == unlabelled
    mine.ok("predict", "--class", "odd", "--all", "--top", 7, "--output", "ranked.csv")
    assert rows_of("ranked.csv") == rows[:7]
    found = no_more_trained(mine, "--class", "odd", "--top", 3)["summary"]
    assert found["class"] == "odd" and [row["rank"] for row in found["ranked"]] == [1, 2, 3]
    assert [(row["id"], str(row["probability"])) for row in found["ranked"]] == [
        (row["id"], row["p_odd"]) for row in unlabelled[:3]
    ]
    shown = mine.ok("predict", "--class", "odd", "--top", 3).out
    assert [line.split()[1] for line in shown.splitlines() if line.strip()[:1].isdigit()] == [
        row["id"] for row in unlabelled[:3]
    ]
    assert "and 7 more" not in shown
    assert len(mine.ok("predict", "--class", "odd", "--all").out.splitlines()) > 20


def test_where_every_node_has_a_label_all_is_named(cgnn: FrontDoor) -> None:
    cgnn.ok("train", "--dataset", "demo", "--model", "mlp", "--epochs", 1, "--split", 0)
    assert "--all" in cgnn.fails(2, "predict", "--class", "jazz")
    assert "and 1,480 more" in cgnn.ok("predict", "--class", "jazz", "--all").out


# --- another graph ----------------------------------------------------------------------------------------------------

MODELS: dict[str, tuple[object, ...]] = {
    "cgnn": ("--solver", "exact"),
    "escape": ("--method", "escape", "--solver", "series", "--undirected"),
    "standard": ("--model", "sage", "--feature-scaling", "standard"),
    "degrees": ("--model", "gcn", "--encoding", "degrees", "--degree-features"),
    "structural": ("--model", "mlp", "--encoding", "structural"),
    "knn": ("--model", "gcn", "--knn", 3),
    "balanced": ("--model", "dirgnn", "--class-weights", "balanced", "--calibrate"),
    "threshold": ("--model", "gat", "--metric-class", "odd", "--target-recall", 0.9),
}


@pytest.mark.parametrize("name", MODELS)
def test_its_own_graph_under_other_ids_in_another_order_gets_the_same_probabilities(mine: FrontDoor, name: str) -> None:
    order = np.random.default_rng(1).permutation(COUNT).tolist()
    write_graph("twin", order, start="t")
    imported(mine, "twin", kinds=("features",))
    key = trained(mine, *MODELS[name])
    mine.ok("predict", "--run", key, "--output", "own.csv")
    moved = no_more_trained(mine, "--run", key, "--dataset", "twin", "--output", "moved.csv")
    assert moved["summary"]["own_graph"] is False and "accuracy" not in moved["summary"]
    assert moved["summary"]["splits"] == [0, 1, 2]
    own, there = rows_of("own.csv"), {row["id"]: row for row in rows_of("moved.csv")}
    for place, node in enumerate(order):
        row = there[f"t{place:03}"]
        assert row["label"] == row["part"] == ""
        assert row["predicted"] == own[node]["predicted"]
        for column in ("p_even", "p_odd"):
            assert math.isclose(float(row[column]), float(own[node][column]), abs_tol=1e-6)


def test_own_features_are_scaled_as_those_of_the_models_graph(mine: FrontDoor) -> None:
    """A model without messages says the same of a node on a graph where it is alone with a few others."""
    key = trained(mine, "--model", "mlp", "--feature-scaling", "standard")
    some = list(range(5, 12))
    write_graph("few", some, start="n")
    imported(mine, "few", kinds=("features",))
    mine.ok("predict", "--run", key, "--dataset", "few", "--output", "few.csv")
    mine.ok("predict", "--run", key, "--output", "own.csv")
    own = rows_of("own.csv")
    for node, row in zip(some, rows_of("few.csv"), strict=True):
        assert math.isclose(float(row["p_odd"]), float(own[node]["p_odd"]), abs_tol=1e-6)


def test_labels_there_are_shown_and_tell_the_accuracy(mine: FrontDoor) -> None:
    key = trained(mine, "--model", "mlp")
    write_graph("later", range(10, 30), start="x")
    lines = Path("later-labels.csv").read_text().replace("even", "never seen", 1)
    Path("later-labels.csv").write_text(lines)
    imported(mine, "later")
    result = mine.ok("predict", "--run", key, "--dataset", "later", "--output", "p.csv")
    rows = [row for row in rows_of() if row["label"]]
    right = sum(row["label"] == row["predicted"] for row in rows) / len(rows)
    assert any(row["label"] == "never seen" for row in rows) and set(rows[0]) >= {"p_even", "p_odd"}
    assert f"accuracy on the {len(rows)} nodes with a label: {100 * right:.2f} %" in result.err
    found = no_more_trained(mine, "--run", key, "--dataset", "later")["summary"]
    assert (found["labelled"], found["accuracy"]) == (len(rows), right)


def test_what_the_models_have_met_tells_nothing_of_accuracy(mine: FrontDoor) -> None:
    key = trained(mine, "--model", "mlp", "--split", 0)
    part = {row["id"]: row["part"] for row in own_rows(mine, key)}
    Path("more.csv").write_text("id,label\nn000,odd\nn004,even\n")
    mine.ok("data", "update", "mine", "--labels", "more.csv", "-q")
    result = mine.ok("predict", "--run", key, "--dataset", "mine", "--output", "p.csv")
    learnt = [name for name in part if part[name] in ("train", "val")]
    rows = [row for row in rows_of() if row["label"] and row["id"] not in learnt]
    assert {"n000", "n004"} < {row["id"] for row in rows}
    right = sum(row["label"] == row["predicted"] for row in rows) / len(rows)
    assert f"{len(learnt)} nodes with a label trained or validated these models: left out" in result.err
    assert f"accuracy on the {len(rows)} other nodes with a label: {100 * right:.2f} %" in result.err
    found = no_more_trained(mine, "--run", key, "--dataset", "mine")["summary"]
    assert (found["labelled"], found["left_out"], found["accuracy"]) == (len(rows), len(learnt), right)


def test_where_the_models_have_met_every_label_there_is_no_accuracy(mine: FrontDoor) -> None:
    key = trained(mine, "--model", "mlp", "--split", 0)
    met = [row for row in own_rows(mine, key) if row["part"] == "train"][:3]
    write_graph("part")
    Path("part-labels.csv").write_text("id,label\n" + "".join(f"{row['id']},{row['label']}\n" for row in met))
    splits = [f"{row['id']},{part}" for row, part in zip(met, ("train", "val", "test"), strict=True)]
    Path("part-splits.csv").write_text("id,split\n" + "\n".join(splits) + "\n")
    tables = ("--labels", "part-labels.csv", "--features", "part-features.csv", "--splits", "part-splits.csv")
    mine.ok("data", "import", "part", "--edges", "part-edges.csv", *tables, "-q")
    result = mine.ok("predict", "--run", key, "--dataset", "part")
    assert "3 nodes with a label trained or validated these models" in result.err
    assert "accuracy on the" not in result.err


def test_columns_of_features_are_matched_by_their_titles(mine: FrontDoor) -> None:
    """In any order; with other titles they are refused, and without any their number alone is known."""
    key = trained(mine, "--model", "mlp", "--feature-scaling", "standard")
    own = own_rows(mine, key)
    write_graph("twin", start="t")
    table = [line.split(",") for line in Path("twin-features.csv").read_text().splitlines()]
    for name, titles in (("turned", ("r", "id", "p", "q")), ("other", ("id", "p", "q", "s")), ("bare", ("id", *"pqr"))):
        order = [table[0].index(title if title != "s" else "r") for title in titles]
        lines = [",".join(titles), *(",".join(row[place] for place in order) for row in table[1:])]
        Path("twin-features.csv").write_text("\n".join(lines[name == "bare" :]) + "\n")
        mine.ok("data", "import", name, "--edges", "twin-edges.csv", "--features", "twin-features.csv", "-q")
    for name in ("turned", "bare"):
        mine.ok("predict", "--run", key, "--dataset", name, "--output", "p.csv")
        for row, there in zip(own, rows_of(), strict=True):
            assert math.isclose(float(row["p_odd"]), float(there["p_odd"]), abs_tol=1e-6), name
    said = mine.fails(3, "predict", "--run", key, "--dataset", "other")
    assert "this graph has no column of features 'r'" in said and "the same columns" in said


def test_titles_are_those_of_the_import_made_last(mine: FrontDoor) -> None:
    """The same numbers imported again under right titles: the file of the graph, which is the same, has wrong ones."""
    key = trained(mine, "--model", "mlp", "--split", 0)
    write_graph("few", range(20))
    text = Path("few-features.csv").read_text()
    for header in ("id,u,v,w", "id,p,q,r"):
        Path("few-features.csv").write_text(header + text[text.index("\n") :])
        imported(mine, "few", kinds=("features",))
        if header == "id,u,v,w":
            mine.fails(3, "predict", "--run", key, "--dataset", "few")
    mine.ok("predict", "--run", key, "--dataset", "few")


@pytest.mark.parametrize("option", ["--label-walk", "--label-input"])
def test_labels_there_are_read_where_the_model_reads_labels(mine: FrontDoor, option: str) -> None:
    key = trained(mine, "--model", "sage", option, "--split", 0)
    write_graph("twin", start="t")
    imported(mine, "twin", kinds=("features",))
    said = mine.fails(3, "predict", "--run", key, "--dataset", "twin")
    assert f"{option} reads the labels of other nodes" in said and "--labels" in said
    # with the training labels of the split alone it is what the model saw at home
    part = {row["id"]: row["part"] for row in own_rows(mine, key)}
    labels = [line.split(",") for line in Path("twin-labels.csv").read_text().splitlines()[1:]]
    kept = [(node, label if part["n" + node[1:]] == "train" else "") for node, label in labels]
    Path("twin-labels.csv").write_text("id,label\n" + "".join(f"{node},{label}\n" for node, label in kept))
    mine.ok("data", "rm", "twin")
    imported(mine, "twin")
    mine.ok("predict", "--run", key, "--dataset", "twin", "--output", "p.csv")
    for own, row in zip(own_rows(mine, key), rows_of(), strict=True):
        assert math.isclose(float(own["p_odd"]), float(row["p_odd"]), abs_tol=1e-6)


def own_rows(cgnn: FrontDoor, key: str) -> list[dict[str, str]]:
    cgnn.ok("predict", "--run", key, "--output", "own.csv")
    return rows_of("own.csv")


@pytest.mark.parametrize(
    ("code", "options", "columns", "said"),
    [
        (2, ("--encoding", "laplacian", "--encoding-size", 4), 3, "use --encoding structural, roles or degrees"),
        (2, ("--encoding", "head-start", "--encoding-size", 4), 3, "particular nodes of its graph"),
        (2, ("--encoding", "adjacency", "--encoding-size", 4), 3, "particular nodes of its graph"),
        (2, ("--model", "absorption"), 3, "cgnn run --model absorption"),
        (3, (), 4, "reads 3 features of a node, and this graph has 4 features of a node"),
        (3, (), 0, "this graph has no features"),
    ],
)
def test_what_cannot_be_carried_over_is_refused(
    mine: FrontDoor, code: int, options: tuple[object, ...], columns: int, said: str
) -> None:
    key = trained(mine, *options, "--split", 0)
    write_graph("other", range(20), columns=columns)
    imported(mine, "other", kinds=("features",) if columns else ())
    before = {path.parent.name for path in Path(".cgnn").rglob("*.h5")}
    error = mine.fails(code, "predict", "--run", key, "--dataset", "other", "--output", "p.csv")
    assert said in error.replace("train a run with", "use"), error
    assert not Path("p.csv").exists()
    assert {path.parent.name for path in Path(".cgnn").rglob("*.h5")} == before


def test_weights_whose_shape_belongs_to_the_nodes_are_refused(mine: FrontDoor, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model may keep parameters of nodes; here the weights of one seem to be for other columns."""
    from cgnn_cli.analysis import transfer

    key = trained(mine, "--model", "mlp", "--split", 0)
    write_graph("other", range(20), columns=4)
    imported(mine, "other", kinds=("features",))
    monkeypatch.setattr(transfer, "check_carries_over", lambda *given: None)
    monkeypatch.setattr(transfer, "_order", lambda *given: None)
    said = mine.fails(2, "predict", "--run", key, "--dataset", "other")
    assert "from its own graph, and this graph takes" in said and "train a model on this graph" in said


# --- real data --------------------------------------------------------------------------------------------------------


@pytest.mark.realdata
def test_half_of_cora_ml_learns_for_the_other_half(
    cgnn: FrontDoor, real_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At most 5 points below a model that saw both halves; on its own graph, imported again, it says the same."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    halves = import_module("halves")
    halves.write(Path(), real_data)
    for name in ("first", "second", "both"):
        cgnn.ok(*halves.words(name), "-q")
    settings = ("--epochs", 40)
    key = cgnn.ok("train", "--dataset", "first", *settings, "--json").json["key"]
    saw_both = cgnn.ok("eval", "--dataset", "both", *settings, "--json").json["summary"]["test_accuracy"]["mean"]
    found = no_more_trained(cgnn, "--run", key, "--dataset", "second")["summary"]
    assert found["labelled"] == found["nodes"] > 1400
    assert found["accuracy"] > max(saw_both - 0.05, 2 * found["base_rate"])
    cgnn.ok("data", "import", "again", "--edges", "first-edges.csv", "--features", "first-features.npz", "-q")
    moved = no_more_trained(cgnn, "--run", key, "--dataset", "again", "--output", "again.csv")["summary"]
    assert moved["own_graph"] is False
    for row, other in zip(own_rows(cgnn, key), rows_of("again.csv"), strict=True):
        for column in (name for name in row if name.startswith("p_")):
            assert math.isclose(float(row[column]), float(other[column]), abs_tol=1e-6)
