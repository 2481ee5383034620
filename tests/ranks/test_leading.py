"""Rank 0: what it asks of the others, and what becomes of their errors and signals."""

import signal
from collections.abc import Iterator

import numpy as np
import pytest

from cgnn_cli.errors import NumericalError, StoppedEarly, UsageError
from cgnn_cli.ranks import leading
from cgnn_cli.ranks.leading import Group
from cgnn_cli.ranks.link import HEAD_BYTES, RankLost
from cgnn_cli.signals import Stopper, Terminated
from tests.ranked import two_ranks

# What a rank is asked for in these tests: functions that a patch adds to the module.
PATCH = """
import numpy as np
from cgnn_cli.ranks import following
from cgnn_cli.errors import NumericalError, UsageError
from cgnn_cli.signals import STOPPER
def twice(held, values, arrays):
    return [values["factor"] * array for array in arrays]
def fails(held, values, arrays):
    known = {"numbers": NumericalError, "use": UsageError, "memory": MemoryError, "bug": KeyError}
    raise known[values["kind"]]("so it is")
def hears(held, values, arrays):
    STOPPER.note(values["signal"])
    return ()
following.twice, following.fails, following.hears = twice, fails, hears
"""


@pytest.fixture(scope="module")
def group() -> Iterator[Group]:
    with two_ranks(PATCH) as found:
        yield found


@pytest.mark.parametrize("count", [0, 3, HEAD_BYTES])
def test_arrays_go_there_and_back(group: Group, count: int) -> None:
    common, own = np.arange(count, dtype=np.int32), np.arange(2.0 * count).reshape(count, 2)
    mine, ((first, second),) = group.call(
        "cgnn_cli.ranks.following:twice", lambda: "mine", {"factor": 2, "padding": "é" * count}, [common], [[own]]
    )
    assert mine == "mine" and first.dtype == np.int32
    np.testing.assert_array_equal(first, 2 * common)
    np.testing.assert_array_equal(second, 2 * own)


@pytest.mark.parametrize(
    ("kind", "error"),
    [("numbers", NumericalError), ("use", UsageError), ("memory", MemoryError), ("bug", RuntimeError)],
)
def test_an_error_of_a_rank_is_raised_here_and_the_others_go_on(
    group: Group, kind: str, error: type[Exception]
) -> None:
    with pytest.raises(error, match=r"so it is.* \(on rank 1\)"):
        group.call("cgnn_cli.ranks.following:fails", lambda: None, {"kind": kind})
    with pytest.raises(ZeroDivisionError):
        group.call("cgnn_cli.ranks.following:twice", lambda: 1 // 0, {"factor": 2})
    with pytest.raises(RuntimeError, match="AttributeError"):
        group.call("cgnn_cli.ranks.following:unknown", lambda: None, {})
    group.call("cgnn_cli.ranks.following:nothing", lambda: None, {})
    assert group.lost is None


def test_a_signal_to_another_rank_is_heard_here(group: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    stopper = Stopper()
    monkeypatch.setattr(leading, "STOPPER", stopper)
    group.call("cgnn_cli.ranks.following:hears", lambda: None, {"signal": signal.SIGUSR1})
    assert stopper.requested() and not stopper.told_to_end()
    with pytest.raises(Terminated):
        group.call("cgnn_cli.ranks.following:hears", lambda: None, {"signal": signal.SIGTERM})
    with stopper.hold():
        group.call("cgnn_cli.ranks.following:nothing", lambda: None, {})  # whoever saves its state asks by itself


def test_what_ends_a_command_where_torchrun_ends_all_is_the_rank_that_is_lost(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped, lost = StoppedEarly("stopped after 3 of 9 probes"), RankLost("rank 1 of 2 has ended")
    assert leading.explained(stopped) is stopped
    monkeypatch.setattr(leading, "GROUP", group)
    monkeypatch.setattr(leading, "STOPPER", Stopper())
    leading.STOPPER.holding, leading.STOPPER.received = True, signal.SIGTERM
    assert leading.explained(stopped) is stopped  # the others are there
    monkeypatch.setattr(group, "lost", lost)
    for error in (stopped, Terminated()):
        assert leading.explained(error) is lost
    other = ValueError("of this rank")
    assert leading.explained(other) is other
