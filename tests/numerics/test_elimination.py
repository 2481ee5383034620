"""Hitting times by elimination: right to the last digits where every other method loses them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cgnn_cli.numerics.elimination import eliminated_absorption, eliminated_times, elimination_work
from cgnn_cli.numerics.transition import transition_matrix
from cgnn_cli.numerics.walk import Walk
from tests.graphs import absorbing_hitting, directed_cycle, rational_absorption, sparse
from tests.numerics.test_krylov import jumping_walk

pytestmark = pytest.mark.filterwarnings("error")


def rugged_walk(count: int, decades: float, seed: int) -> Walk:
    """A walk on a strongly connected graph whose weights span so many orders of magnitude either way."""
    rng = np.random.default_rng(seed)
    present = (rng.random((count, count)) < 3 / count) | (np.roll(np.eye(count), 1, axis=1) > 0)
    return Walk(transition_matrix(sparse(present * 10 ** rng.uniform(-decades, decades, (count, count)))))


@settings(max_examples=40, deadline=None, database=None, derandomize=True)
@given(st.integers(2, 14), st.floats(0, 12), st.integers(0, 1000))
def test_all_times_keep_their_digits(count: int, decades: float, seed: int) -> None:
    walk = rugged_walk(count, decades, seed)
    expected = absorbing_hitting(walk.sparse)
    states = np.arange(count)
    np.testing.assert_allclose(eliminated_times(walk, states, states), expected, rtol=1e-12)
    some = np.random.default_rng(seed).permutation(count)[: max(2, count // 2)]
    goals = np.arange(1, len(some))
    found = eliminated_times(walk, some, goals)
    np.testing.assert_allclose(found, expected[np.ix_(some, some[goals])], rtol=1e-12)


def test_walks_that_jump_or_alternate() -> None:
    states = np.arange(20)
    jumping = jumping_walk(20)
    expected = absorbing_hitting(sparse(jumping.to_dense()))
    np.testing.assert_allclose(eliminated_times(jumping, states, states), expected, rtol=1e-12)
    cycle = eliminated_times(Walk(directed_cycle(20)), states, states)
    np.testing.assert_allclose(cycle, (states[None] - states[:, None]) % 20, rtol=1e-13)


@settings(max_examples=20, deadline=None, database=None, derandomize=True)
@given(st.integers(4, 9), st.floats(0, 12), st.integers(0, 1000))
def test_steps_to_sets_and_which_is_met_first_keep_their_digits(count: int, decades: float, seed: int) -> None:
    dense = rugged_walk(count, decades, seed).to_dense()
    sets = [np.array([1, 3]), np.array([0])]
    others = np.setdiff1d(np.arange(count), [0, 1, 3])
    exits = np.stack([dense[np.ix_(others, members)].sum(axis=1) for members in sets], axis=1)
    times, chances = eliminated_absorption(dense[np.ix_(others, others)], exits)
    expected = rational_absorption(dense, sets)
    np.testing.assert_allclose(times, expected[0][others], rtol=1e-12)
    np.testing.assert_allclose(chances, expected[1][others], rtol=1e-12)


def test_the_work_grows_with_the_goals() -> None:
    assert elimination_work(300, 16, 16) < elimination_work(300, 300, 300) / 100
