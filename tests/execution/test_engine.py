"""Engines: this process and a pool of workers tell the same about the same steps, and make the same artifacts."""

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cgnn_cli.configs import ComputeConfig
from cgnn_cli.errors import NumericalError, StoppedEarly
from cgnn_cli.execution.engine import Done, Engine, Event, Failed, InProcess, Progress, chosen_engine
from cgnn_cli.execution.pool import Pool
from cgnn_cli.execution.runner import Runner
from cgnn_cli.pipeline import Step
from tests.execution.steps import fits_for, heard_by, runner_over
from tests.faults.processes import artifacts_of, payload_of

MAKERS: dict[str, Callable[[Runner], Engine]] = {"in process": InProcess, "pool": lambda runner: Pool(runner, 2)}
every_engine = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


def obtain(engine: Engine, steps: list[Step], hear: Callable[[Event], None] = lambda event: None) -> list[Event]:
    """All that an engine tells until the steps are done, or until it is stopped; it must be open."""
    waiting, told = list(steps), list[Event]()

    def note(event: Event) -> None:
        told.append(event)
        hear(event)

    while engine.running or (waiting and not engine.stopped):
        while waiting and not engine.stopped and len(engine.running) < engine.size:
            engine.start(waiting.pop(0))
        engine.wait(1.0, note)
    return told


def ends(told: list[Event]) -> dict[int, Any]:
    """How each split ended: whether it was a hit, and its figures; or the error."""
    found: dict[int, Any] = {}
    for event in told:
        if isinstance(event, Done):
            assert event.header.key == event.step.key
            found[event.step.config.split] = (event.hit, event.header.summary)
        elif isinstance(event, Failed):
            found[event.step.config.split] = (type(event.error), str(event.error))
    return found


def test_both_give_the_same_events_and_artifacts() -> None:
    found: dict[str, Any] = {}
    for name, make in MAKERS.items():
        runner = runner_over(name)
        with make(runner) as engine:
            cold = obtain(engine, fits_for(runner, 0, 1, 2))
        splits = {event.step.config.split for event in cold if isinstance(event, Progress)}
        assert splits and all(event.total == 2 for event in cold if isinstance(event, Progress))
        found[name] = ends(cold), {path.name: payload_of(path) for path in artifacts_of(Path(name), "fit")}
        assert ends(cold).keys() == {0, 1, 2} and not any(hit for hit, _ in ends(cold).values())
        assert len([event for event in cold if not isinstance(event, Progress)]) == 3
    assert found["in process"] == found["pool"]


@every_engine
def test_what_is_there_is_a_hit(make: Callable[[Runner], Engine]) -> None:
    earlier = runner_over()
    for step in fits_for(earlier, 0, 1):
        earlier.obtain(step)
    runner = runner_over()
    with make(runner) as engine:
        told = obtain(engine, fits_for(runner, 0, 1))
    assert [isinstance(event, Done) and event.hit for event in told] == [True, True]


@every_engine
def test_a_step_that_fails_leaves_the_others_alone(make: Callable[[Runner], Engine]) -> None:
    runner = runner_over()
    (diverging,) = fits_for(runner, 0, lr=1e11, epochs=50, model="mlp", hidden=4, layers=2)
    with make(runner) as engine:
        found = ends(obtain(engine, [diverging, *fits_for(runner, 1)]))
    assert found[0][0] is NumericalError and "training loss became" in found[0][1]
    assert found[1][0] is False


@every_engine
def test_a_training_that_is_stopped_saves_its_state(make: Callable[[Runner], Engine]) -> None:
    runner = runner_over(compute=ComputeConfig(snapshot_seconds=0))

    def stop(event: Event) -> None:
        runner.stopper.received = signal.SIGTERM
        engine.stop()

    with make(runner) as engine:
        told = obtain(engine, fits_for(runner, 0, epochs=100_000, patience=100_000), stop)
        assert engine.stopped and not engine.running
    assert isinstance(told[-1], Failed) and isinstance(told[-1].error, StoppedEarly)
    assert [path.stem for path in Path("store/partial").glob("*.h5")] == [told[-1].step.key]


@every_engine
def test_an_engine_is_used_again_after_it_was_closed(make: Callable[[Runner], Engine]) -> None:
    runner = runner_over()
    engine = make(runner)
    for split in (0, 1):
        with engine:
            assert not engine.stopped
            assert ends(obtain(engine, fits_for(runner, split))).keys() == {split}
            engine.stop()
        assert engine.running == []
    if isinstance(engine, Pool):
        assert engine.workers == [] and not list(Path("temporary").glob("*"))


@pytest.fixture(autouse=True)
def _temporary(monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of our own for what a pool leaves while it works."""
    Path("temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(Path("temporary").absolute()))


def test_dropped_artifacts_are_no_longer_shared() -> None:
    runner = runner_over()
    (step,) = fits_for(runner, 0)
    graph = step.inputs["graph"].key
    with Pool(runner, 2) as pool:
        pool.drop({graph})  # nothing is shared yet
        obtain(pool, [step])
        assert (pool.folder / graph).is_dir()
        pool.drop({graph})
        assert not (pool.folder / graph).exists()
        assert ends(obtain(pool, fits_for(runner, 1)))[1][0] is False, "the next step reads it again"
    with InProcess(runner) as engine:
        engine.drop({graph})
        assert ends(obtain(engine, fits_for(runner, 2)))[2][0] is False


def test_one_job_is_this_process_and_several_are_workers() -> None:
    one, two = (chosen_engine(runner_over(compute=ComputeConfig(jobs=jobs))) for jobs in (1, 2))
    assert isinstance(one, InProcess) and one.size == 1
    assert isinstance(two, Pool) and two.size == 2 and two.workers == []


def test_what_was_obtained_here_is_told_by_the_runner() -> None:
    runner = runner_over()
    with InProcess(runner) as engine:
        obtain(engine, fits_for(runner, 0))
    assert heard_by(runner).computed("fit") == 1
