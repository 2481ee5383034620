"""The measured error of given times, and the number of steps that a tolerance asks for."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from cgnn_cli.numerics import pair_times as pairs
from cgnn_cli.numerics import verify as module
from cgnn_cli.numerics.pair_times import pair_times
from cgnn_cli.numerics.series import series_times
from cgnn_cli.numerics.verify import choose_steps, partial_sums, sample, series_terms, spearman, verify
from cgnn_cli.numerics.walk import Walk
from tests.graphs import all_pairs, directed_cycle
from tests.numerics.test_krylov import family_walk, jumping_walk, stationary

pytestmark = pytest.mark.filterwarnings("error")

SIZE = 30
SOURCE, TARGET = all_pairs(SIZE)
AMPLE = 1 << 30


@pytest.fixture(scope="module")
def walk() -> Walk:
    return family_walk("random", SIZE)


def test_exact_times_have_no_error(walk: Walk) -> None:
    exact = pair_times(walk, stationary(walk), SOURCE, TARGET)
    times = exact.there, exact.back, exact.times
    found = verify(walk, stationary(walk), SOURCE, TARGET, *times, count=20, seed=0)
    assert found["edges"] == 20
    assert found["p95_relative_error"] < 1e-8 and found["hitting"]["p95_relative_error"] < 1e-8
    assert found["spearman"] == pytest.approx(1) and found["hitting"]["spearman"] == pytest.approx(1)
    assert 0 < found["residual"] <= 1e-8


def test_known_errors_are_found_for_c_and_for_h(walk: Walk) -> None:
    """All c too large by 1 %; h too large by 10 % one way, too small by 30 % the other."""
    exact = pair_times(walk, stationary(walk), SOURCE, TARGET)
    wrong = 1.1 * exact.there, 0.7 * exact.back, 1.01 * exact.times
    found = verify(walk, stationary(walk), SOURCE, TARGET, *wrong, count=10_000, seed=0)
    assert found["edges"] == len(SOURCE)
    assert found["median_relative_error"] == pytest.approx(0.01)
    assert found["p95_relative_error"] == pytest.approx(0.01)
    assert found["spearman"] == pytest.approx(1)
    assert found["hitting"]["median_relative_error"] == pytest.approx(0.2)
    assert found["hitting"]["p95_relative_error"] == pytest.approx(0.3)
    assert 0.5 < found["hitting"]["spearman"] < 1
    assert all(type(value) is float for value in found["hitting"].values())


def test_pairs_without_a_value_and_pairs_of_one_state_are_skipped(walk: Walk) -> None:
    source, target = np.array([0, 1, 2]), np.array([1, 2, 2])
    exact = pair_times(walk, stationary(walk), source, target)
    times = exact.times.copy()
    times[0] = np.nan
    found = verify(
        walk,
        stationary(walk),
        np.array([0, 1, 2]),
        np.array([1, 2, 2]),
        exact.there,
        exact.back,
        times,
        count=9,
        seed=0,
    )
    assert found["edges"] == 1
    assert found["median_relative_error"] < 1e-8
    assert found["spearman"] is None


def test_nothing_to_verify(walk: Walk) -> None:
    none, empty = np.zeros(0, np.int64), np.zeros(0)
    found = verify(walk, stationary(walk), none, none, empty, empty, empty, count=5, seed=0)
    assert found["edges"] == 0
    assert found["median_relative_error"] is None and found["hitting"]["spearman"] is None


def test_constant_times_have_no_correlation() -> None:
    cycle = Walk(directed_cycle(8))
    source, target = all_pairs(8)
    exact = pair_times(cycle, np.full(8, 1 / 8), source, target)
    eight = np.full(len(source), 8.0)
    found = verify(cycle, np.full(8, 1 / 8), source, target, exact.there, exact.back, eight, count=99, seed=0)
    assert found["spearman"] is None
    assert found["hitting"]["spearman"] == pytest.approx(1)


def test_samples_are_seeded_and_without_repeats() -> None:
    candidates = np.arange(100, 200)
    first, again, other = (sample(candidates, 30, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert len(np.unique(first)) == 30 and np.isin(first, candidates).all()
    assert not np.array_equal(first, other)
    np.testing.assert_array_equal(sample(candidates, 500, 0), candidates)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=30))
@settings(max_examples=50, deadline=None)
def test_spearman_is_scipys(points: list[tuple[int, int]]) -> None:
    a, b = np.array(points, dtype=float).T
    found = spearman(a, b)
    if len(set(a)) == 1 or len(set(b)) == 1:
        assert found is None
    else:
        assert found == pytest.approx(spearmanr(a, b).statistic, abs=1e-12)


@pytest.mark.parametrize("which", ["random", "jump"])
def test_terms_are_those_of_dense_powers(which: str) -> None:
    walk = jumping_walk(SIZE) if which == "jump" else family_walk("hubs", SIZE)
    perron = stationary(walk)
    there, back = series_terms(walk, perron, SOURCE, TARGET, 6)
    power = np.eye(SIZE)
    for step in range(7):
        expected = (np.diag(power)[None, :] - power) / perron
        np.testing.assert_allclose(there[step], expected[SOURCE, TARGET], rtol=1e-9, atol=1e-11 / perron.min())
        np.testing.assert_allclose(back[step], expected[TARGET, SOURCE], rtol=1e-9, atol=1e-11 / perron.min())
        power = power @ walk.to_dense()


@pytest.mark.parametrize("tail", [False, True])
@pytest.mark.parametrize("steps", range(7))
def test_partial_sums_are_what_the_series_gives(walk: Walk, steps: int, tail: bool) -> None:
    perron = stationary(walk)
    series = series_times(walk, perron, SOURCE, TARGET, steps, tail=tail, memory=AMPLE)
    there, back = partial_sums(*series_terms(walk, perron, SOURCE, TARGET, 8), steps, tail=tail)
    np.testing.assert_allclose(there, series.there, rtol=1e-9)
    np.testing.assert_allclose(back, series.back, rtol=1e-9)


@pytest.mark.parametrize("tail", [False, True])
@pytest.mark.parametrize("tolerance", [0.1, 0.01, 0.001])
def test_the_chosen_steps_are_the_fewest_that_meet_the_tolerance(walk: Walk, tolerance: float, tail: bool) -> None:
    perron = stationary(walk)
    exact = pair_times(walk, perron, SOURCE, TARGET).times
    choice = choose_steps(walk, perron, SOURCE, TARGET, tolerance, seed=0, count=len(SOURCE), tail=tail)
    errors = []
    for steps in range(51):
        times = series_times(walk, perron, SOURCE, TARGET, steps, tail=tail, memory=AMPLE).times
        errors.append(np.median(np.abs(times - exact) / exact))
        if errors[-1] <= tolerance:
            break
    assert choice.steps == len(errors) - 1
    assert choice.error == pytest.approx(errors[-1], rel=1e-5)
    np.testing.assert_allclose(choice.errors[: len(errors)], errors, rtol=1e-5)


def test_a_sample_asks_for_more_than_its_median(walk: Walk) -> None:
    perron = stationary(walk)
    choice = choose_steps(walk, perron, SOURCE, TARGET, 0.01, seed=0, count=64)
    chosen = sample(np.arange(len(SOURCE)), 64, 0)
    exact = pair_times(walk, perron, SOURCE[chosen], TARGET[chosen]).times
    terms = series_terms(walk, perron, SOURCE[chosen], TARGET[chosen], 8)
    for steps in range(8):
        errors = np.abs(sum(partial_sums(*terms, steps, tail=True)) - exact) / exact
        assert choice.errors[steps] == pytest.approx(np.quantile(errors, 0.6), rel=1e-5)


def test_a_slow_walk_is_told_from_a_fast_one() -> None:
    slow = family_walk("chain", SIZE)
    fast = family_walk("hubs", SIZE)
    choices = [choose_steps(walk, stationary(walk), SOURCE, TARGET, 0.01, seed=0) for walk in (slow, fast)]
    assert choices[0].steps is None
    assert 0.01 < choices[0].error == choices[0].errors.min()
    assert len(choices[0].errors) == 51
    assert choices[1].steps is not None and choices[1].steps <= module.FIRST_STEPS
    assert choices[1].error <= 0.01


def test_no_pairs_need_no_steps(walk: Walk) -> None:
    none = np.zeros(0, np.int64)
    assert choose_steps(walk, stationary(walk), none, none, 0.01, seed=0).steps == 0


def test_verification_uses_no_dense_matrix(walk: Walk, monkeypatch: pytest.MonkeyPatch) -> None:
    exact = pair_times(walk, stationary(walk), SOURCE, TARGET)
    monkeypatch.setattr(pairs, "fundamental_matrix", lambda *_: pytest.fail("dense"))
    found = verify(
        walk, stationary(walk), SOURCE, TARGET, exact.there, exact.back, exact.times, count=len(SOURCE), seed=0
    )
    assert found["p95_relative_error"] < 1e-8 and found["residual"] < 1e-6


def test_ranks_ignore_the_last_digits() -> None:
    times = np.array([8.0, 8.0, 3.0, 1e12, 1e12])
    assert spearman(times, times * (1 + 1e-12 * np.array([1, -1, 1, 1, -1]))) == pytest.approx(1, abs=1e-12)
    assert spearman(times, np.full(5, 8.0) + 1e-13 * np.arange(5)) is None
