"""`cgnn tune`: what it chooses and writes, that it goes on, and what `--preset auto` and `cgnn run` make of it."""

import json
import os
import re
import shutil
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cgnn_cli.errors import NumericalError
from cgnn_cli.execution.scheduler import Deadline
from cgnn_cli.presets.lookup import read_rows
from cgnn_cli.store import artifact as files
from cgnn_cli.store.choices import choice_keys, read_choice
from cgnn_cli.store.store import Store
from cgnn_cli.tuning import search
from cgnn_cli.tuning.search import EXPLORING
from tests.faults.processes import finish, run, start, wait_for
from tests.front_door import FrontDoor, Result

SMALL = ("--set", "train.epochs=3", "--set", "train.hidden=4", "--set", "train.layers=1")
BASE = ("tune", "--dataset", "demo", *SMALL, "--split", 0, "--split", 1)
TUNE = (*BASE, "--trials", 6, "--json")
NO_START = ("--set", "train.model=absorption", "--set", "train.label_walk=true")


def told(values: dict[str, Any]) -> Any:
    """What a tune said, without what may differ between runs."""
    rows = values["summary"]["configurations"]
    kept = ("name", "settings", "status", "validation_accuracy_per_split", "keys")
    return [{name: row[name] for name in kept} for row in rows]


def settled_accuracies(keys: dict[str, str], name: str = "validation_accuracy") -> list[Any]:
    """What the trainings of a run settle at: of three epochs, the mean of all."""
    fits = [files.read(Path(f".cgnn/fit/{keys[role]}.h5")) for role in ("fit-0", "fit-1") if role in keys]
    return [np.mean(fit.elements["history"][name]) for fit in fits]


def fits(store: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in (store / "fit").glob("*.h5")}


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A store in which the demo graph was tuned, and what the command said; the preset file lies in the store."""
    store = tmp_path_factory.mktemp("tuned") / "store"
    return store, run(*TUNE, "--store", store, "--output", store.parent / "tuned.toml").json


@pytest.fixture
def copy(tuned: tuple[Path, dict[str, Any]]) -> Path:
    """A store of one's own with the choice."""
    shutil.copytree(tuned[0], ".cgnn")
    return Path(".cgnn")


def choice_file(store: Path) -> Path:
    (path,) = (store / "choices").glob("*.json")
    return path


# --- what it chooses -------------------------------------------------------------------------------------------------


def test_the_choice_settles_at_the_best_accuracy_of_those_on_all_splits(
    tuned: tuple[Path, dict[str, Any]],
) -> None:
    _, values = tuned
    rows, best = values["summary"]["configurations"], values["summary"]["best"]
    assert len(rows) == best["configurations"] == 6 and values["cache"] == "miss"
    on_all = [row for row in rows if len(row["splits"]) == 2]
    assert values["summary"]["splits"] == {"1": 6, "2": len(on_all)} and len(on_all) == 2
    assert rows[0]["settled_score"] == max(row["settled_score"] for row in on_all)
    assert all(row["settled_score"] <= row["validation_accuracy"]["mean"] + 1e-9 for row in rows)
    assert best["validation_accuracy"] == pytest.approx(rows[0]["validation_accuracy"]["mean"], abs=1e-6)
    assert rows[0]["name"] == best["name"] and rows[0]["settings"] == {"train.model": best["model"], **best["settings"]}
    assert all(row["settings"]["train.epochs"] == 3 for row in rows if row["settings"]["train.model"] != "absorption")
    assert values["summary"]["stopped"] is False and values["summary"]["ended_by"] == "trials"


def test_a_model_that_is_not_among_the_usual_ones_is_tried_where_it_is_named(cgnn: FrontDoor) -> None:
    values = cgnn.ok(*BASE, "--model", "gat", "--trials", 3, "--json").json["summary"]
    assert {row["settings"]["train.model"] for row in values["configurations"]} == {"gat"}
    assert values["best"]["model"] == "gat" and values["commute_times"] is None


