"""rewire: the order of the path, what it adds, weights, and the walk that is not rewired."""

import math
from typing import Literal

import networkx as nx
import numpy as np
import pytest
from scipy.sparse import csr_array

from cgnn_cli.configs import CommuteConfig, DilapConfig, RewireConfig
from cgnn_cli.errors import DataError, UsageError
from cgnn_cli.graph import Graph, Rewired
from cgnn_cli.numerics.csr import strong_components
from cgnn_cli.operators.structural import structural_features
from cgnn_cli.stages.commute import commute
from cgnn_cli.stages.dilap import dilap
from cgnn_cli.stages.rewire import rewire, similarity_order
from tests.graphs import FAMILIES, chain_edges, clique_edges, graph_of, random_edges, star_edges, two_cliques_edges

pytestmark = pytest.mark.filterwarnings("error")


def slow_order(features: np.ndarray) -> list[int]:
    """The order by its definition, with exact sums."""
    rows = [[float(value) for value in row] for row in features]
    anchor = [math.fsum(column) / len(rows) for column in zip(*rows, strict=True)]

    def cosine(row: list[float]) -> float:
        length = math.sqrt(math.fsum(x * x for x in row)) * math.sqrt(math.fsum(a * a for a in anchor))
        return round(math.fsum(x * a for x, a in zip(row, anchor, strict=True)) / length, 12) if length else 0.0

    return sorted(range(len(rows)), key=lambda node: (cosine(rows[node]), node))


def path_pairs(order: np.ndarray) -> set[tuple[int, int]]:
    steps = list(zip(order[:-1].tolist(), order[1:].tolist(), strict=True))
    return {*steps, *((j, i) for i, j in steps)}


def entries(matrix: csr_array) -> dict[tuple[int, int], float]:
    rows, columns = matrix.nonzero()
    return {(int(i), int(j)): float(matrix[i, j]) for i, j in zip(rows, columns, strict=True)}


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8, bool])
@pytest.mark.parametrize("as_sparse", [False, True])
def test_order_of_words_with_many_ties(dtype: type, as_sparse: bool) -> None:
    words: np.ndarray = (np.random.default_rng(0).random((300, 6)) < 0.3).astype(dtype)
    order, notes = similarity_order(csr_array(words) if as_sparse else words)
    assert order.tolist() == slow_order(words)
    zero_rows = int((~words.any(axis=1)).sum())
    assert zero_rows > 0
    assert notes == [f"{zero_rows:,} nodes have all-zero features; their similarity counts as 0"]


@pytest.mark.parametrize("as_sparse", [False, True])
def test_float32_features_are_averaged_in_float64(as_sparse: bool) -> None:
    features = np.random.default_rng(1).random((4000, 2)).astype(np.float32)
    order, notes = similarity_order(csr_array(features) if as_sparse else features)
    assert order.tolist() == slow_order(features)
    assert notes == []


def test_equal_cosines_are_ordered_by_node_number() -> None:
    """Rows that differ in length only have the same cosine, but not the same rounding errors."""
    directions = np.array([[1.0, 2.0, 7.0], [5.0, 1.0, 1.0]])
    features = directions[np.arange(40) % 2] * np.linspace(0.1, 3, 40)[:, None]
    order = similarity_order(features)[0].tolist()
    assert sorted(order) == list(range(40))
    assert {tuple(order[:20]), tuple(order[20:])} == {tuple(range(0, 40, 2)), tuple(range(1, 40, 2))}


def test_zero_rows_lie_between_the_unlike_and_the_like() -> None:
    features = np.array([[3.0, 0.0], [0.0, 0.0], [-1.0, 0.0], [0.0, 0.0], [2.0, 0.1]])
    assert similarity_order(features)[0].tolist() == [2, 1, 3, 0, 4]


@pytest.mark.parametrize(
    "features", [np.zeros((5, 3)), np.ones((5, 2)), np.array([[1.0], [-1.0], [1.0], [-1.0], [0.0]])]
)
def test_features_that_tell_nothing_give_the_order_of_the_nodes(features: np.ndarray) -> None:
    assert similarity_order(features)[0].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("count", [2, 3, 30])
def test_path_adds_two_way_steps_and_one_self_loop_a_node(family: str, count: int) -> None:
    graph = graph_of(count, FAMILIES[family](count))
    rewired = rewire(graph, RewireConfig())
    assert rewired.order is not None
    loops = {(node, node) for node in range(count)}
    expected = entries(graph.adjacency).keys() | path_pairs(rewired.order) | loops
    assert entries(rewired.adjacency) == dict.fromkeys(expected, 1.0)
    assert rewired.adjacency.nnz - graph.adjacency.nnz <= 2 * (count - 1) + count
    assert strong_components(rewired.adjacency)[0] == 1
    np.testing.assert_array_equal(rewired.nodes, np.arange(count))


