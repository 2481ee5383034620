"""GAT's pattern against loops over the edges."""

import numpy as np
import pytest

from cgnn_cli.errors import UsageError
from cgnn_cli.models.gat import GatConfig
from cgnn_cli.operators import pattern
from cgnn_cli.operators.operator_table import OPERATORS
from tests.models.samples import neighbours, random_graph, without_edges


@pytest.mark.parametrize("direction", ["out", "in", "undirected"])
def test_neighbours_and_the_node_itself(direction: str) -> None:
    graph = random_graph()
    config = GatConfig(direction=direction)  # type: ignore[arg-type]
    made = pattern.make(graph, None, config)["pattern"]
    np.testing.assert_array_equal(made.toarray(), neighbours(graph, direction) + np.eye(graph.node_count))
    assert made.nnz == np.count_nonzero(made.toarray()) <= OPERATORS["pattern"].entries(graph, config)


def test_without_edges_each_node_has_itself() -> None:
    graph = without_edges(random_graph())
    made = pattern.make(graph, None, GatConfig())["pattern"]
    np.testing.assert_array_equal(made.toarray(), np.eye(graph.node_count))


def test_one_softmax_cannot_take_both_directions_apart() -> None:
    with pytest.raises(UsageError, match="no --direction both"):
        pattern.make(random_graph(), None, GatConfig(direction="both"))
