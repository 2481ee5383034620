"""Exact hitting and commute times against closed forms, absorbing systems, resistances and pseudo-inverses."""

import networkx as nx
import numpy as np
import pytest
from scipy.sparse import csr_array, diags_array, eye_array

from cgnn_cli.configs import DilapConfig, RewireConfig
from cgnn_cli.errors import NumericalError, ResourceError
from cgnn_cli.graph import Dilap, Graph
from cgnn_cli.numerics import exact
from cgnn_cli.numerics.exact import dense_bytes, fundamental_matrix
from cgnn_cli.numerics.perron import perron_vector
from cgnn_cli.numerics.transition import transition_matrix
from cgnn_cli.numerics.walk import Walk
from cgnn_cli.stages.dilap import dilap
from cgnn_cli.stages.rewire import rewire
from tests.graphs import (
    FAMILIES,
    absorbing_hitting,
    all_pairs,
    both_ways,
    clique_edges,
    dense_tolerance,
    directed_cycle,
    drifting_chain,
    exact_hitting,
    graph_of,
    gth_perron,
    random_edges,
    sparse,
)

pytestmark = pytest.mark.filterwarnings("error")

AMPLE = 1 << 40


def walk_on(graph: Graph, config: RewireConfig | None = None) -> Dilap:
    return dilap(rewire(graph, config or RewireConfig()), DilapConfig())


def hitting_matrix(transition: csr_array, perron: np.ndarray) -> np.ndarray:
    """All hitting times by the solver under test."""
    source, target = all_pairs(len(perron))
    there, back = exact_hitting(Walk(transition), perron, source, target, memory=AMPLE)
    times = np.zeros(transition.shape)
    times[source, target] = there
    np.testing.assert_array_equal(times[target, source], back)
    return times


def commute_matrix(walk: Dilap) -> np.ndarray:
    times = hitting_matrix(walk.transition, walk.perron)
    return times + times.T


@pytest.fixture(scope="module", params=FAMILIES)
def walk(request: pytest.FixtureRequest) -> Dilap:
    """The walk on a path-rewired graph of each family."""
    return walk_on(graph_of(25, FAMILIES[request.param](25)))


@pytest.mark.parametrize(("p", "q"), [(0.5, 0.5), (1.0, 1.0), (0.9, 0.1), (1e-3, 1.0), (1e-5, 0.3)])
def test_two_states_commute_in_one_over_p_plus_one_over_q(p: float, q: float) -> None:
    transition = sparse([[1 - p, p], [q, 1 - q]])
    perron = perron_vector(Walk(transition), np.ones(2)).vector
    np.testing.assert_allclose(perron, [q / (p + q), p / (p + q)], rtol=1e-8)
    there, back = exact_hitting(Walk(transition), perron, np.array([0]), np.array([1]), memory=AMPLE)
    np.testing.assert_allclose([there[0], back[0], (there + back)[0]], [1 / p, 1 / q, 1 / p + 1 / q], rtol=1e-8)


@pytest.mark.parametrize("count", [2, 3, 10, 101])
@pytest.mark.parametrize(("loop", "factor"), [(0.0, 1), (0.5, 2)])
def test_directed_cycle_commutes_in_its_length(count: int, loop: float, factor: int) -> None:
    transition = directed_cycle(count, loop)
    perron = perron_vector(Walk(transition), np.arange(1.0, count + 1)).vector
    np.testing.assert_allclose(perron, 1 / count, rtol=1e-8)
    source, target = all_pairs(count)
    there, back = exact_hitting(Walk(transition), perron, source, target, memory=AMPLE)
    np.testing.assert_allclose(there, factor * ((target - source) % count), rtol=1e-8)
    np.testing.assert_allclose(there + back, factor * count, rtol=1e-8)


def test_hitting_times_solve_the_absorbing_systems(walk: Dilap) -> None:
    expected = absorbing_hitting(walk.transition)
    tolerance = 1e-8
    times = hitting_matrix(walk.transition, walk.perron)
    np.testing.assert_allclose(times, expected, rtol=tolerance)
    np.testing.assert_allclose(times + times.T, expected + expected.T, rtol=tolerance)


def test_the_oracle_solves_the_absorbing_systems() -> None:
    transition = walk_on(graph_of(25, FAMILIES["random"](25))).transition
    times, system = absorbing_hitting(transition), np.eye(25) - transition.toarray()
    for target in range(25):
        others = np.arange(25) != target
        solved = np.linalg.solve(system[np.ix_(others, others)], np.ones(24))
        np.testing.assert_allclose(times[others, target], solved, rtol=1e-11)
    np.testing.assert_array_equal(np.diag(times), 0)


