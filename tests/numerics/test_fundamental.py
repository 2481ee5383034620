"""The diagonal of the fundamental matrix, Kemeny's constant, and times from sets, against elimination."""

import numpy as np
import pytest

from cgnn_cli.numerics import fundamental as module
from cgnn_cli.numerics import threads
from cgnn_cli.numerics.fundamental import fundamental, times_from
from cgnn_cli.numerics.transition import transition_matrix
from cgnn_cli.numerics.walk import Walk
from cgnn_cli.watch import Watch
from tests.graphs import FAMILIES, absorbing_hitting, directed_cycle, drifting_chain, sparse
from tests.numerics.test_krylov import family_walk, jumping_walk, stationary

pytestmark = pytest.mark.filterwarnings("error")
NAMES = (*FAMILIES, "jumps")


def walk_of(name: str, count: int) -> Walk:
    return jumping_walk(count) if name == "jumps" else family_walk(name, count)


def hitting_of(walk: Walk) -> np.ndarray:
    return absorbing_hitting(sparse(walk.to_dense()))


@pytest.mark.parametrize("name", NAMES)
def test_small_walks_are_exact(name: str) -> None:
    walk = walk_of(name, 25)
    perron, hitting = stationary(walk), hitting_of(walk)
    found = fundamental(walk, perron)
    expected = hitting @ perron
    np.testing.assert_allclose(expected, expected[0], rtol=1e-10)  # Kemeny: from every start
    assert found.probes == 0
    np.testing.assert_allclose(found.kemeny, expected[0], rtol=1e-10, atol=10 * found.trace_error)
    starts = [np.array([3]), np.array([2, 5, 11])]
    times = times_from(walk, perron, starts, found)
    for column, members in enumerate(starts):
        right = hitting[members].mean(axis=0)
        assert (np.abs(times.steps[:, column] - right) <= 10 * times.error[:, column] + 1e-12 * right).all()
        assert (times.error[:, column] <= 1e-6 * right).all()


@pytest.mark.parametrize("name", NAMES)
def test_probes_are_as_wrong_as_they_say(name: str) -> None:
    walk = walk_of(name, 120)
    perron = stationary(walk)
    exact, found = fundamental(walk, perron), fundamental(walk, perron, 100, seed=3)
    assert found.probes == 100 and found.matrix is None
    off = (found.diagonal - exact.diagonal) / found.error
    assert (np.abs(off[np.argsort(-perron, kind="stable")[: module.HUBS]]) < 1).all()
    assert np.sqrt(np.square(off).mean()) < 1.5 and np.abs(off).max() < 6
    assert abs(found.kemeny - exact.kemeny) < 5 * found.trace_error
    assert found.trace_error < 0.01 * exact.kemeny
    start = [np.array([7]), np.array([1, 2])]
    estimated, right = times_from(walk, perron, start, found), times_from(walk, perron, start, exact)
    np.testing.assert_allclose(
        estimated.error, np.repeat((found.error / perron)[:, None], 2, axis=1) * (np.arange(120)[:, None] != [7, -1])
    )
    assert (np.abs(estimated.steps - right.steps) <= 6 * estimated.error + 1e-6 * right.steps).all()


def test_hubs_and_the_row_space_take_most_of_the_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    walk = family_walk("chain", 150)
    perron = stationary(walk)
    error = fundamental(walk, perron, 64).trace_error
    monkeypatch.setattr(module, "RANK", 0)
    monkeypatch.setattr(module, "HUBS", 0)
    assert fundamental(walk, perron, 64).trace_error > 10 * error


def test_more_probes_than_states_and_few_of_either() -> None:
    for count in (2, 3, 40):
        walk = family_walk("random", count)
        perron = stationary(walk)
        found, exact = fundamental(walk, perron, 2), fundamental(walk, perron)
        tolerance = 1e-6 if count <= module.HUBS else 0.5
        np.testing.assert_allclose(found.diagonal, exact.diagonal, rtol=tolerance)


def test_directed_cycle() -> None:
    found = fundamental(Walk(directed_cycle(11)), np.full(11, 1 / 11))
    np.testing.assert_allclose(found.kemeny, 5, rtol=1e-12)  # the mean of 0 to 10
    times = times_from(Walk(directed_cycle(11)), np.full(11, 1 / 11), [np.array([4])], found)
    np.testing.assert_allclose(times.steps[:, 0], (np.arange(11) - 4) % 11, atol=1e-12)


def test_rare_states_of_a_drifting_chain_within_the_error() -> None:
    """The digits that a dense inverse loses are told."""
    walk = Walk(transition_matrix(drifting_chain(14, 10)))
    perron, hitting = stationary(walk), hitting_of(walk)
    times = times_from(walk, perron, [np.array([13])], fundamental(walk, perron))
    assert hitting[13, 0] > 1e12
    assert (np.abs(times.steps[:, 0] - hitting[13]) <= 10 * times.error[:, 0] + 1e-12 * hitting[13]).all()


def test_any_number_of_processes_gives_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    walk, told = family_walk("hubs", 60), []

    class Told(Watch):
        def progress(self, done: int, total: int, message: str) -> None:
            told.append((done, total))

    alone = fundamental(walk, stationary(walk), 4, watch=Told())
    total = module.HUBS + 2 * module.RANK + 4
    assert told == [(done, total) for done in range(1, total + 1)]
    monkeypatch.setattr(threads, "WORTH_PROCESSES", 0)
    beside = fundamental(walk, stationary(walk), 4, jobs=2)
    np.testing.assert_array_equal(alone.diagonal, beside.diagonal)
    np.testing.assert_array_equal(alone.error, beside.error)


def test_a_walk_that_does_not_fit_is_probed() -> None:
    walk = family_walk("random", 50)
    assert fundamental(walk, stationary(walk), memory=1000).probes == module.PROBES
