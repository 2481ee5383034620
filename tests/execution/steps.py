"""Runners over small stores, and steps of small trainings: what the tests of this folder share."""

from pathlib import Path
from typing import Any

from cgnn_cli.datasets.registry import Datasets
from cgnn_cli.execution.results import Run
from cgnn_cli.execution.runner import Runner
from cgnn_cli.execution.scheduler import Scheduler
from cgnn_cli.pipeline import Step, fits_by_split
from cgnn_cli.store.store import Store
from tests.runs import Listener

LINEAR: dict[str, Any] = {"train.model": "linear", "train.epochs": 2}


def runner_over(store: str = "store", **options: Any) -> Runner:
    return Runner(Store(Path(store).absolute()), Listener(), **options)


def heard_by(runner: Runner) -> Listener:
    assert isinstance(runner.reporter, Listener)
    return runner.reporter


def step_for(runner: Runner, stage: str, *splits: int, **settings: Any) -> Step:
    """A step of a linear model on the demo graph; settings of the training are named without their section."""
    chosen = {**LINEAR, **{f"train.{name}": value for name, value in settings.items()}}
    scheduler = Scheduler(runner, Datasets(runner.store, obtain=runner.data))
    return scheduler.step(stage, Run("a", "demo", chosen, splits))


def fits_for(runner: Runner, *splits: int, **settings: Any) -> list[Step]:
    """Trainings of single splits."""
    return list(fits_by_split(step_for(runner, "train", *splits, **settings)).values())
