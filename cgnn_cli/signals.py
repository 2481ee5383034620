"""Requests to stop: SIGTERM and SIGUSR1 from a scheduler, Ctrl-C from a person.

Every signal is noted before anything else. SIGTERM and Ctrl-C then end what is being done by an exception, which may be
lost: raised inside a destructor or under a library's broad `except` it is swallowed. So the work also asks at its
boundaries (`hear`) whether it is to end. SIGUSR1, a scheduler's early warning, is only noted: the next training stops
as soon as it has saved its state. A computation that saves its state runs inside `hold`: there all signals are only
noted, so that the step is finished and saved, and a second Ctrl-C ends it. Nothing heavy is imported here.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from types import FrameType
from typing import NoReturn

from cgnn_cli.errors import INTERRUPTED, TERMINATED, StoppedEarly

ENDING = {signal.SIGINT: INTERRUPTED, signal.SIGTERM: TERMINATED}
MEANING = {INTERRUPTED: "interrupted", TERMINATED: "terminated"}
CLEANING_SECONDS = 0.5  # what the clean-up after a second Ctrl-C may take
CLEAR_LINE = b"\r\x1b[2K\x1b[?25h"  # and take the line of progress away


class Terminated(BaseException):
    """SIGTERM as an exception."""


class Interrupted(BaseException):
    """Ctrl-C as an exception of our own: the command-line parser has its own idea of KeyboardInterrupt."""


class Stopper:
    """Notes requests to stop. `install` makes it the process's signal handler.

    received: the first request to end, or else SIGUSR1. settled: how the process ends is decided, and signals change
    nothing any more. idle: there is nothing to clean up, so that a signal ends the process at once, with `code` if that
    is decided. unended: whether a line of a log waits for its end. workers: processes that end with this one.
    """

    def __init__(self) -> None:
        self.received: int | None = None
        self.holding = self.settled = self.idle = self.unended = False
        self.code: int | None = None
        self.workers: set[int] = set()
        self._noted_in_hold, self._in_one_piece, self._interrupts = False, False, 0

    def install(self) -> None:
        for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT):
            signal.signal(number, self._handle)

    def start(self) -> None:
        """Be the first thing of a process: until `listen`, a signal ends it at once."""
        self.idle = True
        self.install()
        sys.unraisablehook = _say_nothing_of_signals
        atexit.register(_ignore_signals)  # the last to be called, as it is the first to be registered
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        # The signal's number is written by compiled code, whatever the interpreter is doing.
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        threading.Thread(target=self._end_at_the_second, args=(reader,), daemon=True).start()

    def listen(self) -> None:
        """From here on there is work to end, and a path by which every end is told."""
        self.settled = self.idle = self._noted_in_hold = False
        self._interrupts = 0
        self.install()

    def leave(self, code: int) -> None:
        """All is done and said: a signal can only hurry the end."""
        self.code, self.idle = code, True

    @contextlib.contextmanager
    def hold(self) -> Iterator[None]:
        """Note the first signal instead of acting on it."""
        before, self.holding = self.holding, True
        try:
            yield
        finally:
            self.holding = before

    @contextlib.contextmanager
    def in_one_piece(self) -> Iterator[None]:
        """Put off what a signal raises to the end of something short that may not be cut in two."""
        before, self._in_one_piece = self._in_one_piece, True
        try:
            yield
        finally:
            self._in_one_piece = before
        if not (before or self.holding):
            self.hear()

    def requested(self) -> bool:
        """Whether a computation that saves its state is to stop."""
        return self.received is not None

    def told_to_end(self) -> bool:
        """Whether all work is to end, as after SIGTERM and Ctrl-C."""
        return self.received in ENDING

    def hear(self) -> None:
        """A boundary of the work: end here if that was asked for, and was only noted or has been lost."""
        if not self.told_to_end() or self.settled:
            return
        if self.holding or self._noted_in_hold:
            raise StoppedEarly("stopped before the next step; what is finished is kept")
        raise Interrupted if self.received == signal.SIGINT else Terminated

    def note(self, number: int) -> None:
        """Note a request; the first to end counts."""
        if not self.told_to_end():
            self.received, self._noted_in_hold = number, self.holding

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.note(number)
        self._interrupts += number == signal.SIGINT
        if number == signal.SIGUSR1:
            return
        if self.idle:
            self._end_at_once(ENDING[signal.Signals(number)])
        if not (self.settled or self._in_one_piece) and (not self.holding or self._interrupts > 1):
            raise Interrupted if number == signal.SIGINT else Terminated

    def _end_at_the_second(self, reader: int) -> None:
        """In a thread: the second Ctrl-C ends the process, also where the handler above does not come to run.

        That raises where it can, so that temporary files are removed; it is given a moment for it.
        """
        interrupts = 0
        while interrupts < 2:
            interrupts += os.read(reader, 64).count(signal.SIGINT)
        time.sleep(CLEANING_SECONDS)
        for worker in list(self.workers):  # which the main thread did not come to end
            with contextlib.suppress(OSError):
                os.kill(worker, signal.SIGKILL)
        self._end_at_once(INTERRUPTED)

    def _end_at_once(self, code: int) -> NoReturn:
        """End the process without any clean-up."""
        with contextlib.suppress(OSError):
            if os.isatty(2):  # a line of progress hides the cursor
                os.write(2, CLEAR_LINE)
            if self.code is None and not self.settled:
                os.write(2, b"\n" * self.unended + f"error: {MEANING[code]}\n".encode())
        os._exit(code if self.code is None else self.code)


STOPPER = Stopper()  # of this process


def ignore_interrupts(stopper: Stopper) -> None:
    """In a worker: a scheduler signals every process of a job, and this one saves its state. Ctrl-C is the pool's."""
    stopper.holding = True
    stopper.install()
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _ignore_signals() -> None:
    """While Python takes itself down it would give signals their default effect, which is another exit code."""
    for number in (*ENDING, signal.SIGUSR1):
        signal.signal(number, signal.SIG_IGN)


def _say_nothing_of_signals(lost: sys.UnraisableHookArgs) -> None:
    """The interpreter tells of what is raised in destructors and callbacks; a signal is noted there all the same."""
    if not issubclass(lost.exc_type, Interrupted | Terminated):
        sys.__unraisablehook__(lost)
