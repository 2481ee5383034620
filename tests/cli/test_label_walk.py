"""`--label-walk` through the front door."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cgnn_cli.store import artifact as files
from tests.front_door import FrontDoor

SHORT = ("--dataset", "demo", "--model", "sage", "--epochs", 3, "--hidden", 8, "--split", 0)
WALKED = (*SHORT, "--label-walk")


def weights_of(trained: dict[str, Any]) -> dict[str, np.ndarray]:
    found: dict[str, np.ndarray] = files.read(Path(trained["artifact"])).elements["fits"]["0"]["weights"]
    return found


def test_it_goes_through_every_command(cgnn: FrontDoor) -> None:
    trained = cgnn.ok("train", *WALKED, "--json").json
    (walk,) = trained["summary"]["walks"]
    assert walk["direction"] in ("out", "in", "undirected") and walk["residual"] <= 1e-10
    found = cgnn.ok("train", "--dataset", "demo", "--model", "absorption", "--split", 0, "--json").json
    assert found["summary"]["walks"] == [walk]
    np.testing.assert_array_equal(weights_of(trained)["label_walk"], weights_of(found)["probabilities"])
    scored = cgnn.ok("eval", *WALKED, "--json").json["summary"]
    assert scored["validation_accuracy"]["mean"] == trained["summary"]["validation_accuracy"]["mean"]
    cgnn.ok("predict", *WALKED, "--output", "predicted.csv")
    with open("predicted.csv", encoding="utf-8") as file:
        assert all(0 < float(row["probability"]) <= 1 for row in csv.DictReader(file))
    cgnn.ok("predict", "--input", trained["artifact"], "--output", "again.csv")
    assert Path("again.csv").read_text() == Path("predicted.csv").read_text()
    assert cgnn.ok("train", *WALKED, "--batch-nodes", 20, "--json").json["summary"]["walks"] == [walk]


def test_keys_and_names(cgnn: FrontDoor) -> None:
    plain = cgnn.ok("eval", *SHORT, "--json").json
    others = ("--walk-direction", "in", "--death-rate", 0.5)
    assert cgnn.ok("eval", *SHORT, *others, "--json").json["key"] == plain["key"]
    walked = cgnn.ok("eval", *WALKED, "--json").json["key"]
    cgnn.ok("report", "--format", "csv", "--output", "page")
    assert "sage,label walk," in Path("page/scores.csv").read_text()
    assert len({plain["key"], walked, cgnn.ok("eval", *WALKED, *others, "--json").json["key"]}) == 3


def test_threads_and_processes_change_no_bit(cgnn: FrontDoor) -> None:
    payloads = []
    for threads, jobs in ((1, 1), (2, 2)):
        chosen = (*WALKED, "--split", 1, "--threads", threads, "--jobs", jobs, "--store", f"by-{threads}-{jobs}")
        record = Path(cgnn.ok("train", *chosen, "--json").json["artifact"]).with_suffix(".json")
        payloads.append(json.loads(record.read_text())["header"]["payload"])
    assert payloads[0] == payloads[1]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--model", "absorption"), "--model absorption has no --label-walk: it trains nothing"),
        (("--death-rate", 0), "--death-rate must be at least 0.001"),
    ],
)
def test_what_cannot_be(cgnn: FrontDoor, options: tuple[object, ...], said: str) -> None:
    assert said in " ".join(cgnn.fails(2, "train", *WALKED, *options).split())
