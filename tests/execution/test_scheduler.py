"""The scheduler: shared stages, isolated failures, deadlines, and reruns that compute nothing twice."""

import signal
from pathlib import Path
from typing import Any

import pytest

from cgnn_cli.configs import ComputeConfig
from cgnn_cli.datasets.registry import Datasets
from cgnn_cli.errors import StoppedEarly
from cgnn_cli.execution.results import Run
from cgnn_cli.execution.runner import Runner
from cgnn_cli.execution.scheduler import Deadline, Scheduler
from cgnn_cli.signals import Stopper
from cgnn_cli.store import artifact as files
from cgnn_cli.store.store import Store
from tests.front_door import FrontDoor
from tests.runs import Listener

SMALL: dict[str, Any] = {"train.epochs": 3, "train.hidden": 4, "commute.solver": "pi-only"}


def wanted(name: str, *splits: int, **settings: Any) -> Run:
    chosen = {path.replace("__", "."): value for path, value in settings.items()}
    return Run(name, "demo", {**SMALL, **chosen}, splits)


def carry_out(
    runs: list[Run],
    listener: Listener | None = None,
    *,
    jobs: int = 1,
    max_minutes: float | None = None,
    deadline: Deadline | None = None,
    stopper: Stopper | None = None,
    **options: Any,
) -> dict[str, Run]:
    store = Store(Path("store").absolute())
    runner = Runner(store, listener or Listener(), ComputeConfig(jobs=jobs), stopper=stopper or Stopper())
    scheduler = Scheduler(runner, Datasets(store, obtain=runner.data))
    scheduler.carry_out(runs, deadline=deadline or Deadline(max_minutes), **options)
    return {run.name: run for run in runs}


def fresh(runs: list[Run]) -> list[Run]:
    """The same runs, with nothing known of them."""
    return [Run(run.name, run.dataset, run.settings, run.wanted) for run in runs]


def figures(run: Run) -> tuple[Any, ...]:
    """What a rerun must find again."""
    return (
        run.status,
        run.splits,
        run.accuracies,
        run.validation_accuracies,
        run.epochs,
        run.fit_seconds,
        run.checkpoint,
    )


def test_figures_are_those_of_the_commands(cgnn: FrontDoor) -> None:
    reported: list[Run] = []
    heard = Listener()
    runs = [
        wanted("commute", 0, 1),
        wanted("wider", 1, train__hidden=8),
        wanted("gcn", 0, train__model="gcn", graph__undirected=True),
    ]
    results = carry_out(runs, heard, jobs=2, test=True, finished=reported.append)
    assert {result.name for result in reported} == set(results)
    assert {result.status for result in reported} == {"done"}
    assert [heard.computed(stage) for stage in ("commute", "operators", "fit", "eval")] == [1, 2, 4, 3]

    first = results["commute"]
    options = ("--dataset", "demo", "--epochs", 3, "--hidden", 4, "--solver", "pi-only", "--json", "--store", "store")
    scores = cgnn.ok("eval", *options, "--split", 0, "--split", 1).json
    assert scores["cache"] == "hit" and scores["key"] == first.key
    assert first.accuracies == scores["summary"]["test_accuracy_per_split"]
    assert first.validation == pytest.approx(scores["summary"]["validation_accuracy"]["mean"])
    assert (first.splits, first.epochs) == ([0, 1], [3, 3])
    recorded = [files.read(Path("store/fit") / f"{first.fits[split].key}.h5").header.seconds for split in (0, 1)]
    assert first.fit_seconds == recorded and min(recorded) > 0
    assert 0 < first.seconds_before < 60

    scores = cgnn.ok("eval", *options, "--split", 0, "--model", "gcn", "--undirected").json
    assert scores["key"] == results["gcn"].key


def test_a_rerun_computes_nothing_and_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [wanted("a", 0), wanted("b", 0, 1, train__dropout=0.1), wanted("same as a", 0, train__teleport=0.7)]
    first = carry_out(runs)
    assert figures(first["a"]) == figures(first["same as a"])
    monkeypatch.setattr("subprocess.Popen", None)
    monkeypatch.setattr("tempfile.mkdtemp", None)
    heard = Listener()
    again = carry_out(fresh(runs), heard)
    assert {name: figures(run) for name, run in again.items()} == {name: figures(run) for name, run in first.items()}
    assert heard.stages == []


def test_only_what_is_missing_is_done() -> None:
    carry_out([wanted("a", 0)])
    heard = Listener()
    results = carry_out([wanted("a", 0, 1)], heard)
    assert heard.computed("fit") == 1
    assert results["a"].splits == [0, 1]


def test_test_accuracy_is_not_computed_unless_it_is_asked_for() -> None:
    result = carry_out([wanted("a", 0)])["a"]
    assert result.accuracies == [] and not result.is_scored
    assert not Path("store/eval").exists()


def test_all_splits_are_taken_where_none_are_named() -> None:
    assert carry_out([wanted("a", train__epochs=1)], jobs=2)["a"].splits == [0, 1, 2, 3, 4]


def test_failures_are_isolated() -> None:
    runs = [
        wanted("unknown key", 0, train__hiden=4),
        wanted("diverges", 0, 1, train__lr=1e11, train__epochs=50),
        wanted("no such split", 77),
        wanted("bad value", 0, train__layers=0),
        Run("no such dataset", "nowhere"),
        wanted("good", 0),
    ]
    results = carry_out(runs, jobs=2)
    messages = {name: result.message for name, result in results.items() if result.status == "failed"}
    assert results["good"].status == "done"
    assert set(messages) == set(results) - {"good"}
    assert "unknown key train.hiden" in messages["unknown key"]
    assert "training loss became" in messages["diverges"]
    assert "--split 77" in messages["no such split"]
    assert "--layers must be at least 1" in messages["bad value"]
    assert "unknown dataset 'nowhere'" in messages["no such dataset"]
    heard = Listener()
    again = carry_out(fresh(runs), heard)
    assert heard.computed("fit") == 0 and figures(again["good"]) == figures(results["good"])


