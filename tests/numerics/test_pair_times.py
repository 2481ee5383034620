"""Exact times of chosen pairs against absorbing systems, closed forms and resistances."""

import networkx as nx
import numpy as np
import pytest

from cgnn_cli.errors import NumericalError
from cgnn_cli.numerics import krylov, threads
from cgnn_cli.numerics import pair_times as pairs
from cgnn_cli.numerics.pair_times import PairTimes, pair_times
from cgnn_cli.numerics.transition import transition_matrix
from cgnn_cli.numerics.walk import Walk
from tests.graphs import FAMILIES, absorbing_hitting, all_pairs, directed_cycle, sparse
from tests.numerics.test_krylov import family_walk, jumping_walk, stationary

pytestmark = pytest.mark.filterwarnings("error")


@pytest.fixture(params=["dense", "solves"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each of the two ways of computing the times."""
    monkeypatch.setattr(pairs, "DENSE_SIZE", 2000 if request.param == "dense" else 0)
    return str(request.param)


def times_of(walk: Walk) -> tuple[PairTimes, np.ndarray]:
    """The times of all pairs, and those of the absorbing systems."""
    source, target = all_pairs(walk.size)
    return pair_times(walk, stationary(walk), source, target), absorbing_hitting(sparse(walk.to_dense()))


@pytest.mark.parametrize("family", FAMILIES)
def test_hitting_times_solve_the_absorbing_systems(family: str, way: str) -> None:
    found, expected = times_of(family_walk(family, 25))
    source, target = all_pairs(25)
    np.testing.assert_allclose(found.there, expected[source, target], rtol=1e-6)
    np.testing.assert_allclose(found.back, expected[target, source], rtol=1e-6)
    np.testing.assert_array_equal(found.times, found.there + found.back)
    assert found.residual <= 1e-8


def test_a_walk_that_jumps(way: str) -> None:
    found, expected = times_of(jumping_walk(25))
    source, target = all_pairs(25)
    np.testing.assert_allclose(found.there, expected[source, target], rtol=1e-6)


@pytest.mark.parametrize(("p", "q"), [(0.5, 0.5), (1.0, 1.0), (0.9, 0.1), (1e-3, 1.0)])
def test_two_states(p: float, q: float, way: str) -> None:
    perron = np.array([q, p]) / (p + q)
    found = pair_times(Walk(sparse([[1 - p, p], [q, 1 - q]])), perron, np.array([0]), np.array([1]))
    np.testing.assert_allclose([found.there[0], found.back[0], found.times[0]], [1 / p, 1 / q, 1 / p + 1 / q])


@pytest.mark.parametrize(("loop", "factor"), [(0.0, 1), (0.5, 2)])
def test_directed_cycle(loop: float, factor: int, way: str) -> None:
    source, target = all_pairs(11)
    found = pair_times(Walk(directed_cycle(11, loop)), np.full(11, 1 / 11), source, target)
    np.testing.assert_allclose(found.there, factor * ((target - source) % 11), rtol=1e-6)
    np.testing.assert_allclose(found.times, factor * 11, rtol=1e-6)


def test_undirected_commute_time_is_volume_times_resistance(way: str) -> None:
    rng = np.random.default_rng(0)
    dense = np.triu(rng.random((15, 15)) * (rng.random((15, 15)) < 0.3), 1) + np.eye(15, k=1)
    dense += dense.T + np.diag(rng.random(15))
    resistance = nx.resistance_distance(
        nx.from_numpy_array(dense - np.diag(np.diag(dense))), weight="weight", invert_weight=False
    )
    source, target = all_pairs(15)
    perron = dense.sum(axis=1) / dense.sum()
    found = pair_times(Walk(transition_matrix(sparse(dense))), perron, source, target)
    expected = [dense.sum() * resistance[i][j] for i, j in zip(source, target, strict=True)]
    np.testing.assert_allclose(found.times, expected, rtol=1e-6)


def test_repeated_pairs_equal_states_and_no_pairs_at_all(way: str) -> None:
    walk = family_walk("random", 20)
    perron = stationary(walk)
    found = pair_times(walk, perron, np.array([3, 5, 3, 4]), np.array([4, 5, 4, 3]))
    assert found.there[0] == found.there[2] == found.back[3] != found.back[0]
    assert found.times[1] == 0
    none = pair_times(walk, perron, np.zeros(0, np.int64), np.zeros(0, np.int64))
    assert len(none.times) == 0 and none.residual == 0


def test_a_walk_of_a_single_state(way: str) -> None:
    found = pair_times(Walk(sparse([[1.0]])), np.ones(1), np.array([0]), np.array([0]))
    assert found.times[0] == found.residual == 0


def test_one_solve_for_each_state(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "DENSE_SIZE", 0)
    walk, heard = family_walk("star", 20), []
    pair_times(
        walk,
        stationary(walk),
        np.arange(1, 20),
        np.zeros(19, np.int64),
        progress=lambda done, total: heard.append((done, total)),
    )
    assert heard == [(done, 20) for done in range(1, 21)]


def test_processes_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "DENSE_SIZE", 0)
    monkeypatch.setattr(threads, "WORTH_PROCESSES", 0)
    walk = family_walk("random", 30)
    source, target = all_pairs(30)
    alone, together = (pair_times(walk, stationary(walk), source, target, jobs=jobs) for jobs in (1, 2))
    np.testing.assert_array_equal(alone.times, together.times)
    assert alone.residual == together.residual


def test_the_dense_matrix_is_for_small_walks_with_many_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "_dense", lambda *_: pytest.fail("dense"))
    walk = family_walk("mutual", 600)
    perron = np.diff(walk.sparse.indptr) / walk.sparse.nnz  # undirected
    pair_times(walk, perron, np.array([0]), np.array([1]))
    with pytest.raises(pytest.fail.Exception):
        pair_times(walk, perron, np.arange(20), np.arange(20, 40))


def test_a_failed_solve_is_an_error_not_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "DENSE_SIZE", 0)
    monkeypatch.setattr(krylov, "MOST_RESTARTS", 0)
    two_parts = Walk(sparse(np.kron(np.eye(2), np.full((3, 3), 1 / 3))))
    with pytest.raises(NumericalError, match="residual"):
        pair_times(two_parts, np.full(6, 1 / 6), np.array([0]), np.array([4]))


def rare_walk(core: int, length: int) -> Walk:
    """A core with a chain away from it that is seldom walked to its end, whose last state but one leads there alone."""
    size, rng = core + length, np.random.default_rng(0)
    dense = np.eye(size)
    for state in range(size):
        dense[state, rng.integers(0, core, 6)] = 1
        dense[state, (state + 1) % core if state < core else min(state + 1, size - 1)] = 1
    dense[0, core] = 1
    dense[-2:] = 0
    dense[-2, -2:] = dense[-1, [0, -1]] = 1
    return Walk(transition_matrix(sparse(dense)))


@pytest.mark.parametrize("length", [8, 12, 14])
def test_a_short_way_to_a_rare_state(length: int, way: str) -> None:
    """pi_j h(i, j) is 1e-12, far below the residual of any solve with a right-hand side of 1."""
    walk = rare_walk(100, length)
    last, expected = walk.size - 1, absorbing_hitting(sparse(walk.to_dense()))
    source, target = np.array([last - 1, last - 2, 5, last - 1]), np.array([last, last - 1, last, 7])
    found = pair_times(walk, stationary(walk), source, target)
    assert found.there[0] == pytest.approx(2, rel=1e-6)
    np.testing.assert_allclose(found.there, expected[source, target], rtol=1e-6)
    np.testing.assert_allclose(found.back, expected[target, source], rtol=1e-6)


def test_a_time_that_cannot_be_had_is_seen_in_the_residual(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "DENSE_SIZE", 0)
    monkeypatch.setattr(pairs, "absorbing_times", lambda walk, goal, times: (times, np.inf))
    walk = rare_walk(100, 14)
    last = walk.size - 1
    found = pair_times(walk, stationary(walk), np.array([last - 1]), np.array([last]))
    assert abs(found.there[0] / 2 - 1) > 1e-6
    assert found.residual > 1e-6


@pytest.mark.parametrize("family", ["random", "chain", "jump"])
def test_absorbing_times_from_nothing_and_their_bound(family: str) -> None:
    walk = jumping_walk(25) if family == "jump" else family_walk(family, 25)
    expected = absorbing_hitting(sparse(walk.to_dense()))
    for goal in (0, 7, 24):
        found, bound = pairs.absorbing_times(walk, goal, np.zeros(25))
        assert bound < 1e-6
        assert (np.abs(found - expected[:, goal]) <= bound * expected[:, goal]).all()


def test_the_dense_matrix_can_be_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    walk = family_walk("random", 20)
    source, target = all_pairs(20)
    expected = pair_times(walk, stationary(walk), source, target)
    monkeypatch.setattr(pairs, "fundamental_matrix", lambda *_: pytest.fail("dense"))
    found = pair_times(walk, stationary(walk), source, target, dense=False)
    np.testing.assert_allclose(found.times, expected.times, rtol=1e-8)
