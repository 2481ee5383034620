"""What holds for commute times on any digraph, with hubs, chains, sinks and isolated nodes; through all solvers."""

from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from cgnn_cli.configs import CommuteConfig, RewireConfig
from cgnn_cli.graph import CommuteTimes, Dilap, Graph
from cgnn_cli.numerics.csr import canonical_csr
from cgnn_cli.stages.commute import commute
from cgnn_cli.stages.dilap import dilap
from cgnn_cli.stages.rewire import rewire

EXACT = CommuteConfig(solver="exact")
FEW = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def digraphs(draw: st.DrawFn) -> Graph:
    """A random digraph of up to 40 nodes that may have a hub, a chain that leads away, sinks and isolated nodes."""
    core, chain, isolated = draw(st.integers(4, 20)), draw(st.integers(0, 8)), draw(st.integers(0, 4))
    sinks = draw(st.integers(0, 4))
    count = core + chain + sinks + isolated
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    dense = np.zeros((count, count))
    dense[:core, :core] = rng.random((core, core)) < draw(st.sampled_from([0.1, 0.3, 0.6]))
    if draw(st.booleans()):  # a hub
        dense[0, 1:core] = dense[1:core, 0] = 1
    for node in range(core, core + chain):
        dense[node - 1, node] = 1
    for node in range(core + chain, core + chain + sinks):
        dense[rng.integers(core), node] = 1
    if draw(st.booleans()):
        dense *= np.round(rng.random(dense.shape) * 3 + 0.5, 2)
    order = rng.permutation(count)
    dense[0, 1] = dense[0, 1] or 1
    return Graph(adjacency=canonical_csr(csr_array(dense[np.ix_(order, order)])), features=rng.random((count, 3)) + 0.1)


def walk_of(graph: Graph, **options: Any) -> Dilap:
    return dilap(rewire(graph, RewireConfig(**options)))


def all_times(walk: Dilap) -> np.ndarray:
    """h(i, j) for all pairs, each target by its own absorbing system."""
    dense = walk.walk().to_dense()
    count = len(dense)
    times = np.zeros((count, count))
    for target in range(count):
        others = np.delete(np.arange(count), target)
        system = np.eye(count - 1) - dense[np.ix_(others, others)]
        times[others, target] = np.linalg.solve(system, np.ones(count - 1))
    return times


