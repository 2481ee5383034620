"""Sweeps: which configurations they compare, in parts, again, and after a kill."""

import json
import signal
import tomllib
from pathlib import Path
from typing import Any

import pytest

from cgnn_cli.commands.console import Talker
from cgnn_cli.commands.sweep_table import Board
from cgnn_cli.errors import UsageError
from cgnn_cli.execution.results import Run
from cgnn_cli.presets.lookup import read_rows
from cgnn_cli.sweeps import Range, Shard, points_of, read_sweep, separate, shard_of
from cgnn_cli.workspace import best_first
from tests.conftest import QUESTIONS
from tests.faults.processes import finish, killed_at, run, start, wait_for
from tests.front_door import FrontDoor
from tests.runs import fit_headers

BASE = ("--dataset", "demo", "--solver", "pi-only", "--epochs", 3, "--hidden", 4, "--split", 0, "--split", 1)
GRID = ("sweep", *BASE, "--set", "train.layers=1,2", "--set", "train.lr=0.01,0.1", "--json", "--quiet")


def results_of(values: dict[str, Any]) -> dict[str, Any]:
    """The configurations of a sweep by name, without what may differ between runs."""
    rows = values["summary"]["configurations"]
    return {row["name"]: {key: value for key, value in row.items() if key != "seconds"} for row in rows}


# --- the space -------------------------------------------------------------------------------------------------------


def test_values_ranges_and_single_settings_are_told_apart() -> None:
    single, space = separate(
        [
            "train.layers=1,2",
            "train.lr=0.001..0.1:log",
            "train.hidden=8..16",
            "train.dropout=0.5",
            "train.label_powers=60,12,4;4",
            "commute.proximity=exp,inverse",
            "train.l2_norm=yes,no",
            "mirror=a,b",
        ]
    )
    assert single == ["train.dropout=0.5", "mirror=a,b"]
    assert space == {
        "train.layers": [1, 2],
        "train.lr": Range(0.001, 0.1, log=True, whole=False),
        "train.hidden": Range(8, 16, log=False, whole=True),
        "train.label_powers": ["60,12,4", "4"],
        "commute.proximity": ["exp", "inverse"],
        "train.l2_norm": [True, False],
    }


def test_a_grid_is_the_product_in_order() -> None:
    points = points_of({"train.layers": [1, 2], "train.lr": [0.1, 0.2, 0.3]}, None, 0)
    assert [tuple(point.values()) for point in points] == [(n, lr) for n in (1, 2) for lr in (0.1, 0.2, 0.3)]
    assert points_of({}, None, 0) == [{}]


def test_random_points_are_distinct_and_depend_on_the_seed_alone() -> None:
    space: Any = {"train.layers": [1, 2, 3], "train.hidden": [4, 8, 16]}
    drawn = points_of(space, 5, 1)
    assert drawn == points_of(space, 5, 1) != points_of(space, 5, 2)
    assert len({tuple(point.values()) for point in drawn}) == 5
    everything = {tuple(point.values()) for point in points_of(space, None, 0)}
    assert {tuple(point.values()) for point in points_of(space, 50, 0)} == everything


def test_ranges_are_drawn_from_within() -> None:
    space: Any = {"train.lr": Range(1e-4, 1e-1, True, False), "train.layers": Range(1, 3, False, True)}
    drawn = points_of(space, 200, 0)
    rates = sorted(point["train.lr"] for point in drawn)
    assert rates[0] >= 1e-4 and rates[-1] <= 1e-1
    assert 0.2 < sum(rate < 1e-3 for rate in rates) / len(rates) < 0.47  # a third of the orders of magnitude
    assert {point["train.layers"] for point in drawn} == {1, 2, 3}
    with pytest.raises(UsageError, match="from which a grid cannot choose"):
        points_of(space, None, 0)


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_shards_part_the_whole(count: int) -> None:
    parts = [Shard(number, count).of(range(10)) for number in range(1, count + 1)]
    assert sorted(item for part in parts for item in part) == list(range(10))