def test_test_labels_are_not_scored(tuned: tuple[Path, dict[str, Any]]) -> None:
    store, values = tuned
    assert not (store / "eval").exists()
    assert "test_accuracy" not in json.dumps(values)


def test_another_metric_is_what_it_ranks_by(cgnn: FrontDoor) -> None:
    result = cgnn.ok(
        *BASE, "--trials", 3, "--model", "cgnn", "--metric", "macro-f1", "--set", "train.propagation=layers"
    )
    assert "points of macro-F1 on validation" in result.err and "accuracy" not in result.out + result.err
    assert "demo: validation macro-F1 in %" in result.out
    again = cgnn.ok(
        *BASE, "--trials", 3, "--model", "cgnn", "--metric", "macro-f1", "--set", "train.propagation=layers", "--json"
    )
    for row in again.json["summary"]["configurations"]:
        settled = settled_accuracies(row["keys"], "validation_score")
        assert row["settled_score"] == pytest.approx(np.mean(settled[: len(row["splits"])]))
        assert not np.allclose(settled, settled_accuracies(row["keys"]))


def test_again_it_computes_nothing_and_a_wider_one_goes_on(copy: Path, cgnn: FrontDoor, tuned: Any) -> None:
    before = fits(copy)
    again = cgnn.ok(*TUNE).json
    assert again["cache"] == "hit" and told(again) == told(tuned[1]) and fits(copy) == before
    wider = cgnn.ok(*BASE, "--trials", 9, "--json").json
    assert len(wider["summary"]["configurations"]) == 9
    assert before.items() <= fits(copy).items()


def test_the_choice_does_not_depend_on_how_many_trainings_run_at_once(tuned: Any) -> None:
    assert told(run(*TUNE, "--jobs", 2).json) == told(tuned[1])


def test_another_seed_varies_otherwise(copy: Path, cgnn: FrontDoor, tuned: Any) -> None:
    other = cgnn.ok(*TUNE, "--seed", 1).json
    assert {row["name"] for row in told(other)} != {row["name"] for row in told(tuned[1])}


def write_own_graph(labels: np.ndarray) -> None:
    """A ring of 60 nodes with chords, features, and splits whose test nodes are the last 24 in all of them."""
    generator = np.random.default_rng(0)
    nodes = np.arange(60)
    edges = [(i, (i + step) % 60) for i in nodes for step in (1, 2, 7)]
    Path("edges.csv").write_text("source,target\n" + "".join(f"{i},{j}\n" for i, j in edges))
    Path("labels.csv").write_text(
        "id,label\n" + "".join(f"{i},{label}\n" for i, label in zip(nodes, labels, strict=True))
    )
    features = generator.random((60, 4)).round(3)
    rows = [",".join(map(str, [i, *row])) for i, row in zip(nodes, features, strict=True)]
    Path("features.csv").write_text("id,a,b,c,d\n" + "\n".join(rows) + "\n")
    parts = []
    for split in range(2):
        known = np.random.default_rng(split).permutation(36)
        part = np.full(60, "test", dtype="<U5")
        part[known[:20]], part[known[20:]] = "train", "val"
        parts.append(part)
    lines = [f"{i},{parts[0][i]},{parts[1][i]}" for i in nodes]
    Path("splits.csv").write_text("id,first,second\n" + "\n".join(lines) + "\n")


def test_with_other_labels_on_the_test_nodes_the_choice_is_the_same(cgnn: FrontDoor) -> None:
    labels = np.random.default_rng(4).permutation(np.arange(60) % 2)
    shuffled = np.concatenate([labels[:36], np.random.default_rng(5).permutation(labels[36:])])
    assert (labels != shuffled).any()
    said = []
    for name, given in (("true", labels), ("shuffled", shuffled)):
        write_own_graph(given)
        files = [word for part in ("edges", "labels", "features", "splits") for word in (f"--{part}", f"{part}.csv")]
        cgnn.ok("data", "import", name, *files)
        values = cgnn.ok("tune", "--dataset", name, *SMALL, "--trials", 10, "--json").json
        rows = [{part: row[part] for part in row if part != "keys"} for row in told(values)]
        said.append((rows, values["summary"]["commute_times"]["paired"]["mean_difference"]))
    assert said[0] == said[1]
    assert len(choice_keys(Store(Path(".cgnn").absolute()))) == 2  # the graphs differ, and have keys of their own


