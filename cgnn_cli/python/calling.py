"""Calls from Python: work is done in a thread, so that whoever waits for it can be shown how far it is, and end it.

No handler of signals is installed. Ctrl-C, or a notebook's stop button, raises KeyboardInterrupt where the call waits.
The work hears of it as the command line does, saves its state, and is gone when KeyboardInterrupt reaches the caller.
A second Ctrl-C does not wait for it. In a thread that is not the main one nothing is interrupted, as always in Python.
"""

from __future__ import annotations

import contextvars
import signal
import sys
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import TypeVar

import cgnn_cli
from cgnn_cli.configs import ComputeConfig, SourceConfig
from cgnn_cli.execution.pace import Pace
from cgnn_cli.settings import Settings
from cgnn_cli.signals import Stopper
from cgnn_cli.store.artifact import Header
from cgnn_cli.store.store import Store
from cgnn_cli.workspace import Workspace

T = TypeVar("T")
TICK_SECONDS = 0.1
WIDTH = 100


def in_notebook() -> bool:
    """Whether the output goes to a cell of a notebook."""
    shell = sys.modules.get("IPython")
    running = shell.get_ipython() if shell is not None else None
    return running is not None and hasattr(running, "kernel")


@dataclass
class Screen:
    """Where progress is shown: a line that is written over and over, in a notebook or on a terminal; else plain lines.

    verbose: True shows it anywhere, False nowhere, None in a notebook and on a terminal.
    """

    verbose: bool | None = None
    _shown: str = ""

    def __post_init__(self) -> None:
        self.stream = sys.stdout if in_notebook() else sys.stderr
        self.draws = in_notebook() or self.stream.isatty()
        self.is_on = self.draws if self.verbose is None else self.verbose

    def draw(self, line: str) -> None:
        """Show a line in the place of the one before, where that is possible."""
        if self.is_on and self.draws and line != self._shown:
            self._shown = line
            self.stream.write(f"\r{line[:WIDTH]:<{WIDTH}}")
            self.stream.flush()

    def say(self, line: str) -> None:
        """A line that stays."""
        if self.is_on:
            self.clear()
            self.stream.write(line + "\n")
            self.stream.flush()

    def clear(self) -> None:
        if self._shown:
            self.stream.write(f"\r{'':<{WIDTH}}\r")
            self._shown = ""


@dataclass
class Telling:
    """A reporter that keeps what it is told, for the thread that waits to show it.

    tells_results: whether it warns of what is doubtful about results, which is enough once.
    """

    stopper: Stopper
    tells_results: bool = True
    line: str = ""
    said: list[str] = field(default_factory=list)
    warned: dict[str, None] = field(default_factory=dict)
    _pace: Pace = field(default_factory=Pace)

    def stage_done(self, header: Header, *, hit: bool) -> None:
        split = f" split {header.config['split']}" if header.stage == "fit" else ""
        self.said.append(
            f"{header.stage + split:<13} {header.key[:12]}  {'cached' if hit else f'{header.seconds:.2f} s'}"
        )
        if not self.tells_results:
            return
        for message in header.summary.get("warnings", ()):
            self.warn(message)
        if name := header.summary.get("standin"):
            self.warn(f"made from a stand-in for {name}: figures say nothing about {name} itself")

    def begins(self, what: str, key: str = "", *, passing: bool = False) -> None:
        self.line = f"{what} ..."

    def progress(self, done: int, total: int, message: str) -> None:
        if not self.stopper.holding:  # what is held is asked by whoever saves its state
            self.stopper.hear()
        self.line = f"{done}/{total} {message}  {self._pace.time_left(done, total)}".rstrip()

    def note(self, message: str) -> None:
        self.said.append(f"note: {message}")

    def warn(self, message: str) -> None:
        self.warned[message] = None


def call(settings: Settings, verbose: bool | None, work: Callable[[Workspace], T], *, tells_results: bool = True) -> T:
    """The result of some work with a workspace, as settings say where and how; shown while it lasts."""
    stopper = Stopper()
    telling, screen = Telling(stopper, tells_results), Screen(verbose)
    compute, source = settings.config("compute"), settings.config("source")
    assert isinstance(compute, ComputeConfig) and isinstance(source, SourceConfig)

    def done() -> T:
        store = Store(settings.store_root(), warn=telling.warn)
        with closing(Workspace(store, source, compute, telling, stopper, telling)) as space:
            return work(space)

    try:
        return _waited_for(done, stopper, lambda: _show(telling, screen))
    finally:
        _show(telling, screen)
        screen.clear()
        for message in telling.warned:
            warnings.warn(message, stacklevel=_frames_here())


def _frames_here() -> int:
    """How many frames of the package lie over the caller's, whom a warning is to name; as `warnings.warn` counts."""
    package, count = str(Path(cgnn_cli.__file__).parent), 0
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(package):
        frame, count = frame.f_back, count + 1
    return count + 1


def _show(telling: Telling, screen: Screen) -> None:
    while telling.said:
        screen.say(telling.said.pop(0))
    screen.draw(telling.line)


def _waited_for(work: Callable[[], T], stopper: Stopper, tick: Callable[[], None]) -> T:
    """What some work returns or raises, done in a thread of its own while this one waits."""
    future: Future[T] = Future()
    context = contextvars.copy_context()

    def run() -> None:
        try:
            future.set_result(context.run(work))
        except BaseException as error:  # also a request to stop, which belongs to whoever waits
            future.set_exception(error)

    thread = threading.Thread(target=run, daemon=True, name="cgnn")
    thread.start()
    try:
        while not wait([future], TICK_SECONDS).done:
            tick()
        return future.result()
    except KeyboardInterrupt:
        stopper.note(signal.SIGINT)
        thread.join()
        raise
