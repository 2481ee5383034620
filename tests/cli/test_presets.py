"""Presets: rows of settings below everything that a user sets, and how a search is recorded as one."""

import tomllib
from pathlib import Path

import pytest

from cgnn_cli.datasets.catalogue import BENCHMARKS
from cgnn_cli.models.model_table import MODELS
from cgnn_cli.presets import lookup, recording
from cgnn_cli.presets.lookup import FOUND, PRESETS, Row, packaged_file, preset, read_rows, rows_of
from cgnn_cli.presets.recording import record_row
from cgnn_cli.settings import Settings
from tests.front_door import FrontDoor

ROWS = """
[demo.cgnn]
train.layers = 3
train.hidden = 4
train.epochs = 2
commute.solver = "pi-only"

[demo.gcn]
graph.undirected = true
train.hidden = 6
train.epochs = 2

[demo.gcn.search]
configurations = 4
"""


def shown(cgnn: FrontDoor, *arguments: object) -> dict[str, tuple[object, str]]:
    """The settings in force with their origins."""
    settings = cgnn.ok("config", "show", *arguments, "--json").json["summary"]["settings"]
    return {path: (entry["value"], entry["origin"]) for path, entry in settings.items()}


@pytest.fixture
def rows() -> Path:
    path = Path("rows.toml")
    path.write_text(ROWS)
    return path


def test_the_paper_preset_is_the_table_of_the_paper_for_any_model(cgnn: FrontDoor) -> None:
    for model in ("cgnn", "gcn"):
        settings = shown(cgnn, "--dataset", "squirrel", "--model", model, "--preset", "paper")
        expected = {"train.lr": 0.005, "train.weight_decay": 0.0, "train.layers": 5, "train.hidden": 128}
        assert {path: settings[path] for path in expected} == {
            path: (value, "preset paper") for path, value in expected.items()
        }
        assert settings["commute.solver"] == ("svd", "preset paper" if model == "cgnn" else "default")
        open_in_paper = {"train.dropout": 0.0, "train.jumping_knowledge": "max", "train.l2_norm": True}
        for path, value in (open_in_paper | {"train.epochs": 10_000, "train.patience": 600}).items():
            assert (settings[path] == (value, "preset paper")) == (model == "cgnn"), path
    assert shown(cgnn, "--dataset", "squirrel")["train.layers"] == (2, "default")


