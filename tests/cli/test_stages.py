"""The stage commands on the demo graph: artifacts, cache, starting points, options."""

import json
from pathlib import Path

import h5py
import pytest

from tests.front_door import FrontDoor

SHORT = ("--epochs", 3, "--hidden", 8)


def test_each_stage_prints_one_line_the_path_of_its_artifact(cgnn: FrontDoor) -> None:
    types = {
        "rewire": "cgnn-rewired",
        "dilap": "cgnn-dilap",
        "commute": "cgnn-commute",
        "train": "cgnn-checkpoint",
        "eval": "cgnn-scores",
    }
    for stage, root_type in types.items():
        options = SHORT if stage in ("train", "eval") else ()
        path = Path(cgnn.ok(stage, "--dataset", "demo", *options).path)
        assert path.parent.name == stage
        with h5py.File(path) as file:
            assert file.attrs["encoding-type"] == root_type


def test_json_object_has_the_promised_fields_and_the_second_call_is_a_hit(cgnn: FrontDoor) -> None:
    first = cgnn.ok("commute", "--dataset", "demo", "--json").json
    second = cgnn.ok("commute", "--dataset", "demo", "--json").json
    assert {"schema", "command", "artifact", "key", "cache", "seconds", "summary", "warnings"} <= set(first)
    assert (first["command"], first["cache"], second["cache"]) == ("commute", "miss", "hit")
    assert first["key"] == second["key"] and first["summary"] == second["summary"]


def test_eval_reports_mean_std_and_runs(cgnn: FrontDoor) -> None:
    summary = cgnn.ok("eval", "--dataset", "demo", "--json", *SHORT).json["summary"]
    assert summary["test_accuracy"]["runs"] == 5
    per_split = summary["test_accuracy_per_split"]
    assert summary["test_accuracy"]["mean"] == pytest.approx(sum(per_split) / 5)
    assert set(summary["per_class"]) == {"cinema", "cycling", "jazz", "cooking", "astronomy"}


def test_train_without_a_start_takes_the_newest_commute_artifact(cgnn: FrontDoor) -> None:
    cgnn.ok("commute", "--dataset", "demo", "--solver", "pi-only")
    newest = cgnn.ok("commute", "--dataset", "demo", "--rank", 3, "--json").json["key"]
    result = cgnn.ok("train", "--layers", 2, "--hidden", 8, "--epochs", 2, "--split", 0)
    assert f"taking the newest commute artifact, {newest[:12]} (dataset demo)" in result.err
    with h5py.File(result.path) as file:
        assert json.loads(file.attrs["header"])["inputs"]["commute"] == newest


def test_asking_for_a_cached_commute_artifact_makes_it_the_newest(cgnn: FrontDoor) -> None:
    wanted = cgnn.ok("commute", "--dataset", "demo", "--rank", 3, "--json").json["key"]
    cgnn.ok("commute", "--dataset", "demo", "--rank", 4)
    cgnn.ok("commute", "--dataset", "demo", "--rank", 3)
    assert f"newest commute artifact, {wanted[:12]}" in cgnn.ok("train", *SHORT, "--split", 0).err


def test_an_empty_store_names_the_command_to_run(cgnn: FrontDoor) -> None:
    assert "cgnn commute --dataset" in cgnn.fails(4, "train")
    assert "cgnn train --dataset" in cgnn.fails(4, "eval")
    assert "--dataset demo" in cgnn.fails(2, "rewire")
    assert not Path(".cgnn").exists()


def test_input_starts_from_a_named_file_of_either_format(cgnn: FrontDoor) -> None:
    chained = cgnn.ok("rewire", "--dataset", "demo").path
    chained = cgnn.ok("dilap", "--input", chained).path
    from_h5 = cgnn.ok("commute", "--input", chained, "--json").json
    npz = cgnn.ok("dilap", "--dataset", "demo", "--format", "npz").path
    assert npz.endswith(".npz") and Path(npz).with_suffix(".h5").exists()
    from_npz = cgnn.ok("commute", "--input", npz, "--json").json
    direct = cgnn.ok("commute", "--dataset", "demo", "--json").json
    assert from_h5["key"] == from_npz["key"] == direct["key"]


