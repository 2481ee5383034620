"""Requests to stop: SIGTERM and SIGUSR1 from a scheduler, Ctrl-C from a person.

A computation that can save its state runs inside `hold`: there the first signal is only noted, so that the step is
finished and saved. Elsewhere SIGTERM and Ctrl-C end the command at once (temporary files are still removed), and
SIGUSR1, a scheduler's early warning, is ignored: a stage without snapshots had better finish.
"""

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType
from typing import NoReturn


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
        self._holding = True
        try:
            yield
        finally:
            self._holding = False

    def requested(self) -> bool:
        return self.received is not None

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._holding and self.received is None:
            self.received = number
        elif number != signal.SIGUSR1:
            self._end(number)

    @staticmethod
    def _end(number: int) -> NoReturn:
        raise Interrupted if number == signal.SIGINT else Terminated