def on_edges(times: CommuteTimes, hitting: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return hitting[times.source, times.target], hitting[times.target, times.source]


@FEW
@given(
    digraphs(),
    st.sampled_from(
        [
            {},
            {"walk": "symmetric"},
            {"method": "teleport", "gamma": 0.7},
            {"method": "escape"},
            {"method": "escape", "walk": "symmetric"},
        ]
    ),
)
def test_exact_times_are_those_of_the_absorbing_systems(graph: Graph, options: dict[str, Any]) -> None:
    walk = walk_of(graph, **options)
    times, hitting = commute(graph, walk, EXACT), all_times(walk)
    there, back = on_edges(times, hitting)
    precise = max(1e-8, 1e-14 / walk.perron.min())
    np.testing.assert_allclose(times.hitting, there, rtol=precise)
    np.testing.assert_allclose(times.hitting_back, back, rtol=precise)


@FEW
@given(digraphs())
def test_commute_times_are_a_metric_with_a_floor(graph: Graph) -> None:
    walk = walk_of(graph)
    hitting = all_times(walk)
    c = hitting + hitting.T
    slack = 1 + 1e-6
    assert (c[:, None, :] <= (c[:, :, None] + c[None, :, :]) * slack + 1e-9).all()
    floor = np.maximum.outer(1 / walk.perron, 1 / walk.perron)
    off = ~np.eye(len(c), dtype=bool)
    assert (c[off] * slack >= floor[off]).all()
    times = commute(graph, walk, EXACT)
    assert (times.commute * slack >= floor[times.source, times.target]).all()
    assert times.summary["ratio"]["minimum"] * slack >= 0.5


@FEW
@given(digraphs())
def test_both_directions_of_a_mutual_edge_agree(graph: Graph) -> None:
    times = commute(graph, walk_of(graph), EXACT)
    table = csr_array((times.commute, (times.source, times.target)), shape=graph.adjacency.shape).toarray()
    mutual = (table > 0) & (table.T > 0)
    np.testing.assert_allclose(table[mutual], table.T[mutual], rtol=1e-9)


@FEW
@given(digraphs(), st.integers(0, 2**32 - 1))
def test_times_do_not_depend_on_the_numbering_of_the_states(graph: Graph, seed: int) -> None:
    """From the rewired graph on; the rewiring itself breaks ties by node number."""
    order = np.random.default_rng(seed).permutation(graph.node_count)
    rewired = rewire(graph)
    from dataclasses import replace

    renumbered = replace(rewired, adjacency=canonical_csr(rewired.adjacency[order][:, order]))
    other = Graph(adjacency=canonical_csr(graph.adjacency[order][:, order]))
    for config in (EXACT, CommuteConfig(solver="series", steps=3)):
        one = commute(graph, dilap(rewired), config)
        two = commute(other, dilap(renumbered), config)
        table = np.full(graph.adjacency.shape, np.nan)
        table[order[two.source], order[two.target]] = two.commute
        np.testing.assert_allclose(table[one.source, one.target], one.commute, rtol=1e-6)


@FEW
@given(digraphs(), st.sampled_from([{}, {"method": "teleport", "gamma": 0.9}, {"method": "escape"}]))
def test_a_long_series_is_exact(graph: Graph, options: dict[str, Any]) -> None:
    walk = walk_of(graph, **options)
    exact = commute(graph, walk, EXACT)
    steps = CommuteConfig(solver="series", steps=1000, tail=False)
    slowest = np.sort(np.abs(np.linalg.eigvals(walk.walk().to_dense())))[-2]
    bound = max(1e-6, 1000 * slowest**1000 / walk.perron.min())
    np.testing.assert_allclose(commute(graph, walk, steps).commute, exact.commute, rtol=bound)


@settings(max_examples=3, deadline=None)
@given(digraphs())
def test_a_sketch_with_many_probes_is_near(graph: Graph) -> None:
    walk = walk_of(graph)
    exact = commute(graph, walk, EXACT).commute
    found = commute(graph, walk, CommuteConfig(solver="sketch", probes=150))
    assert np.median(np.abs(found.commute - exact) / exact) < 0.2


@FEW
@given(digraphs(), st.sampled_from(["svd", "series", "sketch", "pi-only", "exact"]))
def test_the_measured_error_is_the_true_one(graph: Graph, solver: Any) -> None:
    """All edges are verified, so that nothing depends on the sample."""
    walk = walk_of(graph)
    exact = commute(graph, walk, EXACT)
    found = commute(graph, walk, CommuteConfig(solver=solver, probes=4, verify=10_000))
    measured = found.summary["verify"]
    error = np.abs(found.commute - exact.commute) / exact.commute
    assert measured["edges"] == graph.edges.nnz
    assert measured["median_relative_error"] == pytest.approx(np.median(error), rel=1e-3, abs=1e-5)
    assert measured["p95_relative_error"] == pytest.approx(np.quantile(error, 0.95), rel=1e-3, abs=1e-5)


@FEW
@given(digraphs())
def test_undirected_commute_times_are_effective_resistances(graph: Graph) -> None:
    rewired = rewire(graph, RewireConfig(walk="symmetric"))
    weights = rewired.adjacency.toarray()
    np.testing.assert_allclose(weights, weights.T)
    network = nx.from_numpy_array(weights - np.diag(np.diag(weights)))
    times = commute(graph, dilap(rewired), EXACT)
    resistance = nx.resistance_distance(network, weight="weight", invert_weight=False)
    expected = [weights.sum() * resistance[i][j] for i, j in zip(times.source, times.target, strict=True)]
    np.testing.assert_allclose(times.commute, expected, rtol=1e-6)
