"""Ctrl-C, SIGTERM and a reader that goes away: one line, the right exit code, no remnants.

Training that is interrupted has its own tests, in test_resume.py.
"""

import os
import signal
from pathlib import Path

import pytest

from tests.faults.processes import (
    COMMUTE,
    assert_nothing_half_written,
    finish,
    payload_of,
    run,
    start,
    temporaries_of,
)
from tests.front_door import FrontDoor

SIGNAL_WHILE_PUBLISHING = """
import os
fsync = os.fsync
def signalled(descriptor):
    os.kill(os.getpid(), {number})
    fsync(descriptor)
os.fsync = signalled
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signal_while_publishing(
    number: signal.Signals, code: int, upstream: Path, payloads: dict[str, str], cgnn: FrontDoor
) -> None:
    result = run(*COMMUTE, patch=SIGNAL_WHILE_PUBLISHING.format(number=int(number)))
    assert (result.code, result.out) == (code, "")
    assert "Traceback" not in result.err
    assert sum(line.startswith("error: ") for line in result.err.splitlines()) <= 1
    assert temporaries_of(upstream) == []
    assert_nothing_half_written(upstream)
    assert payload_of(cgnn.ok(*COMMUTE).json["artifact"]) == payloads["commute"]


@pytest.mark.parametrize("command", [COMMUTE, ("--help",)], ids=lambda command: command[0])
def test_case_24_a_reader_that_went_away(command: tuple[str, ...], full: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    process = start(*command, stdout=writer)
    os.close(writer)
    result = finish(process)
    assert result.code == 141, result
    assert "Traceback" not in result.err and "Exception ignored" not in result.err