@pytest.mark.parametrize("config", [RewireConfig(), RewireConfig(walk="symmetric")], ids=lambda config: config.walk)
def test_rewiring_twice_changes_nothing(config: RewireConfig) -> None:
    graph = graph_of(15, [(0, 0), *random_edges(15, 2, seed=0)])
    once = rewire(graph, config).adjacency
    twice = rewire(Graph(adjacency=once, features=graph.features), RewireConfig()).adjacency
    np.testing.assert_array_equal(once.toarray(), twice.toarray())


def test_one_node() -> None:
    rewired = rewire(graph_of(1, []), RewireConfig())
    assert entries(rewired.adjacency) == {(0, 0): 1.0}


def test_summary_counts_what_was_added() -> None:
    graph = graph_of(4, [(0, 1), (1, 1)], features=np.diag([4.0, 3.0, 2.0, 1.0]))
    rewired = rewire(graph, RewireConfig())
    assert rewired.order is not None
    assert rewired.order.tolist() == [3, 2, 1, 0]
    summary = rewired.summary
    assert (summary["edges"], summary["self_loops"], summary["added_edges"]) == (6, 4, 5)
    assert (summary["density_change"], summary["density_change_with_self_loops"]) == (5.0, 4.0)


def test_added_weights_are_the_mean_out_weight_of_their_node() -> None:
    features = np.diag([4.0, 3.0, 2.0, 1.0])  # order 3, 2, 1, 0
    graph = graph_of(4, [(0, 1), (0, 2), (1, 3), (2, 2)], weights=[2.0, 6.0, 0.5, 7.0], features=features)
    assert entries(rewire(graph, RewireConfig()).adjacency) == {
        **{(0, 0): 4.0, (0, 1): 2.0, (0, 2): 6.0},
        **{(1, 0): 0.5, (1, 1): 0.5, (1, 2): 0.5, (1, 3): 0.5},
        **{(2, 1): 7.0, (2, 2): 7.0, (2, 3): 7.0},
        **{(3, 2): 1.0, (3, 3): 1.0},
    }


def test_a_small_existing_weight_keeps_every_digit() -> None:
    """Adding the path first and taking it back would round 1e-20 beside 1 to nothing."""
    features = np.diag([3.0, 2.0, 1.0])
    graph = graph_of(3, [(0, 1), (0, 2), (1, 0), (1, 1)], weights=[1e-20, 1.0, 0.1, 0.7], features=features)
    found = entries(rewire(graph, RewireConfig()).adjacency)
    assert found[0, 1] == 1e-20
    assert found[1, 0] == 0.1
    assert found[1, 1] == 0.7


@pytest.mark.parametrize("weighted", [False, True])
def test_symmetric_walk_is_symmetric(weighted: bool) -> None:
    edges = random_edges(25, 2, seed=1)
    graph = graph_of(25, edges, weights=np.linspace(0.1, 5, len(edges)) if weighted else None)
    dense = rewire(graph, RewireConfig(walk="symmetric")).adjacency.toarray()
    np.testing.assert_allclose(dense, dense.T, rtol=1e-15)
    base = (graph.adjacency + graph.adjacency.T).toarray()
    np.testing.assert_array_equal(dense[base > 0], base[base > 0])
    assert (np.diag(dense) > 0).all()


def test_symmetric_walk_of_an_unweighted_graph_adds_ones_beside_mutual_edges() -> None:
    graph = graph_of(3, [(0, 2), (2, 0)], features=np.diag([3.0, 2.0, 1.0]))  # order 2, 1, 0
    found = rewire(graph, RewireConfig(walk="symmetric")).adjacency.toarray()
    np.testing.assert_array_equal(found, [[1, 1, 2], [1, 1, 1], [2, 1, 1]])


def test_a_graph_without_features_is_ordered_by_structural_columns() -> None:
    graph = Graph(adjacency=graph_of(6, [(0, 1), (1, 2), (3, 1), (4, 5)]).adjacency)
    given = Graph(adjacency=graph.adjacency, features=structural_features(graph.adjacency))
    found, expected = (rewire(each, RewireConfig(method="path")).order for each in (graph, given))
    assert found is not None and expected is not None and found.tolist() == expected.tolist()
    assert len(rewire(Graph(adjacency=graph_of(2, [(0, 1), (1, 0)]).adjacency), RewireConfig(method="none")).nodes) == 2


@pytest.mark.parametrize("seed", range(4))
def test_none_keeps_the_largest_strong_component_as_it_is(seed: int) -> None:
    edges = random_edges(40, 2.5, seed)
    graph = graph_of(40, edges, weights=np.linspace(1, 2, len(edges)))
    rewired = rewire(graph, RewireConfig(method="none"))
    components = sorted(nx.strongly_connected_components(nx.DiGraph(edges)), key=len)
    assert len(components[-1]) > len(components[-2])
    assert set(rewired.nodes.tolist()) == components[-1]
    inside = np.ix_(rewired.nodes, rewired.nodes)
    np.testing.assert_array_equal(rewired.adjacency.toarray(), graph.adjacency.toarray()[inside])
    assert rewired.order is None
    assert f"{len(components[-1])} of 40 nodes" in rewired.summary["notes"][0]


