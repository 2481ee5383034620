"""Times of several sides of a comparison, taken in turns in one process, so that a busy moment hits all of them."""

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Side = Callable[[], Any]


@dataclass(frozen=True)
class Timed:
    """The median seconds of one side, and what its last round returned."""

    seconds: float
    result: Any


def interleaved(
    sides: Mapping[str, Side], rounds: int, *, warm: bool = True, clock: Callable[[], float] = time.perf_counter
) -> dict[str, Timed]:
    """Run all sides in turns, once without a clock and then `rounds` times."""
    times: dict[str, list[float]] = {name: [] for name in sides}
    results = {}
    for number in range(rounds + warm):
        for name, side in sides.items():
            started = clock()
            results[name] = side()
            if number >= warm:
                times[name].append(clock() - started)
    return {name: Timed(statistics.median(taken), results[name]) for name, taken in times.items()}


def once(side: Side) -> Timed:
    """One run with a clock, for sides that take minutes."""
    return interleaved({"": side}, 1, warm=False)[""]
