"""DirGNN's two operators against loops over the edges."""

import numpy as np
import pytest

from cgnn_cli.graph import Graph
from cgnn_cli.models.dirgnn import DirgnnConfig
from cgnn_cli.operators import directed
from cgnn_cli.operators.operator_table import OPERATORS
from tests.models.samples import DIRECTIONS, dense_mean, neighbours, random_graph


def dense_root(graph: Graph, way: str) -> np.ndarray:
    """1 / sqrt(d_out d_in) of each edge, at the node that takes the message."""
    pattern = neighbours(graph, way)
    taken, given = pattern.sum(axis=1), pattern.sum(axis=0)
    result = np.zeros_like(pattern)
    for i, j in np.argwhere(pattern):
        result[i, j] = 1 / np.sqrt(taken[i] * given[j])
    return result


def expected(graph: Graph, variant: str, way: str) -> np.ndarray:
    if variant == "gat":
        return neighbours(graph, way) + np.eye(graph.node_count)
    return dense_mean(graph, way) if variant == "sage" else dense_root(graph, way)


@pytest.mark.parametrize("variant", ["sage", "gcn", "gat"])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_against_loops(variant: str, direction: str) -> None:
    graph = random_graph()
    config = DirgnnConfig(variant=variant, direction=direction)  # type: ignore[arg-type]
    made = directed.make(graph, None, config)
    ways = {"out": {"out": "out"}, "in": {"in": "in"}, "both": {"out": "out", "in": "in"}}
    for name, way in ways.get(direction, {"out": "undirected"}).items():
        np.testing.assert_allclose(made.pop(name).toarray(), expected(graph, variant, way), atol=1e-15)
    assert not made


def test_the_directions_of_gcn_are_each_others_transpose() -> None:
    made = directed.make(random_graph(), None, DirgnnConfig(variant="gcn"))
    np.testing.assert_array_equal(made["in"].toarray(), made["out"].toarray().T)
    entries = OPERATORS["directed"].entries(random_graph(), DirgnnConfig(variant="gcn"))
    assert made["in"].nnz + made["out"].nnz <= entries
