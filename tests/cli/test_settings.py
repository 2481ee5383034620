"""Settings: precedence, origins, and slips (case 46)."""

from pathlib import Path

import pytest

from cgnn_cli.errors import UsageError
from cgnn_cli.models.dirgnn import DirgnnConfig
from cgnn_cli.resources import MOST_SETTINGS
from cgnn_cli.settings import KEYS, Settings
from tests.front_door import FrontDoor


def origins(cgnn: FrontDoor, *arguments: object) -> dict[str, dict[str, object]]:
    settings: dict[str, dict[str, object]] = cgnn.ok("config", "show", *arguments, "--json").json["summary"]["settings"]
    return settings


def test_flags_over_set_over_environment_over_file_over_default(
    cgnn: FrontDoor, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert origins(cgnn)["train.lr"] == {"value": 0.01, "origin": "default"}
    Path("cgnn.toml").write_text("# settings\n[train]\nhidden = 32\nlr = 0.02\n")
    assert origins(cgnn)["train.lr"] == {"value": 0.02, "origin": "cgnn.toml:4"}
    monkeypatch.setenv("CGNN_TRAIN_LR", "0.03")
    assert origins(cgnn)["train.lr"] == {"value": 0.03, "origin": "CGNN_TRAIN_LR"}
    assert origins(cgnn, "--set", "train.lr=0.04")["train.lr"] == {"value": 0.04, "origin": "--set"}
    shown = origins(cgnn, "--set", "train.lr=0.04", "--lr", 0.05)
    assert shown["train.lr"] == {"value": 0.05, "origin": "--lr"}
    assert shown["train.hidden"] == {"value": 32, "origin": "cgnn.toml:3"}


def test_every_setting_is_shown(cgnn: FrontDoor) -> None:
    assert set(origins(cgnn)) == set(KEYS)
    assert "train.lr" in cgnn.ok("config", "show").out


def test_settings_reach_the_stages_and_their_keys(cgnn: FrontDoor, monkeypatch: pytest.MonkeyPatch) -> None:
    by_flag = cgnn.ok("commute", "--dataset", "demo", "--rank", 3, "--scale", 2, "--json").json["key"]
    Path("other.toml").write_text('dataset = "demo"\n[commute]\nrank = 3\nscale = 2\n')
    assert cgnn.ok("commute", "--config", "other.toml", "--json").json["key"] == by_flag
    monkeypatch.setenv("CGNN_CONFIG", "other.toml")
    assert cgnn.ok("commute", "--json").json["key"] == by_flag
    assert cgnn.ok("commute", "--set", "commute.rank=5", "--set", "commute.scale=1", "--json").json["key"] != by_flag
    monkeypatch.setenv("CGNN_COMMUTE_RANK", "5")
    monkeypatch.setenv("CGNN_COMMUTE_SCALE", "1")
    assert cgnn.ok("commute", "--json").json["key"] == cgnn.ok("commute", "--rank", 5, "--json").json["key"]


def test_dataset_and_store_can_be_settings(cgnn: FrontDoor) -> None:
    Path("cgnn.toml").write_text('dataset = "demo"\nstore = "kept"\n')
    path = cgnn.ok("rewire").path
    assert "/kept/rewire/" in path
    assert cgnn.ok("dilap", "--input", path).path  # a named file wins over a dataset from a file
    assert "/flag/" in cgnn.ok("rewire", "--store", "flag").path


def test_a_setting_from_a_file_does_not_contradict_a_given_artifact(cgnn: FrontDoor) -> None:
    Path("cgnn.toml").write_text("[commute]\nrank = 3\n[train]\nepochs = 2\nhidden = 4\n")
    cgnn.ok("commute", "--dataset", "demo")
    cgnn.ok("train", "--split", 0)
    assert "--rank belongs to commute" in cgnn.fails(2, "train", "--set", "commute.rank=4")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('[train]\nlr = "0.01"\n', "cgnn.toml:2: train.lr = '0.01' is not a number"),
        ("[train]\nlayers = 2.5\n", "cgnn.toml:2: train.layers = 2.5 is not a whole number"),
        ("[train]\nlayers = true\n", "is not a whole number"),
        ("[train]\nl2_norm = 1\n", "is not true or false"),
        ("\n[train]\n\nlearning_rate = 1\n", "cgnn.toml:4: unknown key train.learning_rate"),
        ("[train]\nhiden = 1\n", "did you mean train.hidden?"),
        ("[trian]\nlr = 1\n", "did you mean train.lr?"),
        ("rank = 5\n", "cgnn.toml:1: unknown key rank; did you mean commute.rank?"),
        ('[commute]\nsolver = "exactly"\n', "one of svd, exact, series, sketch, pi-only; did you mean exact?"),
        ("[commute]\nrank = 0\n", "--rank must be at least 1"),
        ("[commute\n", "cgnn.toml is not TOML"),
        ("[train]\nlr = [1]\n", "is not a number"),
        ("[train.inner]\nlr = 1\n", "unknown key train.inner"),
    ],
)
def test_case_46_slips_in_a_file(cgnn: FrontDoor, content: str, said: str) -> None:
    Path("cgnn.toml").write_text(content)
    assert said in cgnn.fails(2, "config", "show")
    assert not Path(".cgnn").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("train.lr", "section.key=value"),
        ("train.lr=fast", "--set train.lr: 'fast' is not a number"),
        ("train.layers=2.5", "is not a whole number"),
        ("train.l2_norm=maybe", "is not true or false"),
        ("train.model=gcnn", "is not one of"),
        ("train.lrr=1", "did you mean train.lr?"),
    ],
)
def test_case_46_slips_in_set(cgnn: FrontDoor, text: str, said: str) -> None:
    assert said in cgnn.fails(2, "train", "--dataset", "demo", "--set", text)


