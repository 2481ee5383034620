"""Real processes that run `cgnn`, whole or with a patch that makes something go wrong inside them."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from os import environ
from pathlib import Path
from typing import Any

import psutil

from cgnn_cli.pipeline import STAGES
from cgnn_cli.store import artifact as files
from tests.forks import server

DEADLINE = 240.0  # only against hanging: machines may be busy
TINY = ("--dataset", "tiny", "--store", "store")
COMMUTE = ("commute", *TINY, "--solver", "exact", "--json")
# Root may write anywhere, unless the process gives up its capabilities (capset, version 3, all sets empty).
WITHOUT_PRIVILEGES = """
import ctypes
header, nothing = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
assert ctypes.CDLL(None).capset(header, nothing) == 0
"""


@dataclass(frozen=True)
class Finished:
    """How a process ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The one object that `--json` prints."""
        assert self.code == 0, self
        value: dict[str, Any] = json.loads(self.out)
        return value


def program(patch: str) -> str:
    """The code of a process that runs a patch and then `cgnn`."""
    return f"{patch}\nfrom cgnn_cli.__main__ import main\nmain()"


def start(
    *arguments: object,
    patch: str = "",
    stdout: int = subprocess.PIPE,
    environment: dict[str, str] | None = None,
    fresh: bool = False,
) -> subprocess.Popen[str]:
    """Start `cgnn`, forked or in a fresh interpreter; `patch` is Python code that runs before it, in its process."""
    if not fresh:
        return server().start([*map(str, arguments)], patch, {**environ, **(environment or {})}, stdout)
    how = ["-c", program(patch)] if patch else ["-m", "cgnn_cli"]
    return subprocess.Popen(
        [sys.executable, *how, *map(str, arguments)],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        env={**environ, **(environment or {})},
    )


def finish(process: subprocess.Popen[str]) -> Finished:
    """Wait for the end of a process; one that hangs is killed and fails the test."""
    try:
        out, err = process.communicate(timeout=DEADLINE)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return Finished(process.returncode, out or "", err)


def run(*arguments: object, patch: str = "", fresh: bool = False, **environment: str) -> Finished:
    """Run `cgnn` to its end."""
    return finish(start(*arguments, patch=patch, environment=environment, fresh=fresh))


def on_a_terminal(*arguments: object, patch: str = "") -> str:
    """All that a command writes to a terminal, as one text."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", program(patch), *map(str, arguments)]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env={**environ, "TERM": "xterm"}):
        os.close(theirs)
        content = b""
        try:
            while part := os.read(ours, 65536):
                content += part
        except OSError:  # the other end is closed
            pass
    os.close(ours)
    return content.decode()


def killed_at(number: int) -> str:
    """A patch: the process kills itself when it hears that its so-manieth training or scoring is done."""
    return f"""
import os, signal
from cgnn_cli.execution.engine import Done
make, left = Done.__init__, [{number}]
def counted(*values):
    left[0] -= 1
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
    make(*values)
Done.__init__ = counted
"""


def wait_for(condition: Callable[[], bool]) -> None:
    """Wait until something has happened in another process."""
    limit = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < limit, "it never happened"
        time.sleep(0.01)


def pending(process: psutil.Process, number: int) -> bool:
    """Whether a signal has not reached a process yet."""
    status = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    masks = [int(line.split()[1], 16) for line in status if line.startswith(("SigPnd", "ShdPnd"))]
    return any(mask >> (number - 1) & 1 for mask in masks)


def send_twice(process: psutil.Process) -> None:
    """Two Ctrl-C, the second when the first has been delivered, even if no Python code has run since."""
    process.send_signal(signal.SIGINT)
    wait_for(lambda: not pending(process, signal.SIGINT))
    process.send_signal(signal.SIGINT)


def artifacts_of(store: Path, stage: str = "*") -> list[Path]:
    """The files that a store shows as artifacts."""
    return sorted(path for path in store.glob(f"{stage}/*.h5") if path.parent.name in STAGES)


def temporaries_of(store: Path) -> list[Path]:
    return sorted(store.rglob("*.tmp"))


def assert_nothing_half_written(store: Path) -> None:
    """Every artifact verifies under its own name, and every record can be read."""
    for path in artifacts_of(store):
        header = files.read(path).header
        assert (header.stage, header.key) == (path.parent.name, path.stem)
    for path in store.rglob("*.json"):
        json.loads(path.read_bytes())


def payload_of(path: object) -> str:
    return files.read(Path(str(path))).header.payload
