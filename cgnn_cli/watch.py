"""What a long computation may tell and ask while it runs.

The base class does nothing: that is what a caller of the Python functions gets who wants only the result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Snapshot:
    """The state of an unfinished computation: arrays, and plain values about them."""

    elements: dict[str, Any]
    values: dict[str, Any]


class Watch:
    """Progress, metrics, snapshots to go on from, and requests to stop."""

    def progress(self, done: int, total: int, message: str) -> None:
        """How far the computation is."""

    def record(self, metrics: dict[str, Any]) -> None:
        """One line of metrics, for instance those of an epoch."""

    def resume(self) -> Snapshot | None:
        """The snapshot to go on from, if there is one."""
        return None

    def snapshot_due(self) -> bool:
        """Whether it is time to save a snapshot."""
        return False

    def save(self, snapshot: Snapshot) -> None:
        """Keep a snapshot."""

    def stop_requested(self) -> bool:
        """Whether the computation should save a snapshot and stop."""
        return False

    def lend(self) -> list[int] | None:
        """The numbers under which other ranks hold the graph, and then the operators; none without such ranks."""
        return None
