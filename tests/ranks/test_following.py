"""The other ranks: that they are there is heard, however long their work takes."""

import threading
from typing import Any

import pytest

from cgnn_cli.ranks import following
from cgnn_cli.ranks.following import Follower


class Said:
    """A link that asks for one function, and hears what is answered."""

    rank, size = 1, 2

    def __init__(self, function: str) -> None:
        self.asked: list[dict[str, Any]] = [{"call": function, "values": {}, "forget": []}, {"leave": 3}]
        self.heard: list[dict[str, Any]] = []
        self.busy = threading.Event()

    def receive(self, rank: int, seconds: float) -> tuple[dict[str, Any], list[Any], list[Any]]:
        return self.asked.pop(0), [], []

    def send(self, rank: int, header: dict[str, Any], *rest: object) -> None:
        self.heard.append(header)
        if "busy" in header:
            self.busy.set()

    def broadcast(self, common: object) -> None: ...

    def expect(self, rank: int) -> None: ...


def test_a_rank_at_long_work_says_that_it_is_still_there(monkeypatch: pytest.MonkeyPatch) -> None:
    link = Said(f"{following.__name__}:nothing")
    monkeypatch.setattr(following, "BUSY_SECONDS", 0.01)
    monkeypatch.setattr(following, "nothing", lambda *_: [link.busy.wait(60)])
    assert Follower(link).serve() == 3  # type: ignore[arg-type]
    *busy, answer = link.heard
    assert busy and all(each == {"busy": True} for each in busy)
    assert answer == {"signal": None}
