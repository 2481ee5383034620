"""Successive halving over splits: many configurations on the first split, the better ones on three, the best on all.

What a configuration reached on fewer splits is part of what it reaches on more, so nothing is trained twice. Decisions
are made between rounds, from validation scores and the order of the configurations alone: never from time or load.

Jamieson and Talwalkar, Non-stochastic Best Arm Identification and Hyperparameter Optimization, AISTATS 2016.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import fmean

from cgnn_cli.execution.results import Run
from cgnn_cli.tuning.judging import Judge, validation_score

KEPT = 3  # one in so many goes on to the next rung
FINALISTS = 4
MIDDLE = 3
Measure = Callable[[Sequence[Run]], None]


def rungs_of(splits: Sequence[int]) -> list[tuple[int, ...]]:
    """The splits of each rung, each a part of the next: one, three, all."""
    ordered = tuple(sorted(set(splits)))
    return [ordered[:count] for count in sorted({min(count, len(ordered)) for count in (1, MIDDLE, len(ordered))})]


class Halving:
    """The runs of a search with the rungs they have reached.

    measure: trains runs on the splits that they want; judge: how good a training is, the validation score of its best
    epoch if nothing else is said.
    """

    def __init__(self, splits: Sequence[int], measure: Measure, judge: Judge = validation_score) -> None:
        self.rungs, self.measure, self.judge = rungs_of(splits), measure, judge
        self.runs: list[Run] = []

    def explore(self, runs: Sequence[Run]) -> None:
        """Measure new runs on the first split, and the best of all so far on the rungs below the last."""
        self.runs += runs
        self._measure(runs, 0)
        for rung in range(1, len(self.rungs) - 1):
            self._promote(rung)

    def finish(self) -> None:
        """Measure the best few on all splits."""
        for rung in range(1, len(self.rungs)):
            self._promote(rung, FINALISTS if rung == len(self.rungs) - 1 else None)

    def ranked(self) -> list[Run]:
        """Those on the highest rung first, then by their score there, then in their order; failed ones last."""
        order = {run: place for place, run in enumerate(self.runs)}
        return sorted(self.runs, key=lambda run: (-self.level(run), -self.score(run, self.level(run) - 1), order[run]))

    def level(self, run: Run) -> int:
        """How many rungs a run has reached; a run that failed on any split counts for nothing."""
        if run.status == "failed":
            return 0
        return sum(set(rung) <= run.fits.keys() for rung in self.rungs)

    def score(self, run: Run, rung: int) -> float:
        """The mean of what the trainings on the splits of a rung are judged by."""
        return fmean(self.judge(run.fits[split]) for split in self.rungs[rung]) if rung >= 0 else 0.0

    def counts(self) -> list[tuple[int, int]]:
        """For each rung its number of splits, and how many runs have reached it."""
        return [(len(rung), sum(self.level(run) > place for run in self.runs)) for place, rung in enumerate(self.rungs)]

    def _promote(self, rung: int, most: int | None = None) -> None:
        """Measure the best third of those on the rung below."""
        reached = (run for run in self.runs if self.level(run) >= rung)
        below = sorted(reached, key=lambda run: -self.score(run, rung - 1))
        self._measure(below[: math.ceil(len(below) / KEPT)][:most], rung)

    def _measure(self, runs: Sequence[Run], rung: int) -> None:
        missing = [run for run in runs if self.level(run) <= rung]
        for run in missing:
            run.wanted = self.rungs[rung]
        if missing:
            self.measure(missing)
        for run in missing:  # a run that time was too short for keeps what it has reached
            if run.status == "not run" and self.level(run):
                run.status = "done"
