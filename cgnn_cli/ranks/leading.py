"""Rank 0: what it asks of the others.

What a rank is asked for is a function `module:name` of this package, called with what the rank holds, plain values and
arrays, which returns arrays. Rank 0 does its own part meanwhile. A process that dies is noticed at once, by its
connections; one that does not answer, also not that it is still at work, after ANSWER_SECONDS.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from cgnn_cli.errors import StoppedEarly
from cgnn_cli.ranks.link import ANSWER_SECONDS, Link, RankLost, place
from cgnn_cli.signals import STOPPER, Terminated

if TYPE_CHECKING:
    from cgnn_cli.ranks.link import Arrays

CHECK_SECONDS = 5.0

Result = TypeVar("Result")


@dataclass(eq=False)
class Group:
    """All ranks, as rank 0 sees them. lost: why no more can be asked of them."""

    link: Link
    lost: RankLost | None = None
    _numbers: int = 0
    _forgotten: list[int] = field(default_factory=list)
    _lock: Any = field(default_factory=threading.RLock)

    @property
    def size(self) -> int:
        return self.link.size

    def number(self) -> int:
        """A new number, for something that the ranks are to hold."""
        self._numbers += 1
        return self._numbers

    def forget(self, number: int) -> None:
        """Let the ranks forget what they hold under a number, when they are next asked for something."""
        self._forgotten.append(number)

    def call(
        self,
        function: str,
        own: Callable[[], Result],
        values: dict[str, Any],
        arrays: Arrays = (),
        parts: Sequence[Arrays] = (),
        seconds: float = ANSWER_SECONDS,
    ) -> tuple[Result, list[Arrays]]:
        """What `own` returns here, and the arrays that a function returns in every other rank at the same time.

        arrays: given to all of them; parts: to each of them its own, after these. What they do together goes through
        groups of its own (team.py). One that fails there is told of by its error, rather than by what that does to
        the others.
        """
        with self._lock, STOPPER.in_one_piece():
            if self.lost is not None:
                raise self.lost
            forgotten, self._forgotten = self._forgotten, []
            header = {"call": function, "values": values, "forget": forgotten}
            try:
                for rank in range(1, self.size):
                    self.link.expect(rank)
                    self.link.send(rank, header, arrays, parts[rank - 1] if parts else (), seconds)
                self.link.broadcast(arrays)
                broken: RankLost | None = None
                try:
                    made = own()
                except RankLost as lost:
                    broken, seconds = lost, CHECK_SECONDS
                finally:
                    answers = [self._answer(rank, seconds) for rank in range(1, self.size)]
            except RankLost as lost:
                self.lost = lost
                raise
        for rank, (answer, _) in enumerate(answers, 1):
            if answer.get("failed", RankLost.__name__) != RankLost.__name__:
                from cgnn_cli.apart import raise_again

                raise_again(answer["failed"], f"{answer['message']} (on rank {rank})", answer["hint"])
        if broken is not None:
            self.lost = broken
            raise broken
        return made, [found for _, found in answers]

    def _answer(self, rank: int, seconds: float) -> tuple[dict[str, Any], Arrays]:
        """The answer of a rank, which may say before that it is still at work."""
        while True:
            answer, _, arrays = self.link.receive(rank, seconds)
            if number := answer.get("signal"):
                STOPPER.note(number)
            if "busy" not in answer:
                return answer, arrays

    def leave(self, code: int) -> None:
        """Let the others end, with an exit code."""
        for rank in range(1, self.size):
            with contextlib.suppress(RankLost):
                self.link.send(rank, {"leave": code}, (), (), CHECK_SECONDS)


GROUP: Group | None = None  # of this process, where it is rank 0 of several


def lead() -> None:
    """Take the lead of the ranks, where this is rank 0 of several."""
    global GROUP  # noqa: PLW0603
    if place()[1] > 1:
        GROUP = Group(Link())


def leave(code: int) -> None:
    """Let the other ranks end with this one."""
    if GROUP is not None:
        GROUP.leave(code)


def size() -> int:
    """How many ranks compute."""
    return 1 if GROUP is None else GROUP.size


def explained(error: BaseException) -> BaseException:
    """What ended a command: torchrun tells the others to end where one is lost, which says little by itself."""
    stopped = isinstance(error, Terminated | StoppedEarly) and STOPPER.received == signal.SIGTERM
    if GROUP is None or not stopped:
        return error
    try:
        GROUP.call("cgnn_cli.ranks.following:nothing", lambda: None, {}, seconds=CHECK_SECONDS)
    except RankLost as lost:
        return lost
    return error
