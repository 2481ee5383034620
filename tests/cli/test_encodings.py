"""`--encoding`: graphs without features, and columns beside those that they have, through the front door."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cgnn_cli.configs import STRUCTURAL_NOTE, SourceConfig
from cgnn_cli.datasets.registry import graph_step, remember
from cgnn_cli.operators.structural import structural_features
from cgnn_cli.store import artifact as files
from cgnn_cli.store.store import Store
from cgnn_cli.workspace import Workspace
from tests.front_door import FrontDoor
from tests.models.samples import communities

SHORT = ("--epochs", 3, "--hidden", 8, "--split", 0)
SAGE = ("--model", "sage", *SHORT)


@pytest.fixture
def bare(cgnn: FrontDoor) -> str:
    """Two communities without features, as a user imports them."""
    graph = communities(0.0, inside=0.15)
    ends = np.argwhere(graph.edges.toarray())
    np.savetxt("edges.csv", ends, fmt="n%d", delimiter=",")
    assert graph.labels is not None
    Path("labels.csv").write_text("".join(f"n{node},{label}\n" for node, label in enumerate(graph.labels)))
    imported = cgnn.ok("data", "import", "bare", "--edges", "edges.csv", "--labels", "labels.csv", "--json").json
    assert imported["summary"]["features"] == 0 and imported["summary"]["feature_source"] == "none"
    return "bare"


def header(stage: str, key: str) -> dict[str, Any]:
    stored: dict[str, Any] = json.loads((Path(".cgnn") / stage / f"{key}.json").read_text())["header"]
    return stored


def test_a_graph_without_features_gets_the_laplacian_encoding(cgnn: FrontDoor, bare: str) -> None:
    trained = cgnn.ok("train", "--dataset", bare, *SAGE, "--encoding-size", 5, "--json").json
    told = trained["summary"]["encoding"]
    assert told["name"] == "laplacian" and told["columns"] == 5 and told["largest_residual"] <= 1e-4
    config = header("train", trained["key"])["config"]
    assert (config["encoding"], config["encoding_size"]) == ("laplacian", 5)
    named = cgnn.ok("train", "--dataset", bare, *SAGE, "--encoding-size", 5, "--encoding", "laplacian", "--json").json
    assert (named["key"], named["cache"]) == (trained["key"], "hit")


def test_everything_after_a_training_has_it_too(cgnn: FrontDoor, bare: str) -> None:
    chosen = ("--dataset", bare, *SHORT, "--encoding", "head-start", "--encoding-size", 4)
    rows = cgnn.ok("run", *chosen, "--dry-run", "--json").json["stages"]
    assert [row["stage"] for row in rows].count("operators") == 2
    done = cgnn.ok("run", *chosen, "--no-compare", "--json").json
    assert done["summary"]["test_accuracy"]["runs"] == 1
    assert {row["cache"] for row in cgnn.ok("run", *chosen, "--dry-run", "--json").json["stages"]} == {"hit"}
    cgnn.ok("predict", *chosen, "--output", "predicted.csv")
    assert len(Path("predicted.csv").read_text().splitlines()) == 121
    assert cgnn.ok("explain", "n3", "--dataset", bare, "--json").json["summary"]["prediction"]["models"] == 1
    cgnn.ok("report", "--output", "report.html")
    cgnn.ok("eval", "--dataset", bare, *SAGE, "--encoding", "adjacency", "--batch-nodes", 20, "--jobs", 2)


def test_each_encoding_is_another_training(cgnn: FrontDoor, bare: str) -> None:
    varied = "train.encoding=none,structural,degrees,laplacian,head-start,adjacency"
    swept = cgnn.ok("sweep", "--dataset", bare, *SAGE, "--set", varied, "--json").json["summary"]["configurations"]
    status = {row["settings"]["train.encoding"]: row["status"] for row in swept}
    assert status.pop("none") == "failed" and set(status.values()) == {"done"} and len(status) == 5


def test_none_is_refused_for_a_graph_without_features(cgnn: FrontDoor, bare: str) -> None:
    message = cgnn.fails(2, "train", "--dataset", bare, *SAGE, "--encoding", "none")
    assert "this graph has no features" in message and "import the graph again with --features" in message
    assert not (Path(".cgnn") / "operators").exists()


def test_features_are_kept_and_columns_appended(cgnn: FrontDoor) -> None:
    plain = cgnn.ok("train", "--dataset", "demo", *SAGE, "--json").json
    none = cgnn.ok("train", "--dataset", "demo", *SAGE, "--encoding", "none", "--json").json
    assert none["key"] == plain["key"] and "encoding" not in plain["summary"]
    more = cgnn.ok("train", "--dataset", "demo", *SAGE, "--encoding", "structural", "--json").json
    widths = []
    for key in (plain["key"], more["key"]):
        weights = files.read(Path(".cgnn/train") / f"{key}.h5").elements["fits"]["0"]["weights"]
        widths.append(max(array.shape[-1] for array in weights.values() if array.ndim == 2))
    assert widths[1] == widths[0] + 6


def test_weights_of_commute_times_need_no_features(cgnn: FrontDoor, bare: str) -> None:
    for method in ("path", "teleport"):
        cgnn.ok("run", "--dataset", bare, *SHORT, "--no-compare", "--method", method)


def test_a_graph_of_0_1_0_keeps_its_structural_columns(cgnn: FrontDoor) -> None:
    """Such a graph does not say where its features come from; the note in the record of its name does."""
    graph = communities(0.0, inside=0.15)
    notes = [f"{STRUCTURAL_NOTE} (log_in_degree)"]
    old = graph.__class__(
        **{**graph.to_elements(), "features": structural_features(graph.adjacency)}, summary={"notes": notes}
    )
    space = Workspace(Store(Path(".cgnn").absolute()), SourceConfig())
    step = graph_step(old)
    space.runner.obtain(step)
    remember(space.store, "old", step, {"edges": "edges.csv"}, {"notes": notes})
    trained = cgnn.ok("train", "--dataset", "old", *SAGE, "--json").json
    assert "encoding" not in header("train", trained["key"])["config"]
    assert not [path for path in Path(".cgnn/operators").glob("*.json") if '"encoding"' in path.read_text()]
