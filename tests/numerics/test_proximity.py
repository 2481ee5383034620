"""Proximity weights against the plain formulas in long double, and the refusals."""

import numpy as np
import pytest

from cgnn_cli.errors import NumericalError
from cgnn_cli.numerics.proximity import (
    closeness_weights,
    effective_neighbours,
    exponential_weights,
    inverse_weights,
    row_minimum,
    row_scale,
)

pytestmark = pytest.mark.filterwarnings("error")

ROWS = np.array([0, 0, 0, 2, 2, 3])
ROW_COUNT = 5


def row_maximum(values: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return np.array([values[rows == row].max() for row in rows])


def spread_times(largest: float, count: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Commute times from 1 to `largest`, evenly in the logarithm, in random rows."""
    rng = np.random.default_rng(0)
    return np.exp(rng.uniform(0, np.log(largest), count)), rng.integers(0, 30, count)


@pytest.mark.parametrize("scale", [1.0, 0.3, 50.0])
def test_exp_is_the_normalised_exponential(scale: float) -> None:
    """Long doubles hold exp(-c) itself down to c = 11,000."""
    times, rows = spread_times(3e3)
    raw = np.exp(-times.astype(np.longdouble) / scale)
    expected = raw / row_maximum(raw, rows)
    np.testing.assert_allclose(exponential_weights(times, rows, 30, scale), expected, rtol=1e-11, atol=1e-300)


@pytest.mark.parametrize("scale", [1.0, 0.5, 3.0])
@pytest.mark.parametrize("largest", [1e2, 1e11])
def test_inverse_is_the_normalised_power(scale: float, largest: float) -> None:
    times, rows = spread_times(largest)
    raw = (1 / times.astype(np.longdouble)) ** (1 / np.longdouble(scale))
    expected = raw / row_maximum(raw, rows)
    np.testing.assert_allclose(inverse_weights(times, rows, 30, scale), expected, rtol=1e-12)


def test_exp_tells_neighbours_apart_at_1e11() -> None:
    """exp(-1e11) is 0 even in long double, and 0/0 is what a plain normalisation gives."""
    times = 1e11 + np.array([0.0, 0.5, 3.0, 700.0, 1e4])
    weights = exponential_weights(times, np.zeros(5, dtype=int), 1, 1.0)
    np.testing.assert_allclose(weights, np.exp(-np.array([0.0, 0.5, 3.0, 700.0, 1e4])), rtol=1e-12)


@pytest.mark.parametrize("largest", [1e2, 1e6, 1e11])
@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e6, "row-mean", "median"])
def test_weights_stay_between_zero_and_one_with_a_best_neighbour(largest: float, scale: float | str) -> None:
    times, rows = spread_times(largest)
    found = [exponential_weights(times, rows, 30, scale)]
    if isinstance(scale, float):
        found.append(inverse_weights(times, rows, 30, scale))
    for weights in found:
        assert np.isfinite(weights).all()
        assert weights.min() >= 0
        np.testing.assert_array_equal(row_maximum(weights, rows), 1)
        np.testing.assert_array_equal(weights[times == row_minimum(times, rows, 30)[rows]], 1)


def test_nearer_neighbours_weigh_more() -> None:
    times, rows = np.array([3.0, 1.0, 2.0]), np.zeros(3, dtype=int)
    for weights in (exponential_weights(times, rows, 1, 1.0), inverse_weights(times, rows, 1, 1.0)):
        assert weights[1] > weights[2] > weights[0]


def test_exp_takes_negative_scores() -> None:
    """Truncation scores of the random-walk form may be negative; only differences count."""
    weights = exponential_weights(np.array([-2.0, 0.0, 1.0]), np.zeros(3, dtype=int), 1, 1.0)
    np.testing.assert_allclose(weights, np.exp([0.0, -2.0, -3.0]))


def test_row_mean_and_median_scales() -> None:
    times = np.array([1.0, 2.0, 6.0, 10.0, 30.0, 7.0])
    np.testing.assert_allclose(np.asarray(row_scale(times, ROWS, ROW_COUNT, "row-mean"))[ROWS], [3, 3, 3, 20, 20, 7])
    assert row_scale(times, ROWS, ROW_COUNT, "median") == 6.5
    assert row_scale(times, ROWS, ROW_COUNT, 4.0) == 4.0
    expected = np.exp(-np.array([0, 1 / 3, 5 / 3, 0, 1, 0]))
    np.testing.assert_allclose(exponential_weights(times, ROWS, ROW_COUNT, "row-mean"), expected, rtol=1e-14)
    expected = np.exp(-np.array([0, 1, 5, 0, 20, 0]) / 6.5)
    np.testing.assert_allclose(exponential_weights(times, ROWS, ROW_COUNT, "median"), expected, rtol=1e-14)


@pytest.mark.parametrize("factor", [1e-8, 1e9])
@pytest.mark.parametrize("scale", ["row-mean", "median"])
def test_data_dependent_scales_do_not_depend_on_the_unit(scale: str, factor: float) -> None:
    times, rows = spread_times(100.0)
    expected = exponential_weights(times, rows, 30, scale)
    np.testing.assert_allclose(exponential_weights(times * factor, rows, 30, scale), expected, rtol=1e-12)


@pytest.mark.parametrize("scale", ["row-mean", "median"])
def test_a_zero_scale_is_refused(scale: str) -> None:
    with pytest.raises(NumericalError, match=f"--scale {scale}"):
        exponential_weights(np.zeros(3), np.array([0, 0, 1]), 2, scale)


def test_inverse_exponent_is_one_over_scale() -> None:
    times, rows = np.array([2.0, 8.0]), np.zeros(2, dtype=int)
    np.testing.assert_allclose(inverse_weights(times, rows, 1, 1.0), [1, 0.25])
    np.testing.assert_allclose(inverse_weights(times, rows, 1, 2.0), [1, 0.5])
    np.testing.assert_allclose(inverse_weights(times, rows, 1, 0.5), [1, 0.0625])


@pytest.mark.parametrize("bad", [0.0, -3.0])
def test_inverse_refuses_times_that_are_not_positive(bad: float) -> None:
    with pytest.raises(NumericalError, match="2 edges") as caught:
        inverse_weights(np.array([1.0, bad, 2.0, bad]), np.zeros(4, dtype=int), 1, 1.0)
    assert "--solver exact" in caught.value.hint


def test_no_edges_no_weights() -> None:
    nothing, rows = np.array([]), np.array([], dtype=int)
    assert len(exponential_weights(nothing, rows, 3, "median")) == len(inverse_weights(nothing, rows, 3, 1.0)) == 0
    np.testing.assert_array_equal(effective_neighbours(nothing, rows, 3), 0)


def test_row_minimum_of_an_empty_row_is_infinite() -> None:
    times = np.array([3.0, 1.0, 2.0, 5.0, 4.0, -7.0])
    np.testing.assert_array_equal(row_minimum(times, ROWS, ROW_COUNT), [1, np.inf, 4, -7, np.inf])


@pytest.mark.parametrize("weight", [1.0, 0.25])
def test_effective_neighbours_of_equal_weights_is_the_degree(weight: float) -> None:
    np.testing.assert_allclose(effective_neighbours(np.full(6, weight), ROWS, ROW_COUNT), [3, 0, 2, 1, 0], rtol=1e-14)


@pytest.mark.parametrize("others", [0.0, 1e-320])
def test_effective_neighbours_of_one_heard_neighbour_is_one(others: float) -> None:
    weights = np.array([1.0, others, others, others, 1.0, 1.0])
    np.testing.assert_allclose(effective_neighbours(weights, ROWS, ROW_COUNT), [1, 0, 1, 1, 0], rtol=1e-14)


def test_a_denormal_weight_does_not_make_a_row_undefined() -> None:
    weights = np.array([1.0, 1.0, 1.0, 5e-324])
    np.testing.assert_allclose(effective_neighbours(weights, np.zeros(4, dtype=int), 1), [3])


def test_effective_neighbours_is_the_exponential_of_the_entropy() -> None:
    shares = np.array([0.5, 0.4985, 1e-3, 5e-4])
    expected = np.exp(-(shares * np.log(shares)).sum())
    found = effective_neighbours(shares / shares.max(), np.zeros(4, dtype=int), 1)
    np.testing.assert_allclose(found, [expected], rtol=1e-14)


def test_closeness_has_a_floor_and_the_best_of_each_row_has_1() -> None:
    closeness, rows = np.array([4.0, -3.0, 1.0, 2.0, 0.0, -1.0]), np.array([0, 0, 1, 1, 1, 2])
    floor = 0.05 * 2
    expected = [1, floor / (4 + floor), (1 + floor) / (2 + floor), 1, floor / (2 + floor), 1]
    np.testing.assert_allclose(closeness_weights(closeness, rows, 4), expected, rtol=1e-15)


def test_where_nobody_is_close_all_weigh_the_same() -> None:
    np.testing.assert_array_equal(closeness_weights(np.array([-1.0, 0.0, -5.0]), np.array([0, 0, 1]), 2), 1)
    assert len(closeness_weights(np.zeros(0), np.zeros(0, int), 3)) == 0
