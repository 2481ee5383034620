"""Successive halving with a made-up objective: what is measured, what goes on, and what does not decide."""

from collections.abc import Callable, Sequence

import pytest

from cgnn_cli.execution.results import Run
from cgnn_cli.tuning.halving import FINALISTS, Halving, rungs_of
from tests.runs import fit_headers

Objective = Callable[[int, int], float]


class Made:
    """Measures runs by a function of their number and the split, and keeps what it was asked for."""

    def __init__(self, objective: Objective, most: int | None = None) -> None:
        self.objective, self.left, self.asked = objective, most, list[tuple[str, int]]()

    def __call__(self, runs: Sequence[Run]) -> None:
        for run in runs:
            run.status = "not run"
            if self.left is not None and not self.left:
                continue
            self.left = None if self.left is None else self.left - 1
            missing = [split for split in run.wanted if split not in run.fits]
            self.asked += [(run.name, split) for split in missing]
            run.headers |= fit_headers([self.objective(int(run.name), split) for split in missing], missing)
            run.status = "done"


def made_runs(count: int, first: int = 0) -> list[Run]:
    return [Run(str(first + number), "demo") for number in range(count)]


@pytest.mark.parametrize(
    ("splits", "expected"),
    [
        ([0], [(0,)]),
        ([4, 2], [(2,), (2, 4)]),
        ([0, 1, 2], [(0,), (0, 1, 2)]),
        (range(10), [(0,), (0, 1, 2), tuple(range(10))]),
    ],
)
def test_rungs_are_one_split_three_and_all(splits: Sequence[int], expected: list[tuple[int, ...]]) -> None:
    assert rungs_of(splits) == expected


def test_the_best_third_goes_on_and_nothing_is_measured_twice() -> None:
    measure = Made(lambda number, split: number / 100)
    halving = Halving(range(10), measure)
    halving.explore(made_runs(9))
    assert halving.counts() == [(1, 9), (3, 3), (10, 0)]
    halving.explore(made_runs(9, 9))
    assert halving.counts() == [(1, 18), (3, 9), (10, 0)]  # six of all eighteen, and those that went on before
    halving.finish()
    assert len(set(measure.asked)) == len(measure.asked)
    assert [run.name for run in halving.ranked()][:4] == ["17", "16", "15", "14"]
    assert halving.counts()[-1] == (10, 3)


def test_few_finalists_of_many() -> None:
    halving = Halving(range(10), Made(lambda number, split: number / 1000))
    halving.explore(made_runs(90))
    halving.finish()
    assert halving.counts() == [(1, 90), (3, 30), (10, FINALISTS)]


def test_a_lucky_first_split_is_found_out_on_more_splits() -> None:
    """Run 0 is best on the first split alone; of those on all splits the best mean is chosen."""
    halving = Halving(range(10), Made(lambda number, split: 0.2 if number == 0 and split == 0 else number / 100))
    halving.explore(made_runs(12))
    halving.finish()
    assert halving.ranked()[0].name == "11"
    assert halving.level(halving.runs[0]) == 2  # it went on to three splits, and no further


def test_of_equals_the_first_is_chosen_whatever_order_they_ended_in() -> None:
    halving = Halving(range(4), Made(lambda number, split: 0.5))
    halving.explore(made_runs(6))
    halving.finish()
    assert [run.name for run in halving.ranked()] == [str(number) for number in range(6)]


def test_what_fails_counts_for_nothing_and_the_rest_goes_on() -> None:
    made = Made(lambda number, split: number / 100)

    def measure(runs: Sequence[Run]) -> None:
        made(runs)
        for run in runs:
            if run.name == "8" and len(run.wanted) > 1:
                run.fail(MemoryError("too large"))

    halving = Halving(range(10), measure)
    halving.explore(made_runs(9))
    halving.finish()
    ranked = halving.ranked()
    assert ranked[0].name == "7" and ranked[-1].name == "8" and ranked[-1].status == "failed"


def test_a_time_that_ends_leaves_what_was_reached() -> None:
    halving = Halving(range(10), Made(lambda number, split: number / 100, most=10))
    halving.explore(made_runs(9))
    halving.finish()
    assert halving.counts() == [(1, 9), (3, 1), (10, 0)]
    assert halving.ranked()[0].name == "8"
    assert all(run.status == "done" for run in halving.runs)
    cut = Halving(range(10), Made(lambda number, split: 0.5, most=0))
    cut.explore(made_runs(2))
    assert cut.counts()[0] == (1, 0) and all(run.status == "not run" for run in cut.ranked())


def test_one_split_has_one_rung() -> None:
    halving = Halving([3], Made(lambda number, split: number / 100))
    halving.explore(made_runs(4))
    halving.finish()
    assert halving.ranked()[0].name == "3" and halving.counts() == [(1, 4)]
