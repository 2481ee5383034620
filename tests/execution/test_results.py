"""Runs: figures out of headers, as made by the scheduler or found in a store."""

from pathlib import Path
from statistics import fmean, pstdev

import pytest

from cgnn_cli.errors import UsageError
from cgnn_cli.execution.results import Run, Runs
from cgnn_cli.store.store import Store
from tests.execution.steps import runner_over, step_for
from tests.front_door import FrontDoor
from tests.runs import fit_headers, header, make_run

SHORT = ("--dataset", "demo", "--model", "linear", "--epochs", 2, "--store", "store")


def test_scores_are_those_of_the_evaluation() -> None:
    run = make_run([0.5, 0.7, 0.9], key="abc", split_count=10)
    assert run.is_scored and run.key == "abc" and run.header.stage == "eval"
    assert (run.splits, run.accuracies) == ([0, 1, 2], [0.5, 0.7, 0.9])
    assert (run.mean, run.std) == (fmean([0.5, 0.7, 0.9]), pstdev([0.5, 0.7, 0.9]))
    assert run.split_count == 10 and run.is_partial and not make_run([0.5]).is_partial
    assert make_run([0.5]).std is None
    assert "eval" not in run.made_from and set(run.made_from) == set(run.headers) - {"eval"}


def test_a_run_that_is_not_scored_has_its_trainings() -> None:
    run = Run("a", "demo", headers=fit_headers([0.5, 0.7], splits=[4, 2], seconds=3.0))
    assert not run.is_scored and run.key == "" and run.accuracies == []
    assert run.splits == [2, 4] and run.validation_accuracies == [0.7, 0.5]
    assert (run.validation, run.validation_deviation) == (pytest.approx(0.6), pytest.approx(0.1))
    assert (run.epochs, run.fit_seconds) == ([1, 1], [3.0, 3.0])
    assert run.seconds is None, "what came before them is not known"
    assert Run("a", "demo").validation == Run("a", "demo").validation_deviation == 0.0


def test_cold_seconds_are_those_of_the_stages_before_and_of_one_training() -> None:
    run = make_run([0.5, 0.7], commute={}, seconds=4.0, seconds_before=1.5)
    assert (run.seconds_before, run.seconds) == (1.5, 5.5)
    del run.headers["fit-1"]
    assert run.seconds is None


def test_on_some_of_its_splits() -> None:
    run = make_run([0.5, 0.7, 0.9], splits=[0, 3, 5])
    part = run.on_splits([5, 0, 7])
    assert (part.splits, part.accuracies, part.key) == ([0, 5], [0.5, 0.9], run.key)
    assert run.splits == [0, 3, 5] and part.headers["train"] is run.headers["train"]


def test_options_are_those_of_all_stages_together() -> None:
    run = make_run([0.5], model="cgnn", commute={"solver": "svd", "rank": 5, "verify": 64}, hidden=8)
    assert run.options == {"solver": "svd", "rank": 5, "direction": "out", "hidden": 8}
    assert (run.model, run.direction, run.graph_key) == ("cgnn", "out", "graphdemo")
    assert Run("a", "demo").model == "unknown" and Run("a", "demo").direction == ""


def test_a_failure_is_said_in_a_line() -> None:
    run = Run("a", "demo")
    run.fail(UsageError("two\n  lines", "a hint"))
    assert (run.status, run.message) == ("failed", "two lines") and isinstance(run.error, UsageError)
    run.fail(ValueError("why"))
    assert run.message == "ValueError: why"


def test_runs_of_a_store_by_name_and_all_of_them(cgnn: FrontDoor) -> None:
    first, second = (cgnn.ok("eval", *SHORT, "--split", split, "--json").json for split in (0, 1))
    source = Runs(Store(Path("store").absolute()))
    assert [run.key for run in source.all()] == [first["key"], second["key"]]
    named = source.named([second["key"][:12], first["artifact"], second["artifact"]])
    assert [run.key for run in named] == [second["key"], first["key"]], "each once, in the order given"
    run = named[0]
    assert (run.dataset, run.model, run.splits, run.status) == ("demo", "linear", [1], "done")
    assert run.accuracies == second["summary"]["test_accuracy_per_split"]
    assert set(run.headers) == {"graph", "fit-1", "train", "eval"} and run.seconds == run.fits[1].seconds
    assert run.checkpoint == run.headers["train"].key and run.path == Path(second["artifact"])
    with pytest.raises(UsageError, match="is a train artifact, and a report is about evaluations"):
        source.named([run.checkpoint])


def test_artifacts_beside_a_run() -> None:
    runner = runner_over()
    step = step_for(runner, "rewire")
    made, _ = runner.obtain(step)
    source = Runs(runner.store)
    assert source.content(made).header == made and source.options(made)["method"] == "path"
    assert source.commute_headers(step.inputs["graph"].key) == [] and source.all() == []
    assert Run("a", "demo", headers={"graph": header("graph", "g", summary={"splits": 3})}).split_count == 3


def test_a_run_is_ranked_by_what_its_epochs_were_chosen_by() -> None:
    run = make_run([0.5, 0.7], metric="auc")
    for place, score in enumerate((0.9, 0.7)):
        run.headers[f"fit-{place}"].summary["validation_score"] = score
    assert run.validation_scores == [0.9, 0.7] and run.validation == pytest.approx(0.8)
    assert run.validation_accuracies == [0.5, 0.7]
    plain = make_run([0.5, 0.7])
    assert plain.validation_scores == plain.validation_accuracies and plain.metric == "accuracy"