def test_a_worker_that_dies_fails_its_own_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    carry_out([wanted("prepared", 0)])
    monkeypatch.setenv("CGNN_CRASH_AT", "synced")  # only publishing in a worker comes across it: all else is there
    runs = [wanted("prepared", 0), wanted("killed", 0, train__lr=0.5), wanted("killed too", 0, train__lr=0.4)]
    results = carry_out(runs, jobs=2)
    assert {name: result.status for name, result in results.items()} == {
        "prepared": "done",
        "killed": "failed",
        "killed too": "failed",
    }
    assert "a worker process was killed" in results["killed"].message
    monkeypatch.delenv("CGNN_CRASH_AT")
    assert carry_out([wanted("killed", 0, train__lr=0.5)])["killed"].status == "done"


def test_no_training_is_begun_after_the_deadline() -> None:
    carry_out([wanted("there", 0)])
    results = carry_out([wanted("new", 0, train__lr=0.5), wanted("there", 0), wanted("half", 0, 1)], max_minutes=0)
    assert [result.status for result in results.values()] == ["not run", "done", "not run"]
    assert [result.splits for result in results.values()] == [[], [0], [0]]
    heard = Listener()
    results = carry_out([wanted("new", 0, train__lr=0.5), wanted("there", 0)], heard, max_minutes=10)
    assert {result.status for result in results.values()} == {"done"}


def test_trainings_that_are_done_are_scored_after_the_deadline() -> None:
    carry_out([wanted("there", 0), wanted("half", 0, train__lr=0.4)])
    runs = [wanted("new", 0, train__lr=0.5), wanted("there", 0), wanted("half", 0, 1, train__lr=0.4)]
    heard = Listener()
    results = carry_out(runs, heard, test=True, max_minutes=0)
    assert [result.status for result in results.values()] == ["not run", "done", "not run"]
    assert heard.computed("fit") == 0 and heard.computed("eval") == 1
    assert [len(result.accuracies) for result in results.values()] == [0, 1, 0]


class TimeForScores(Deadline):
    """Is past as soon as so many runs are scored, whatever the clock says."""

    def __init__(self, heard: Listener, scores: int) -> None:
        super().__init__()
        self.heard, self.scores = heard, scores

    def is_past(self, share: float = 1.0) -> bool:
        return self.heard.computed("eval") >= self.scores


def in_rounds() -> list[Run]:
    return [wanted("long", 0, 1, 2, 3, 4), wanted("wide", 0, 1, 2, train__hidden=8), wanted("short", 0, train__lr=0.5)]


def test_in_rounds_all_runs_have_some_splits_before_any_has_all() -> None:
    heard, reported = Listener(), list[Run]()
    results = carry_out(in_rounds(), heard, test=True, rounds=(2,), finished=reported.append)
    assert [len(run.accuracies) for run in results.values()] == [5, 3, 1]
    assert {run.status for run in results.values()} == {"done"}
    assert [run.name for run in reported] == ["long", "wide", "short"], "each once, when all of it is done"
    trained = [stage for stage, _ in heard.stages if stage in ("fit", "eval")]
    first, second = ["fit", "fit", "eval"] * 2, [*["fit"] * 3, "eval", "fit", "eval", "fit", "eval"]
    assert trained == first + second, "two splits of both long runs, then what is missing"
    again = carry_out(in_rounds(), test=True)
    assert {name: figures(run) for name, run in again.items()} == {name: figures(run) for name, run in results.items()}


def test_a_deadline_that_passes_between_rounds_keeps_what_the_first_has_done() -> None:
    heard = Listener()
    results = carry_out(in_rounds(), heard, test=True, rounds=(2,), deadline=TimeForScores(heard, 2))
    assert heard.computed("fit") == 4
    assert [(run.status, run.splits) for run in results.values()] == [
        ("done", [0, 1]),
        ("done", [0, 1]),
        ("not run", []),
    ]
    assert [len(run.accuracies) for run in results.values()] == [2, 2, 0]
    later = carry_out(fresh(list(results.values())), heard, test=True, rounds=(2,))
    assert heard.computed("fit") == 9 and [len(run.accuracies) for run in later.values()] == [5, 3, 1]


def test_in_rounds_a_run_that_has_failed_is_not_tried_again() -> None:
    reported: list[Run] = []
    diverging = wanted("diverges", 0, 1, 2, train__lr=1e11, train__epochs=50)
    results = carry_out([diverging, wanted("good", 0, 1, 2)], rounds=(1, 2), finished=reported.append)
    assert [run.name for run in reported] == ["diverges", "good"]
    assert [(run.status, run.splits) for run in results.values()] == [("failed", []), ("done", [0, 1, 2])]


def test_a_request_to_stop_ends_the_run_and_keeps_what_is_done() -> None:
    stopper = Stopper()
    runs = [wanted("a", 0), wanted("b", 0, train__lr=0.5), wanted("c", 0, train__lr=0.4)]

    def stop(result: Run) -> None:
        stopper.received = signal.SIGTERM

    with pytest.raises(StoppedEarly, match=r"stopped after \d of 3 configurations"):
        carry_out(runs, stopper=stopper, finished=stop)
    heard = Listener()
    results = carry_out(fresh(runs), heard)
    assert heard.computed("fit") < 3
    assert {result.status for result in results.values()} == {"done"}
