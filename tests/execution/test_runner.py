"""The runner: what is there is found, what is missing is computed, and each artifact is told once."""

import os
import sys
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from cgnn_cli.errors import UpstreamError
from cgnn_cli.pipeline import STAGES, Step
from cgnn_cli.store.artifact import Header
from cgnn_cli.store.locking import claim_lock
from cgnn_cli.store.store import Store
from tests.execution.steps import fits_for, heard_by, runner_over, step_for


def test_what_is_missing_is_computed_with_all_that_it_needs() -> None:
    runner = runner_over()
    step = step_for(runner, "rewire")
    assert runner.find(step) is None
    header, hit = runner.obtain(step)
    assert (header.key, hit) == (step.key, False) and runner.store.find("rewire", step.key) == header
    assert heard_by(runner).stages == [("graph", False), ("rewire", False)]
    assert header.inputs == {"graph": step.inputs["graph"].key} and header.seconds >= 0


def test_what_is_there_is_a_hit_and_what_it_needs_is_not_looked_at() -> None:
    first = runner_over()
    step = step_for(first, "rewire")
    made, _ = first.obtain(step)
    again = runner_over()
    step = step_for(again, "rewire")
    told = len(heard_by(again).told)
    assert again.find(step) == made and len(heard_by(again).told) == told, "to find is not to obtain"
    assert again.obtain(step) == (made, True)
    assert heard_by(again).stages[told:] == [("rewire", True)]


def test_an_artifact_is_told_once_wherever_it_was_obtained() -> None:
    runner = runner_over()
    step = step_for(runner, "rewire")
    header, hit = runner.obtain(step)
    runner.obtain(step)
    runner.data(step)
    runner.note(step, header, hit)
    assert [stage for stage, _ in heard_by(runner).stages].count("rewire") == 1
    other = runner_over()
    other.note(step, header, False)
    other.note(step, header, True)
    assert heard_by(other).stages == [("rewire", False)]
    assert other.find(step) == header and other.obtain(step) == (header, False)


def test_what_is_forced_is_computed_again_and_once() -> None:
    runner_over().obtain(step_for(runner_over(), "rewire"))
    runner = runner_over(forced=frozenset({"rewire"}))
    step = step_for(runner, "rewire")
    assert runner.find(step) is None
    _, hit = runner.obtain(step)
    assert not hit and runner.find(step) is not None
    runner.obtain(step_for(runner, "dilap"))
    assert heard_by(runner).computed("rewire") == 1


@pytest.mark.parametrize("known", ["found", "obtained"])
def test_an_artifact_that_vanished_is_computed_again(known: str) -> None:
    earlier = runner_over()
    earlier.obtain(step_for(earlier, "rewire"))
    runner = runner_over()
    step = step_for(runner, "rewire")
    assert runner.find(step) if known == "found" else runner.obtain(step)
    runner.store.path("rewire", step.key).unlink()
    data = runner.data(step)
    assert data.adjacency.shape == (1500, 1500) and runner.store.path("rewire", step.key).exists()
    assert heard_by(runner).computed("rewire") == 1


def test_the_content_of_a_file_is_that_of_the_file() -> None:
    runner = runner_over()
    step = step_for(runner, "rewire")
    runner.obtain(step)
    path = runner.store.path("rewire", step.key)
    named = Step(step.stage, step.config, step.inputs, step.key, file=path)
    other = runner_over("other")
    assert (other.data(named).adjacency != runner.data(step).adjacency).nnz == 0
    path.unlink()
    with pytest.raises(UpstreamError):
        runner_over("other").data(named)


def test_what_cannot_be_made_is_said_to_be_missing() -> None:
    unknown = Step(STAGES["rewire"], None, {}, "0" * 32)
    with pytest.raises(UpstreamError, match="rewire artifact 000000000000 is not in the store"):
        runner_over().obtain(unknown)


def test_contents_are_forgotten_but_for_those_that_are_needed() -> None:
    runner = runner_over()
    step = step_for(runner, "dilap")
    runner.obtain(step)
    content = runner.data(step)
    assert runner.data(step) is content
    runner.keep_only({step.key})
    assert runner.data(step) is content
    runner.keep_only(set())
    assert runner.data(step) is not content and heard_by(runner).computed("dilap") == 1


def test_progress_goes_where_it_is_asked_to() -> None:
    runner = runner_over()
    heard: list[tuple[int, int]] = []
    first, second = fits_for(runner, 0, 1)
    runner.obtain(first, lambda done, total, message: heard.append((done, total)))
    assert heard == [(1, 2), (2, 2)] and heard_by(runner).lines == []
    runner.obtain(second)
    assert len(heard) == 2 and len(heard_by(runner).lines) == 2


def test_a_figure_of_a_graph_is_known_without_writing_it() -> None:
    runner = runner_over()
    graph = step_for(runner, "graph")
    runner.store.path("graph", graph.key).unlink()
    Path("store/graph", f"{graph.key}.json").unlink(missing_ok=True)
    assert runner_over().graph_figure(graph, "splits") == 5
    assert not runner.store.path("graph", graph.key).exists()


def test_what_a_clean_up_removes_again_and_again_is_read_under_its_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process makes it anew each time, and each time a clean-up removes it right after it was found."""
    earlier = runner_over()
    earlier.obtain(step_for(earlier, "rewire"))
    runner, find = runner_over(), Store.find
    step = step_for(runner, "rewire")
    path = runner.store.path("rewire", step.key)
    content, swept = path.read_bytes(), []

    def find_then_sweep(store: Store, stage: str, key: str) -> Header | None:
        if stage == "rewire" and not path.exists():
            path.write_bytes(content)
        header = find(store, stage, key)
        if stage == "rewire":
            with claim_lock(store.lock_path(stage, key)) as free:
                if free:
                    path.unlink()
                    swept.append(path)
        return header

    monkeypatch.setattr(Store, "find", find_then_sweep)
    assert runner.data(step).adjacency.shape == (1500, 1500)
    assert swept and heard_by(runner).computed("rewire") == 0


@pytest.mark.parametrize(("share", "kept"), [(1.1, False), (3.1, True)])
def test_a_training_keeps_freed_memory_only_where_that_can_pile_up(
    share: float, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bool] = []

    def keeping(worth_it: bool) -> AbstractContextManager[None]:
        asked.append(worth_it)
        return nullcontext()

    runner = runner_over()
    fit = fits_for(runner)[0]
    for needed in fit.inputs.values():
        runner.obtain(needed)
    inputs = {role: runner.data(needed) for role, needed in fit.inputs.items()}
    assert fit.stage.memory is not None
    needed_bytes = fit.stage.memory(inputs, fit.config, runner.compute)
    runner.compute = replace(runner.compute, memory_limit=str(int(share * needed_bytes)))
    monkeypatch.setattr("cgnn_cli.execution.runner.keeping_blocks", keeping)
    runner.obtain(fit)
    assert asked == [kept]


@pytest.mark.parametrize(("given", "set_to"), [({}, "1000"), ({"GOMP_SPINCOUNT": "7"}, "7")])
def test_threads_that_wait_sleep_soon_unless_the_user_says_otherwise(
    given: dict[str, str], set_to: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is set before torch is loaded, which reads it."""
    for name in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY"):
        monkeypatch.setenv(name, "")  # to be put back
        monkeypatch.delenv(name)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    seen: list[str | None] = []
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.setattr(
        "cgnn_cli.execution.runner.import_module", lambda name: seen.append(os.environ.get("GOMP_SPINCOUNT"))
    )
    runner_over().load_torch()
    assert seen == [set_to]
