"""Ranks that are signalled or killed: the others end with a clear line, and the next start goes on."""

import shutil
import signal
from pathlib import Path

import pytest

from tests.faults.processes import artifacts_of, assert_nothing_half_written, finish, payload_of, run
from tests.ranked import start_ranks, torchrun

STORE = ("--dataset", "demo", "--store", "store")
SKETCH = ("commute", *STORE, "--solver", "sketch", "--steps", 1, "--probes", 4, "--snapshot-seconds", 0)
# A rank that does something, when it is asked for the first time after rank 0 has saved a state.
ONCE_SAVED = """
import os, signal, threading
from pathlib import Path
from cgnn_cli.ranks.following import Follower
work, left = Follower._work, [1]
def counted(*rest):
    if left[0] and list(Path("store/partial").glob("*.h5")):
        left[0] -= 1
        {act}
    return work(*rest)
Follower._work = counted
"""
ATTEMPT = "TORCHELASTIC_RESTART_COUNT"
KILLED = "os.kill(os.getpid(), signal.SIGKILL)"


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with the stages before, made by one process."""
    store = tmp_path_factory.mktemp("walked")
    assert run("dilap", *STORE, "--store", store).code == 0
    return store


@pytest.fixture(autouse=True)
def _walk(walked: Path, tmp_path: Path) -> None:
    shutil.copytree(walked, tmp_path / "store")


@pytest.fixture(scope="module")
def undisturbed(walked: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """What one process makes."""
    store = tmp_path_factory.mktemp("one") / "store"
    shutil.copytree(walked, store)
    result = run(*SKETCH, "--store", store)
    assert result.code == 0, result
    return payload_of(result.out.strip())


def goes_on(undisturbed: str) -> None:
    """The next start, by one process, goes on from the state that was saved, to the same result."""
    assert_nothing_half_written(Path("store"))
    assert not artifacts_of(Path("store"), "commute")
    result = run(*SKETCH)
    assert result.code == 0 and "going on with" in result.err, result
    assert payload_of(result.out.strip()) == undisturbed


def test_case_26_a_rank_that_is_killed_under_torchrun_ends_all_and_the_next_attempt_goes_on(undisturbed: str) -> None:
    once = ONCE_SAVED.format(act=KILLED).replace("if left[0]", f"if os.environ['{ATTEMPT}'] == '0'")
    result = torchrun(*SKETCH, patched=once, attempts=2)
    assert [line for line in result.err.splitlines() if line.startswith("error: ")] == [
        "error: rank 1 of 2 has ended, or its machine cannot be reached "
        "(what was saved is kept; run the same command again to go on)"
    ], result
    assert "going on with" in result.err and result.code == 0
    assert payload_of(result.out.strip()) == undisturbed


def test_case_26_the_others_tell_of_rank_0(undisturbed: str) -> None:
    saved = "from cgnn_cli.execution.snapshots import SnapshotWatch\nimport os, signal\nsave = SnapshotWatch.save\n"
    saved += f"def once(*rest):\n    save(*rest)\n    {KILLED}\nSnapshotWatch.save = once"
    first, second = map(finish, start_ranks(*SKETCH, patches=(saved, "")))
    assert first.code == -signal.SIGKILL
    assert second.code == 7 and second.out == ""
    assert second.err.startswith("\nerror: rank 1: rank 0 of 2 has ended"), second
    assert second.err.count("\n") == 2
    goes_on(undisturbed)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
def test_a_signal_to_one_rank_stops_all_at_the_same_boundary(undisturbed: str, number: signal.Signals) -> None:
    signalled = ONCE_SAVED.format(act=f"os.kill(os.getpid(), {int(number)})")
    first, second = map(finish, start_ranks(*SKETCH, patches=("", signalled)))
    assert (first.code, second.code) == (75, 75), (first, second)
    assert "the state is saved" in first.err and (second.out, second.err) == ("", "")
    goes_on(undisturbed)


def test_case_26_a_rank_that_does_not_answer_is_given_up() -> None:
    stuck = (
        ONCE_SAVED.format(act="threading.Event().wait()")
        + "import cgnn_cli.ranks.following as r\nr.BUSY_SECONDS = 1000"
    )
    patience = "from cgnn_cli.ranks.leading import Group\nGroup.call.__defaults__ = ((), (), 0.5)"
    first, second = start_ranks(*SKETCH, patches=(patience, stuck))
    ended = finish(first)
    second.kill()
    finish(second)
    assert ended.code == 7 and ended.out == ""
    assert "error: rank 1 of 2 has not answered for 0 s" in ended.err, ended


def test_an_error_is_told_by_rank_0_alone_and_ends_all_with_its_code() -> None:
    first, second = map(finish, start_ranks("commute", *STORE, "--rank", 0))
    assert (first.code, second.code) == (2, 2)
    assert first.err == "error: --rank must be at least 1, got 0\n" and (second.out, second.err) == ("", "")


def test_ranks_that_do_not_find_each_other_say_so() -> None:
    alone = "import cgnn_cli.ranks.link as r\nr.START_SECONDS = 0.2"
    first, second = start_ranks("commute", *STORE, patches=(alone, "import sys\nsys.exit(9)"))
    assert finish(second).code == 9
    ended = finish(first)
    assert ended.code == 7 and "error: the 2 ranks of torchrun did not find each other" in ended.err, ended


# A training whose batches are shared: a rank does something in the middle of an epoch, when a state was saved.
SAVING = ("train", *STORE, "--snapshot-seconds", 0)
BATCHES = (*SAVING, "--model", "sage", "--split", 0, "--hidden", 4, "--batch-nodes", 16, "--epochs", 6)
IN_AN_EPOCH = """
import os, signal, threading
from pathlib import Path
from cgnn_cli.ranks.team import Team
mean, left = Team.mean, [3]
def counted(self, value):
    if {when} and self.rank == 1 and list(Path("store/partial").glob("*.h5")):
        left[0] -= 1
        if left[0] == 0:
            {act}
    return mean(self, value)
