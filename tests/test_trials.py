"""Trials: shared stages, isolated failures, deadlines, and reruns that compute nothing twice."""

import signal
from pathlib import Path
from typing import Any

import pytest

from cgnn_cli.configs import ComputeConfig
from cgnn_cli.errors import StoppedEarly
from cgnn_cli.signals import Stopper
from cgnn_cli.store import artifact as files
from cgnn_cli.store.artifact import Header
from cgnn_cli.store.store import Store
from cgnn_cli.trials import Trial, TrialResult, run_trials
from tests.front_door import FrontDoor

SMALL: dict[str, Any] = {"train.epochs": 3, "train.hidden": 4, "commute.solver": "pi-only"}


class Listener:
    """Keeps what a run tells."""

    def __init__(self) -> None:
        self.stages: list[tuple[str, bool]] = []
        self.lines: list[str] = []

    def stage_done(self, header: Header, *, hit: bool) -> None:
        self.stages.append((header.stage, hit))

    def progress(self, done: int, total: int, message: str) -> None:
        self.lines.append(message)

    def computed(self, stage: str) -> int:
        return self.stages.count((stage, False))


def trial(name: str, *splits: int, **settings: Any) -> Trial:
    chosen = {path.replace("__", "."): value for path, value in settings.items()}
    return Trial(name, "demo", {**SMALL, **chosen}, splits)


def run(
    trials: list[Trial], listener: Listener | None = None, *, jobs: int = 1, **options: Any
) -> dict[str, TrialResult]:
    results = run_trials(
        trials, Store(Path("store").absolute()), listener or Listener(), compute=ComputeConfig(jobs=jobs), **options
    )
    assert [result.trial for result in results] == trials
    return {result.trial.name: result for result in results}


def test_figures_are_those_of_the_commands(cgnn: FrontDoor) -> None:
    reported: list[TrialResult] = []
    heard = Listener()
    trials = [
        trial("commute", 0, 1),
        trial("wider", 1, train__hidden=8),
        trial("gcn", 0, train__model="gcn", graph__undirected=True),
    ]
    results = run(trials, heard, jobs=2, test=True, finished=reported.append)
    assert {result.trial.name for result in reported} == set(results)
    assert {result.status for result in reported} == {"done"}
    assert [heard.computed(stage) for stage in ("commute", "operators", "fit", "eval")] == [1, 2, 4, 3]

    first = results["commute"]
    options = ("--dataset", "demo", "--epochs", 3, "--hidden", 4, "--solver", "pi-only", "--json", "--store", "store")
    scores = cgnn.ok("eval", *options, "--split", 0, "--split", 1).json
    assert scores["cache"] == "hit" and scores["key"] == first.keys["eval"]
    assert first.test_accuracy == scores["summary"]["test_accuracy_per_split"]
    assert first.mean_validation_accuracy == pytest.approx(scores["summary"]["validation_accuracy"]["mean"])
    assert (first.splits, first.epochs) == ([0, 1], [3, 3])
    recorded = [files.read(Path("store/fit") / f"{first.keys[f'fit-{split}']}.h5").header.seconds for split in (0, 1)]
    assert first.seconds == recorded and min(recorded) > 0
    assert 0 < first.preparation_seconds < 60

    scores = cgnn.ok("eval", *options, "--split", 0, "--model", "gcn", "--undirected").json
    assert scores["key"] == results["gcn"].keys["eval"]


def test_a_rerun_computes_nothing_and_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    trials = [trial("a", 0), trial("b", 0, 1, train__dropout=0.1), trial("same as a", 0, train__teleport=0.7)]
    first = run(trials)
    assert first["a"].keys == first["same as a"].keys
    monkeypatch.setattr("subprocess.Popen", None)
    monkeypatch.setattr("tempfile.mkdtemp", None)
    heard = Listener()
    assert run(trials, heard) == first
    assert heard.stages == []


def test_only_what_is_missing_is_done() -> None:
    run([trial("a", 0)])
    heard = Listener()
    results = run([trial("a", 0, 1)], heard)
    assert heard.computed("fit") == 1
    assert results["a"].splits == [0, 1]