def test_none_takes_the_first_of_equal_components() -> None:
    graph = graph_of(7, [*clique_edges([4, 5, 6]), *clique_edges([1, 2, 3])])
    assert rewire(graph, RewireConfig(method="none")).nodes.tolist() == [1, 2, 3]


@pytest.mark.parametrize("edges", [[], chain_edges(6), star_edges(6)], ids=["no edges", "chain", "star"])
def test_none_on_a_graph_without_cycles_is_an_error(edges: list[tuple[int, int]]) -> None:
    with pytest.raises(DataError, match="reach each other") as caught:
        rewire(graph_of(6, edges), RewireConfig(method="none"))
    assert "--method path" in caught.value.hint


def test_none_with_a_symmetric_walk_covers_the_connected_part() -> None:
    rewired = rewire(graph_of(6, star_edges(5)), RewireConfig(method="none", walk="symmetric"))
    assert rewired.nodes.tolist() == [0, 1, 2, 3, 4]


def test_none_leaves_edges_outside_without_value() -> None:
    graph = graph_of(8, two_cliques_edges(8))
    walk = dilap(rewire(graph, RewireConfig(method="none")), DilapConfig())
    times = commute(graph, walk, CommuteConfig(solver="exact"))
    outside = (times.source >= 4) | (times.target >= 4)
    assert 0 < outside.sum() < len(outside)
    for values in (times.hitting, times.hitting_back, times.commute):
        np.testing.assert_array_equal(np.isnan(values), outside)
    for weights in (times.weight_out, times.weight_in):
        np.testing.assert_array_equal(weights[outside], 0)
        np.testing.assert_allclose(weights[~outside], 1, rtol=1e-12)
    assert times.summary["edges_without_value"] == outside.sum()


def test_order_of_the_edge_list_does_not_matter() -> None:
    edges = random_edges(30, 3, seed=2)
    shuffled = [edges[k] for k in np.random.default_rng(0).permutation(len(edges))]
    first, second = (rewire(graph_of(30, listed), RewireConfig()).adjacency for listed in (edges, shuffled))
    for name in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))


def test_renumbering_the_nodes_renumbers_the_result_where_cosines_differ() -> None:
    graph = graph_of(30, random_edges(30, 3, seed=3))
    place = np.random.default_rng(1).permutation(30)
    assert isinstance(graph.features, np.ndarray)
    moved = Graph(adjacency=csr_array(graph.adjacency[place][:, place]), features=graph.features[place])
    first, second = (rewire(each, RewireConfig()).adjacency.toarray() for each in (graph, moved))
    np.testing.assert_array_equal(second, first[np.ix_(place, place)])


@pytest.mark.parametrize("walk", ["directed", "symmetric"])
def test_teleport_keeps_the_graph_and_needs_no_features(walk: Literal["directed", "symmetric"]) -> None:
    graph = Graph(adjacency=graph_of(6, [(0, 1), (1, 1), (2, 0)], weights=[2.0, 3.0, 4.0]).adjacency)
    rewired = rewire(graph, RewireConfig(method="teleport", walk=walk, gamma=0.7))
    dense = graph.adjacency.toarray()
    np.testing.assert_array_equal(rewired.adjacency.toarray(), dense if walk == "directed" else dense + dense.T)
    np.testing.assert_array_equal(rewired.nodes, np.arange(6))
    assert rewired.gamma is not None
    assert rewired.gamma.tolist() == [0.7]
    assert rewired.order is None
    summary = rewired.summary
    assert (summary["gamma"], summary["added_edges"], summary["density_change"]) == (0.7, 0, 0.0)
    assert (summary["components"], summary["self_loops"]) == (1, 1)
    assert summary["notes"] == ["3 nodes have no way out; from there every step jumps"]


def test_gamma_is_part_of_the_key_of_teleport_only() -> None:
    assert RewireConfig(method="teleport").to_dict()["gamma"] == 0.9
    path = RewireConfig(method="path")
    assert RewireConfig(method="path", gamma=0.5).to_dict() == path.to_dict() == {"method": "path", "walk": "directed"}
    given = RewireConfig(method="teleport", gamma=0.5)
    assert RewireConfig.from_dict(given.to_dict()) == given


@pytest.mark.parametrize("gamma", [0.0, -0.1, 1.0, float("nan")])
def test_gamma_lies_between_0_and_1(gamma: float) -> None:
    with pytest.raises(UsageError, match="--gamma"):
        RewireConfig(method="teleport", gamma=gamma)


@pytest.mark.parametrize("config", [RewireConfig(), RewireConfig(method="teleport")], ids=lambda config: config.method)
def test_optional_elements_survive_the_round_trip(config: RewireConfig) -> None:
    rewired = rewire(graph_of(6, [(0, 1), (1, 2)]), config)
    elements = rewired.to_elements()
    assert ("gamma" in elements) == (config.method == "teleport")
    again = Rewired.from_elements(elements, rewired.summary)
    assert (again.gamma is None) == (rewired.gamma is None)
    assert (again.order is None) == (rewired.order is None)