Team.mean = counted
"""


@pytest.fixture(scope="module")
def trained(walked: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """What two ranks make that nobody disturbs."""
    store = tmp_path_factory.mktemp("two") / "store"
    shutil.copytree(walked, store)
    first, second = map(finish, start_ranks(*BATCHES, "--store", store))
    assert (first.code, second.code) == (0, 0), (first, second)
    return payload_of(first.out.strip())


def test_case_26_a_training_in_batches_goes_on_by_itself_after_a_rank_was_killed(trained: str) -> None:
    killed = IN_AN_EPOCH.format(when=f"os.environ['{ATTEMPT}'] == '0'", act=KILLED)
    result = torchrun(*BATCHES, patched=killed, attempts=2)
    assert [line for line in result.err.splitlines() if line.startswith("error: ")] == [
        "error: rank 1 of 2 has ended, or its machine cannot be reached "
        "(what was saved is kept; run the same command again to go on)"
    ], result
    assert "going on with" in result.err and result.code == 0
    assert payload_of(result.out.strip()) == trained


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGUSR1, marks=pytest.mark.slow)])
def test_a_signal_to_one_rank_stops_a_training_in_batches_at_the_end_of_its_epoch(
    trained: str, number: signal.Signals
) -> None:
    signalled = IN_AN_EPOCH.format(when="True", act=f"os.kill(os.getpid(), {int(number)})")
    first, second = map(finish, start_ranks(*BATCHES, patches=("", signalled)))
    assert (first.code, second.code) == (75, 75), (first, second)
    assert "the state is saved" in first.err and (second.out, second.err) == ("", "")
    first, second = map(finish, start_ranks(*BATCHES))
    assert (first.code, second.code) == (0, 0) and "going on with" in first.err, first
    assert payload_of(first.out.strip()) == trained


@pytest.mark.slow
def test_case_26_a_rank_that_is_silent_in_an_epoch_is_given_up_and_one_process_goes_on() -> None:
    stuck = IN_AN_EPOCH.format(when="True", act="threading.Event().wait()")
    patience = (
        "import cgnn_cli.ranks.team as r\nimport cgnn_cli.ranks.leading as s\nr.ANSWER_SECONDS = s.CHECK_SECONDS = 1.0"
    )
    first, second = start_ranks(*BATCHES, patches=(patience, stuck))
    ended = finish(first)
    second.kill()
    finish(second)
    assert ended.code == 7 and ended.out == ""
    assert "error: rank 1 of 2 has not answered for 1 s" in ended.err, ended
    result = run(*BATCHES)
    assert result.code == 0 and "begun with 2 ranks and goes on with 1" in result.err, result
