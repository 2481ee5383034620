"""Temperature, reliability and thresholds, against direct search."""

import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from cgnn_cli.numerics.calibration import (
    BINS,
    TEMPERATURES,
    calibration_error,
    choose_threshold,
    decided,
    fit_temperature,
    is_at_a_bound,
    probabilities_of,
    reliability,
)


def labelled(seed: int, factor: float) -> tuple[np.ndarray, np.ndarray]:
    """Labels drawn from softmax(logits), and the logits times a factor, which a temperature should find again."""
    rng = np.random.default_rng(seed)
    logits = 1.5 * rng.standard_normal((4000, 3))
    drawn = np.array([rng.choice(3, p=row) for row in softmax(logits, axis=1)])
    return drawn, factor * logits


@pytest.mark.parametrize("factor", [0.25, 1.0, 6.0])
def test_a_temperature_finds_what_logits_were_multiplied_with(factor: float) -> None:
    labels, logits = labelled(0, factor)
    found = fit_temperature(logits, labels)
    assert found == pytest.approx(factor, rel=0.1)
    grid = np.geomspace(*TEMPERATURES, 2001)
    losses = [-log_softmax(logits / t, axis=1)[np.arange(len(labels)), labels].mean() for t in grid]
    assert found == pytest.approx(grid[np.argmin(losses)], rel=0.005)
    assert not is_at_a_bound(found)
    before, after = (calibration_error(reliability(probabilities_of(logits, t), labels)) for t in (1.0, found))
    assert after < 0.03 and (factor == 1.0 or after < before / 2)
    np.testing.assert_allclose(probabilities_of(logits, 2.0), softmax(logits / 2, axis=1))


def test_a_search_that_has_no_end_stops_at_its_bound() -> None:
    labels = np.array([0, 1] * 20)
    assert is_at_a_bound(fit_temperature(np.eye(2)[labels], labels))  # all right: the surer the better
    assert is_at_a_bound(fit_temperature(np.eye(2)[1 - labels], labels))


def test_reliability_counts_by_the_probability_of_the_likeliest_class() -> None:
    probabilities = np.array([[0.55, 0.45], [0.58, 0.42], [0.0, 1.0], [0.0, 1.0]])
    bins = reliability(probabilities, np.array([0, 1, 1, 0]))
    filled = np.flatnonzero(bins[:, 0])
    assert filled.tolist() == [8, BINS - 1]
    np.testing.assert_allclose(bins[filled], np.array([[2, 1.13, 1], [2, 2, 1]]))
    assert calibration_error(bins) == pytest.approx((0.13 + 1) / 4)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("target", [0.2, 0.5, 0.9, 1.0])
def test_thresholds_against_trying_all_of_them(seed: int, target: float) -> None:
    rng = np.random.default_rng(seed)
    positive = rng.random(60) < 0.3
    scores = np.round(rng.random(60) + 0.5 * positive, 1)  # many ties
    tried = {}
    for value in np.unique(scores):
        taken = scores >= value
        tried[float(value)] = (float(positive[taken].mean()), float(positive[taken].sum() / positive.sum()))
    by_recall = choose_threshold(positive, scores, None, target)
    assert by_recall.recall >= target
    assert by_recall.precision == max(p for p, r in tried.values() if r >= target)
    by_precision = choose_threshold(positive, scores, target, None)
    best = max(p for p, _ in tried.values())
    assert by_precision.recall == max(r for p, r in tried.values() if p >= min(target, best))
    for found in (by_recall, by_precision):
        assert tried[found.value] == (found.precision, found.recall)


def test_a_class_is_given_from_its_threshold_on() -> None:
    probabilities = np.array([[0.7, 0.3, 0.0], [0.7, 0.1, 0.2], [0.2, 0.6, 0.2], [0.1, 0.25, 0.65]])
    assert decided(probabilities).tolist() == [0, 0, 1, 2]
    assert decided(probabilities, 1, 0.3).tolist() == [1, 0, 1, 2]
    assert decided(probabilities, 1, 0.7).tolist() == [0, 0, 0, 2]  # else the likeliest other
