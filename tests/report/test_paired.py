"""The paired comparison by hand, against scipy, against a count of all sign patterns, and on splits that overlap."""

import itertools

import numpy as np
import pytest
from scipy.stats import ttest_rel

from cgnn_cli.report.paired import holm, paired_difference


def test_mean_and_standard_error_by_hand() -> None:
    gap = paired_difference([0.5, 0.7, 0.9], [0.4, 0.7, 0.6])
    assert gap.mean == pytest.approx(0.4 / 3)
    assert gap.error == pytest.approx(np.array([0.1, 0.0, 0.3]).std(ddof=1) / np.sqrt(3))


def test_a_single_split_has_a_difference_and_nothing_else() -> None:
    gap = paired_difference([0.5], [0.25])
    assert (gap.mean, gap.error, gap.t_test, gap.sign_flips) == (0.25, None, None, None)


@pytest.mark.parametrize("runs", [2, 5, 10, 30])
def test_splits_without_an_overlap_have_the_t_test_of_scipy(runs: int) -> None:
    a, b = np.random.default_rng(runs).random((2, runs))
    assert paired_difference(a.tolist(), b.tolist(), 0).t_test == pytest.approx(ttest_rel(a, b).pvalue, rel=1e-9)


def test_the_corrected_variance_by_hand() -> None:
    """Gaps 1, 2 and 3 have mean 2 and variance 1; 20 % test and 48 % train: t = 2 / sqrt(1/3 + 0.2/0.48) = 4 / sqrt(3).

    With two degrees of freedom p = 1 - t / sqrt(2 + t^2), which is 1 - 4 / sqrt(22).
    """
    gap = paired_difference([1.0, 2.0, 3.0], [0.0] * 3, 0.2 / 0.48)
    assert gap.t_test == pytest.approx(1 - 4 / np.sqrt(22), rel=1e-9)
    assert gap.error == pytest.approx(np.sqrt(1 / 3)), "the error that is shown is the plain one"


def test_without_the_sizes_of_the_splits_there_is_no_t_test() -> None:
    assert paired_difference([0.5, 0.7], [0.4, 0.3]).t_test is None


def test_splits_that_overlap_seldom_find_a_difference_that_is_not_there() -> None:
    """Two classifiers that are equally good on all nodes there are, compared on ten splits 48/32/20 of a sample."""
    random = np.random.default_rng(0)
    samples, plain, corrected = 600, 0, 0
    for _ in range(samples):
        nodes = random.normal(size=200)  # how much better the first is on each node
        gaps = [random.choice(nodes, 40, replace=False).mean() for _ in range(10)]
        plain += (paired_difference(gaps, [0.0] * 10, 0).t_test or 0) < 0.05
        corrected += (paired_difference(gaps, [0.0] * 10, 0.2 / 0.48).t_test or 0) < 0.05
    assert corrected / samples <= 0.05 and plain / samples > 0.15


@pytest.mark.parametrize("runs", [2, 3, 7, 12])
def test_sign_flips_count_all_patterns(runs: int) -> None:
    gaps = np.random.default_rng(runs).normal(0.2, 1, runs)
    patterns = itertools.product((1, -1), repeat=runs)
    expected = np.mean([abs(np.dot(signs, gaps)) >= abs(gaps.sum()) - 1e-12 for signs in patterns])
    assert paired_difference(gaps.tolist(), [0.0] * runs).sign_flips == pytest.approx(expected)


def test_differences_of_one_sign_reach_the_least_p_value() -> None:
    assert paired_difference([0.3, 0.2, 0.4, 0.1], [0.0] * 4).sign_flips == 2 / 16


def test_more_than_twelve_splits_are_not_flipped() -> None:
    assert paired_difference([0.1] * 13, [0.0] * 13).sign_flips is None


def test_differences_that_do_not_vary_have_no_t_test() -> None:
    assert paired_difference([0.5, 0.5], [0.25, 0.25], 0).t_test is None
    assert paired_difference([0.5, 0.5], [0.5, 0.5]).sign_flips == 1


def test_rounding_is_no_variation() -> None:
    gap = paired_difference([0.3, 0.4, 0.9], [0.2, 0.3, 0.8], 0)
    assert len(set(gap.gaps)) > 1 and gap.t_test is None
    assert paired_difference([0.3, 0.4, 0.9], [0.2, 0.3, 0.8001], 0).t_test is not None


def test_runs_of_different_length_are_not_compared() -> None:
    with pytest.raises(ValueError, match="shorter"):
        paired_difference([0.5, 0.6], [0.5])


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]


def test_holm_does_not_count_what_has_no_p_value() -> None:
    assert holm([0.02, None, 0.5]) == [0.04, None, 0.5]
    assert holm([]) == []


def test_holm_over_the_family_that_some_were_picked_from() -> None:
    assert holm([0.01, 0.02], family=6) == pytest.approx([0.06, 0.10])
    assert holm([0.01, None], family=6) == pytest.approx([0.05, None])
    assert holm([0.01, 0.02], family=2) == holm([0.01, 0.02])


def test_picking_the_best_of_many_equal_runs_seldom_finds_a_difference() -> None:
    """Twelve runs that are alike: 5 % of such tables may claim a difference; corrected over the 11 shown, more do."""
    random = np.random.default_rng(0)
    tables, wrong, naive = 400, 0, 0
    for _ in range(tables):
        runs = random.normal(size=(12, 10))
        best, *others = runs[np.argsort(-runs.mean(axis=1))].tolist()
        p_values = [paired_difference(best, run, 0).t_test for run in others]
        wrong += min(p or 0 for p in holm(p_values, family=66)) < 0.05
        naive += min(p or 0 for p in holm(p_values)) < 0.05
    assert wrong / tables <= 0.05 and naive / tables > 0.1
