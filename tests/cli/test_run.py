"""`cgnn run`: the whole way, on the demo graph and on a user's own files."""

import csv
from pathlib import Path

import numpy as np
import pytest

from cgnn_cli.pipeline import STAGES
from tests.front_door import FrontDoor

SHORT = ("--epochs", 3, "--hidden", 8)
EDGES = """# who paid whom
payer,payee,amount
ann,bob,2.5
bob,ann,1
bob,cy,4
cy,dée,1
dée,ann,3
ann,bob,0.5
x y,ann,2
fay,cy,1
gus,fay,2
hal,gus,2
hal,ann,1
jo,bob,1
kim,cy,2
"""
LABELS = "id,label\nann,good\nbob,good\ncy,bad\ndée,bad\nfay,bad\ngus,good\nhal,good\njo,bad\nivy,\n"


def read_rows(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(Path(name).read_text(encoding="utf-8").splitlines()))


@pytest.fixture
def own_files() -> tuple[object, ...]:
    Path("edges.csv").write_text(EDGES)
    Path("labels.csv").write_text(LABELS)
    return (
        "data",
        "import",
        "pay",
        "--edges",
        "edges.csv",
        "--labels",
        "labels.csv",
        "--weight-column",
        "amount",
        "--split-ratio",
        "50/25/25",
        "--split-count",
        2,
    )


def test_run_on_demo_ends_with_the_comparison_of_weights(cgnn: FrontDoor) -> None:
    result = cgnn.ok("run", *SHORT, "--split", 0)
    assert "/eval/" in result.path
    for row in ("no weights", "svd, exp (paper)", "exact, inverse", "pi-only, inverse"):
        assert row in result.err
    again = cgnn.ok("run", *SHORT, "--split", 0, "--json").json
    assert {row["cache"] for row in again["stages"]} == {"hit"}
    assert {row["stage"] for row in again["stages"]} == set(STAGES)
    assert again["summary"]["comparison"][0]["weights"] == "no weights"


def test_own_files_run_and_predict_with_the_users_ids(cgnn: FrontDoor, own_files: tuple[object, ...]) -> None:
    imported = cgnn.ok(*own_files, "--json")
    assert imported.json["summary"]["nodes"] == 11 and imported.json["summary"]["repeats"] == 1
    assert "no features given" in imported.err
    cgnn.ok("run", "--dataset", "pay", *SHORT)
    cgnn.ok("predict", "--output", "predictions.csv", "--embeddings", "hidden.npz")
    rows = read_rows("predictions.csv")
    ids = [row["id"] for row in rows]
    assert ids == ["ann", "bob", "cy", "dée", "fay", "gus", "hal", "ivy", "jo", "kim", "x y"]
    assert {row["predicted"] for row in rows} <= {"good", "bad"}
    assert all(0.5 <= float(row["probability"]) <= 1 for row in rows)
    with np.load("hidden.npz", allow_pickle=False) as saved:
        assert saved["embeddings"].shape == (len(ids), 8) and list(saved["id"]) == ids


def test_commute_export_has_the_users_ids_and_the_promised_columns(
    cgnn: FrontDoor, own_files: tuple[object, ...]
) -> None:
    cgnn.ok(*own_files)
    artifact = cgnn.ok("commute", "--dataset", "pay", "--solver", "exact", "--proximity", "inverse").path
    cgnn.ok("export", artifact, "--to", "csv", "--output", "commute.csv")
    rows = read_rows("commute.csv")
    assert list(rows[0])[:7] == ["source", "target", "hitting", "hitting_back", "commute", "weight_out", "weight_in"]
    assert list(rows[0])[7:] == ["popularity", "direct", "indirect"]
    by_edge = {(row["source"], row["target"]): row for row in rows}
    there, back = by_edge["ann", "bob"], by_edge["bob", "ann"]
    assert there["hitting"] == back["hitting_back"] and there["hitting_back"] == back["hitting"]
    assert float(there["commute"]) == pytest.approx(float(there["hitting"]) + float(there["hitting_back"]))
    best_of_bob = max(float(row["weight_out"]) for row in rows if row["source"] == "bob")
    best_into_ann = max(float(row["weight_in"]) for row in rows if row["target"] == "ann")
    assert best_of_bob == best_into_ann == 1


def test_a_graph_without_labels_runs_up_to_commute(cgnn: FrontDoor, own_files: tuple[object, ...]) -> None:
    cgnn.ok("data", "import", "bare", "--edges", "edges.csv")
    result = cgnn.ok("run", "--dataset", "bare")
    assert "/commute/" in result.path and "no labels" in result.err
    assert "--labels" in cgnn.fails(3, "train", "--dataset", "bare")


def test_predict_with_one_split_and_wrong_split(cgnn: FrontDoor) -> None:
    cgnn.ok("train", "--dataset", "demo", *SHORT, "--split", 0, "--split", 2)
    summary = cgnn.ok("predict", "--output", "p.csv", "--split", 2, "--json").json["summary"]
    assert summary["splits"] == [2] and summary["nodes"] == 1500
    assert "splits [0, 2]" in cgnn.fails(2, "predict", "--output", "q.csv", "--split", 1)
    assert not Path("q.csv").exists()


def test_dry_run_forecasts_the_comparison_too(cgnn: FrontDoor) -> None:
    rows = cgnn.ok("run", "--dry-run", "--split", 0, "--json").json["stages"]
    assert [row["stage"] for row in rows].count("commute") == 4
    assert len({row["key"] for row in rows}) == len(rows)


def test_a_header_over_text_ids_is_seen_by_its_numeric_column(cgnn: FrontDoor) -> None:
    Path("edges.csv").write_text("payer,payee,amount\nann,bob,2\nbob,cy,3\ncy,ann,1\n")
    assert cgnn.ok("data", "import", "mine", "--edges", "edges.csv", "--json").json["summary"]["nodes"] == 3
