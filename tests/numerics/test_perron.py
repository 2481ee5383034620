"""The Perron vector against GTH elimination, and its refusal to return a vector that it cannot certify."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, diags_array

from cgnn_cli.configs import RewireConfig
from cgnn_cli.errors import NumericalError
from cgnn_cli.numerics import censored, perron
from cgnn_cli.numerics.censored import Censored, chain_states
from cgnn_cli.numerics.csr import canonical_csr
from cgnn_cli.numerics.perron import CORRECTION_LIMIT, RESIDUAL_LIMIT, Perron, perron_vector
from cgnn_cli.numerics.transition import teleporting_walk, transition_matrix
from cgnn_cli.numerics.walk import Walk
from cgnn_cli.stages.rewire import rewire
from tests.graphs import FAMILIES, directed_cycle, drifting_chain, graph_of, gth_perron, random_edges, sparse

pytestmark = pytest.mark.filterwarnings("error")


def perron_of(adjacency: csr_array) -> Perron:
    return perron_vector(Walk(transition_matrix(adjacency)), np.asarray(adjacency.sum(axis=1)).ravel())


def weak_cliques(count: int, bridge: float) -> csr_array:
    """Two cliques that the walk rarely leaves, and one of them twice as rarely."""
    half = count // 2
    dense = np.zeros((count, count))
    dense[:half, :half] = dense[half:, half:] = 1
    dense[half - 1, half], dense[half, half - 1] = bridge, 2 * bridge
    return sparse(dense)


def cycle_with_chord(count: int) -> csr_array:
    """A periodic walk without a self-loop that is not uniform."""
    dense = np.roll(np.eye(count), 1, axis=1)
    dense[0, count // 2] = 1
    return sparse(dense)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("count", [2, 40])
def test_agrees_with_gth_on_rewired_graphs(family: str, count: int) -> None:
    adjacency = rewire(graph_of(count, FAMILIES[family](count)), RewireConfig()).adjacency
    found = perron_of(adjacency)
    np.testing.assert_allclose(found.vector, gth_perron(transition_matrix(adjacency)), rtol=1e-10)
    assert found.vector.sum() == pytest.approx(1, abs=1e-14)


@pytest.mark.parametrize(
    "adjacency",
    [
        drifting_chain(50, 1.01),
        drifting_chain(50, 1.05),
        drifting_chain(200, 1.01),
        drifting_chain(200, 1.2),
        drifting_chain(500, 1.05),
        drifting_chain(500, 1.0),
        cycle_with_chord(300),
        rewire(graph_of(500, random_edges(500, 0.3, seed=0)), RewireConfig()).adjacency,
    ],
    ids=["50", "50 steeper", "200", "200 steep", "500", "500 level", "periodic", "sparse"],
)
def test_agrees_with_gth_where_mixing_is_slow(adjacency: csr_array) -> None:
    found = perron_of(adjacency)
    np.testing.assert_allclose(found.vector, gth_perron(transition_matrix(adjacency)), rtol=1e-9)
    assert found.residual <= RESIDUAL_LIMIT
    assert found.correction <= CORRECTION_LIMIT


def test_a_barely_connected_walk_is_as_good_as_its_certificate() -> None:
    adjacency = weak_cliques(100, 1e-6)
    found = perron_of(adjacency)
    np.testing.assert_allclose(found.vector, gth_perron(transition_matrix(adjacency)), rtol=CORRECTION_LIMIT)


@pytest.mark.parametrize("count", [2, 3, 50])
@pytest.mark.parametrize("start", ["even", "uneven"])
def test_periodic_cycle(count: int, start: str) -> None:
    weights = np.ones(count) if start == "even" else np.random.default_rng(0).random(count) + 0.01
    np.testing.assert_allclose(perron_vector(Walk(directed_cycle(count)), weights).vector, 1 / count, rtol=1e-10)


@pytest.mark.parametrize("count", [2, 3, 4])
def test_power_iteration_itself_converges_on_a_periodic_walk(count: int) -> None:
    """By the lazy walk; without it the vector only goes round until the refinement steps in."""
    assert perron_vector(Walk(directed_cycle(count)), np.arange(1.0, count + 1)).iterations < 150


def test_one_state_holds_everything() -> None:
    np.testing.assert_array_equal(perron_of(sparse([[3.0]])).vector, [1.0])


def test_degrees_are_the_answer_for_an_undirected_graph() -> None:
    adjacency = rewire(graph_of(60, random_edges(60, 4, seed=8)), RewireConfig(walk="symmetric")).adjacency
    degrees = np.asarray(adjacency.sum(axis=1)).ravel()
    found = perron_of(adjacency)
    np.testing.assert_allclose(found.vector, degrees / degrees.sum(), rtol=1e-13)
    assert found.iterations <= 50


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_the_scale_of_the_start_does_not_matter(scale: float) -> None:
    walk = Walk(transition_matrix(drifting_chain(20, 2.0)))
    expected = perron_vector(walk, np.ones(20)).vector
    np.testing.assert_array_equal(perron_vector(walk, np.full(20, scale)).vector, expected)


def test_entries_far_below_float32_survive() -> None:
    adjacency = drifting_chain(100, 9.0)
    found = perron_of(adjacency)
    assert 0 < found.vector.min() < 1e-90
    np.testing.assert_allclose(found.vector, gth_perron(transition_matrix(adjacency)), rtol=1e-10)


def test_too_few_steps_raise_instead_of_returning_a_wrong_vector(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(perron, "MOST_ROUNDS", 1)
    monkeypatch.setattr(perron, "FIRST_ROUND", 1)
    monkeypatch.setattr(perron, "POWER_ROUND", 10)
    with pytest.raises(NumericalError, match="did not converge") as caught:
        perron_of(weak_cliques(100, 1e-3))
    assert "--method escape or teleport" in caught.value.hint


@pytest.mark.parametrize("bridge", [1e-9, 1e-12, 1e-16, 1e-20, 1e-100])
def test_a_small_residual_alone_is_no_certificate(bridge: float) -> None:
    """The residual is at rounding level, even exactly zero, and yet the shares of the two cliques are unknown."""
    with pytest.raises(NumericalError, match=r"relative residual \d\.\de-1[3-9]"):
        perron_of(weak_cliques(100, bridge))


def slow_blocks(stay: float, bridge: float) -> csr_array:
    """Two blocks that mix slowly by themselves, for heavy self-loops, and hardly ever with each other."""
    generator, half = np.random.default_rng(0), 12
    dense = np.zeros((2 * half, 2 * half))
    for block in (slice(0, half), slice(half, 2 * half)):
        weights = generator.random((half, half)) + 0.1
        dense[block, block] = weights + weights.T
    dense[:half, :half] *= 10 ** generator.uniform(-0.3, 0.3, (half, 1)) * 10 ** generator.uniform(-0.3, 0.3, (1, half))
    np.fill_diagonal(dense, stay * dense.sum(axis=1))
    dense[0, half], dense[half, 0] = bridge, 3 * bridge
    return sparse(dense)


@pytest.mark.parametrize("bridge", [1e-15, 1e-19])
@pytest.mark.parametrize("stay", [20, 23.75, 24])
def test_a_slow_mode_that_faster_ones_hide_is_no_less_unknown(stay: float, bridge: float) -> None:
    """The refinement sees the slow modes of the blocks alone: the shares of the blocks are lost in its residual."""
    with pytest.raises(NumericalError, match="did not converge"):
        perron_of(slow_blocks(stay, bridge))


@pytest.mark.parametrize("stay", [0.5, 5, 20])
@pytest.mark.parametrize("bridge", [1e-6, 1e-3, 1])
def test_slow_blocks_with_a_wider_bridge_are_found(stay: float, bridge: float) -> None:
    adjacency = slow_blocks(stay, bridge)
    expected = gth_perron(transition_matrix(adjacency))
    np.testing.assert_allclose(perron_of(adjacency).vector, expected, rtol=CORRECTION_LIMIT)


def test_two_states_that_hardly_ever_change_are_refused() -> None:
    with pytest.raises(NumericalError, match="did not converge"):
        perron_vector(Walk(sparse([[1.0, 1e-20], [2e-20, 1.0]])), np.ones(2))


@pytest.mark.parametrize("length", [3, 10, 50])
@pytest.mark.parametrize("width", [2, 4])
def test_a_cycle_of_groups_is_certified_from_its_exact_start(length: int, width: int) -> None:
    """Periodic, without chains, and hard for a Krylov solve."""
    adjacency = sparse(np.kron(np.roll(np.eye(length), 1, axis=1), np.ones((width, width))))
    np.testing.assert_allclose(perron_of(adjacency).vector, 1 / (length * width), rtol=1e-12)


@pytest.mark.parametrize(
    "adjacency",
    [rewire(graph_of(40, FAMILIES["sinks"](40)), RewireConfig()).adjacency, weak_cliques(10, 0.1)],
    ids=["chains", "no chains"],
)
def test_a_failed_refinement_is_no_certificate(monkeypatch: pytest.MonkeyPatch, adjacency: csr_array) -> None:
    def no_convergence(operator: object, right: np.ndarray, **_: object) -> tuple[np.ndarray, int]:
        return right, 2000

    monkeypatch.setattr(censored, "bicgstab", no_convergence)
    monkeypatch.setattr(perron, "MOST_ROUNDS", 2)
    with pytest.raises(NumericalError, match="inf"):
        perron_of(adjacency)


def test_a_wrong_solve_is_no_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(censored, "bicgstab", lambda operator, right, **_: (right * 0.5, 0))
    with pytest.raises(NumericalError, match="inf"):
        perron_of(weak_cliques(10, 0.1))


def test_a_vector_that_underflows_is_refused() -> None:
    with pytest.raises(NumericalError, match="underflows"):
        perron_of(drifting_chain(500, 9.0))


def weighted_path(count: int, spread: float, seed: int = 0) -> csr_array:
    """A path that is walked both ways with uneven weights, and a self-loop a node."""
    weights = np.exp(spread * np.random.default_rng(seed).standard_normal((3, count)))
    return canonical_csr(diags_array([weights[0], weights[1, 1:], weights[2, 1:]], offsets=[0, 1, -1]))


def path_perron(transition: csr_array) -> np.ndarray:
    """Detailed balance: pi_{i+1} / pi_i = P_{i,i+1} / P_{i+1,i}."""
    steps = np.log(transition.diagonal(1)) - np.log(transition.diagonal(-1))
    height = np.concatenate([[0], np.cumsum(steps)])
    vector = np.exp(height - height.max())
    return vector / vector.sum()


def test_a_long_weighted_path() -> None:
    """Power iteration would need some 1e9 steps."""
    adjacency = weighted_path(20_000, 0.01)
    found = perron_of(adjacency)
    np.testing.assert_allclose(found.vector, path_perron(transition_matrix(adjacency)), rtol=CORRECTION_LIMIT)
    assert found.iterations < 1000


def test_a_long_path_with_deep_valleys_is_refused() -> None:
    with pytest.raises(NumericalError, match="did not converge"):
        perron_of(weighted_path(1000, 1.0))


def test_chain_states_form_paths_and_leave_the_anchor() -> None:
    # 0-1-2-3-4 is a path; 5 to 8 point at 2 only, so that 2 has more than two neighbours; 9 has four ways to go.
    edges = [(0, 1), (1, 0), (1, 2), (2, 1), (2, 3), (3, 2), (3, 4), (4, 3), (5, 2), (6, 2), (7, 2), (8, 2)]
    edges += [(9, node) for node in range(5, 9)]
    walk = Walk(transition_matrix(canonical_csr(graph_of(10, edges).adjacency)))
    assert np.flatnonzero(chain_states(walk, anchor=4)).tolist() == [0, 1, 3, 5, 6, 7, 8]


@pytest.mark.parametrize("family", ["sinks", "isolated", "chain"])
def test_the_censored_walk_is_the_walk_watched_on_the_rest(family: str) -> None:
    adjacency = rewire(graph_of(30, FAMILIES[family](30)), RewireConfig()).adjacency
    walk = Walk(transition_matrix(adjacency))
    chain = chain_states(walk, anchor=0)
    assert chain.any()
    dense = walk.to_dense()
    through = np.linalg.inv(np.eye(chain.sum()) - dense[np.ix_(chain, chain)])
    expected = dense[np.ix_(~chain, ~chain)] + dense[np.ix_(~chain, chain)] @ through @ dense[np.ix_(chain, ~chain)]
    found = Censored(walk, chain)
    mass = np.random.default_rng(0).random((~chain).sum())
    np.testing.assert_allclose(found.step(mass), mass @ expected, rtol=1e-12)
    pi = gth_perron(walk.sparse)
    whole = found.extend(pi[~chain])
    np.testing.assert_allclose(whole, pi, rtol=1e-10)
    right = np.random.default_rng(1).standard_normal(30)
    right -= pi @ right
    y = found.solve(pi, right)
    assert y is not None
    np.testing.assert_allclose(y - (dense.T @ (pi * y)) / pi, right, atol=1e-4)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("gamma", [0.5, 0.9, 0.999])
def test_a_teleporting_walk(family: str, gamma: float) -> None:
    walk = teleporting_walk(graph_of(40, FAMILIES[family](40)).adjacency, gamma)
    found = perron_vector(walk, np.ones(40))
    np.testing.assert_allclose(found.vector, gth_perron(csr_array(walk.to_dense())), rtol=1e-10)


@st.composite
def adjacencies(draw: st.DrawFn) -> csr_array:
    """Irreducible graphs: sparse edges of uneven weight, hubs, and sinks that only a path leads out of."""
    count = draw(st.integers(2, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    dense = (rng.random((count, count)) < draw(st.sampled_from([0.0, 0.5, 2.0, 8.0])) / count).astype(float)
    for _ in range(draw(st.integers(0, 2))):
        hub = rng.integers(count)
        dense[:, hub] = 1
        dense[hub] = rng.random(count) < 0.5
    dense[rng.random(count) < draw(st.sampled_from([0.0, 0.7]))] = 0
    order = rng.permutation(count)
    dense[order[:-1], order[1:]] = dense[order[1:], order[:-1]] = 1
    if draw(st.booleans()):
        np.fill_diagonal(dense, 1)
    return sparse(dense * np.exp(draw(st.sampled_from([0.0, 1.0, 3.0, 12.0])) * rng.standard_normal((count, count))))


@settings(max_examples=60, deadline=None)
@given(adjacencies())
def test_a_returned_vector_is_right(adjacency: csr_array) -> None:
    """It may be refused where the weights make traps, but never be wrong."""
    try:
        found = perron_of(adjacency)
    except NumericalError:
        assert adjacency.data.max() > 50 * adjacency.data.min()
        return
    np.testing.assert_allclose(found.vector, gth_perron(transition_matrix(adjacency)), rtol=10 * CORRECTION_LIMIT)
