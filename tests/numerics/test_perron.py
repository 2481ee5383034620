"""The Perron vector against GTH elimination, and its refusal to return a vector that it cannot certify."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from cgnn_cli.configs import RewireConfig
from cgnn_cli.errors import NumericalError
from cgnn_cli.numerics import perron
from cgnn_cli.numerics.perron import CORRECTION_LIMIT, RESIDUAL_LIMIT, Perron, perron_vector
from cgnn_cli.numerics.transition import transition_matrix
from cgnn_cli.stages.rewire import rewire
from tests.graphs import FAMILIES, directed_cycle, drifting_chain, graph_of, gth_perron, random_edges, sparse

pytestmark = pytest.mark.filterwarnings("error")


def perron_of(adjacency: csr_array) -> Perron:
    return perron_vector(transition_matrix(adjacency), np.asarray(adjacency.sum(axis=1)).ravel())


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
    np.testing.assert_allclose(perron_vector(directed_cycle(count), weights).vector, 1 / count, rtol=1e-10)


@pytest.mark.parametrize("count", [2, 3, 4])
def test_power_iteration_itself_converges_on_a_periodic_walk(count: int) -> None:
    """By the lazy walk; without it the vector only goes round until the refinement steps in."""
    assert perron_vector(directed_cycle(count), np.arange(1.0, count + 1)).iterations < 150


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
    transition = transition_matrix(drifting_chain(20, 2.0))
    expected = perron_vector(transition, np.ones(20)).vector
    np.testing.assert_array_equal(perron_vector(transition, np.full(20, scale)).vector, expected)


def test_entries_far_below_float32_survive() -> None:
    adjacency = drifting_chain(100, 9.0)
    found = perron_of(adjacency)
    assert 0 < found.vector.min() < 1e-90
    np.testing.assert_allclose(found.vector, gth_perron(transition_matrix(adjacency)), rtol=1e-10)


def test_too_few_steps_raise_instead_of_returning_a_wrong_vector(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(perron, "MOST_ROUNDS", 1)
    monkeypatch.setattr(perron, "POWER_ROUND", 10)
    with pytest.raises(NumericalError, match="did not converge") as caught:
        perron_of(drifting_chain(300, 1.1))
    assert "--method path" in caught.value.hint


def test_a_small_residual_alone_is_no_certificate() -> None:
    """The residual is at rounding level, and yet the shares of the two cliques are unknown."""
    with pytest.raises(NumericalError, match=r"relative residual \d\.\de-1[3-9]"):
        perron_of(weak_cliques(100, 1e-9))


def test_a_failed_refinement_is_no_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_convergence(operator: object, right: np.ndarray, **_: object) -> tuple[np.ndarray, int]:
        return right, 2000

    monkeypatch.setattr(perron, "bicgstab", no_convergence)
    monkeypatch.setattr(perron, "MOST_ROUNDS", 2)
    with pytest.raises(NumericalError, match="inf"):
        perron_of(drifting_chain(10, 2.0))


def test_a_vector_that_underflows_is_refused() -> None:
    with pytest.raises(NumericalError, match="underflows"):
        perron_of(drifting_chain(500, 9.0))