@pytest.mark.parametrize("count", [30, 60])
def test_rarely_visited_targets_keep_their_digits(count: int) -> None:
    """Leaves that all point at one hub: pi falls geometrically along the added path, to 1e-8 and to 1e-23."""
    walk = walk_on(graph_of(count, FAMILIES["star"](count)))
    assert walk.perron.min() < 1e-7
    expected = absorbing_hitting(walk.transition)
    np.testing.assert_allclose(hitting_matrix(walk.transition, walk.perron), expected, rtol=1e-8)


@pytest.mark.parametrize(("count", "forward"), [(50, 1.05), (70, 1.02)])
def test_slow_walks_keep_the_tolerance(count: int, forward: float) -> None:
    """The error of pi enters h undiminished, so an accepted Perron vector has to be good to 1e-8."""
    adjacency = drifting_chain(count, forward)
    transition = transition_matrix(adjacency)
    perron = perron_vector(Walk(transition), np.asarray(adjacency.sum(axis=1)).ravel()).vector
    assert perron.min() >= 1e-6
    np.testing.assert_allclose(hitting_matrix(transition, perron), absorbing_hitting(transition), rtol=1e-8)


ONE_WAY = random_edges(20, 3, seed=6)


@pytest.mark.parametrize(
    ("graph", "config"),
    [
        (graph_of(20, both_ways(ONE_WAY)), RewireConfig()),
        (graph_of(8, clique_edges(range(8))), RewireConfig(method="none")),
        (graph_of(20, ONE_WAY), RewireConfig(walk="symmetric")),
        (graph_of(20, [*ONE_WAY, (3, 3)]), RewireConfig(walk="symmetric", method="none")),
        (graph_of(20, ONE_WAY, weights=np.linspace(0.1, 9, len(ONE_WAY))), RewireConfig(walk="symmetric")),
    ],
    ids=["mutual", "clique", "symmetric walk", "symmetric walk, not rewired", "weighted symmetric walk"],
)
def test_undirected_commute_time_is_volume_times_resistance(graph: Graph, config: RewireConfig) -> None:
    rewired = rewire(graph, config)
    dense = rewired.adjacency.toarray()
    np.testing.assert_allclose(dense, dense.T, rtol=1e-14)
    assert len(dense) > 2
    conductances = nx.from_numpy_array(dense - np.diag(np.diag(dense)))
    resistance = nx.resistance_distance(conductances, weight="weight", invert_weight=False)
    expected = [[dense.sum() * resistance[i][j] for j in range(len(dense))] for i in range(len(dense))]
    times = commute_matrix(dilap(rewired, DilapConfig()))
    np.testing.assert_allclose(times, expected, rtol=1e-8, atol=1e-8)


def test_commute_time_is_a_metric_above_both_return_times(walk: Dilap) -> None:
    times = commute_matrix(walk)
    slack = 1 + dense_tolerance(walk.perron)
    np.testing.assert_array_equal(times, times.T)
    through = (times[:, :, None] + times[None, :, :]).min(axis=1)
    assert (times <= through * slack).all()
    returns = 1 / walk.perron
    bound = np.maximum.outer(returns, returns)
    off_diagonal = ~np.eye(len(times), dtype=bool)
    assert (times * slack >= bound)[off_diagonal].all()


def test_commute_time_is_the_pseudo_inverse_form_of_the_weighted_walk_laplacian(walk: Dilap) -> None:
    """c(i, j) = (e_i - e_j)^T L^+ (e_i - e_j) with L = diag(pi)(I - P)."""
    laplacian = walk.perron[:, None] * (np.eye(len(walk.perron)) - walk.transition.toarray())
    inverse = np.linalg.pinv(laplacian)
    diagonal = np.diag(inverse)
    expected = diagonal[:, None] + diagonal[None, :] - inverse - inverse.T
    times, off = commute_matrix(walk), ~np.eye(len(inverse), dtype=bool)
    np.testing.assert_allclose(times[off], expected[off], rtol=max(1e-8, dense_tolerance(walk.perron)))


def test_hitting_time_is_the_scaled_pseudo_inverse_of_the_normalised_laplacian(walk: Dilap) -> None:
    """h(i, j) = K^+_jj/pi_j - K^+_ij/sqrt(pi_i pi_j) with K = diag(pi)^1/2 (I - P) diag(pi)^-1/2."""
    root = np.sqrt(walk.perron)
    inverse = np.linalg.pinv(root[:, None] * (np.eye(len(root)) - walk.transition.toarray()) / root)
    expected = (np.diag(inverse) / walk.perron)[None, :] - inverse / np.outer(root, root)
    times, off = hitting_matrix(walk.transition, walk.perron), ~np.eye(len(root), dtype=bool)
    np.testing.assert_allclose(times[off], expected[off], rtol=max(1e-8, dense_tolerance(walk.perron)))