def test_what_fails_is_shown_and_the_rest_goes_on(cgnn: FrontDoor, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise NumericalError("this model cannot be built")

    for model in ("sage", "dirgnn"):
        monkeypatch.setattr(f"cgnn_cli.models.{model}.network.build", refuse)
    values = cgnn.ok(*TUNE).json
    by_status = {row["settings"]["train.model"]: row["status"] for row in values["summary"]["configurations"]}
    assert by_status["sage"] == by_status["dirgnn"] == "failed" and values["summary"]["best"]["model"] in (
        "appnp",
        "mlp",
    )
    for model in ("appnp", "mlp", "cgnn", "gcn"):
        monkeypatch.setattr(f"cgnn_cli.models.{model}.network.build", refuse)
    assert "all 4 configurations failed" in cgnn.fails(8, *BASE, "--trials", 6, "--store", "other")


def test_what_commute_times_added_is_one_line_with_a_paired_figure(cgnn: FrontDoor) -> None:
    only = ("--set", "train.model=cgnn", "--set", "train.propagation=layers")
    result = cgnn.ok(*BASE, *only, "--trials", 3)
    (line,) = (line for line in result.err.splitlines() if line.startswith("commute times: "))
    assert re.search(r"every weight 1: [+-]\d+\.\d\d ± \d+\.\d\d points on validation over 2 splits", line)
    gain = cgnn.ok(*BASE, *only, "--trials", 3, "--json").json["summary"]["commute_times"]
    rows = [settled_accuracies(gain[name]["keys"]) for name in ("weighted", "twin")]
    gaps = [a - b for a, b in zip(*rows, strict=True)]
    assert gain["paired"]["mean_difference"] == pytest.approx(sum(gaps) / 2)
    assert gain["paired"]["splits"] == 2 and gain["paired"]["validation_to_train"] == pytest.approx(2.007, abs=0.001)
    assert gain["twin"]["settings"]["commute.proximity"] == "none"
    unused = cgnn.ok(*BASE, "--set", "train.model=mlp", "--trials", 2)
    assert "commute times: not used by the choice, and no weighted model was compared" in unused.err


# --- time, signals ---------------------------------------------------------------------------------------------------


def test_a_time_that_is_over_is_said_and_the_same_command_goes_on(
    cgnn: FrontDoor, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[float] = []

    def is_past(deadline: Deadline, share: float = 1.0) -> bool:
        asked.append(share)
        return deadline.minutes is not None and share == EXPLORING and len(asked) > 12

    monkeypatch.setattr(Deadline, "is_past", is_past)
    first = cgnn.ok(*BASE, "--json")
    count = [row["status"] for row in first.json["summary"]["configurations"]].count("done")
    assert first.json["summary"]["stopped"] and 0 < count < 16
    assert "stopped after 5 minutes, too early " in first.err and "the same command goes on from here" in first.err
    before = fits(Path(".cgnn"))
    asked.clear()
    more = cgnn.ok(*BASE, "--json").json
    assert before.items() <= fits(Path(".cgnn")).items() and more["summary"]["stopped"]


@pytest.mark.parametrize(
    ("fixed", "ended_by", "told"),
    [
        ((), "minutes", "; the search took its 5 minutes, and with more it tries more"),
        (("--set", "train.model=absorption"), "search", "; nothing is left to try"),
    ],
)
def test_a_whole_search_says_whether_its_time_or_it_itself_ended_the_trying(
    cgnn: FrontDoor, monkeypatch: pytest.MonkeyPatch, fixed: tuple[str, ...], ended_by: str, told: str
) -> None:
    waves: list[int] = []
    proposing = search.propose

    def propose(space: Any, ranked: Any, count: int, generator: Any) -> Any:
        waves.append(count)
        return proposing(space, ranked, 1, generator)

    monkeypatch.setattr(search, "propose", propose)  # the time is over as soon as the first variation was measured
    monkeypatch.setattr(Deadline, "is_past", lambda self, share=1.0: share == EXPLORING and len(waves) > 1)
    result = cgnn.ok(*BASE, *fixed, "--set", "train.epochs=1", "--json")
    said = result.json["summary"]
    assert (said["ended_by"], said["stopped"]) == (ended_by, False)
    assert told in result.err and "stopped" not in result.err


def test_without_any_time_nothing_is_chosen(cgnn: FrontDoor) -> None:
    assert "no configuration was done within 0 minutes" in cgnn.fails(75, *BASE, "--minutes", 0)
    assert not Path(".cgnn/choices").exists() and not Path("tuned.toml").exists()


def test_stopped_by_a_signal_it_exits_with_75_and_goes_on(tuned: Any) -> None:
    long = ("--set", "train.epochs=3000", "--set", "train.patience=3000", "--snapshot-seconds", 0)
    process = start(*BASE, "--trials", 6, *long)
    wait_for(lambda: bool(list(Path(".cgnn/partial").glob("*.h5"))))
    process.send_signal(signal.SIGTERM)
    stopped = finish(process)
    assert (stopped.code, stopped.out) == (75, "") and "run the same command again" in stopped.err
    assert not Path(".cgnn/choices").exists() and list(Path(".cgnn/partial").glob("*.h5"))
    assert told(run(*TUNE).json) == told(tuned[1])


# --- the preset ------------------------------------------------------------------------------------------------------


def keys_of_fits(result: Result) -> dict[str, str]:
    return {row["key"]: row["cache"] for row in result.json["stages"] if row["stage"] == "fit"}


def test_auto_and_the_file_are_exactly_what_was_validated(copy: Path, cgnn: FrontDoor, tuned: Any) -> None:
    best = tuned[1]["summary"]["best"]
    splits = ("--split", 0, "--split", 1, "--no-compare", "--json")
    expected = {key: "hit" for role, key in told(tuned[1])[0]["keys"].items() if role != "train"}
    by_store = cgnn.ok(*tuned[1]["summary"]["command"].split()[1:3], "demo", "--preset", "auto", *splits)
    assert keys_of_fits(by_store) == expected
    file = tuned[0].parent / "tuned.toml"
    (row,) = read_rows(file).items()
    assert row[0] == ("demo", best["model"]) and row[1].settings == best["settings"]
    assert row[1].search["splits"] == [0, 1] and row[1].search["command"].startswith("cgnn tune --dataset demo")
    by_file = cgnn.ok("run", "--dataset", "demo", "--model", best["model"], "--preset", file, *splits)
    assert keys_of_fits(by_file) == expected and by_file.json["key"] == by_store.json["key"]
    shown = cgnn.ok("config", "show", "--dataset", "demo", "--preset", "auto", "--json").json["summary"]["settings"]
    assert shown["train.model"] == {"value": best["model"], "origin": "preset auto"}


def test_file_and_environment_change_nothing_of_a_choice(
    copy: Path, cgnn: FrontDoor, tuned: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    best = tuned[1]["summary"]["best"]
    Path("cgnn.toml").write_text("[train]\nlr = 0.3\nhidden = 5\nlabel_walk = true\ntarget_recall = 0.5\n")
    monkeypatch.setenv("CGNN_TRAIN_EPOCHS", "2")
    monkeypatch.setenv("CGNN_TRAIN_MODEL", "gat")
    monkeypatch.setenv("CGNN_COMMUTE_SOLVER", "series")
    monkeypatch.setenv("CGNN_COMMUTE_TOLERANCE", "0.01")
    expected = {key: "hit" for role, key in told(tuned[1])[0]["keys"].items() if role != "train"}
    splits = ("--split", 0, "--split", 1, "--no-compare", "--json")
    printed = tuned[1]["summary"]["command"].split()[1:6]
    assert printed == ["run", "--dataset", "demo", "--preset", "auto"]
    by_file = ("run", "--dataset", "demo", "--model", best["model"], "--preset", tuned[0].parent / "tuned.toml")
    for command in (printed, by_file):
        result = cgnn.ok(*command, *splits)
        assert keys_of_fits(result) == expected
        (note,) = (line for line in result.err.splitlines() if line.startswith("note: the preset "))
        assert "takes the place of " in note and "train.epochs (CGNN_TRAIN_EPOCHS)" in note


def test_what_file_and_environment_set_while_tuning_is_part_of_the_choice(
    cgnn: FrontDoor, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = "[train]\nepochs = 2\nhidden = 4\nlayers = 1\nmetric = 'macro-f1'\n"
    Path("cgnn.toml").write_text(f"{small}[graph]\nundirected = true\n")
    monkeypatch.setenv("CGNN_TRAIN_SEED", "3")
    tune = ("tune", "--dataset", "demo", "--split", 0, "--split", 1, "--trials", 2, "--json")
    summary = cgnn.ok(*tune).json["summary"]
    command, best = summary["command"].split()[1:], summary["configurations"][0]
    assert command == ["run", "--dataset", "demo", "--set", "graph.undirected=true", "--preset", "auto"]
    expected = {key: "hit" for role, key in best["keys"].items() if role != "train"}
    monkeypatch.delenv("CGNN_TRAIN_SEED")
    for text in (Path("cgnn.toml").read_text(), "[train]\nepochs = 9\n[commute]\nsolver = 'exact'\n", ""):
        Path("cgnn.toml").write_text(text)
        again = cgnn.ok(*command, "--split", 0, "--split", 1, "--no-compare", "--json")
        assert keys_of_fits(again) == expected


def test_forms_of_a_graph_have_rows_of_their_own_in_the_preset_file(cgnn: FrontDoor) -> None:
    fast = (*BASE[:3], "--set", "train.model=linear", "--set", "train.epochs=1", "--split", 0, "--trials", 1)
    for form in ((), ("--undirected",), ("--featureless", "--protocol", "random")):
        cgnn.ok(*fast, *form)
    forms = ("demo", "demo+undirected", "demo+random+featureless")
    assert list(read_rows(Path("tuned.toml"))) == [(name, "linear") for name in forms]
    run = ("run", "--dataset", "demo", "--model", "linear", "--preset", "tuned.toml", "--split", 0, "--json")
    for form in ((), ("--undirected",), ("--featureless", "--protocol", "random")):
        result = cgnn.ok(*run, *form, "--no-compare")
        assert set(keys_of_fits(result).values()) == {"hit"} and "was found on" not in result.err
    other = cgnn.ok(*run, "--undirected", "--protocol", "random", "--dry-run").json["warnings"]
    assert other == ["the preset tuned.toml was found on demo, and this is demo+undirected+random"]
    text = Path("tuned.toml").read_text()
    Path("tuned.toml").write_text(text[text.index('["demo+undirected".linear]') :])
    message = cgnn.fails(2, *run, "--dry-run")
    assert "no row for linear on demo " in message and "linear it has on demo+undirected" in message


def test_a_choice_is_compared_with_the_defaults(copy: Path, cgnn: FrontDoor) -> None:
    dry = ("run", "--dataset", "demo", "--split", 0, "--compare", "--dry-run", "--json")
    plain, chosen = ({row["key"] for row in cgnn.ok(*dry, *more).json["stages"]} for more in ((), ("--preset", "auto")))
    assert plain < chosen


def test_the_printed_command_uses_the_store_that_was_named(cgnn: FrontDoor) -> None:
    """In any way that holds for one call; a variable and the file of the folder hold for the next call too."""
    Path("own.toml").write_text('store = "own place"')
    Path("cgnn.toml").write_text('store = "elsewhere"')
    words = (*BASE, "--trials", 2, "--config", "own.toml", "--set", "offline=true", "--json")
    values = cgnn.ok(*words).json
    assert values["summary"]["command"] == "cgnn run --dataset demo --preset auto --offline --store 'own place'"
    assert Path("tuned.toml").exists() and values["artifact"] == "tuned.toml"


def test_a_choice_is_for_its_form_of_the_graph(copy: Path, cgnn: FrontDoor) -> None:
    message = cgnn.fails(2, "train", "--dataset", "demo", "--undirected", "--preset", "auto")
    assert "has no choice for demo in this form (`cgnn tune --dataset demo --undirected` makes one)" in message


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("tune",), "tune needs a --dataset"),
        (("tune", "--dataset", "demo", "--minutes", 1, "--trials", 2), "--minutes and --trials are two budgets"),
        (("tune", "--dataset", "demo", "--output", "found.json"), "--output found.json is no preset file"),
        (("tune", "--dataset", "demo", "--split", 9), "this dataset has the splits 0 to 4"),
        (("tune", "--dataset", "demo", *NO_START), "nothing can be tried with these settings"),
        (("tune", "--dataset", "dmeo"), "did you mean demo?"),
        (("tune", "--dataset", "demo", "--model", "gta"), "did you mean gat?"),
        (("run", "--preset", "auto"), "--preset auto needs a --dataset"),
        (("run", "--dataset", "demo", "--preset", "auto"), "has no choice for demo"),
        (("train", "--dataset", "demo", "--preset", "atuo"), "use paper, tuned, extended, auto, or the name of"),
    ],
)
def test_slips(cgnn: FrontDoor, arguments: tuple[object, ...], said: str) -> None:
    assert said in cgnn.fails(2, *arguments)
    assert not Path("tuned.toml").exists()


def test_another_model_than_the_choice_is_refused(copy: Path, cgnn: FrontDoor, tuned: Any) -> None:
    message = cgnn.fails(2, "run", "--dataset", "demo", "--preset", "auto", "--model", "gat")
    assert f"the preset auto is for {tuned[1]['summary']['best']['model']}, not for gat" in message


def test_a_graph_without_labels_has_nothing_to_choose_by(cgnn: FrontDoor) -> None:
    Path("edges.csv").write_text("a,b\nb,c\nc,a\n")
    cgnn.ok("data", "import", "bare", "--edges", "edges.csv")
    assert "bare has no labels" in cgnn.fails(2, "tune", "--dataset", "bare", "--trials", 1)


# --- the record in the store -----------------------------------------------------------------------------------------


def damage(path: Path, how: str) -> None:
    text = path.read_text()
    path.write_text({"cut": text[:40], "changed": text.replace("0", "1"), "foreign": '{"mine": 1}'}[how])


@pytest.mark.parametrize(
    ("how", "code", "said"),
    [
        ("cut", 5, "cannot be told to be cgnn's (remove it, and run `cgnn tune` again)"),
        ("changed", 5, "is damaged (`cgnn tune` makes it again, and replaces it)"),
        ("foreign", 4, "is no choice for this graph, and stays as it is (move it away)"),
    ],
)
def test_a_damaged_choice_is_an_error_that_says_what_to_do(
    copy: Path, cgnn: FrontDoor, how: str, code: int, said: str
) -> None:
    path = choice_file(copy)
    record = json.loads(path.read_text())
    if how == "changed":
        path.write_text(json.dumps({**record, "model": "gcn"}))
    else:
        damage(path, how)
    before = path.read_bytes()
    assert said in cgnn.fails(code, "run", "--dataset", "demo", "--preset", "auto")
    hinted = cgnn.ok("run", "--dataset", "demo", "--split", 0, "--no-compare", *SMALL)  # it does not need the choice
    assert "warning: " in hinted.err and path.read_bytes() == before
    if how == "changed":
        assert said in cgnn.fails(5, "cache", "verify")
        cgnn.ok(*TUNE)
        cgnn.ok("run", "--dataset", "demo", "--preset", "auto", "--split", 0, "--no-compare")
    else:
        assert "stays as it is" in cgnn.fails(4, *TUNE) and path.read_bytes() == before


def test_verify_counts_a_sound_choice(copy: Path, cgnn: FrontDoor) -> None:
    rows = cgnn.ok("cache", "verify", "--json").json["summary"]["verified"]
    assert [row["sound"] for row in rows if row["stage"] == "choices"] == [True]


def test_gc_keeps_the_trainings_of_a_choice_and_drops_it_with_its_graph(copy: Path, cgnn: FrontDoor) -> None:
    choice = read_choice(Store(copy.absolute()), choice_file(copy).stem)
    assert choice is not None
    cgnn.ok("train", "--dataset", "demo", "--model", "mlp", *SMALL, "--split", 0)  # newer than the choice
    cgnn.ok("cache", "gc")
    kept = cgnn.ok("run", "--dataset", "demo", "--preset", "auto", "--split", 0, "--split", 1, "--no-compare", "--json")
    assert set(keys_of_fits(kept).values()) == {"hit"}
    assert choice_file(copy).exists()
    (copy / "datasets" / "demo.json").unlink()
    shutil.rmtree(copy / "latest")
    for stage in ("eval", "train"):
        shutil.rmtree(copy / stage)
    for path in (copy / "fit").glob("*"):
        os.utime(path, (0, 0))
    (copy / "graph" / f"{choice.graph}.h5").unlink()
    cgnn.ok("cache", "gc", "--dry-run")
    assert choice_file(copy).exists()
    removed = cgnn.ok("cache", "gc", "--json").json["summary"]["removed"]
    assert [row["what"] for row in removed].count("choice for a graph") == 1
    assert not list((copy / "choices").glob("*"))


def test_a_pack_carries_the_choice(copy: Path, cgnn: FrontDoor, tuned: Any) -> None:
    cgnn.ok("cache", "pack", tuned[1]["key"], "--output", "choice.tar")
    cgnn.ok("cache", "unpack", "choice.tar", "--store", "there")
    splits = ("--split", 0, "--split", 1, "--no-compare", "--json", "--store", "there")
    assert set(keys_of_fits(cgnn.ok("run", "--dataset", "demo", "--preset", "auto", *splits)).values()) == {"hit"}
    choice_file(Path("there")).write_text("")
    cgnn.ok("cache", "unpack", "choice.tar", "--store", "there")
    assert choice_file(Path("there")).read_text() == ""  # what is there stays


# --- the hints of run ------------------------------------------------------------------------------------------------

RUN = ("run", "--dataset", "demo", "--split", 0, "--no-compare", "--model", "mlp", *SMALL)


def hints(result: Result) -> list[str]:
    return [line for line in result.err.splitlines() if line.startswith("hint: ")]


def test_run_names_tune_or_the_choice(copy: Path, cgnn: FrontDoor, tuned: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tuned[1]["summary"]["best"]["model"]
    assert hints(cgnn.ok(*RUN)) == [f"hint: `cgnn tune` chose {model} for this graph; --preset auto takes it"]
    choice_file(copy).unlink()
    assert hints(cgnn.ok(*RUN)) == ["hint: `cgnn tune --dataset demo` chooses a model and its settings on validation"]
    monkeypatch.setattr("cgnn_cli.commands.run.rows_of", lambda name, models: {("demo", "mlp"): None})
    expected = "hint: there are settings of mlp for demo; --preset tuned or extended takes them"
    assert hints(cgnn.ok(*RUN)) == [expected]


def test_hints_are_not_for_scripts_or_where_a_preset_was_asked_for(copy: Path, cgnn: FrontDoor) -> None:
    silent = cgnn.ok(*RUN, "--json")
    assert "hint:" not in silent.err and "hint:" not in silent.out
    assert cgnn.ok(*RUN, "--quiet").err == ""
    asked = ("run", "--dataset", "demo", "--split", 0, "--no-compare", "--preset", "auto")
    assert not hints(cgnn.ok(*asked))
