"""Classes of very different size through the front door: weights, metrics, calibration, thresholds, tables."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from tests.front_door import FrontDoor
from tests.rare import NODES, write_rare

MODEL = ("--dataset", "rare", "--model", "mlp", "--epochs", 60, "--hidden", 8, "--lr", 0.05, "--dropout", 0)
RARE = ("--metric", "average-precision", "--metric-class", "fraud")
DEMO = ("--dataset", "demo", "--model", "mlp", "--epochs", 2, "--hidden", 4)


@pytest.fixture
def rare(cgnn: FrontDoor, tmp_path: Path) -> FrontDoor:
    cgnn.ok("data", "import", "rare", *write_rare(tmp_path), "-q")
    return cgnn


def caches(result: dict[str, Any]) -> dict[str, str]:
    return {row["stage"]: row["cache"] for row in result["stages"]}


def test_class_weights_are_found_by_their_content(rare: FrontDoor, tmp_path: Path) -> None:
    plain = rare.ok("eval", *MODEL, "--json").json
    balanced = rare.ok("eval", *MODEL, "--class-weights", "balanced", "--json").json
    assert plain["summary"]["per_class"]["fraud"]["recall"]["mean"] < 0.4
    assert balanced["summary"]["per_class"]["fraud"]["recall"]["mean"] > 0.6
    files = [tmp_path / name for name in ("one.csv", "two.csv")]
    for file in files:
        file.write_text("class,weight\nfraud,24\n")
    first, second = (rare.ok("eval", *MODEL, "--class-weights", file, "--json").json for file in files)
    assert first["key"] == second["key"] and second["cache"] == "hit" and first["key"] != balanced["key"]
    header = json.loads(Path(first["artifact"]).with_suffix(".json").read_text())["header"]
    trained = rare.ok("show", header["inputs"]["train"], "--json").json["header"]["config"]
    assert trained["class_weights"] == '{"fraud": 24.0}'
    assert rare.ok("eval", *MODEL, "--class-weights", "none", "--metric", "accuracy", "--json").json["cache"] == "hit"


def test_a_class_that_the_graph_has_not_is_refused_before_any_training(rare: FrontDoor, tmp_path: Path) -> None:
    weights = tmp_path / "weights.csv"
    weights.write_text("swindle,2\n")
    for options in (("--class-weights", weights), ("--metric", "auc", "--metric-class", "swindle")):
        message = rare.fails(2, "train", *MODEL, *options)
        assert "no class swindle" in message and "fraud, ok" in message
    assert not list(Path(".cgnn/fit").glob("*.h5"))
    assert "--metric-class" in rare.fails(2, "train", *MODEL, "--target-recall", 0.5)
    assert "give one" in rare.fails(2, "train", *MODEL, "--target-recall", 0.5, "--target-precision", 0.5, *RARE)
    assert "at most 1" in rare.fails(2, "train", *MODEL, "--target-recall", 50, *RARE)


def test_epochs_are_chosen_by_average_precision_and_the_tables_say_so(rare: FrontDoor) -> None:
    plain = rare.ok("train", *MODEL, "--json").json
    chosen = rare.ok("train", *MODEL, *RARE, "--json").json
    assert chosen["key"] != plain["key"] and "metric" not in plain["summary"]
    score = chosen["summary"]["validation_score"]
    rare.ok("export", chosen["key"], "--to", "csv", "-o", "history.csv")
    rows = list(csv.DictReader(Path("history.csv").read_text().splitlines()))
    assert score["mean"] == max(float(row["validation_score"]) for row in rows) and score["runs"] == 1
    assert chosen["summary"]["base_rate"]["mean"] < 0.05 < plain["summary"]["base_rate"]["mean"]
    told = rare.ok("train", *MODEL, *RARE)
    (line,) = [line.split() for line in told.err.splitlines() if line.strip().startswith("average precision of fraud")]
    assert told.path.endswith(".h5") and line[-1] == f"{100 * score['mean']:.2f}" and "±" not in told.err


def test_train_and_eval_end_with_a_table_but_for_programs(cgnn: FrontDoor) -> None:
    for stage, part in (("train", "validation"), ("eval", "test")):
        one = cgnn.ok(stage, *DEMO, "--split", 0)
        assert f"demo: mlp, {part} nodes of 1 split, in %" in one.err and "±" not in one.err
        assert Path(one.path).suffix == ".h5"  # the only line on standard output
        two = cgnn.ok(stage, *DEMO, "--split", 0, "--split", 1)
        assert "of 2 splits" in two.err and "±" in two.err
        assert cgnn.ok(stage, *DEMO, "--split", 0, "--quiet").err.count("in %") == 0
        assert "in %" not in cgnn.ok(stage, *DEMO, "--split", 0, "--json").err
    assert "base rate" in one.err and "jazz" in one.err
    assert "in %" not in cgnn.ok("rewire", "--dataset", "demo").err


def test_run_shows_no_deviation_of_one_split(cgnn: FrontDoor) -> None:
    one = cgnn.ok("run", *DEMO, "--no-compare", "--split", 0)
    assert "in %, 1 split" in " ".join(one.err.split()) and "±" not in one.err
    metric = cgnn.ok("run", *DEMO, "--no-compare", "--split", 0, "--split", 1, "--metric", "auc")
    assert "AUC" in metric.err and "±" in metric.err


def test_what_is_decided_later_trains_nothing_anew(rare: FrontDoor) -> None:
    plain = rare.ok("eval", *MODEL, *RARE, "--json").json
    both = rare.ok("eval", *MODEL, *RARE, "--calibrate", "--target-recall", 0.8, "--json").json
    assert caches(both) == {"graph": "hit", "fit": "hit", "train": "miss", "eval": "miss"}
    assert both["key"] != plain["key"]
    told = both["summary"]["threshold"]
    assert told["class"] == "fraud" and told["target_recall"] == 0.8 <= told["validation_recall"]["mean"]
    assert told["test_recall"] == both["summary"]["per_class"]["fraud"]["recall"]
    again = rare.ok("eval", *MODEL, *RARE, "--calibrate", "--target-recall", 0.8)
    assert all(word in again.err for word in ("threshold of fraud", "temperature", "calibration error before"))
    from_file = rare.ok("train", *MODEL, *RARE, "--calibrate", "--target-recall", 0.8, "-q").path
    assert rare.ok("eval", "--input", from_file, "--json").json["key"] == both["key"]
    rare.ok("predict", "--input", from_file, "--output", "p.csv")
    rows = list(csv.DictReader(Path("p.csv").read_text().splitlines()))
    given = [row for row in rows if row["predicted"] == "fraud"]
    assert len(rows) == NODES and given
    assert all(float(row["probability"]) >= told["value"]["mean"] - 1e-9 for row in given)


def test_a_model_of_no_use_is_warned_of(rare: FrontDoor, tmp_path: Path) -> None:
    (tmp_path / "weights.csv").write_text("fraud,0.001\n")
    for stage, part in (("train", "validation"), ("eval", "test")):
        told = rare.ok(stage, *MODEL, "--class-weights", tmp_path / "weights.csv")
        warned = [line for line in told.err.splitlines() if f"all {part} nodes" in line]
        assert len(warned) == 1 and warned[0].startswith("warning: on split 0 the model predicts one class")
    good = rare.ok("eval", *MODEL, *RARE, "--class-weights", "balanced", "--json").json
    assert good["warnings"] == []


def test_a_sweep_ranks_by_the_metric(rare: FrontDoor) -> None:
    grid = ("sweep", *MODEL, "--set", "train.weight_decay=0,0.5", *RARE)
    summary = rare.ok(*grid, "--json").json["summary"]
    scores = [row["validation_score"]["mean"] for row in summary["configurations"]]
    assert summary["best"]["validation_score"]["mean"] == max(scores) and summary["best"]["metric"] == RARE[1]
    assert "--metric average-precision --metric-class fraud" in summary["best"]["command"]
    assert "validation average precision of fraud in %" in rare.ok(*grid).out
    assert "cannot vary" in rare.fails(2, "sweep", "--dataset", "rare", "--set", "train.metric=auc,macro-f1")


def test_a_report_goes_by_the_metric_that_all_runs_were_trained_by(rare: FrontDoor) -> None:
    keys = [
        rare.ok("eval", *MODEL, *RARE, *more, "--json").json["key"][:12]
        for more in ((), ("--class-weights", "balanced"))
    ]
    rare.ok("report", *keys, "--format", "html,json", "--output", "one")
    rows = json.loads(Path("one/report.json").read_text())["scores"]
    assert {row["metric"] for row in rows} == {"average-precision"}
    assert [row["score_per_split"] for row in rows] == [
        row["metrics"]["average-precision"]["per_split"] for row in rows
    ]
    page = Path("one/report.html").read_text()
    assert "Test average precision of fraud in %" in page and "Every metric, and every class" in page
    assert (
        Path("one/figures/1-rare-precision-recall.svg").exists() and Path("one/figures/1-rare-reliability.svg").exists()
    )
    asked = rare.ok("report", *keys, "--metric", "auc", "--format", "json", "--output", "two", "--json")
    assert asked.json["summary"]["runs"] == 2
    plain = rare.ok("eval", *MODEL, "--json").json["key"]
    rare.ok("report", *keys, plain, "--format", "json", "--output", "three")
    assert {row["metric"] for row in json.loads(Path("three/report.json").read_text())["scores"]} == {"accuracy"}
