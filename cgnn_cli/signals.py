"""Requests to stop: SIGTERM and SIGUSR1 from a scheduler, Ctrl-C from a person.

A computation that can save its state runs inside `hold`: there a signal is only noted, so that the step is finished and
saved; only a second Ctrl-C ends it at once. Elsewhere SIGTERM and Ctrl-C end the command (temporary files are still
removed), and SIGUSR1, a scheduler's early warning, is noted: the next training stops as soon as it has saved its state.
"""

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType


class Terminated(BaseException):
    """SIGTERM as an exception."""


class Interrupted(BaseException):
    """Ctrl-C as an exception of our own: the command-line parser has its own idea of KeyboardInterrupt."""


class Stopper:
    """Notes requests to stop. `install` makes it the process's signal handler."""

    def __init__(self) -> None:
        self.received: int | None = None
        self._holding = False

    def install(self) -> None:
        for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT):
            signal.signal(number, self._handle)

    @contextlib.contextmanager
    def hold(self) -> Iterator[None]:
        """Note the first signal instead of acting on it."""
        before, self._holding = self._holding, True
        try:
            yield
        finally:
            self._holding = before

    def requested(self) -> bool:
        return self.received is not None

    def _handle(self, number: int, frame: FrameType | None) -> None:
        second_interrupt = number == signal.SIGINT and self.received == signal.SIGINT
        if number == signal.SIGUSR1 or (self._holding and not second_interrupt):
            self.received = self.received or number
        else:
            raise Interrupted if number == signal.SIGINT else Terminated
