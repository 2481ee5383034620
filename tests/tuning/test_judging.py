"""What a training is judged by."""

import pytest

from cgnn_cli.tuning.judging import settled


@pytest.mark.parametrize(
    ("accuracies", "best_epoch", "expected"),
    [
        ([0.5, 0.9, *[0.6] * 20], 1, 0.6),  # a lucky epoch does not count
        ([0.2] * 20 + [0.9] + [0.8] * 12, 20, 0.8),
        ([0.1] * 20 + [0.6, 0.8], 21, (8 * 0.1 + 0.6 + 0.8) / 10),  # still rising at its end: the last ten
        ([0.3, 0.6, 0.9], 2, 0.6),
        ([0.7], 0, 0.7),
    ],
)
def test_a_training_is_judged_by_what_comes_after_its_best_epoch(
    accuracies: list[float], best_epoch: int, expected: float
) -> None:
    assert settled(accuracies, best_epoch) == pytest.approx(expected)