def test_a_shard_comes_from_the_option_or_from_slurm() -> None:
    array = {"SLURM_ARRAY_TASK_ID": "6", "SLURM_ARRAY_TASK_MIN": "2", "SLURM_ARRAY_TASK_COUNT": "4"}
    assert shard_of("2/3", array) == Shard(2, 3)
    assert shard_of(None, {**array, "SLURM_ARRAY_TASK_STEP": "2"}) == Shard(3, 4)
    assert shard_of(None, {**array, "SLURM_ARRAY_TASK_ID": "2"}) == Shard(1, 4)
    assert shard_of(None, {}) == Shard(1, 1)
    with pytest.raises(UsageError, match="has no place in a row"):
        shard_of(None, array)
    for wrong in ("0/2", "3/2", "1", "a/b"):
        with pytest.raises(UsageError, match="is not a shard"):
            shard_of(wrong, {})


def test_a_file_has_the_form_of_the_settings() -> None:
    path = Path("sweep.toml")
    path.write_text(
        '[sweep]\ndataset = "demo"\nsplits = [0, 1]\n[train]\nlayers = [1, 2]\nhidden = 4\nlr = "0.001..0.1:log"\n'
    )
    file = read_sweep(path)
    assert file.values == {"dataset": "demo", "splits": [0, 1]}
    assert file.space == {
        "train.layers": [1, 2],
        "train.hidden": [4],
        "train.lr": Range(0.001, 0.1, log=True, whole=False),
    }


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--set", "train.layers=1,x"), "--set train.layers: 'x' is not a whole number"),
        (("--set", "train.lr=0.1..0.001"), "0.1..0.001 is not a range"),
        (("--set", "train.lr=0..1:log", "--random", 2), "is not a range"),
        (("--set", "train.lr=0.1..0.2"), "add --random N"),
        (("--set", "train.layers=1,2", "--layers", 2), "train.layers is to vary, and --layers gives it one value"),
        (("--set", "train.layes=1,2"), "did you mean train.layers?"),
        (("--set", "train.layers"), "write it as section.key=value"),
        (("bad.toml",), "[sweep] colour = 1 is not one of"),
        (("number.toml",), "sweep = 3 is not a table"),
        (("none.toml",), "[sweep] random must be at least 1, got 0"),
        (("below.toml",), "[sweep] seed must be at least 0, got -3"),
        (("outside.toml",), "dataset stands outside a section"),
        (("compute.toml",), "compute.jobs is not an option of a stage"),
        (("missing.toml",), "cannot be read"),
        (("--shard", "3/2"), "is not a shard"),
        (("--record", "found"), "--record found is no preset"),
        (("--record", "tuned", "--shard", "1/2"), "--record is for a whole search"),
        (("--preset", "paper"), "has no row for cgnn on demo"),
    ],
)
def test_slips(cgnn: FrontDoor, arguments: tuple[object, ...], said: str) -> None:
    Path("bad.toml").write_text("[sweep]\ncolour = 1\n")
    Path("number.toml").write_text("sweep = 3\n")
    Path("none.toml").write_text("[sweep]\nrandom = 0\n")
    Path("below.toml").write_text("[sweep]\nseed = -3\n")
    Path("outside.toml").write_text('dataset = "demo"\n')
    Path("compute.toml").write_text("[compute]\njobs = 2\n")
    assert said in cgnn.fails(2, "sweep", "--dataset", "demo", *arguments)
    assert not Path(".cgnn").exists()


def test_a_sweep_needs_a_dataset(cgnn: FrontDoor) -> None:
    assert "sweep needs a --dataset" in cgnn.fails(2, "sweep", "--set", "train.layers=1,2")


# --- the command -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A store with a grid of four configurations, and what the sweep said."""
    store = tmp_path_factory.mktemp("whole")
    return store, run(*GRID, "--store", store).json


def test_a_grid_is_judged_on_mean_validation_accuracy(whole: tuple[Path, dict[str, Any]], cgnn: FrontDoor) -> None:
    store, values = whole
    rows = values["summary"]["configurations"]
    assert [(row["point"]["train.layers"], row["point"]["train.lr"]) for row in rows] == [
        (layers, lr) for layers in (1, 2) for lr in (0.01, 0.1)
    ]
    best = values["summary"]["best"]
    assert best["validation_accuracy"]["mean"] == max(row["validation_accuracy"]["mean"] for row in rows)
    by_name = {row["name"]: row for row in rows}
    trained = cgnn.ok("train", *BASE, "--layers", 2, "--lr", 0.1, "--store", store, "--json", "--quiet").json
    assert trained["key"] == by_name["layers=2  lr=0.1"]["keys"]["train"]
    stages = {row["stage"]: row["cache"] for row in trained["stages"]}
    assert stages == {"fit": "hit", "train": "miss"} | {name: "hit" for name in stages if name not in ("fit", "train")}
    accuracy = trained["summary"]["validation_accuracy"]
    assert by_name["layers=2  lr=0.1"]["validation_accuracy"] == pytest.approx(accuracy)


