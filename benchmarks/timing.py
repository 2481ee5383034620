"""Times of several sides of a comparison, taken in turns in one process, so that a busy moment hits all of them.

A ratio that is claimed is one of CPU time on one thread, or of time on the wall on two.
"""

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from threadpoolctl import threadpool_limits

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


def on_one_thread(sides: Mapping[str, Side], rounds: int) -> dict[str, Timed]:
    """The same in CPU time, with one thread of BLAS; the sides start none of their own."""
    with threadpool_limits(1):
        return interleaved(sides, rounds, clock=time.process_time)


def once(side: Side) -> Timed:
    """One run with a clock, for sides that take minutes."""
    return interleaved({"": side}, 1, warm=False)[""]
