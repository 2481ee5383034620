"""Graphs from networkx."""

import networkx as nx
import numpy as np
import pytest

from cgnn_cli.datasets.from_networkx import graph_from_networkx
from cgnn_cli.errors import DataError


def test_a_digraph_keeps_its_directions_weights_and_names() -> None:
    network = nx.DiGraph([("b", "a"), ("a", "c"), ("c", "c")])
    network.add_node("alone")
    network["b"]["a"]["weight"] = 2.5
    graph = graph_from_networkx(network)
    assert graph.ids().tolist() == ["b", "a", "c", "alone"]
    expected = nx.to_numpy_array(network)
    np.testing.assert_array_equal(graph.adjacency.toarray(), expected)
    assert graph.adjacency[0, 1] == 2.5 and graph.labels is None and graph.splits is None
    assert not graph_from_networkx(network, weight=None).is_weighted


def test_an_undirected_network_goes_both_ways() -> None:
    network = nx.karate_club_graph()
    graph = graph_from_networkx(network, label="club")
    np.testing.assert_array_equal(graph.adjacency.toarray(), nx.to_numpy_array(network))
    assert graph.class_labels() == ["Mr. Hi", "Officer"] and graph.split_count == 10
    assert graph.labels is not None and graph.labels[0] == 0 and graph.labels[33] == 1
    loop = nx.Graph([(0, 0), (0, 1)])
    assert graph_from_networkx(loop).adjacency.toarray().tolist() == [[1, 1], [1, 0]]


def test_parallel_edges_count_once_or_are_summed() -> None:
    network = nx.MultiDiGraph([(0, 1), (0, 1), (1, 0)])
    assert graph_from_networkx(network).adjacency.toarray().tolist() == [[0, 1], [1, 0]]
    network.add_edge(0, 1, weight=4.0)
    assert graph_from_networkx(network).adjacency.toarray().tolist() == [[0, 6], [1, 0]]


def test_features_and_labels_by_the_names_of_attributes() -> None:
    network = nx.cycle_graph(12, create_using=nx.DiGraph)
    for node, attributes in network.nodes(data=True):
        attributes |= {"age": node, "place": [0.5, -node], "kind": node % 2}
    network.nodes[5].pop("kind")
    graph = graph_from_networkx(network, label="kind", features=["place", "age"])
    assert isinstance(graph.features, np.ndarray) and graph.features[3].tolist() == [0.5, -3.0, 3.0]
    assert graph.labels is not None and graph.labels[[4, 5, 7]].tolist() == [0, -1, 1]
    assert graph.splits is not None and not graph.splits[:, 5].any()
    assert graph_from_networkx(network).features is None


def test_what_is_missing_is_named() -> None:
    network = nx.DiGraph([("u", "v")])
    with pytest.raises(DataError, match="no node has the attribute 'kind'"):
        graph_from_networkx(network, label="kind")
    network.nodes["u"]["age"] = 1.0
    with pytest.raises(DataError, match="node v has no attribute 'age'"):
        graph_from_networkx(network, features=["age"])
    network.nodes["v"]["age"] = [1.0, 2.0]
    with pytest.raises(DataError, match="same length"):
        graph_from_networkx(network, features=["age"])
    network["u"]["v"]["weight"] = 0.0
    with pytest.raises(DataError, match="between 1e-150 and"):
        graph_from_networkx(network)