def test_a_state_hits_itself_at_once(walk: Dilap) -> None:
    states = np.arange(len(walk.perron))
    there, back = exact_hitting(Walk(walk.transition), walk.perron, states, states, memory=AMPLE)
    np.testing.assert_array_equal([there, back], 0)


def test_fundamental_matrix_inverts_its_definition(walk: Dilap) -> None:
    count = len(walk.perron)
    system = np.eye(count) - walk.transition.toarray() + walk.perron
    np.testing.assert_allclose(
        fundamental_matrix(Walk(walk.transition), walk.perron) @ system, np.eye(count), atol=1e-9
    )


def test_a_reducible_walk_has_no_fundamental_matrix() -> None:
    with pytest.raises(NumericalError, match="fundamental matrix"):
        fundamental_matrix(Walk(sparse(np.eye(2))), np.array([0.5, 0.5]))


def sparse_only(count: int) -> int:
    """A limit that a dense solve exceeds and sparse factors do not."""
    return dense_bytes(count) - 1


@pytest.mark.parametrize("family", FAMILIES)
def test_sparse_factors_give_the_same_times(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "BLOCK_BYTES", 40 * 8 * 7)  # blocks of seven goals, the last one smaller
    monkeypatch.setattr(exact, "FACTOR_ENTRY", 1)
    count = 40
    dilap = walk_on(graph_of(count, FAMILIES[family](count)))
    source, target = all_pairs(count)
    dense = exact_hitting(Walk(dilap.transition), dilap.perron, source, target, memory=AMPLE)
    found = exact_hitting(Walk(dilap.transition), dilap.perron, source, target, memory=sparse_only(count))
    np.testing.assert_allclose(found, dense, rtol=max(1e-8, dense_tolerance(dilap.perron)))


def test_sparse_factors_serve_a_chain_too_long_for_a_dense_matrix() -> None:
    """A path of undirected unit edges with a loop in every state: c of neighbours is the number of entries."""
    count = 20_000
    adjacency = csr_array(diags_array([1.0, 1.0, 1.0], offsets=[-1, 0, 1], shape=(count, count)))
    transition = transition_matrix(adjacency)
    perron = np.asarray(adjacency.sum(axis=1)).ravel() / adjacency.sum()
    source = np.array([0, 7, count // 2, count - 2])
    there, back = exact_hitting(Walk(transition), perron, source, source + 1, memory=1 << 29)
    np.testing.assert_allclose(there + back, adjacency.sum(), rtol=1e-8)
    np.testing.assert_allclose(there[0], 2, rtol=1e-6)


def test_a_walk_whose_factors_fill_up_is_refused_with_the_other_solvers_named() -> None:
    count = 3000
    rng = np.random.default_rng(0)
    adjacency = csr_array((np.ones(20_000), rng.integers(0, count, (2, 20_000))), shape=(count, count))
    transition = transition_matrix(csr_array(adjacency + eye_array(count)))
    with pytest.raises(ResourceError, match=r"GiB of memory for 3000 states") as caught:
        exact_hitting(Walk(transition), np.full(count, 1 / count), np.array([0]), np.array([1]), memory=10_000_000)
    assert "series" in caught.value.hint and "sketch" in caught.value.hint
    assert "\n" not in caught.value.message


def test_work_of_hours_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "FACTOR_ENTRY", 1)
    monkeypatch.setattr(exact, "BLOCK_BYTES", 1)
    transition = directed_cycle(50, 0.5)
    pair = np.array([0]), np.array([1])
    exact_hitting(Walk(transition), np.full(50, 0.02), *pair, memory=sparse_only(50))
    monkeypatch.setattr(exact, "MOST_WORK", 100)
    with pytest.raises(ResourceError):
        exact_hitting(Walk(transition), np.full(50, 0.02), *pair, memory=sparse_only(50))


def teleporting(count: int, gamma: float = 0.9) -> Walk:
    """A walk along random edges that jumps anywhere at times, and always from a sink."""
    matrix = np.zeros((count, count))
    for i, j in FAMILIES["sinks"](count):
        matrix[i, j] = 1
    degree = matrix.sum(axis=1, keepdims=True)
    matrix = gamma * np.divide(matrix, degree, out=np.zeros_like(matrix), where=degree > 0)
    return Walk(sparse(matrix), 1 - matrix.sum(axis=1))


def test_a_walk_that_jumps_is_solved_densely_or_refused() -> None:
    walk = teleporting(30)
    perron = gth_perron(sparse(walk.to_dense()))
    source, target = all_pairs(30)
    there, _ = exact_hitting(walk, perron, source, target, memory=AMPLE)
    np.testing.assert_allclose(there, absorbing_hitting(sparse(walk.to_dense()))[source, target], rtol=1e-8)
    with pytest.raises(ResourceError):
        exact_hitting(walk, perron, source, target, memory=sparse_only(30))
