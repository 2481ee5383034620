"""The lab: time limits, failures, quick runs, and artifacts for experiments."""

from pathlib import Path
from typing import Any

import pytest

from cgnn_cli.configs import SourceConfig
from cgnn_cli.experiments.lab import NO_TIME, ROUNDS, Asked, Lab
from cgnn_cli.store.artifact import Header
from cgnn_cli.store.store import Store
from cgnn_cli.trials import Trial, TrialResult

SMALL: dict[str, Any] = {"train.epochs": 2, "train.hidden": 4, "train.model": "linear"}


class Silent:
    """Keeps which stages were computed."""

    def __init__(self) -> None:
        self.computed: list[str] = []

    def stage_done(self, header: Header, *, hit: bool) -> None:
        self.computed += [] if hit else [header.stage]

    def progress(self, done: int, total: int, message: str) -> None:
        pass


def lab_with(asked: Asked | None = None, **options: Any) -> Lab:
    source = SourceConfig(data=str(Path("data").absolute()), offline=True)
    return Lab(Store(Path("store").absolute()), Silent(), asked or Asked(), source, **options)


def test_splits_are_the_first_of_the_dataset_and_no_more_than_it_has() -> None:
    assert lab_with().trial("a", "demo", SMALL).splits == (0, 1, 2, 3, 4)
    assert lab_with(Asked(splits=3)).trial("a", "demo", SMALL).splits == (0, 1, 2)
    assert lab_with(Asked(splits=30)).trial("a", "demo", SMALL).splits == (0, 1, 2, 3, 4)
    assert lab_with(Asked(quick=True)).trial("a", "demo", SMALL).splits == (0, 1)
    assert lab_with().trial("a", "demo", SMALL, most_splits=1).splits == (0,)


def test_quick_bounds_what_is_larger_and_keeps_what_is_smaller() -> None:
    settings = lab_with(Asked(quick=True)).trial("a", "demo", {"train.epochs": 1000, "train.hidden": 4}).settings
    assert settings["train.epochs"] == 10 and settings["train.hidden"] == 4
    assert lab_with(Asked(quick=True)).datasets(["chameleon"]) == ["demo"]
    assert lab_with(Asked(quick=True, datasets=("cora-ml",))).datasets(["chameleon"]) == ["cora-ml"]
    assert lab_with().datasets(["chameleon"]) == ["chameleon"]


def test_a_graph_that_cannot_be_had_fails_its_trials_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    lab = lab_with(Asked(splits=1))
    results = lab.train([lab.trial("missing", "cora-ml", SMALL), lab.trial("good", "demo", SMALL)])
    assert results["missing"].status == "failed" and "not on disk" in results["missing"].message
    assert results["good"].status == "done" and len(results["good"].test_accuracy) == 1
    monkeypatch.setattr("cgnn_cli.experiments.lab.Datasets", None)  # it is not asked for again
    assert lab.split_count("cora-ml") is None and not lab.is_standin("cora-ml")
    assert lab.obtain("rewire", "cora-ml").status == "failed"


def test_with_a_time_limit_all_trials_first_run_on_few_splits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last round finds that the time is up: what the rounds before did is kept."""
    lab = lab_with(Asked(max_minutes=5))
    asked: list[list[int]] = []

    def run(trials: list[Trial], test: bool, share: float) -> list[TrialResult]:
        asked.append([len(trial.splits) for trial in trials])
        late = len(asked) == len(ROUNDS) + 1
        return [TrialResult(each, "not run" if late else "done", splits=list(each.splits)) for each in trials]

    monkeypatch.setattr(lab, "_run", run)
    trials = [Trial("long", "demo", SMALL, tuple(range(10))), Trial("short", "demo", SMALL, (0,))]
    results = lab.train(trials)
    assert asked == [*([most] for most in ROUNDS), [10, 1]]
    assert results["long"].status == "done" and results["long"].splits == [0, 1, 2, 3, 4]
    assert results["short"].status == "not run"


def test_nothing_is_begun_when_the_time_is_up_but_what_is_there_is_found() -> None:
    lab = lab_with(Asked(splits=1))
    assert lab.obtain("rewire", "demo").status == "done"
    done = lab.train([lab.trial("a", "demo", SMALL)])["a"]
    late = lab_with(Asked(splits=1, max_minutes=0))
    assert late.obtain("rewire", "demo").data is not None
    assert (late.obtain("dilap", "demo").status, late.obtain("dilap", "demo").message) == ("not run", NO_TIME)
    results = late.train([late.trial("a", "demo", SMALL), late.trial("b", "demo", {**SMALL, "train.lr": 0.5})])
    assert results["a"].test_accuracy == done.test_accuracy
    assert results["b"].status == "not run"


def test_what_is_in_the_store_is_not_computed_again() -> None:
    header = lab_with().obtain("dilap", "demo").header
    again = lab_with()
    assert again.obtain("dilap", "demo").header == header
    assert isinstance(again.reporter, Silent) and again.reporter.computed == []