def test_input_works_from_another_store_when_the_graph_is_named_too(cgnn: FrontDoor) -> None:
    commute = cgnn.ok("commute", "--dataset", "demo", "--json").json
    graph = cgnn.ok("data", "show", "demo", "--json").json["artifact"]
    store = ("--store", "elsewhere")
    message = cgnn.fails(4, "train", "--input", commute["artifact"], *store, *SHORT)
    assert "graph" in message and "--input" in message
    cgnn.ok("train", "--input", commute["artifact"], "--input", graph, *store, *SHORT, "--split", 0)


def test_options_of_a_finished_stage_are_refused(cgnn: FrontDoor) -> None:
    path = cgnn.ok("commute", "--dataset", "demo").path
    message = cgnn.fails(2, "train", "--input", path, "--rank", 7)
    assert "--rank" in message and "commute" in message
    cgnn.fails(2, "train", "--rank", 7)
    cgnn.fails(2, "train", "--dataset", "demo", "--input", path)


def test_upstream_options_reach_their_stage(cgnn: FrontDoor) -> None:
    options = ("--method", "none", "--form", "random-walk", "--solver", "exact", "--proximity", "inverse")
    result = cgnn.ok("commute", "--dataset", "demo", *options, "--json").json
    assert result["summary"]["edges_without_value"] > 0
    dilap = cgnn.ok("dilap", "--dataset", "demo", "--method", "none", "--form", "random-walk", "--json").json
    assert dilap["cache"] == "hit" and dilap["summary"]["symmetric"] is False


def test_key_ignores_options_that_the_solver_does_not_read(cgnn: FrontDoor) -> None:
    a = cgnn.ok("commute", "--dataset", "demo", "--solver", "exact", "--rank", 3, "--json").json
    b = cgnn.ok("commute", "--dataset", "demo", "--solver", "exact", "--rank", 9, "--json").json
    assert a["key"] == b["key"] and b["cache"] == "hit"


def test_force_computes_again_and_gets_the_same_content(cgnn: FrontDoor) -> None:
    first = cgnn.ok("commute", "--dataset", "demo", "--json").json
    before = json.loads(Path(first["artifact"]).with_suffix(".json").read_text())["header"]
    second = cgnn.ok("commute", "--dataset", "demo", "--force", "--json").json
    after = json.loads(Path(second["artifact"]).with_suffix(".json").read_text())["header"]
    assert second["cache"] == "miss"
    assert before["payload"] == after["payload"] and before["provenance"] != after["provenance"]


def test_dry_run_shows_hits_and_reasons_and_writes_nothing(cgnn: FrontDoor) -> None:
    rows = cgnn.ok("commute", "--dataset", "demo", "--dry-run", "--json").json["stages"]
    assert [(row["stage"], row["cache"]) for row in rows] == [
        (stage, "miss") for stage in ("graph", "rewire", "dilap", "commute")
    ]
    assert not Path(".cgnn").exists()
    cgnn.ok("commute", "--dataset", "demo")
    rows = cgnn.ok("commute", "--dataset", "demo", "--rank", 7, "--dry-run", "--json").json["stages"]
    assert [row["cache"] for row in rows] == ["hit", "hit", "hit", "miss"]
    assert rows[-1]["reason"] == "differs from the nearest cached one in rank"


def test_a_split_is_never_trained_twice(cgnn: FrontDoor) -> None:
    cgnn.ok("train", "--dataset", "demo", *SHORT, "--split", 1)
    stages = cgnn.ok("train", "--dataset", "demo", *SHORT, "--json").json["stages"]
    fits = [row["cache"] for row in stages if row["stage"] == "fit"]
    assert fits == ["miss", "hit", "miss", "miss", "miss"]


def test_dirgnn_needs_no_commute_times(cgnn: FrontDoor) -> None:
    stages = cgnn.ok("train", "--dataset", "demo", "--model", "dirgnn", *SHORT, "--split", 0, "--json").json["stages"]
    assert {row["stage"] for row in stages} == {"graph", "operators", "fit", "train"}


