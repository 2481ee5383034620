"""The lab: time limits, failures, quick runs, and artifacts for experiments."""

from pathlib import Path
from typing import Any

import pytest

from cgnn_cli.configs import SourceConfig
from cgnn_cli.datasets.registry import Datasets
from cgnn_cli.execution.runner import Runner
from cgnn_cli.execution.scheduler import Scheduler
from cgnn_cli.paper.lab import NO_TIME, ROUNDS, Lab, Request
from cgnn_cli.store.store import Store
from tests.runs import Listener

SMALL: dict[str, Any] = {"train.epochs": 2, "train.hidden": 4, "train.model": "linear"}


def lab_with(request: Request | None = None) -> Lab:
    source = SourceConfig(data=str(Path("data").absolute()), offline=True)
    runner = Runner(Store(Path("store").absolute()), Listener())
    return Lab(Scheduler(runner, Datasets(runner.store, source, obtain=runner.data)), request)


def test_splits_are_the_first_of_the_dataset_and_no_more_than_it_has() -> None:
    assert lab_with().run("a", "demo", SMALL).wanted == (0, 1, 2, 3, 4)
    assert lab_with(Request(splits=3)).run("a", "demo", SMALL).wanted == (0, 1, 2)
    assert lab_with(Request(splits=30)).run("a", "demo", SMALL).wanted == (0, 1, 2, 3, 4)
    assert lab_with(Request(quick=True)).run("a", "demo", SMALL).wanted == (0, 1)
    assert lab_with().run("a", "demo", SMALL, most_splits=1).wanted == (0,)


def test_quick_bounds_what_is_larger_and_keeps_what_is_smaller() -> None:
    settings = lab_with(Request(quick=True)).run("a", "demo", {"train.epochs": 1000, "train.hidden": 4}).settings
    assert settings["train.epochs"] == 10 and settings["train.hidden"] == 4
    assert lab_with(Request(quick=True)).datasets(["chameleon"]) == ["demo"]
    assert lab_with(Request(quick=True, datasets=("cora-ml",))).datasets(["chameleon"]) == ["cora-ml"]
    assert lab_with().datasets(["chameleon"]) == ["chameleon"]


def test_a_graph_that_cannot_be_had_fails_its_runs_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    lab = lab_with(Request(splits=1))
    missing, good = lab.run("missing", "cora-ml", SMALL), lab.run("good", "demo", SMALL)
    lab.train([missing, good])
    assert missing.status == "failed" and "not on disk" in missing.message
    assert good.status == "done" and len(good.accuracies) == 1
    monkeypatch.setattr(lab.scheduler, "datasets", None)  # it is not asked for again
    assert lab.split_count("cora-ml") is None and not lab.is_standin("cora-ml")
    assert lab.obtain("rewire", "cora-ml").status == "failed"


@pytest.mark.parametrize(("minutes", "rounds"), [(5, ROUNDS), (None, ())])
def test_with_a_time_limit_all_runs_are_first_done_on_few_splits(
    minutes: float | None, rounds: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[dict[str, Any]] = []
    monkeypatch.setattr(Scheduler, "carry_out", lambda self, runs, **options: asked.append(options))
    lab = lab_with(Request(max_minutes=minutes))
    lab.train([])
    assert [(each["rounds"], each["deadline"]) for each in asked] == [(rounds, lab.deadline)]


def test_nothing_is_begun_when_the_time_is_up_but_what_is_there_is_found() -> None:
    lab = lab_with(Request(splits=1))
    assert lab.obtain("rewire", "demo").status == "done"
    done = lab.run("a", "demo", SMALL)
    lab.train([done])
    late = lab_with(Request(splits=1, max_minutes=0))
    assert late.obtain("rewire", "demo").data is not None
    assert (late.obtain("dilap", "demo").status, late.obtain("dilap", "demo").message) == ("not run", NO_TIME)
    there, new = late.run("a", "demo", SMALL), late.run("b", "demo", {**SMALL, "train.lr": 0.5})
    late.train([there, new])
    assert there.accuracies == done.accuracies
    assert (new.status, new.message) == ("not run", NO_TIME)


def test_what_is_in_the_store_is_not_computed_again() -> None:
    header = lab_with().obtain("dilap", "demo").header
    again = lab_with()
    assert again.obtain("dilap", "demo").header == header
    listener = again.runner.reporter
    assert isinstance(listener, Listener) and [stage for stage, hit in listener.stages if not hit] == []
