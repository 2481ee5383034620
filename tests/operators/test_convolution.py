"""The operator of GCN and its relatives, against loops over the edges."""

import numpy as np
import pytest

from cgnn_cli.models.appnp import AppnpConfig
from cgnn_cli.models.gcn import GcnConfig
from cgnn_cli.operators import convolution
from cgnn_cli.operators.operator_table import OPERATORS
from tests.graphs import graph_of
from tests.models.samples import DIRECTIONS, dense_convolution, random_graph, without_edges


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_against_loops(direction: str) -> None:
    graph = random_graph()
    config = GcnConfig(direction=direction)  # type: ignore[arg-type]
    step = convolution.make(graph, None, config)["step"]
    np.testing.assert_allclose(step.toarray(), dense_convolution(graph, direction), atol=1e-15)
    assert step.nnz <= OPERATORS["convolution"].entries(graph, config)


def test_by_hand() -> None:
    graph = graph_of(3, [(0, 1), (0, 2), (1, 0), (2, 2)])  # out-degrees 2, 1, 0: the self-loop is no edge
    root = 1 / np.sqrt(2)
    out = convolution.make(graph, None, GcnConfig(direction="out"))["step"].toarray()
    np.testing.assert_allclose(out, [[0, root, 0], [root, 0, 0], [0, 0, 0]])
    undirected = convolution.make(graph, None, AppnpConfig())["step"].toarray()
    root = 1 / np.sqrt(6)
    np.testing.assert_allclose(undirected, [[1 / 3, root, root], [root, 1 / 2, 0], [root, 0, 1 / 2]])


def test_weights_of_the_graph_are_not_read() -> None:
    weighted = graph_of(3, [(0, 1), (1, 2)], weights=[5.0, 0.1])
    step = convolution.make(weighted, None, GcnConfig())["step"]
    assert step.toarray().max() == 1


def test_without_edges_only_the_node_itself_is_left() -> None:
    graph = without_edges(random_graph())
    for direction, diagonal in (("out", 0.0), ("both", 0.0), ("undirected", 1.0)):
        config = GcnConfig(direction=direction)  # type: ignore[arg-type]
        step = convolution.make(graph, None, config)["step"]
        np.testing.assert_array_equal(step.toarray(), diagonal * np.eye(graph.node_count))