def test_svd_says_what_its_numbers_are(cgnn: FrontDoor) -> None:
    """Once an artifact, when it is made; not to those who name the rank; and it stays in the artifact."""
    made = cgnn.ok("commute", "--dataset", "demo", "--json")
    assert made.err.count("truncation scores, not expected steps") == 1
    assert any("truncation scores" in warning for warning in made.json["warnings"])
    again = cgnn.ok("commute", "--dataset", "demo", "--json")
    assert "truncation" not in again.err and again.json["warnings"] == []
    assert "truncation" not in cgnn.ok("train", "--dataset", "demo", *SHORT, "--split", 0).err
    assert again.json["summary"] == made.json["summary"] and "truncation" in made.json["summary"]["notes"][0]
    for asked in (("--rank", 4), ("--set", "commute.rank=5", "--force")):
        assert "truncation" not in cgnn.ok("commute", "--dataset", "demo", *asked).err
    assert "truncation" in cgnn.ok("commute", "--dataset", "demo", "--force").err
    assert "more than this walk has" in cgnn.ok("commute", "--dataset", "demo", "--rank", 5000).err, "other notes stay"
    assert "truncation" not in cgnn.ok("commute", "--dataset", "demo", "--solver", "exact").err


def test_quiet_says_nothing_and_still_prints_the_path(cgnn: FrontDoor) -> None:
    result = cgnn.ok("commute", "--dataset", "demo", "--quiet")
    assert result.err == "" and Path(result.path).exists()


def test_store_option_wins_over_the_environment(cgnn: FrontDoor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CGNN_STORE", "from-environment")
    assert "from-environment" in cgnn.ok("rewire", "--dataset", "demo").path
    assert "from-flag" in cgnn.ok("rewire", "--dataset", "demo", "--store", "from-flag").path


def test_a_damaged_newest_artifact_is_made_again_before_it_is_used(cgnn: FrontDoor) -> None:
    options = ("--walk", "symmetric", "--solver", "exact", "--proximity", "ratio", "--scale", 0.5)
    made = cgnn.ok("commute", "--dataset", "demo", *options, "--json").json
    path = Path(made["artifact"])
    path.chmod(0o644)
    path.write_bytes(path.read_bytes()[:-100])
    result = cgnn.ok("train", *SHORT, "--split", 0, "--json")
    assert "damaged cache entry moved" in result.err
    caches = {row["key"]: row["cache"] for row in result.json["stages"]}
    assert caches[made["key"]] == "miss" and path.exists()


def test_a_newest_artifact_that_cannot_be_made_again_is_an_upstream_error(cgnn: FrontDoor) -> None:
    made = cgnn.ok("train", "--dataset", "demo", *SHORT, "--split", 0, "--json").json
    Path(made["artifact"]).chmod(0o644)
    Path(made["artifact"]).write_bytes(b"")
    assert "train artifact" in cgnn.fails(4, "eval")


def test_dry_run_from_named_files_whose_upstream_is_elsewhere(cgnn: FrontDoor) -> None:
    commute = cgnn.ok("commute", "--dataset", "demo").path
    graph = cgnn.ok("data", "show", "demo", "--json").json["artifact"]
    rows = cgnn.ok(
        "train", "--input", commute, "--input", graph, "--store", "other", "--dry-run", "--json", *SHORT, "--split", 0
    ).json["stages"]
    assert [row["stage"] for row in rows] == ["graph", "commute", "operators", "fit", "train"]


@pytest.mark.parametrize("output", [".", "missing/p.csv"])
def test_an_output_that_cannot_be_written_is_refused_before_any_work(cgnn: FrontDoor, output: str) -> None:
    assert output in cgnn.fails(2, "predict", "--dataset", "demo", "--output", output, *SHORT)
    assert not Path(".cgnn").exists()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("commute", "--solver", "series", "--rank", 3), "--rank changes nothing with these settings"),
        (("train", "--model", "gcn", "--heads", 4, "--rank", 3), "--rank, --heads change nothing with these settings"),
        (("run", "--no-compare", "--set", "train.fanout=3"), "--fanout changes nothing with these settings"),
        (("run", "--compare", "--scale", 2, "--proximity", "none"), None),  # rows that it is compared with read it
        (("train", "--batch-nodes", 9, "--fanout", 3, "--proximity", "none"), None),
    ],
)
def test_a_given_option_that_changes_nothing_is_named(
    cgnn: FrontDoor, arguments: tuple[object, ...], expected: str | None
) -> None:
    result = cgnn.ok(*arguments, "--dataset", "demo", "--dry-run")
    named = [line for line in result.err.splitlines() if "nothing with these settings" in line]
    assert named == ([] if expected is None else [f"note: {expected}"])
