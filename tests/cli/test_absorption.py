"""`--model absorption` through the front door."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.wiki_graph import import_wiki
from tests.front_door import FrontDoor

ONE = ("--dataset", "demo", "--model", "absorption", "--split", 0)


def header(stage: str, key: str) -> dict[str, Any]:
    stored: dict[str, Any] = json.loads((Path(".cgnn") / stage / f"{key}.json").read_text())["header"]
    return stored


def test_it_goes_through_every_command(cgnn: FrontDoor) -> None:
    stages = [row["stage"] for row in cgnn.ok("run", *ONE, "--no-compare", "--dry-run", "--json").json["stages"]]
    assert stages == ["graph", "fit", "train", "eval"]
    done = cgnn.ok("run", *ONE, "--no-compare", "--json").json
    assert 0.5 < done["summary"]["test_accuracy"]["mean"] < 1 and done["summary"]["train_accuracy"]["mean"] == 1
    trained = cgnn.ok("train", *ONE, "--json").json
    (walk,) = trained["summary"]["walks"]
    assert walk["direction"] in ("out", "in", "undirected") and walk["death_rate"] in (0.2, 0.05, 0.01)
    assert walk["residual"] <= 1e-10 and trained["summary"]["epochs"] == [0]
    config = header("train", trained["key"])["config"]
    assert config == {
        **{"model": "absorption", "direction": "none"},
        **{"walk_direction": "auto", "death_rate": None, "splits": [0]},
    }
    assert cgnn.ok("eval", *ONE, "--json").json["cache"] == "hit"
    cgnn.ok("predict", *ONE, "--output", "predicted.csv")
    with open("predicted.csv", encoding="utf-8") as file:
        chances = [float(row["probability"]) for row in csv.DictReader(file)]
    assert all(0 < chance <= 1 for chance in chances)
    cgnn.ok("export", f".cgnn/train/{trained['key']}.h5", "--to", "csv", "--output", "tried.csv")
    with open("tried.csv", encoding="utf-8") as file:
        tried = list(csv.DictReader(file))
    assert len(tried) == 9 and {float(row["death_rate"]) for row in tried} == {0.2, 0.05, 0.01}
    assert max(float(row["validation_accuracy"]) for row in tried) == trained["summary"]["validation_accuracy"]["mean"]


def test_it_is_swept_and_reported_beside_others(cgnn: FrontDoor) -> None:
    swept = cgnn.ok("sweep", *ONE, "--set", "train.death_rate=0.05,0.3", "--json").json["summary"]
    assert swept["best"]["validation_accuracy"]["runs"] == 1
    for model in ("absorption", "linear"):
        cgnn.ok("run", "--dataset", "demo", "--model", model, "--epochs", 2, "--no-compare")
    found = cgnn.ok("report", "--format", "csv,html", "--output", "page", "--json").json["summary"]
    assert found and "absorption" in Path("page/scores.csv").read_text()


def test_named_walks_have_keys_of_their_own(cgnn: FrontDoor) -> None:
    options = ((), ("--walk-direction", "in"), ("--death-rate", 0.2), ("--walk-direction", "in", "--death-rate", 0.2))
    keys = {cgnn.ok("train", *ONE, *option, "--json").json["key"] for option in options}
    assert len(keys) == len(options)
    assert cgnn.ok("train", *ONE, "--epochs", 3, "--seed", 5, "--json").json["cache"] == "hit"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--direction", "out"), "--walk-direction"),
        (("--label-input",), "no --label-input"),
        (("--encoding", "laplacian"), "no --encoding"),
        (("--death-rate", 0), "at least 0.001"),
        (("--walk-direction", "up"), "'up' is not one of"),
    ],
)
def test_what_it_cannot_take(cgnn: FrontDoor, options: tuple[object, ...], said: str) -> None:
    result = cgnn("train", *ONE, *options)
    assert result.code == 2 and said in " ".join(result.err.replace("│", " ").split()) and "Traceback" not in result.err


def test_splits_at_the_same_time_give_the_same(cgnn: FrontDoor) -> None:
    chosen = ("--dataset", "demo", "--model", "absorption", "--split", 0, "--split", 1)
    keys = [cgnn.ok("eval", *chosen, "--jobs", jobs, "--store", f"by-{jobs}", "--json").json for jobs in (1, 2)]
    assert keys[0]["summary"]["test_accuracy_per_split"] == keys[1]["summary"]["test_accuracy_per_split"]


@pytest.mark.realdata
def test_wiki_without_features(cgnn: FrontDoor, real_data: Path) -> None:
    """Hyperlinks among pages of 17 categories, their ids permuted, 20/20/60: 62 % of the test nodes and more."""
    import_wiki(cgnn, real_data)
    summary = cgnn.ok("eval", "--dataset", "wiki", "--model", "absorption", "--json").json["summary"]
    assert summary["test_accuracy"]["runs"] == 10 and summary["test_accuracy"]["mean"] >= 0.62