def test_a_preset_stands_below_the_command_line_and_above_file_and_environment(
    cgnn: FrontDoor, rows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = ("--dataset", "demo", "--preset", rows)
    origin = f"preset {rows}"
    assert shown(cgnn, *chosen)["train.hidden"] == (4, origin)
    Path("cgnn.toml").write_text("[train]\nhidden = 32\nlr = 0.5\nlayers = 3\n")
    assert shown(cgnn, *chosen)["train.hidden"] == (4, origin)
    monkeypatch.setenv("CGNN_TRAIN_HIDDEN", "33")
    monkeypatch.setenv("CGNN_TRAIN_PATIENCE", "9")
    settings = shown(cgnn, *chosen)
    assert settings["train.hidden"] == (4, origin)
    # what a row written by hand does not speak of is as it was set
    assert (settings["train.lr"], settings["train.patience"]) == ((0.5, "cgnn.toml:3"), (9, "CGNN_TRAIN_PATIENCE"))
    told = [line for line in cgnn.ok("config", "show", *chosen).err.splitlines() if line.startswith("note: ")]
    assert told == [f"note: the {origin} takes the place of train.hidden (CGNN_TRAIN_HIDDEN)"]  # layers are the same
    assert shown(cgnn, *chosen, "--set", "train.hidden=34")["train.hidden"] == (34, "--set")
    settings = shown(cgnn, *chosen, "--set", "train.hidden=34", "--hidden", 35)
    assert settings["train.hidden"] == (35, "--hidden")
    assert settings["train.layers"] == (3, origin)


def test_a_row_that_a_search_found_leaves_nothing_of_its_stages_to_file_and_environment(
    cgnn: FrontDoor, rows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("cgnn.toml").write_text("[train]\nlr = 0.5\nlabel_walk = true\n[commute]\nrank = 3\n")
    monkeypatch.setenv("CGNN_TRAIN_SEED", "4")
    monkeypatch.setenv("CGNN_TRAIN_MODEL", "gcn")
    result = cgnn.ok("config", "show", "--dataset", "demo", "--preset", rows, "--lr", 0.2, "--json")
    settings = result.json["summary"]["settings"]
    assert settings["train.lr"] == {"value": 0.2, "origin": "--lr"}
    assert settings["train.label_walk"]["value"] is False and settings["train.seed"]["value"] == 0
    assert settings["commute.rank"] == {"value": 3, "origin": "cgnn.toml:5"}  # the row says nothing of this stage
    assert settings["train.model"]["value"] == "gcn" and settings["train.hidden"]["value"] == 6
    (note,) = result.json["warnings"]
    assert note.endswith("takes the place of train.seed (CGNN_TRAIN_SEED), train.label_walk (cgnn.toml:3)")


def test_a_row_that_a_search_found_is_for_the_form_of_the_graph_that_it_was_found_on(
    cgnn: FrontDoor, rows: Path
) -> None:
    found = ("--dataset", "demo", "--model", "gcn", "--preset", rows)

    def notes(*more: object) -> list[str]:
        told: list[str] = cgnn.ok("config", "show", *found, *more, "--json").json["warnings"]
        return told

    other = "the preset rows.toml was found on demo+undirected, and this is"
    assert notes() == notes("--undirected") == []  # the row says which form it is for
    assert notes("--no-undirected") == [f"{other} demo"]
    assert notes("--featureless") == [f"{other} demo+undirected+featureless"]
    own = '\n["demo+undirected+featureless".gcn]\ngraph.undirected = true\ngraph.featureless = true\ntrain.hidden = 9\n'
    rows.write_text(ROWS + own)
    assert shown(cgnn, *found, "--undirected", "--featureless")["train.hidden"] == (9, "preset rows.toml")
    assert shown(cgnn, *found)["train.hidden"] == (6, "preset rows.toml")
    assert not cgnn.ok("config", "show", "--dataset", "demo", "--featureless", "--preset", rows, "--json").json[
        "warnings"
    ]


def test_the_row_follows_the_model_wherever_it_is_set(cgnn: FrontDoor, rows: Path) -> None:
    chosen = ("--dataset", "demo", "--preset", rows)
    for model in (("--model", "gcn"), ("--set", "train.model=gcn")):
        settings = shown(cgnn, *chosen, *model)
        assert settings["train.hidden"][0] == 6 and settings["graph.undirected"][0] is True


@pytest.mark.parametrize("command", ["train", "eval"])
def test_a_preset_gives_the_artifacts_of_its_settings(cgnn: FrontDoor, rows: Path, command: str) -> None:
    by_preset = cgnn.ok(command, "--dataset", "demo", "--split", 0, "--preset", rows, "--json").json["key"]
    flags = ("--layers", 3, "--hidden", 4, "--epochs", 2, "--solver", "pi-only")
    assert cgnn.ok(command, "--dataset", "demo", "--split", 0, *flags, "--json").json["key"] == by_preset
    commute = cgnn.ok("commute", "--dataset", "demo", "--preset", rows, "--json").json
    assert commute["cache"] == "hit"
    cgnn.ok("predict", "--dataset", "demo", "--split", 0, "--preset", rows, "-o", "classes.csv")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--dataset", "demo", "--preset", "paper"), "the preset paper has no row for cgnn on demo"),
        (("--dataset", "demo", "--preset", "papper"), "unknown preset papper (use paper, tuned, extended"),
        (("--preset", "paper"), "--preset needs a --dataset"),
        (("--dataset", "demo", "--preset", "rows.toml", "--model", "mlp"), "on demo it has cgnn, gcn"),
        (("--dataset", "cora-ml", "--preset", "rows.toml"), "cgnn it has on demo"),
        (("--dataset", "demo", "--preset", "missing.toml"), "cannot be read"),
        (("--dataset", "demo", "--preset", "flat.toml"), "write a row as [dataset.model]"),
        (("--dataset", "demo", "--preset", "slip.toml"), "unknown key train.hiden; did you mean train.hidden?"),
        (("--dataset", "demo", "--preset", "type.toml"), "is not a whole number"),
    ],
)
def test_slips(cgnn: FrontDoor, rows: Path, arguments: tuple[object, ...], said: str) -> None:
    Path("flat.toml").write_text("demo = 3\n")
    Path("slip.toml").write_text("[demo.cgnn]\ntrain.hiden = 3\n")
    Path("type.toml").write_text("[demo.cgnn]\ntrain.hidden = 2.5\n")
    assert said in cgnn.fails(2, "train", *arguments)