def test_case_46_slips_in_the_environment(cgnn: FrontDoor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CGNN_TRAIN_LRR", "1")
    assert "did you mean CGNN_TRAIN_LR?" in cgnn.fails(2, "config", "show")
    monkeypatch.delenv("CGNN_TRAIN_LRR")
    monkeypatch.setenv("CGNN_TRAIN_L2_NORM", "maybe")
    assert "CGNN_TRAIN_L2_NORM: 'maybe' is not true or false" in cgnn.fails(2, "config", "show")


def test_case_46_a_file_that_is_not_there_or_not_text(cgnn: FrontDoor) -> None:
    assert "no configuration file missing.toml" in cgnn.fails(2, "config", "show", "--config", "missing.toml")
    Path("cgnn.toml").write_bytes(b"\xff\xfe")
    assert "cannot be read" in cgnn.fails(2, "config", "show")


def test_case_46_files_of_settings_have_a_limit(cgnn: FrontDoor) -> None:
    """A device without end, and a large file of something else."""
    Path("large.toml").write_bytes(b"#" * (MOST_SETTINGS + 1))
    said = "is larger than 1.0 MiB, and files of settings are not"
    for command in (("config", "show", "--config"), ("sweep",), ("train", "--dataset", "demo", "--preset")):
        assert f"large.toml {said}" in cgnn.fails(2, *command, "large.toml")
    assert f"/dev/zero {said}" in cgnn.fails(2, "config", "show", "--config", "/dev/zero")
    assert f"/dev/zero {said}" in cgnn.fails(2, "sweep", "/dev/zero")
    Path("largest.toml").write_bytes(b"#" * MOST_SETTINGS)
    cgnn.ok("config", "show", "--config", "largest.toml")


def test_texts_of_all_kinds_are_parsed() -> None:
    settings = Settings({}, ["train.l2_norm=yes", "train.lr=1", "train.layers=3", "train.model=dirgnn"], environment={})
    config = settings.config("train")
    assert isinstance(config, DirgnnConfig)
    assert (config.l2_norm, config.lr, config.layers, config.model) == (True, 1.0, 3, "dirgnn")
    with pytest.raises(UsageError):
        Settings({}, ["train.l2_norm="], environment={})


def test_an_empty_variable_is_no_setting_and_an_unknown_one_an_error(
    cgnn: FrontDoor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CGNN_TRAIN_LR", "")
    assert origins(cgnn)["train.lr"]["origin"] == "default"
    monkeypatch.setenv("CGNN_STROE", "x")
    assert "did you mean CGNN_STORE?" in cgnn.fails(2, "config", "show")


@pytest.mark.parametrize(("flag", "value"), [("--device", "frog"), ("--memory-limit", "much")])
def test_compute_settings_are_checked_before_anything_runs(cgnn: FrontDoor, flag: str, value: str) -> None:
    assert flag in cgnn.fails(2, "config", "show", flag, value)
