"""The time that is left: from the pace of this computation, and of no other."""

import pytest

from cgnn_cli.execution import pace
from cgnn_cli.execution.pace import Pace
from tests.execution.clock import Clock


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(pace, "time", clock)
    return clock


def told(clock: Clock, *heard: tuple[int, int, float]) -> list[str]:
    """What is said at (done, total, time)."""
    found, said = Pace(), []
    for done, total, now in heard:
        clock.now = now
        said.append(found.time_left(done, total))
    return said


def test_nothing_is_said_until_there_is_something_to_tell_it_from(clock: Clock) -> None:
    assert told(clock, (1, 101, 0), (1, 101, 3), (11, 101, 50)) == ["", "", "about 8 min left"]  # 5 s each, 90 to go


def test_what_is_resumed_does_not_start_at_0(clock: Clock) -> None:
    assert told(clock, (70, 100, 1000), (80, 100, 1010), (100, 100, 1030)) == ["", "about 20 s left", "about 0 s left"]


@pytest.mark.parametrize("earlier", [(9, 9, 9), (4, 5, 150)], ids=["another total", "a step back"])
def test_the_pace_is_that_of_this_computation(earlier: tuple[int, int, float], clock: Clock) -> None:
    said = told(clock, (1, earlier[1], 0), earlier, (1, 5, 200), (2, 5, 220), (3, 5, 240))
    assert said[2:] == ["", "about 1 min left", "about 40 s left"]