def test_test_accuracy_is_not_computed_unless_it_is_asked_for() -> None:
    result = run([trial("a", 0)])["a"]
    assert result.test_accuracy == [] and "eval" not in result.keys
    assert not Path("store/eval").exists()


def test_all_splits_are_taken_where_none_are_named() -> None:
    assert run([trial("a", train__epochs=1)], jobs=2)["a"].splits == [0, 1, 2, 3, 4]


def test_failures_are_isolated() -> None:
    trials = [
        trial("unknown key", 0, train__hiden=4),
        trial("diverges", 0, 1, train__lr=1e11, train__epochs=50),
        trial("no such split", 77),
        trial("bad value", 0, train__layers=0),
        Trial("no such dataset", "nowhere"),
        trial("good", 0),
    ]
    results = run(trials, jobs=2)
    messages = {name: result.message for name, result in results.items() if result.status == "failed"}
    assert results["good"].status == "done"
    assert set(messages) == set(results) - {"good"}
    assert "unknown key train.hiden" in messages["unknown key"]
    assert "training loss became" in messages["diverges"]
    assert "--split 77" in messages["no such split"]
    assert "--layers must be at least 1" in messages["bad value"]
    assert "unknown dataset 'nowhere'" in messages["no such dataset"]
    heard = Listener()
    again = run(trials, heard)
    assert heard.computed("fit") == 0 and again["good"] == results["good"]


def test_a_worker_that_dies_fails_its_own_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    run([trial("prepared", 0)])
    monkeypatch.setenv("CGNN_CRASH_AT", "synced")  # only publishing in a worker comes across it: all else is there
    results = run([trial("prepared", 0), trial("killed", 0, train__lr=0.5), trial("killed too", 0, train__lr=0.4)])
    assert {name: result.status for name, result in results.items()} == {
        "prepared": "done",
        "killed": "failed",
        "killed too": "failed",
    }
    assert "a worker process was killed" in results["killed"].message
    monkeypatch.delenv("CGNN_CRASH_AT")
    assert run([trial("killed", 0, train__lr=0.5)])["killed"].status == "done"


def test_no_training_is_begun_after_the_deadline() -> None:
    run([trial("there", 0)])
    results = run([trial("new", 0, train__lr=0.5), trial("there", 0), trial("half", 0, 1)], max_minutes=0)
    assert [result.status for result in results.values()] == ["not run", "done", "not run"]
    assert [result.splits for result in results.values()] == [[], [0], [0]]
    heard = Listener()
    results = run([trial("new", 0, train__lr=0.5), trial("there", 0)], heard, max_minutes=10)
    assert {result.status for result in results.values()} == {"done"}


def test_trainings_that_are_done_are_scored_after_the_deadline() -> None:
    run([trial("there", 0), trial("half", 0, train__lr=0.4)])
    trials = [trial("new", 0, train__lr=0.5), trial("there", 0), trial("half", 0, 1, train__lr=0.4)]
    heard = Listener()
    results = run(trials, heard, test=True, max_minutes=0)
    assert [result.status for result in results.values()] == ["not run", "done", "not run"]
    assert heard.computed("fit") == 0 and heard.computed("eval") == 1
    assert [len(result.test_accuracy) for result in results.values()] == [0, 1, 0]


def test_a_request_to_stop_ends_the_run_and_keeps_what_is_done() -> None:
    stopper = Stopper()
    trials = [trial("a", 0), trial("b", 0, train__lr=0.5), trial("c", 0, train__lr=0.4)]

    def stop(result: TrialResult) -> None:
        stopper.received = signal.SIGTERM

    with pytest.raises(StoppedEarly, match=r"stopped after \d of 3 configurations"):
        run(trials, stopper=stopper, finished=stop)
    heard = Listener()
    results = run(trials, heard)
    assert heard.computed("fit") < 3
    assert {result.status for result in results.values()} == {"done"}
