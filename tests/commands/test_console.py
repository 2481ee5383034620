"""What a user is told: plain lines with the time left, where there is no terminal."""

import pytest

from cgnn_cli.commands import console
from cgnn_cli.commands.console import Talker
from cgnn_cli.execution import pace
from cgnn_cli.store.artifact import Header
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


KEY = "0123456789abcdef" * 2


def made(stage: str) -> Header:
    return Header(stage, KEY, 1, {}, {}, {}, {"seconds": 1.5})


def test_the_line_of_a_step_is_begun_and_ended(capsys: pytest.CaptureFixture[str]) -> None:
    talker = Talker(quiet=False)
    talker.begins("reading demo")
    talker.begins("reading graph 0123", passing=True)
    talker.begins("dilap", KEY)
    assert capsys.readouterr().err == "reading demo ...\ndilap         0123456789ab  "
    talker.stage_done(made("dilap"), hit=False)
    assert capsys.readouterr().err == "1.50 s\n"


def test_what_comes_between_begins_a_line_and_the_step_is_told_again(capsys: pytest.CaptureFixture[str]) -> None:
    talker = Talker(quiet=False)
    for between in (lambda: talker.say("a message"), lambda: talker.warn("a"), lambda: talker.begins("rewire", KEY)):
        talker.begins("dilap", KEY)
        between()
        talker.stage_done(made("dilap"), hit=False)
        first, second, *_, last = capsys.readouterr().err.split("\n")[:-1]
        assert first.rstrip() == "dilap         0123456789ab" and second and last.endswith("1.50 s")
    talker.begins("dilap", KEY)
    talker.__exit__()
    assert capsys.readouterr().err.endswith("  \n"), "an error comes in a line of its own"


def test_who_is_quiet_names_no_step(capsys: pytest.CaptureFixture[str]) -> None:
    talker = Talker(quiet=True)
    talker.begins("dilap", KEY)
    talker.clear()
    assert capsys.readouterr().err == ""


def test_on_a_terminal_a_step_is_named_until_there_is_more(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    talker = Talker(quiet=False)
    talker.begins("reading graph 0123", passing=True)
    talker.begins("dilap", KEY)
    talker.progress(0, 7, "split 2  loss 1")
    shown = capsys.readouterr().err
    assert shown.index("reading graph 0123 ...") < shown.index("dilap ...") < shown.index("0/7 split 2  loss 1")
    talker.clear()
    assert "\x1b[2K" in capsys.readouterr().err
    talker.clear()
    assert capsys.readouterr().err == ""


def test_a_line_ends_where_nothing_is_known_about_the_time(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    talker = Talker(quiet=False)
    clock.now = 20
    talker.progress(3, 5, "epoch 7")
    assert capsys.readouterr().err.splitlines() == ["  3 of 5  epoch 7"]