def test_test_accuracy_is_neither_computed_nor_shown(whole: tuple[Path, dict[str, Any]]) -> None:
    store, values = whole
    assert not (store / "eval").exists()
    assert "test" not in json.dumps(values["summary"]["configurations"])


def test_the_command_for_the_winner_is_exact(whole: tuple[Path, dict[str, Any]], cgnn: FrontDoor) -> None:
    store, values = whole
    name, *words = values["summary"]["best"]["command"].split()
    assert name == "cgnn" and "--split" not in words
    scores = cgnn.ok(*words, "--split", 0, "--split", 1, "--json", "-q").json
    best = values["summary"]["best"]
    assert {row["key"] for row in scores["stages"] if row["stage"] == "fit"} <= {
        path.stem for path in (store / "fit").glob("*.h5")
    }
    assert [row["cache"] for row in scores["stages"] if row["stage"] == "fit"] == ["hit", "hit"]
    assert scores["summary"]["validation_accuracy"]["mean"] == pytest.approx(best["validation_accuracy"]["mean"])


def test_the_command_for_the_winner_stands_against_a_file(cgnn: FrontDoor) -> None:
    """A default that won is written out where a file or the environment says otherwise."""
    Path("cgnn.toml").write_text("[train]\nlayers = 3\nl2_norm = true\n[commute]\nsteps = 3\n")
    options = ("--set", "train.layers=2", "--set", "train.l2_norm=no", "--set", "train.hidden=4,5", "--quiet")
    best = cgnn.ok("sweep", *BASE[:6], "--split", 0, *options, "--json").json["summary"]["best"]
    scores = cgnn.ok(*best["command"].split()[1:], "--split", 0, "--json", "-q").json
    assert [row["cache"] for row in scores["stages"] if row["stage"] == "fit"] == ["hit"]


