"""`export`: artifacts for other programs."""

import csv
from pathlib import Path

import numpy as np
import pytest

from tests.front_door import FrontDoor


@pytest.mark.parametrize(
    ("stage", "columns", "rows"),
    [
        ("rewire", ["source", "target", "weight"], None),
        ("dilap", ["id", "perron"], 1500),
        ("train", ["split", "epoch", "loss", "validation_accuracy", "validation_loss"], 4),
        ("eval", ["split", "id", "part", "label", "predicted"], 3000),
    ],
)
def test_every_stage_exports_to_csv(cgnn: FrontDoor, stage: str, columns: list[str], rows: int | None) -> None:
    options = ("--epochs", 2, "--hidden", 4, "--split", 0, "--split", 3) if stage in ("train", "eval") else ()
    artifact = cgnn.ok(stage, "--dataset", "demo", *options).path
    cgnn.ok("export", artifact, "--to", "csv", "--output", "table.csv")
    table = list(csv.reader(Path("table.csv").read_text().splitlines()))
    assert table[0] == columns
    assert rows is None or len(table) - 1 == rows


def test_export_to_npz_is_the_whole_artifact(cgnn: FrontDoor) -> None:
    artifact = cgnn.ok("commute", "--dataset", "demo").path
    cgnn.ok("export", artifact, "--to", "npz", "--output", "commute.npz")
    with np.load("commute.npz", allow_pickle=False) as saved:
        assert {"source", "target", "commute", "weight_in"} <= set(saved.files)
    assert cgnn.ok("show", "commute.npz", artifact, "--json").json["summary"]["same_key"]


def test_export_into_a_folder_that_is_not_there_leaves_nothing(cgnn: FrontDoor) -> None:
    artifact = cgnn.ok("rewire", "--dataset", "demo").path
    assert "missing" in cgnn.fails(2, "export", artifact, "--to", "csv", "--output", "missing/table.csv")
    assert not Path("missing").exists()
