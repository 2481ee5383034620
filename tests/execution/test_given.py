"""Artifacts to start from: with all they were made from, in files or in the store, and only if they belong together."""

from pathlib import Path
from shutil import copy

import pytest

from cgnn_cli.errors import UpstreamError
from cgnn_cli.execution.given import given_step, named_steps
from cgnn_cli.execution.runner import Runner
from cgnn_cli.pipeline import Step
from cgnn_cli.store.store import Store
from tests.execution.steps import runner_over, step_for


@pytest.fixture
def runner() -> Runner:
    return runner_over()


def made(runner: Runner, stage: str, *splits: int) -> Step:
    step = step_for(runner, stage, *splits)
    runner.obtain(step)
    return step


def copied(runner: Runner, step: Step) -> Path:
    """The artifact of a step as a file elsewhere."""
    return Path(copy(runner.store.path(step.stage.name, step.key), f"{step.stage.name}.h5"))


@pytest.mark.parametrize("stage", ["dilap", "train"])
def test_a_step_from_the_store_is_the_one_that_was_planned(stage: str, runner: Runner) -> None:
    step = made(runner, stage, 0)
    header = runner.store.find(stage, step.key)
    assert header is not None
    given = given_step(runner.store, header, {})
    assert given.key == step.key and given.config.to_dict() == step.config.to_dict()
    before = [needed.key for needed in step.lineage if not needed.stage.no_start]
    assert [needed.key for needed in given.lineage] == before
    assert runner_over().obtain(given) == (header, True)


def test_files_carry_what_the_store_does_not_have(runner: Runner) -> None:
    step = made(runner, "dilap")
    files = [copied(runner, each) for each in step.lineage]
    elsewhere = Store(Path("elsewhere").absolute())
    steps = named_steps(elsewhere, reversed(files))
    assert [each.stage.name for each in steps] == ["graph", "rewire", "dilap"], "in the order of the stages"
    assert [each.file for each in steps] == files and steps[-1].find("graph") == steps[0]


def test_a_graph_must_be_somewhere_and_other_stages_need_not(runner: Runner) -> None:
    step = made(runner, "dilap")
    graph, _, dilap = (copied(runner, each) for each in step.lineage)
    elsewhere = Store(Path("elsewhere").absolute())
    (given,) = named_steps(elsewhere, [dilap])
    assert given.inputs["rewire"].config is None, "known by its key alone"
    rewired = copied(runner, step.inputs["rewire"])
    with pytest.raises(UpstreamError, match=r"was made from the graph .* which is not in the store"):
        named_steps(elsewhere, [rewired])
    assert len(named_steps(elsewhere, [graph, rewired])) == 2


def test_no_command_goes_on_from_parts_of_a_training(runner: Runner) -> None:
    trained = made(runner, "train", 0)
    fit = next(step for step in trained.lineage if step.stage.name == "fit")
    with pytest.raises(UpstreamError, match="holds the training of a single split, from which no stage goes on"):
        named_steps(runner.store, [copied(runner, fit)])


def test_files_must_have_been_made_from_each_other(runner: Runner) -> None:
    step = made(runner, "dilap")
    rewired = step.inputs["rewire"]
    graph = rewired.inputs["graph"]
    own = copied(runner, step)
    symmetric = Step.of("rewire", type(rewired.config)(walk="symmetric"), {"graph": graph})
    runner.obtain(symmetric)
    with pytest.raises(UpstreamError, match=r"--input names rewire .*, but dilap .* comes from rewire"):
        named_steps(runner.store, [own, copied(runner, symmetric)])