def test_a_rerun_computes_nothing_and_shows_the_same_table(
    whole: tuple[Path, dict[str, Any]], cgnn: FrontDoor, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, values = whole
    monkeypatch.setattr("subprocess.Popen", None)
    again = cgnn.ok(*GRID, "--store", store).json
    assert again["cache"] == "hit" and values["cache"] == "miss"
    assert results_of(again) == results_of(values)
    shown = cgnn.ok(*GRID[:-2], "--store", store)
    lines = [line.split() for line in shown.out.splitlines() if line.strip().startswith("layers=")]
    means = [float(line[2]) for line in lines]
    assert len(means) == 4 and means == sorted(means, reverse=True)
    assert "score it on the test nodes: cgnn eval --dataset demo" in shown.err


def test_one_job_starts_no_process(whole: tuple[Path, dict[str, Any]], cgnn: FrontDoor, programs: list[str]) -> None:
    values = cgnn.ok(*GRID, "--jobs", 1, "--store", "own").json
    assert values["cache"] == "miss" and results_of(values) == results_of(whole[1])
    assert set(programs) <= QUESTIONS


def test_two_shards_at_the_same_time_give_the_results_of_the_whole(whole: tuple[Path, dict[str, Any]]) -> None:
    shards = [start(*GRID, "--store", "store", "--shard", f"{number}/2") for number in (1, 2)]
    parts = [finish(shard).json for shard in shards]
    names = [set(results_of(part)) for part in parts]
    assert [len(name) for name in names] == [2, 2] and not names[0] & names[1]
    expected = results_of(whole[1])
    assert results_of(parts[0]) | results_of(parts[1]) == expected
    together = run(*GRID, "--store", "store").json
    assert together["cache"] == "hit" and results_of(together) == expected
    assert together["summary"]["best"] is not None


def test_a_shard_of_a_slurm_array(whole: tuple[Path, dict[str, Any]], cgnn: FrontDoor, monkeypatch: Any) -> None:
    for name, value in (("ID", "4"), ("MIN", "1"), ("MAX", "4"), ("COUNT", "4"), ("STEP", "1")):
        monkeypatch.setenv(f"SLURM_ARRAY_TASK_{name}", value)
    part = cgnn.ok(*GRID, "--store", whole[0]).json
    assert part["summary"]["shard"] == "4/4"
    assert list(results_of(part)) == ["layers=2  lr=0.1"]


def test_a_killed_sweep_goes_on_where_it_stopped(whole: tuple[Path, dict[str, Any]]) -> None:
    assert run(*GRID, "--store", "store", patch=killed_at(3)).code == -signal.SIGKILL
    kept = {path.name: path.stat().st_mtime_ns for path in Path("store/fit").glob("*.h5")}
    assert len(kept) >= 2
    values = run(*GRID, "--store", "store").json
    assert results_of(values) == results_of(whole[1])
    after = {path.name: path.stat().st_mtime_ns for path in Path("store/fit").glob("*.h5")}
    assert {name: after[name] for name in kept} == kept


def test_a_stopped_sweep_saves_its_state_and_exits_with_75() -> None:
    long = ("--epochs", 100_000, "--patience", 100_000, "--snapshot-seconds", 0, "--store", "store")
    process = start("sweep", *BASE, *long, "--set", "train.layers=1,2", "--jobs", 2, "--quiet")
    wait_for(lambda: len(list(Path("store/partial").glob("*.h5"))) == 2)
    process.send_signal(signal.SIGTERM)
    stopped = finish(process)
    assert (stopped.code, stopped.out) == (75, "")
    assert "stopped after 0 of 2 configurations" in stopped.err and "run the same command again" in stopped.err
    assert len(list(Path("store/partial").glob("*.h5"))) == 2


def test_case_25_failures_are_shown_and_only_all_of_them_fail_the_sweep(cgnn: FrontDoor) -> None:
    diverging = ("--set", "train.lr=1e11,1e10", "--epochs", 50)
    options = ("sweep", "--dataset", "demo", "--solver", "pi-only", "--hidden", 4, "--split", 0, "--split", 1)
    message = cgnn.fails(8, *options, *diverging, "--quiet")
    assert "all 2 configurations failed; the first: the training loss became" in message
    mixed = cgnn.ok(*options, "--set", "train.lr=1e11,0.01", "--epochs", 3, "--set", "train.layers=2", "--json")
    rows = results_of(mixed.json)
    assert [rows[name]["status"] for name in ("lr=1e+11", "lr=0.01")] == ["failed", "done"]
    assert mixed.json["summary"]["best"]["name"] == "lr=0.01"
    assert "failed: the training loss became" in mixed.err


# Workers kill themselves when they train two layers.
DYING = """
import cgnn_cli.execution.pool as pool
pool.PROGRAM = pool.PROGRAM.replace("from cgnn_cli.execution.worker import main", '''
from cgnn_cli.execution.worker import main
from cgnn_cli.stages import train
import os
fit = train.fit
def dying(graph, operators, config, *values, **named):
    if config.layers == 2:
        os.kill(os.getpid(), 9)
    return fit(graph, operators, config, *values, **named)
train.fit = dying
''')
"""


def test_case_25_a_killed_worker_fails_its_configuration_and_a_rerun_does_what_is_missing() -> None:
    sweep = ("sweep", *BASE, "--set", "train.layers=1,2,3", "--jobs", 2, "--store", "store", "--json", "--quiet")
    killed = {row["name"]: row for row in run(*sweep, patch=DYING).json["summary"]["configurations"]}
    states = {name: row["status"] for name, row in killed.items()}
    assert states == {"layers=1": "done", "layers=2": "failed", "layers=3": "done"}
    assert "a worker process was killed" in killed["layers=2"]["message"]
    kept = {path.name: path.stat().st_mtime_ns for path in Path("store/fit").glob("*.h5")}
    assert len(kept) == 4
    again = run(*sweep).json["summary"]["configurations"]
    assert [row["status"] for row in again] == ["done"] * 3
    after = {path.name: path.stat().st_mtime_ns for path in Path("store/fit").glob("*.h5")}
    assert len(after) == 6 and {name: after[name] for name in kept} == kept


def test_a_deadline_leaves_the_rest_for_later(whole: tuple[Path, dict[str, Any]], cgnn: FrontDoor) -> None:
    wider = ("--set", "train.layers=1,2,3")
    late = cgnn.ok("sweep", *BASE, *wider, "--lr", 0.1, "--max-minutes", 0, "--store", whole[0], "--json").json
    assert [row["status"] for row in late["summary"]["configurations"]] == ["done", "done", "not run"]
    assert "1 configurations are left; run the same command again to go on" in late["warnings"]


def test_a_file_with_the_command_line_over_it(whole: tuple[Path, dict[str, Any]], cgnn: FrontDoor) -> None:
    Path("sweep.toml").write_text(
        '[sweep]\ndataset = "demo"\nsplits = [0, 1]\n[commute]\nsolver = "pi-only"\n'
        "[train]\nlayers = [1, 2]\nlr = [0.01, 0.1, 0.5]\nhidden = 4\nepochs = [50, 60]\n"
    )
    narrowed = ("--epochs", 3, "--set", "train.lr=0.01,0.1", "--json", "--store", whole[0])
    values = cgnn.ok("sweep", "sweep.toml", *narrowed).json
    assert values["cache"] == "hit"
    assert {name: row["keys"] for name, row in results_of(values).items()} == {
        name: row["keys"] for name, row in results_of(whole[1]).items()
    }


def test_random_search_and_presets_as_the_base(whole: tuple[Path, dict[str, Any]], cgnn: FrontDoor) -> None:
    Path("rows.toml").write_text('[demo.cgnn]\ntrain.hidden = 4\ntrain.epochs = 3\ncommute.solver = "pi-only"\n')
    options = ("sweep", "--dataset", "demo", "--preset", "rows.toml", "--split", 0, "--split", 1, "--json")
    space = ("--set", "train.layers=1,2", "--set", "train.lr=0.01,0.1", "--random", 3, "--sweep-seed", 5)
    values = cgnn.ok(*options, *space, "--store", whole[0]).json
    rows, expected = results_of(values), results_of(whole[1])
    assert len(rows) == 3 and values["cache"] == "hit"
    assert all(row["keys"] == expected[name]["keys"] for name, row in rows.items())


def test_a_winner_is_recorded_with_a_search_that_can_be_repeated(
    whole: tuple[Path, dict[str, Any]], cgnn: FrontDoor
) -> None:
    store, values = whole
    cgnn.ok(*GRID, "--store", store, "--record", "found.toml")
    best = values["summary"]["best"]
    (row,) = read_rows(Path("found.toml")).values()
    assert row.search["configurations"] == 4 and row.search["splits"] == [0, 1]
    assert row.search["validation_accuracy"] == pytest.approx(best["validation_accuracy"]["mean"], abs=1e-6)
    assert str(store) not in Path("found.toml").read_text()
    again = cgnn.ok(*row.search["command"].split()[1:], "--store", store, "--json").json
    assert again["cache"] == "hit" and again["summary"]["best"]["name"] == best["name"]
    chosen = ("--dataset", "demo", "--preset", "found.toml", "--split", 0, "--split", 1, "--store", store, "--json")
    assert cgnn.ok("train", *chosen).json["key"] == again["key"]
    assert tomllib.loads(Path("found.toml").read_text())["demo"]["cgnn"]["train"]["epochs"] == 3


def test_the_table_is_live_on_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    results = [
        Run("worse", "demo", status="done", headers=fit_headers([0.5])),
        Run("failed one", "demo", status="failed", message="why"),
        Run("better", "demo", status="done", headers=fit_headers([0.7, 0.8])),
    ]
    with Board(Talker(quiet=False), "title", 3) as board:
        for result in results:
            board.finished(result)
        board.progress(2, 3, "split 0 epoch 4")
    shown = capsys.readouterr().err
    assert "75.00 ± 5.00" in shown and "50.00" in shown and "50.00 ±" not in shown and "failed: why" in shown
    assert [result.name for result in best_first(results)] == ["better", "worse", "failed one"]


def test_a_sweep_of_models_takes_the_rows_of_these_models(cgnn: FrontDoor, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the preset has none of the default model, and the recorded command makes the winner again."""
    Path("two.toml").write_text("[demo.gcn]\ntrain.lr = 0.05\n[demo.mlp]\ntrain.hidden = 8\n")
    monkeypatch.setenv("CGNN_TRAIN_LR", "0.3")
    options = ("--dataset", "demo", "--preset", "two.toml", "--set", "train.model=gcn,mlp", "--split", 0)
    found = cgnn.ok("sweep", *options, "--epochs", 2, "--record", "best.toml", "--json").json
    lr = {row["point"]["train.model"]: row["settings"].get("train.lr") for row in found["summary"]["configurations"]}
    assert lr == {"gcn": 0.05, "mlp": 0.3}
    assert [note for note in found["warnings"] if "takes the place of train.lr" in note]
    ((_, row),) = read_rows(Path("best.toml")).items()
    assert ("--set train.lr=0.3" in row.search["command"]) == (row.settings["train.lr"] == 0.3)
