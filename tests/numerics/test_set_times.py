"""Steps to sets and which is met first, against elimination in rational numbers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cgnn_cli.errors import NumericalError
from cgnn_cli.numerics import krylov, set_times, threads
from cgnn_cli.numerics.pair_times import pair_times
from cgnn_cli.numerics.set_times import SetTimes
from cgnn_cli.numerics.transition import transition_matrix
from cgnn_cli.numerics.walk import Walk
from tests.graphs import FAMILIES, directed_cycle, drifting_chain, rational_absorption
from tests.numerics.test_elimination import rugged_walk
from tests.numerics.test_krylov import family_walk, jumping_walk, stationary

pytestmark = pytest.mark.filterwarnings("error")


def chosen_sets(size: int, seed: int = 0) -> list[np.ndarray]:
    order = np.random.default_rng(seed).permutation(size)
    return [order[:1], order[1:3], order[3 : 3 + size // 4]]


def assert_right(walk: Walk, sets: list[np.ndarray], *, rtol: float = 1e-8) -> SetTimes:
    """Equal to the exact answer, and as near to it as is promised."""
    found = set_times.set_times(walk, stationary(walk), sets)
    dense = walk.to_dense()
    rounding = 1e-13
    for column, members in enumerate(sets):
        expected = rational_absorption(dense, [members])[0]
        np.testing.assert_allclose(found.steps[:, column], expected, rtol=rtol)
        np.testing.assert_allclose(found.steps[:, column], expected, rtol=found.error[column] + rounding)
        assert (found.steps[members, column] == 0).all()
    if found.first is not None:
        expected = rational_absorption(dense, sets)[1]
        np.testing.assert_allclose(found.first, expected, rtol=0, atol=found.first_error + rounding)
        assert found.first_error <= rtol
    return found


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_of_graphs(family: str) -> None:
    assert_right(family_walk(family, 20), chosen_sets(20))


@pytest.mark.parametrize("gamma", [0.5, 0.9, 0.999999])
def test_walks_that_jump(gamma: float) -> None:
    assert_right(jumping_walk(20, gamma), chosen_sets(20))


def test_a_walk_of_nothing_but_uneven_jumps() -> None:
    jump = np.linspace(0.1, 1, 8)
    assert_right(Walk(family_walk("no edges", 8).sparse * 0, np.ones(8)), chosen_sets(8))
    stay = family_walk("no edges", 8).sparse.copy()
    stay.data *= np.repeat(1 - jump, np.diff(stay.indptr))
    assert_right(Walk(stay, jump), chosen_sets(8))


@settings(max_examples=30, deadline=None, database=None, derandomize=True)
@given(st.integers(5, 9), st.floats(0, 8), st.integers(0, 1000))
def test_probabilities_over_many_orders_of_magnitude(count: int, decades: float, seed: int) -> None:
    assert_right(rugged_walk(count, decades, seed), chosen_sets(count, seed))


@pytest.mark.parametrize("forward", [4.0, 30.0])
def test_a_set_that_is_nearly_never_met(forward: float) -> None:
    """Times of 1e9 and more: the walk comes to the set once in a blue moon, and its residual is small all the same."""
    walk = Walk(transition_matrix(drifting_chain(17, forward)))
    found = assert_right(walk, [np.array([0]), np.array([1, 16])], rtol=1e-6)
    assert found.steps[16, 0] > 1e9


def test_periodic_walks_and_one_step() -> None:
    found = assert_right(Walk(directed_cycle(9)), [np.array([4]), np.array([8])])
    np.testing.assert_allclose(found.steps[:, 0], (4 - np.arange(9)) % 9, rtol=1e-12)
    assert found.first is not None
    np.testing.assert_allclose(found.first[:, 0], [1] * 5 + [0] * 4, atol=1e-12)


def test_one_set_has_no_first_and_sets_of_all_states_need_no_solve(monkeypatch: pytest.MonkeyPatch) -> None:
    walk = family_walk("random", 12)
    assert set_times.set_times(walk, stationary(walk), [np.array([3])]).first is None
    halves = np.arange(12).reshape(2, 6)
    found = set_times.set_times(walk, stationary(walk), list(halves))
    assert found.first is not None
    np.testing.assert_array_equal(found.first, np.repeat(np.eye(2), 6, axis=0))
    assert (found.steps[:6, 1] > 0).all()


def test_a_single_node_has_the_hitting_times_of_the_pairs() -> None:
    walk = family_walk("hubs", 60)
    perron = stationary(walk)
    others = np.arange(1, 60)
    pairs = pair_times(walk, perron, others, np.zeros(59, dtype=np.int64))
    found = set_times.set_times(walk, perron, [np.array([0])])
    np.testing.assert_allclose(found.steps[others, 0], pairs.there, rtol=1e-8)


def test_processes_give_the_same_bits_and_tell_how_far_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    walk, told = family_walk("random", 30), []
    perron, sets = stationary(walk), chosen_sets(30)
    alone = set_times.set_times(walk, perron, sets, progress=lambda done, total: told.append((done, total)))
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]
    monkeypatch.setattr(threads, "WORTH_PROCESSES", 0)
    beside = set_times.set_times(walk, perron, sets, jobs=2)
    assert alone.first is not None and beside.first is not None
    np.testing.assert_array_equal(alone.steps, beside.steps)
    np.testing.assert_array_equal(alone.first, beside.first)


def failing_solves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Solves that find nothing."""
    nothing = lambda walk, rhs, **options: krylov.Solved(np.zeros_like(rhs), 1, 1.0)  # noqa: E731
    monkeypatch.setattr(set_times.krylov, "solve", nothing)


def test_where_solves_fail_states_are_eliminated(monkeypatch: pytest.MonkeyPatch) -> None:
    failing_solves(monkeypatch)
    found = assert_right(family_walk("sinks", 20), chosen_sets(20), rtol=1e-12)
    assert found.error.max() < 1e-12


def test_what_cannot_be_computed_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    failing_solves(monkeypatch)
    monkeypatch.setattr(set_times, "MOST_ELIMINATION", -1)
    walk = family_walk("sinks", 20)
    for sets in ([np.array([3])], chosen_sets(20)):
        with pytest.raises(NumericalError, match="cannot be computed: their error may be"):
            set_times.set_times(walk, stationary(walk), sets)


def test_a_doubtful_result_has_its_probabilities_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between doubtful and unusable, on a walk too large to eliminate."""
    monkeypatch.setattr(set_times, "MOST_ELIMINATION", -1)
    monkeypatch.setattr(set_times, "DOUBTFUL", 0.0)
    walk, sets = family_walk("random", 20), chosen_sets(20)
    found = set_times.set_times(walk, stationary(walk), sets)
    assert found.first is not None
    np.testing.assert_allclose(found.first, rational_absorption(walk.to_dense(), sets)[1], atol=1e-8)