def test_a_preset_is_not_for_a_given_artifact(cgnn: FrontDoor, rows: Path) -> None:
    Path("cgnn.toml").write_text('dataset = "demo"\n')
    path = cgnn.ok("rewire").path
    assert "--preset is for a --dataset" in cgnn.fails(2, "train", "--input", path, "--preset", rows)


def test_models_names_the_presets(cgnn: FrontDoor) -> None:
    (gcn,) = (row for row in cgnn.ok("models", "--json").json["summary"]["models"] if row["name"] == "gcn")
    assert set(gcn["presets"]) == set(PRESETS)
    assert gcn["presets"]["paper"] == [name for name, benchmark in BENCHMARKS.items() if benchmark.settings]


@pytest.mark.parametrize("name", PRESETS)
def test_every_row_that_comes_with_the_tool_can_be_used(name: str) -> None:
    for (dataset, model), row in rows_of(name).items():
        assert dataset in BENCHMARKS and model in MODELS
        settings = Settings({"dataset": dataset, "model": model}, environment={}, preset=name)
        for section in ("graph", "rewire", "dilap", "commute", "train"):
            settings.config(section)
        if name in FOUND:
            assert {"validation_accuracy", "validation_std", "splits", "configurations", "command"} <= set(row.search)
            assert row.search["command"].startswith(("cgnn sweep ", "python benchmarks/tune.py "))


def test_the_files_come_with_the_package() -> None:
    assert {name for name in MODELS if packaged_file(name).is_file()} == {name for _, name in rows_of("tuned")}
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    assert "models/*/presets.toml" in project["tool"]["setuptools"]["package-data"]["cgnn_cli"]


def test_a_row_of_a_preset_goes_into_the_folder_of_its_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "presets.toml"
    for module in (lookup, recording):
        monkeypatch.setattr(module, "packaged_file", lambda model: path)
    for dataset, layers in (("demo", 2), ("cora-ml", 4), ("demo", 3)):
        record_row("tuned", dataset, "gcn", Row({"train.layers": layers}))
    assert read_rows(path) == {
        ("tuned", "demo"): Row({"train.layers": 3}),
        ("tuned", "cora-ml"): Row({"train.layers": 4}),
    }
    assert preset("tuned", "demo", "gcn").settings == {"train.layers": 3}


def test_recorded_rows_come_back_and_leave_others_alone() -> None:
    path = Path("found.toml")
    path.write_text("# a word\n# before\n")
    first = Row({"train.lr": 0.1, "train.l2_norm": True, "commute.scale": "median"}, {"splits": [0, 1], "command": "c"})
    record_row(str(path), "my.data", "cgnn", first)
    record_row(str(path), "demo", "gcn", Row({"train.lr": 1e-05}, {}))
    record_row(str(path), "demo", "gcn", second := Row({"train.lr": 0.5}, {"command": 'say "ü"'}))
    assert path.read_text().startswith("# a word\n# before\n")
    assert read_rows(path) == {("my.data", "cgnn"): first, ("demo", "gcn"): second}
    assert preset(str(path), "my.data", "cgnn") == first


def test_a_full_row_holds_what_is_read_and_gives_the_same_configurations() -> None:
    flags = {"solver": "series", "undirected": True, "layers": 3, "scale": "2", "proximity": "inverse", "rank": 9}
    settings = Settings({**flags, "dataset": "demo"}, environment={})
    row = settings.full_row()
    assert row["graph.undirected"] is True and "graph.protocol" not in row
    assert row["train.layers"] == 3 and row["train.lr"] == 0.01
    assert "commute.rank" not in row and "train.model" not in row and "train.heads" not in row
    again = Settings.of(row, "row")
    for stage in ("graph", "rewire", "dilap", "commute"):
        assert again.config(stage).to_dict() == settings.config(stage).to_dict()
    assert not any(path.startswith(("rewire", "commute")) for path in Settings({"model": "mlp"}).full_row())
