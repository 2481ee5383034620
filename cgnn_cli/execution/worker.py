"""A worker process: obtains the steps it is told, one after the other, and answers in lines of JSON.

It imports what a step needs and nothing of the command line. It ends when its input does, that is also when the process
that started it is killed; a training then saves its state first.
"""

import json
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TextIO

from cgnn_cli.configs import ComputeConfig
from cgnn_cli.errors import StoppedEarly
from cgnn_cli.execution.messages import decode_step, encode_error
from cgnn_cli.execution.runner import Runner
from cgnn_cli.execution.sharing import SharedArrays
from cgnn_cli.extensions import load_extensions
from cgnn_cli.redaction import redacted
from cgnn_cli.resources import ASKED_LIMIT
from cgnn_cli.signals import STOPPER, Stopper, ignore_interrupts
from cgnn_cli.store.artifact import Header
from cgnn_cli.store.store import Store

PROGRESS_SECONDS = 0.25


class Speaker:
    """Tells the pool what happens here."""

    def __init__(self, channel: TextIO) -> None:
        self.channel = channel
        self._said = 0.0

    def send(self, **values: Any) -> None:
        self.channel.write(json.dumps(values) + "\n")
        self.channel.flush()

    def warn(self, message: str) -> None:
        self.send(kind="warning", message=message)

    def stage_done(self, header: Header, *, hit: bool) -> None:
        """The pool hears of the step that it asked for; what that needed is of no interest."""

    def begins(self, what: str, key: str = "", *, passing: bool = False) -> None:
        """The pool has named it."""

    def progress(self, done: int, total: int, message: str) -> None:
        if time.monotonic() - self._said >= PROGRESS_SECONDS:
            self._said = time.monotonic()
            self.send(kind="progress", done=done, total=total, message=message)


class Listener(threading.Thread):
    """Reads what the pool says: tasks to do, and the request to stop. The end of the input is one too."""

    def __init__(self, channel: TextIO, folder: Path, stopper: Stopper) -> None:
        super().__init__(daemon=True)
        self.channel, self.folder, self.stopper = channel, folder, stopper
        self.tasks: SimpleQueue[dict[str, Any] | None] = SimpleQueue()

    def run(self) -> None:
        for line in self.channel:
            task = json.loads(line)
            if task["kind"] == "stop":
                self.stopper.note(signal.SIGTERM)
            else:
                self.tasks.put(task)
        self.stopper.note(signal.SIGTERM)
        shutil.rmtree(self.folder, ignore_errors=True)  # nobody else does it if the pool was killed
        self.tasks.put(None)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        while (task := self.tasks.get()) is not None:
            yield task


def take_over_streams() -> tuple[TextIO, TextIO]:
    """Input and output for messages alone: what a library prints goes to standard error."""
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return sys.stdin, output


def obtain(runner: Runner, speaker: Speaker, task: dict[str, Any]) -> None:
    """One task: obtain the step and say so, or say why not."""
    try:
        step = decode_step(task["step"])
        runner.keep_only({needed.key for needed in step.lineage})
        if runner.stopper.requested():
            raise StoppedEarly("stopped before a training began")
        header, hit = runner.obtain(step, speaker.progress)
        answer = {"kind": "done", "header": header.to_json(), "hit": hit}
    except Exception as error:
        if os.environ.get("CGNN_DEBUG"):
            import traceback

            sys.stderr.write(redacted("".join(traceback.format_exception(error))))
        answer = {"kind": "failed", **encode_error(error)}
    speaker.send(**answer)


def main() -> None:
    """Work until there is nothing more to be told."""
    stopper = STOPPER
    ignore_interrupts(stopper)
    load_extensions()
    source, output = take_over_streams()
    setup = json.loads(source.readline())
    sys.argv[:] = setup["command"]  # provenance records the command that the user gave
    speaker, folder = Speaker(output), Path(setup["folder"])
    listener = Listener(source, folder, stopper)
    listener.start()
    store = Store(Path(setup["store"]), warn=speaker.warn, lock_timeout=setup["lock_timeout"])
    compute, forced = ComputeConfig(**setup["compute"]), frozenset(setup["forced"])
    ASKED_LIMIT.set(compute.memory_limit)
    runner = Runner(store, speaker, compute, setup["restart"], forced, stopper, SharedArrays(folder))
    try:
        for task in listener:
            obtain(runner, speaker, task)
        output.close()
    except BrokenPipeError:  # the pool was killed
        pass
    os._exit(0)
