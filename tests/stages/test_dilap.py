"""dilap: the walk, its Perron vector and the digraph Laplacian as one artifact."""

from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from scipy.sparse import csr_array

from cgnn_cli.configs import DilapConfig, RewireConfig
from cgnn_cli.graph import Dilap, Rewired
from cgnn_cli.stages.dilap import dilap
from cgnn_cli.stages.rewire import rewire
from cgnn_cli.store.artifact import read
from tests.graphs import FAMILIES, directed_cycle, graph_of, gth_perron, random_edges
from tests.store.samples import sample, write

pytestmark = pytest.mark.filterwarnings("error")

INCIDENCE, RANDOM_WALK = DilapConfig(form="incidence"), DilapConfig(form="random-walk")


@pytest.fixture(scope="module", params=FAMILIES)
def rewired(request: pytest.FixtureRequest) -> Rewired:
    return rewire(graph_of(25, FAMILIES[request.param](25)), RewireConfig())


def test_perron_vector_is_stationary_positive_and_sums_to_one(rewired: Rewired) -> None:
    walk = dilap(rewired, INCIDENCE)
    np.testing.assert_allclose(walk.perron @ walk.transition, walk.perron, rtol=1e-10)
    np.testing.assert_allclose(walk.perron, gth_perron(walk.transition), rtol=1e-10)
    assert walk.perron.sum() == pytest.approx(1, abs=1e-14)
    assert walk.perron.min() > 0
    assert walk.perron.dtype == np.float64
    assert walk.summary["perron_minimum"] == walk.perron.min()


def test_forms_share_the_walk_and_differ_in_the_laplacian(rewired: Rewired) -> None:
    incidence, random_walk = dilap(rewired, INCIDENCE), dilap(rewired, RANDOM_WALK)
    np.testing.assert_array_equal(incidence.perron, random_walk.perron)
    np.testing.assert_array_equal(random_walk.laplacian.toarray(), np.eye(25) - random_walk.transition.toarray())
    skew = random_walk.laplacian.toarray()
    off = ~np.eye(25, dtype=bool)
    np.testing.assert_allclose(incidence.laplacian.toarray()[off], (skew + skew.T)[off], rtol=1e-14)
    assert incidence.summary["symmetric"] is True


def test_the_weighted_dilap_is_balanced(rewired: Rewired) -> None:
    """diag(pi) (I - P): both its rows and its columns sum to zero, because pi is stationary."""
    walk = dilap(rewired, RANDOM_WALK)
    balanced = walk.perron[:, None] * walk.laplacian.toarray()
    np.testing.assert_allclose([balanced.sum(axis=0), balanced.sum(axis=1)], 0, atol=1e-14)


def test_random_walk_form_is_marked_symmetric_only_where_it_is() -> None:
    directed = rewire(graph_of(20, random_edges(20, 3, seed=0)), RewireConfig())
    assert dilap(directed, RANDOM_WALK).summary["symmetric"] is False
    ring = directed_cycle(6)
    regular = Rewired(adjacency=csr_array(ring + ring.T), nodes=np.arange(6))
    assert dilap(regular, RANDOM_WALK).summary["symmetric"] is True


def test_one_node() -> None:
    walk = dilap(rewire(graph_of(1, []), RewireConfig()), INCIDENCE)
    assert walk.perron.tolist() == [1.0]
    assert walk.laplacian.shape == (1, 1)
    assert walk.laplacian.nnz == 0
    assert walk.summary["symmetric"] is True


@pytest.mark.parametrize("config", [INCIDENCE, RANDOM_WALK], ids=["incidence", "random-walk"])
def test_renumbering_the_nodes_renumbers_the_result(config: DilapConfig) -> None:
    rewired = rewire(graph_of(30, random_edges(30, 3, seed=1)), RewireConfig())
    place = np.random.default_rng(0).permutation(30)
    moved = Rewired(adjacency=csr_array(rewired.adjacency[place][:, place]), nodes=np.arange(30))
    first, second = dilap(rewired, config), dilap(moved, config)
    np.testing.assert_allclose(second.perron, first.perron[place], rtol=1e-12)
    expected = first.laplacian.toarray()[np.ix_(place, place)]
    np.testing.assert_allclose(second.laplacian.toarray(), expected, atol=1e-14)


