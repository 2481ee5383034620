"""`--aggregation auto` and `--proximity neighbours` through the front door."""

from pathlib import Path
from typing import Any

import pytest

from tests.front_door import FrontDoor

SHORT = ("--epochs", 2, "--hidden", 4, "--split", 0)
DEMO = ("--dataset", "demo", *SHORT)
NEAR = ("--solver", "pi-only", "--proximity", "neighbours")
WEIGHTS: dict[str, list[tuple[str, ...]]] = {
    "mean": [(), ("--solver", "exact", "--proximity", "ratio")],
    "weighted-mean": [NEAR, ("--solver", "exact", "--proximity", "affinity")],
}


def key_of(cgnn: FrontDoor, *arguments: object) -> str:
    return str(cgnn.ok("train", *arguments, "--dry-run", "--json").json["key"])


@pytest.mark.parametrize(("taken", "weights"), [(taken, each) for taken, all_ in WEIGHTS.items() for each in all_])
def test_auto_has_the_key_of_what_it_stands_for(cgnn: FrontDoor, taken: str, weights: tuple[Any, ...]) -> None:
    keys = {name: key_of(cgnn, *DEMO, *weights, "--aggregation", name) for name in WEIGHTS}
    assert keys["mean"] != keys["weighted-mean"]
    assert key_of(cgnn, *DEMO, *weights) == keys[taken]


def test_pagerank_reads_no_aggregation(cgnn: FrontDoor) -> None:
    options = (*DEMO, *NEAR, "--propagation", "ppr")
    assert len({key_of(cgnn, *options, "--aggregation", name) for name in ("auto", "mean")}) == 1
    trained = cgnn.ok("train", *options, "--json").json
    assert "aggregation" not in trained["summary"]
    rows = cgnn.ok("eval", "--input", trained["artifact"], "--dry-run", "--json").json["stages"]
    assert {row["cache"] for row in rows if row["stage"] != "eval"} == {"hit"}


@pytest.mark.parametrize(("taken", "weights"), [("mean", ()), ("weighted-mean", NEAR)])
def test_what_was_taken_is_said(cgnn: FrontDoor, taken: str, weights: tuple[Any, ...]) -> None:
    done = cgnn.ok("run", *DEMO, *weights, "--no-compare", "--json")
    assert done.json["summary"]["aggregation"] == taken and f"aggregation {taken}" in done.err
    (trained,) = Path(".cgnn/train").glob("*.h5")
    shown = cgnn.ok("show", trained, "--json").json
    assert shown["header"]["config"]["aggregation"] == shown["summary"]["aggregation"] == taken
    assert all(f"{part}: aggregation" in cgnn.ok("show", trained).out for part in ("config", "summary"))
    cgnn.ok("report", "--format", "html", "--output", "out")
    assert f"aggregation {taken}" in Path("out/report.html").read_text()


def test_a_given_artifact_tells_its_proximity(cgnn: FrontDoor) -> None:
    """Whatever the settings in force say of weights that are not made again."""
    near = cgnn.ok("commute", "--dataset", "demo", *NEAR, "--json").json["artifact"]
    from_newest, wanted = key_of(cgnn, *SHORT), key_of(cgnn, *DEMO, *NEAR, "--aggregation", "weighted-mean")
    plain = cgnn.ok("commute", "--dataset", "demo", "--json").json["artifact"]
    Path("cgnn.toml").write_text('[commute]\nproximity = "ratio"\n')
    assert from_newest == key_of(cgnn, "--input", near, *SHORT) == wanted
    Path("cgnn.toml").write_text('[commute]\nproximity = "neighbours"\n')
    assert key_of(cgnn, "--input", plain, *SHORT) == key_of(cgnn, *SHORT)
    Path("cgnn.toml").unlink()
    assert key_of(cgnn, "--input", plain, *SHORT) == key_of(cgnn, *DEMO, "--aggregation", "mean")


def test_config_show_says_what_auto_stands_for(cgnn: FrontDoor) -> None:
    def said(*arguments: object) -> dict[str, Any]:
        settings = cgnn.ok("config", "show", *arguments, "--json").json["summary"]["settings"]
        return {path: row["auto"] for path, row in settings.items() if "auto" in row}

    assert said() == {"train.aggregation": "mean"}
    assert said(*NEAR) == {"train.aggregation": "weighted-mean"}
    assert said("--aggregation", "sym") == said("--model", "sage") == {}
    assert said("--model", "absorption") == {"train.encoding": "none"}
    assert "auto (mean)" in cgnn.ok("config", "show").out


def test_a_recorded_row_names_what_was_taken(cgnn: FrontDoor) -> None:
    varied = ("--set", "train.lr=0.01,0.02", "--record", "rows.toml")
    cgnn.ok("sweep", *DEMO, *NEAR, *varied)
    assert 'aggregation = "weighted-mean"' in Path("rows.toml").read_text()


def test_explain_and_diagnose_show_the_weights_of_neighbours(cgnn: FrontDoor) -> None:
    cgnn.ok("commute", "--dataset", "demo", *NEAR)
    rows = cgnn.ok("explain", "0", "--json").json["summary"]["out"]
    assert rows[0]["weight"] == 1 and all(0 < row["weight"] <= 1 for row in rows)
    shown = cgnn.ok("diagnose", "--dataset", "demo", *NEAR, "--verify", 8)
    assert "pi-only, neighbours" in shown.out
