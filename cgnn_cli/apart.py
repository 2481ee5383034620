"""Long calls of compiled code in a process of their own, over arrays in memory that both processes map.

LAPACK and SuperLU hear no signal until they are done, which may take minutes, and some calls stop every thread of their
process meanwhile. Here the caller waits, shows how far it is, hears signals at once, and then kills the process. The
results have the same bits: the same call on the same arrays with the same threads.
"""

from __future__ import annotations

import fcntl
import json
import mmap
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import IO, Any

import numpy as np

import cgnn_cli
from cgnn_cli.errors import CgnnError, ResourceError

PROCESS_BYTES = 96 << 20  # of a process that has done nothing yet
TICK_SECONDS = 0.2
WATCHING, PARENT_SECONDS = "cgnn-parent", 0.5
ALIGNED = 64
# A scheduler signals every process of a job; what that means for a helper is decided by the process that it works for.
IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)
PROGRAM = f"""
import signal, sys
for number in {[int(number) for number in IGNORED]}:
    signal.signal(number, signal.SIG_IGN)
sys.path.append(sys.argv.pop(1))
from MODULE import main
main(*sys.argv[1:])
"""

Layout = dict[str, tuple[str, tuple[int, ...]]]
Arrays = dict[str, np.ndarray]
Tell = Callable[[int, int, str], None]


class Telling:
    """What a function may tell from its process: steps done of all, or how many seconds all of it may take."""

    def __init__(self, channel: Any) -> None:
        self.channel = channel

    def progress(self, done: int, total: int, message: str) -> None:
        self.say(progress=[done, total, message])

    def expect(self, seconds: float, message: str) -> None:
        self.say(expect=[seconds, message])

    def say(self, **values: Any) -> None:
        """A message to the process that waits."""
        self.channel.write(json.dumps(values) + "\n")
        self.channel.flush()


class Apart:
    """Arrays of given types and shapes that a function in another process may work on, in place."""

    def __init__(self, **layout: tuple[str, tuple[int, ...]]) -> None:
        self._layout: Layout = layout
        self._memory = _anonymous_memory()
        self.arrays = _map(self._memory.fileno(), layout)

    def call(self, function: str, tell: Tell) -> Arrays:
        """The arrays after `module:function` has worked on them; `tell` hears several times a second how far it is.

        Whatever `tell` raises ends the process, as do signals.
        """
        package = str(Path(cgnn_cli.__file__).parents[1])
        command = [
            sys.executable,
            "-P",
            "-c",
            PROGRAM.replace("MODULE", __name__),
            package,
            function,
            str(self._memory.fileno()),
        ]
        process = subprocess.Popen(
            [*command, json.dumps(self._layout)],
            stdin=subprocess.PIPE,  # whose end it notices when this process is killed
            stdout=subprocess.PIPE,
            stderr=None if os.environ.get("CGNN_DEBUG") else subprocess.DEVNULL,
            pass_fds=(self._memory.fileno(),),
            start_new_session=True,  # Ctrl-C reaches this process alone
        )
        try:
            if not _hear_out(process, tell):
                _say_why(process.wait())
        finally:
            process.kill()
            process.communicate()
            self._memory.close()
        return self.arrays


def _anonymous_memory() -> IO[bytes]:
    """Memory that is in no folder, or a file without a name: gone with whoever has it open."""
    if hasattr(os, "memfd_create"):
        return open(os.memfd_create("cgnn"), "r+b")
    return tempfile.TemporaryFile(prefix="cgnn-")


def _map(descriptor: int, layout: Layout) -> Arrays:
    """The arrays of a layout, one after the other."""
    places, size = {}, 0
    for name, (kind, shape) in layout.items():
        places[name] = size
        size += -(-int(np.prod(shape, dtype=np.int64)) * np.dtype(kind).itemsize // ALIGNED) * ALIGNED
    os.ftruncate(descriptor, max(size, ALIGNED))
    try:
        memory = mmap.mmap(descriptor, max(size, ALIGNED))
    except OSError as error:
        raise MemoryError(str(error)) from error
    return {
        name: np.ndarray(tuple(shape), kind, buffer=memory, offset=places[name])
        for name, (kind, shape) in layout.items()
    }


def _hear_out(process: subprocess.Popen[bytes], tell: Tell) -> bool:
    """Tell what the process says, and what is to be expected in between, until it ends; whether it is done."""
    begun, expected, latest = time.monotonic(), None, None
    for line in _lines(process):
        said: dict[str, Any] = json.loads(line) if line else {}
        if "failed" in said:
            raise_again(said["failed"], said["message"])
        if "done" in said:
            return True
        expected, latest = said.get("expect", expected), said.get("progress", latest)
        if expected is not None:
            seconds = time.monotonic() - begun
            latest = int(seconds), max(int(expected[0]), int(seconds) + 1), expected[1]
        if latest is not None:
            tell(*latest)
    return False


def _lines(process: subprocess.Popen[bytes]) -> Iterator[bytes]:
    """The lines of a process as they come, and an empty one where none has come for a moment."""
    assert process.stdout is not None
    poller, rest = select.poll(), b""
    poller.register(process.stdout, select.POLLIN)
    while True:
        if not poller.poll(1000 * TICK_SECONDS):
            yield b""
            continue
        if not (block := os.read(process.stdout.fileno(), 1 << 16)):
            return
        *lines, rest = (rest + block).split(b"\n")
        yield from lines


def raise_again(kind: str, message: str, hint: str = "") -> None:
    """Raise what was raised in another process."""
    for known in CgnnError.__subclasses__():
        if kind == known.__name__:
            raise known(message, hint)
    if kind == "MemoryError":
        raise MemoryError(message)
    raise RuntimeError(f"{kind}: {message}")


def _say_why(code: int) -> None:
    """A process that has ended without a word."""
    if code == -signal.SIGKILL:
        raise ResourceError(
            "a process that solved for times was killed, perhaps for lack of memory",
            "use --solver series or --solver sketch, which need less",
        )
    raise RuntimeError(f"a process that solved for times ended with code {code}")


def end_with_starter() -> None:
    """In a process whose standard input is a pipe that nothing is written to: end with the process at its other end.

    SIGIO, which nobody handles, ends it even inside LAPACK.
    """
    fcntl.fcntl(0, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(0, fcntl.F_SETFL, fcntl.fcntl(0, fcntl.F_GETFL) | os.O_ASYNC)
    if select.select([0], [], [], 0)[0]:
        sys.exit(1)


def main(function: str, descriptor: str, layout: str) -> None:
    """In the process: call the function, and say how that ended."""
    end_with_starter()
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    telling = Telling(channel)
    try:
        module, name = function.split(":")
        getattr(import_module(module), name)(_map(int(descriptor), json.loads(layout)), telling)
        telling.say(done=True)
    except Exception as error:
        message = error.message if isinstance(error, CgnnError) else str(error)
        telling.say(failed=type(error).__name__, message=message)


def ending_with_this_process(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The function for processes of joblib's, which then end with this one, and with nothing else.

    By themselves they outlive it by minutes, and a signal to all processes of a job or a terminal ends them.
    """
    return partial(_with_parent, os.getpid(), function)


def _with_parent(parent: int, function: Callable[[Any], Any], item: Any) -> Any:
    if WATCHING not in {thread.name for thread in threading.enumerate()}:
        for number in IGNORED:
            signal.signal(number, signal.SIG_IGN)
        threading.Thread(target=_end_with, args=(parent,), daemon=True, name=WATCHING).start()
    return function(item)


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(PARENT_SECONDS)
    os._exit(1)
