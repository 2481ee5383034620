"""What c is made of, against the dense fundamental matrix and against the powers of the walk."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cgnn_cli.numerics import exact
from cgnn_cli.numerics.csr import strong_components
from cgnn_cli.numerics.exact import exact_times
from cgnn_cli.numerics.parts import Parts, direct_part
from cgnn_cli.numerics.series import indirect_sum, series_times
from cgnn_cli.numerics.transition import transition_matrix
from cgnn_cli.numerics.walk import Walk
from tests.graphs import all_pairs, directed_cycle, random_edges, sparse

MEMORY = 1 << 30


def stationary(walk: Walk) -> np.ndarray:
    """pi by dense least squares."""
    size = walk.size
    system = np.vstack([walk.to_dense().T - np.eye(size), np.ones(size)])
    found: np.ndarray = np.linalg.lstsq(system, np.append(np.zeros(size), 1), rcond=None)[0]
    return found


def textbook(walk: Walk, perron: np.ndarray, source: np.ndarray, target: np.ndarray) -> Parts:
    """The parts by their definition."""
    dense = walk.to_dense()
    z = np.linalg.inv(np.eye(walk.size) - dense + perron)

    def both(matrix: np.ndarray) -> np.ndarray:
        found: np.ndarray = matrix[source, target] / perron[target] + matrix[target, source] / perron[source]
        return found

    direct = both(dense) - 2
    returns = np.diagonal(z) / perron
    return Parts(returns[source] + returns[target], direct, both(z) - direct)


@st.composite
def walks(draw: st.DrawFn) -> Walk:
    """Irreducible walks of 2 to 12 states: with and without loops, jumps, and weights; some alternate."""
    size = draw(st.integers(2, 12))
    node = st.integers(0, size - 1)
    dense = np.zeros((size, size))
    for i, j in draw(st.lists(st.tuples(node, node), max_size=40)):
        dense[i, j] = draw(st.floats(0.2, 5))
    if draw(st.booleans()):
        dense += np.roll(np.eye(size), 1, axis=1)
    if draw(st.booleans()):
        np.fill_diagonal(dense, 0)
    adjacency = sparse(dense)
    if draw(st.booleans()):
        totals = np.maximum(dense.sum(axis=1), 1)
        shares = 0.9 * dense / totals[:, None]
        return Walk(sparse(shares), 1 - shares.sum(axis=1))
    assume((dense.sum(axis=1) > 0).all() and strong_components(adjacency)[0] == 1)
    return Walk(transition_matrix(adjacency))


@settings(max_examples=120, deadline=None, database=None, derandomize=True)
@given(walk=walks(), factors=st.booleans())
def test_exact_parts_are_those_of_the_fundamental_matrix(walk: Walk, factors: bool) -> None:
    perron = stationary(walk)
    source, target = all_pairs(walk.size)
    with pytest.MonkeyPatch.context() as patch:
        if factors:
            patch.setattr(exact, "MOST_DENSE_WORK", 0)
        found = exact_times(walk, perron, source, target, memory=1 << 40)
    parts, truth = found.parts, textbook(walk, perron, source, target)
    times = found.there + found.back
    assert (np.abs(parts.popularity - parts.direct - parts.indirect - times) <= 1e-10 * parts.popularity).all()
    for name in ("popularity", "direct", "indirect"):
        off = np.abs(getattr(parts, name) - getattr(truth, name))
        assert (off <= 1e-10 * truth.popularity).all(), name
    assert (found.part_error <= 1e-9 * truth.popularity).all()


@pytest.mark.parametrize("count", [3, 8])
def test_a_walk_that_alternates(count: int) -> None:
    """On a directed cycle Z_ij is (count + 1)/(2 count) less a part for each step from i to j."""
    walk, perron = Walk(directed_cycle(count)), np.full(count, 1 / count)
    source = np.arange(count)
    target = (source + 1) % count
    parts = exact_times(walk, perron, source, target, memory=MEMORY).parts
    np.testing.assert_allclose(parts.direct, count - 2, rtol=1e-12)
    np.testing.assert_allclose(parts.popularity, count + 1, rtol=1e-12)
    np.testing.assert_allclose(parts.indirect, 3 - count, atol=1e-12 * count)


def powers(walk: Walk, perron: np.ndarray, source: np.ndarray, target: np.ndarray, steps: int) -> np.ndarray:
    """P^t_ij/pi_j + P^t_ji/pi_i for t = 0..steps."""
    dense, power, found = walk.to_dense(), np.eye(walk.size), []
    for _ in range(steps + 1):
        found.append(power[source, target] / perron[target] + power[target, source] / perron[source])
        power = power @ dense
    return np.array(found)


def sampled_walk(jump: float, loops: bool) -> Walk:
    edges = np.array(random_edges(30, 5, seed=7))
    dense = np.zeros((30, 30))
    dense[tuple(edges.T)] = 1
    dense += np.eye(30) * loops + np.roll(np.eye(30), 1, axis=1)
    shares = (1 - jump) * dense / dense.sum(axis=1, keepdims=True)
    return Walk(sparse(shares), 1 - shares.sum(axis=1) if jump else None)


@pytest.mark.parametrize("jump", [0.0, 0.2])
@pytest.mark.parametrize("steps", [2, 3, 4, 7])
def test_the_series_sums_the_terms_from_two_steps_on(jump: float, steps: int) -> None:
    walk = sampled_walk(jump, loops=True)
    perron = stationary(walk)
    source, target = all_pairs(30)
    direct = direct_part(walk, perron, source, target)
    plain = series_times(walk, perron, source, target, steps, tail=False, memory=MEMORY, direct=direct)
    terms = powers(walk, perron, source, target, steps) - 2
    assert plain.indirect is not None
    np.testing.assert_allclose(plain.indirect, terms[2:].sum(axis=0), atol=1e-9)
    added = series_times(walk, perron, source, target, steps, memory=MEMORY, direct=direct)
    assert added.indirect is not None
    if steps < 4:
        np.testing.assert_array_equal(added.indirect, plain.indirect)
    else:
        ratio = np.where((terms[-1] > 0) & (terms[-2] > 0), np.minimum(terms[-1] / terms[-2], 0.95), 0)
        tail = np.maximum(terms[-1], 0) * ratio / (1 - ratio)
        np.testing.assert_allclose(added.indirect - plain.indirect, tail, atol=1e-8)
    without = series_times(walk, perron, source, target, steps, memory=MEMORY)
    np.testing.assert_array_equal(without.times, added.times)
    assert without.indirect is None


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("jump", [0.0, 0.2])
def test_many_steps_come_to_the_truth(lazy: bool, jump: float) -> None:
    walk = sampled_walk(jump, loops=not lazy)
    perron = stationary(walk)
    source, target = all_pairs(30)
    direct = direct_part(walk, perron, source, target)
    stepping = walk.lazy() if lazy else walk
    found = series_times(stepping, perron, source, target, 300, memory=MEMORY, direct=direct, lazy=lazy).indirect
    truth = textbook(walk, perron, source, target)
    assert found is not None
    np.testing.assert_allclose(found, truth.indirect, atol=1e-9 * truth.popularity.max())


def test_terms_of_the_lazy_walk_hold_no_step_of_the_edge() -> None:
    """Two steps of the lazy walk are a quarter of P^2, half of P and a quarter of waiting."""
    walk = sampled_walk(0.0, loops=False)
    perron = stationary(walk)
    source, target = all_pairs(30)
    lines = powers(walk.lazy(), perron, source, target, 2)
    edge = direct_part(walk, perron, source, target) + 2
    meeting = np.array([lines.sum(axis=0), lines[2], lines[0]])
    found = indirect_sum(meeting, edge, 2, lazy=True, tail=True)
    np.testing.assert_allclose(found, (powers(walk, perron, source, target, 2)[2] - 2) / 8, atol=1e-9)
