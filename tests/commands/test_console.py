"""What a user is told: plain lines with the time left, where there is no terminal."""

import pytest

from cgnn_cli.commands import console
from cgnn_cli.commands.console import Talker
from cgnn_cli.execution import pace
from tests.execution.clock import Clock


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(console, "time", clock)
    monkeypatch.setattr(pace, "time", clock)
    return clock


def test_plain_lines_tell_the_time_left(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    talker = Talker(quiet=False)
    for done, now in ((1, 0), (2, 5), (11, 50), (12, 51), (41, 200)):
        clock.now = now
        talker.progress(done, 101, "loss 0.500  validation 0.700")
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "  11 of 101  loss 0.500  validation 0.700  about 8 min left",  # 5 s each, 90 to go
        "  41 of 101  loss 0.500  validation 0.700  about 5 min left",
    ]


def test_a_line_ends_where_nothing_is_known_about_the_time(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    talker = Talker(quiet=False)
    clock.now = 20
    talker.progress(3, 5, "epoch 7")
    assert capsys.readouterr().err.splitlines() == ["  3 of 5  epoch 7"]
