"""`show`, `export`, `data`, `models`: looking at what is there."""

import csv
from pathlib import Path

import numpy as np
import pytest

from cgnn_cli.configs import option_name
from cgnn_cli.models.table import MODELS
from tests.front_door import FrontDoor


def test_show_tells_content_and_origin(cgnn: FrontDoor) -> None:
    made = cgnn.ok("commute", "--dataset", "demo", "--json").json
    shown = cgnn.ok("show", made["artifact"], "--json").json
    assert shown["header"]["config"]["rank"] == 5
    assert shown["elements"]["weight_out"].startswith("float64")
    provenance = shown["header"]["provenance"]
    assert provenance["command"].startswith("cgnn commute") and provenance["versions"]["scipy"]
    text = cgnn.ok("show", made["key"][:10]).out
    assert "cgnn-commute" in text and "payload sha256" in text


def test_show_two_explains_why_their_keys_differ(cgnn: FrontDoor) -> None:
    a = cgnn.ok("commute", "--dataset", "demo", "--json").json["key"]
    b = cgnn.ok("commute", "--dataset", "demo", "--walk", "symmetric", "--rank", 7, "--json").json["key"]
    rows = cgnn.ok("show", a, b, "--json").json["summary"]["differences"]
    found = {(row["stage"], row["what"]): (row["first"], row["second"]) for row in rows}
    assert found["commute", "rank"] == (5, 7)
    assert found["rewire", "walk"] == ("directed", "symmetric")
    assert cgnn.ok("show", a, a, "--json").json["summary"] == {"same_key": True, "differences": []}
    rewired = cgnn.ok("rewire", "--dataset", "demo", "--json").json["key"]
    assert "rewire" in cgnn.ok("show", a, rewired).out


def test_show_of_something_that_is_not_there(cgnn: FrontDoor) -> None:
    cgnn.fails(4, "show", "nothing.h5")
    cgnn.fails(4, "show", "abcdef")
    cgnn.fails(4, "show", "../*")


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


def test_data_list_and_show(cgnn: FrontDoor) -> None:
    assert "demo" in cgnn.ok("data", "list").out
    figures = cgnn.ok("data", "show", "demo", "--json").json["summary"]
    assert figures["nodes"] == 1500 and len(figures["splits"]) == 5
    listed = cgnn.ok("data", "list", "--json").json["summary"]["datasets"]
    assert listed[0]["name"] == "demo" and listed[0]["nodes"] == 1500


def test_imported_dataset_is_listed_and_can_be_replaced(cgnn: FrontDoor) -> None:
    Path("a.txt").write_text("a b\nb c\nc a\n")
    Path("b.txt").write_text("a b\nb c\nc a\na c\n")
    first = cgnn.ok("data", "import", "mine", "--edges", "a.txt", "--json").json["key"]
    assert cgnn.ok("data", "import", "mine", "--edges", "a.txt", "--json").json["cache"] == "hit"
    second = cgnn.ok("data", "import", "mine", "--edges", "b.txt", "--json").json["key"]
    assert first != second
    assert cgnn.ok("data", "show", "mine", "--json").json["summary"]["edges"] == 4


@pytest.mark.parametrize("name", ["demo", "../up", "a/b", "", ".hidden", "ünder"])
def test_bad_dataset_names_are_refused(cgnn: FrontDoor, name: str) -> None:
    Path("a.txt").write_text("a b\nb a\n")
    cgnn.fails(2, "data", "import", name, "--edges", "a.txt")
    assert not Path(".cgnn").exists()


def test_models_lists_the_table(cgnn: FrontDoor) -> None:
    names = [row["name"] for row in cgnn.ok("models", "--json").json["summary"]["models"]]
    assert names == list(MODELS) and len(names) == 17
    words = cgnn.ok("models").out.split()
    assert {option_name(option) for model in MODELS.values() for option in model.options} <= set(words)
    assert {word for model in MODELS.values() for word in model.paper.split()} <= set(words)