def test_the_unit_of_the_weights_does_not_matter() -> None:
    edges = random_edges(20, 3, seed=2)
    weights = np.linspace(1, 3, len(edges))
    small, large = (
        dilap(rewire(graph_of(20, edges, weights=weights * unit), RewireConfig(method="none")), INCIDENCE)
        for unit in (1e-9, 1e9)
    )
    np.testing.assert_allclose(small.perron, large.perron, rtol=1e-12)
    np.testing.assert_allclose(small.transition.toarray(), large.transition.toarray(), rtol=1e-14)


TELEPORT = RewireConfig(method="teleport", gamma=0.8)


def dense_walk(adjacency: np.ndarray, gamma: float) -> np.ndarray:
    """P = gamma D^-1 A + (1 - gamma)/n 1 1^T, with uniform rows for states without a way out."""
    count = len(adjacency)
    dense = np.full((count, count), 1 / count)
    out = adjacency.sum(axis=1) > 0
    dense[out] = gamma * adjacency[out] / adjacency[out].sum(axis=1, keepdims=True) + (1 - gamma) / count
    return dense


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("config", [INCIDENCE, RANDOM_WALK], ids=["incidence", "random-walk"])
def test_teleporting_walk(family: str, config: DilapConfig) -> None:
    graph = graph_of(25, [(1, 1), *FAMILIES[family](25)])
    walk = dilap(rewire(graph, TELEPORT), config)
    expected = dense_walk(graph.adjacency.toarray(), 0.8)
    np.testing.assert_allclose(walk.walk().to_dense(), expected, rtol=1e-14)
    np.testing.assert_allclose(walk.perron, gth_perron(csr_array(expected)), rtol=1e-10)
    laplacian = np.eye(25) - expected
    if config == INCIDENCE:
        moves = expected * ~np.eye(25, dtype=bool)
        laplacian = np.diag((moves + moves.T).sum(axis=1)) - moves - moves.T
    np.testing.assert_allclose(walk.laplacian_operator() @ np.eye(25), laplacian, atol=1e-13)
    assert walk.summary["symmetric"] is bool(np.allclose(laplacian, laplacian.T, atol=1e-12))
    assert walk.laplacian.nnz <= 2 * graph.adjacency.nnz + 25  # never dense


def test_a_regular_teleporting_walk_is_symmetric_in_both_forms() -> None:
    ring = directed_cycle(6)
    rewired = Rewired(adjacency=csr_array(ring + ring.T), nodes=np.arange(6), gamma=np.array([0.5]))
    for config in (INCIDENCE, RANDOM_WALK):
        assert dilap(rewired, config).summary["symmetric"] is True


@pytest.mark.parametrize("method", ["path", "teleport"])
@pytest.mark.parametrize("config", [INCIDENCE, RANDOM_WALK], ids=["incidence", "random-walk"])
def test_the_operator_survives_the_artifact(
    method: Literal["path", "teleport"], config: DilapConfig, tmp_path: Path
) -> None:
    walk = dilap(rewire(graph_of(12, FAMILIES["sinks"](12)), RewireConfig(method=method)), config)
    elements = walk.to_elements()
    assert ({"jump", "form"} <= elements.keys()) == (method == "teleport")
    stored = read(write(tmp_path / "dilap.h5", sample("dilap", elements)))
    again = Dilap.from_elements(stored.elements, {})
    np.testing.assert_array_equal(again.laplacian_operator() @ np.eye(12), walk.laplacian_operator() @ np.eye(12))
    np.testing.assert_array_equal(again.walk().to_dense(), walk.walk().to_dense())


def test_without_jumps_the_operator_is_the_matrix(rewired: Rewired) -> None:
    walk = dilap(rewired, INCIDENCE)
    assert walk.laplacian_operator() is walk.laplacian
    assert walk.walk().sparse is walk.transition
    assert walk.walk().jump is None
