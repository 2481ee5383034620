"""The other ranks: they do what rank 0 asks for until it ends."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
import traceback
from importlib import import_module
from typing import TYPE_CHECKING, Any

from cgnn_cli.errors import ResourceError
from cgnn_cli.ranks.link import Link, RankLost, place
from cgnn_cli.signals import STOPPER

if TYPE_CHECKING:
    from cgnn_cli.ranks.link import Arrays

BUSY_SECONDS = 10.0
FOR_EVER = 1e7  # seconds


def follow() -> int:
    """As a rank other than 0: do what rank 0 asks for until it ends; the exit code that it tells."""
    STOPPER.listen()
    STOPPER.holding = True  # what a signal means is for rank 0 to decide, which hears of it
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        return Follower(Link()).serve()
    except ResourceError as error:
        if place()[0] == 1 or os.environ.get("LOCAL_RANK") == "0":  # one of each machine says so
            hint = f" ({error.hint})" if error.hint else ""
            # On a line of its own, also where rank 0 was lost in the middle of one.
            sys.stderr.write(f"\nerror: rank {place()[0]}: {error.message}{hint}\n")
        return error.exit_code


class Follower:
    """A rank other than 0, with what it holds, by its numbers."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self.held: dict[int, Any] = {}
        self._at_work_since: float | None = None
        self._speaking = threading.Lock()

    def serve(self) -> int:
        """Do what rank 0 asks for until it lets this one end, with an exit code."""
        threading.Thread(target=self._say_that_it_is_busy, daemon=True).start()
        while True:
            header, common, own = self.link.receive(0, FOR_EVER)
            if "leave" in header:
                return int(header["leave"])
            try:
                self.link.broadcast(common)
            except RankLost:  # another one, or rank 0, which is heard next
                continue
            for number in header["forget"]:
                self.held.pop(number, None)
            self._at_work_since = time.monotonic()
            answer, arrays = self._work(header["call"], header["values"], [*common, *own])
            self.link.expect(0)
            with self._speaking:
                self._at_work_since = None
                self.link.send(0, {"signal": STOPPER.received, **answer}, (), arrays, FOR_EVER)

    def _work(self, function: str, values: dict[str, Any], arrays: Arrays) -> tuple[dict[str, Any], Arrays]:
        module, name = function.split(":")
        assert module.startswith("cgnn_cli.")
        try:
            return {}, getattr(import_module(module), name)(self.held, values, arrays)
        except Exception as error:
            if os.environ.get("CGNN_DEBUG"):
                traceback.print_exc()
            return {"failed": type(error).__name__, "message": str(error), "hint": getattr(error, "hint", "")}, ()

    def _say_that_it_is_busy(self) -> None:
        """In a thread: what takes long is no silence."""
        with contextlib.suppress(RankLost):  # which the other thread notices too
            while True:
                time.sleep(BUSY_SECONDS)
                with self._speaking:
                    since = self._at_work_since
                    if since is not None and time.monotonic() - since >= BUSY_SECONDS:
                        self.link.send(0, {"busy": True}, (), (), FOR_EVER)


def nothing(held: dict[int, Any], values: dict[str, Any], arrays: Arrays) -> Arrays:
    """Only answer."""
    return ()
