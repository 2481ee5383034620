"""The walk and the two forms of its digraph Laplacian."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from cgnn_cli.configs import RewireConfig
from cgnn_cli.errors import DataError
from cgnn_cli.numerics.transition import (
    incidence_laplacian,
    jumping_laplacian,
    random_walk_laplacian,
    sparse_laplacian,
    teleporting_walk,
    transition_matrix,
)
from cgnn_cli.numerics.walk import Walk
from cgnn_cli.stages.rewire import rewire
from tests.graphs import FAMILIES, graph_of, random_edges, sparse

pytestmark = pytest.mark.filterwarnings("error")


@pytest.fixture(scope="module", params=FAMILIES)
def adjacency(request: pytest.FixtureRequest) -> csr_array:
    return rewire(graph_of(20, FAMILIES[request.param](20)), RewireConfig()).adjacency


def explicit_incidence_form(transition: np.ndarray) -> np.ndarray:
    """B diag(P) B^T with one column of the signed incidence matrix B for each move i -> j."""
    moves = [(i, j) for i, j in np.argwhere(transition) if i != j]
    incidence = np.zeros((len(transition), len(moves)))
    for column, (i, j) in enumerate(moves):
        incidence[i, column], incidence[j, column] = 1, -1
    shares = np.array([transition[i, j] for i, j in moves])
    return incidence @ np.diag(shares) @ incidence.T


def test_rows_of_the_walk_sum_to_one(adjacency: csr_array) -> None:
    transition = transition_matrix(adjacency)
    np.testing.assert_allclose(transition.sum(axis=1), 1, rtol=1e-14)
    np.testing.assert_array_equal(transition.indices, adjacency.indices)


def test_the_walk_follows_the_weights() -> None:
    transition = transition_matrix(sparse([[0, 1, 3], [5, 0, 0], [2, 2, 4]]))
    np.testing.assert_allclose(transition.toarray(), [[0.0, 0.25, 0.75], [1.0, 0.0, 0.0], [0.25, 0.25, 0.5]])


def test_a_state_without_a_way_out_is_named() -> None:
    with pytest.raises(DataError, match="state 2"):
        transition_matrix(sparse([[0, 1, 1], [1, 0, 1], [0, 0, 0]]))


def test_incidence_form_equals_its_definition(adjacency: csr_array) -> None:
    transition = transition_matrix(adjacency)
    expected = explicit_incidence_form(transition.toarray())
    np.testing.assert_allclose(incidence_laplacian(transition).toarray(), expected, atol=1e-13)


def test_incidence_form_is_a_laplacian(adjacency: csr_array) -> None:
    laplacian = incidence_laplacian(transition_matrix(adjacency)).toarray()
    np.testing.assert_array_equal(laplacian, laplacian.T)
    np.testing.assert_allclose(laplacian.sum(axis=0), 0, atol=1e-13)
    np.testing.assert_allclose(laplacian.sum(axis=1), 0, atol=1e-13)
    eigenvalues = np.linalg.eigvalsh(laplacian)
    assert eigenvalues[0] >= -1e-13
    assert eigenvalues[1] > 1e-6  # connected: only the constant is in the kernel


def test_incidence_form_ignores_self_loops() -> None:
    walk = np.array([[0.5, 0.5], [0.25, 0.75]])
    np.testing.assert_allclose(incidence_laplacian(sparse(walk)).toarray(), [[0.75, -0.75], [-0.75, 0.75]])


def test_random_walk_form_is_identity_minus_p(adjacency: csr_array) -> None:
    transition = transition_matrix(adjacency)
    laplacian = random_walk_laplacian(transition).toarray()
    np.testing.assert_array_equal(laplacian, np.eye(20) - transition.toarray())
    np.testing.assert_allclose(laplacian.sum(axis=1), 0, atol=1e-14)


def test_one_state_has_an_empty_laplacian() -> None:
    transition = transition_matrix(sparse([[3.0]]))
    assert incidence_laplacian(transition).nnz == random_walk_laplacian(transition).nnz == 0


@pytest.mark.parametrize("gamma", [0.3, 0.9])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_teleporting_walk_is_the_papers_mixture(family: str, gamma: float) -> None:
    adjacency = graph_of(20, FAMILIES[family](20)).adjacency.toarray()
    adjacency[3] *= 2.5
    walk = teleporting_walk(sparse(adjacency), gamma)
    expected = np.full((20, 20), 1 / 20)
    out = adjacency.sum(axis=1) > 0
    expected[out] = gamma * adjacency[out] / adjacency[out].sum(axis=1, keepdims=True) + (1 - gamma) / 20
    np.testing.assert_allclose(walk.to_dense(), expected, rtol=1e-14)
    assert walk.sparse.nnz == np.count_nonzero(adjacency)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("incidence", [True, False])
def test_the_laplacian_of_a_teleporting_walk_equals_its_definition(family: str, incidence: bool) -> None:
    walk = teleporting_walk(graph_of(20, [(0, 0), *FAMILIES[family](20)]).adjacency, 0.8)
    assert walk.jump is not None
    dense = walk.to_dense()
    expected = explicit_incidence_form(dense) if incidence else np.eye(20) - dense
    operator = jumping_laplacian(sparse_laplacian(walk, incidence=incidence), walk.jump, incidence=incidence)
    np.testing.assert_allclose(operator @ np.eye(20), expected, atol=1e-13)
    np.testing.assert_allclose(operator.H @ np.eye(20), expected.T, atol=1e-13)
    vector = np.random.default_rng(0).standard_normal(20)
    np.testing.assert_allclose(operator @ vector, expected @ vector, atol=1e-13)
    np.testing.assert_allclose(operator.H @ vector, expected.T @ vector, atol=1e-13)


@pytest.mark.parametrize("incidence", [True, False])
def test_without_jumps_the_laplacian_is_all_sparse(incidence: bool) -> None:
    transition = transition_matrix(rewire(graph_of(20, random_edges(20, 3, seed=1)), RewireConfig()).adjacency)
    expected = (incidence_laplacian if incidence else random_walk_laplacian)(transition)
    np.testing.assert_array_equal(sparse_laplacian(Walk(transition), incidence=incidence).toarray(), expected.toarray())
