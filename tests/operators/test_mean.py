"""GraphSAGE's operator against loops over the edges."""

import numpy as np
import pytest

from cgnn_cli.models.sage import SageConfig
from cgnn_cli.operators import mean
from cgnn_cli.operators.operator_table import OPERATORS
from tests.models.samples import DIRECTIONS, dense_mean, random_graph, without_edges


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_against_loops(direction: str) -> None:
    graph = random_graph()
    config = SageConfig(direction=direction)  # type: ignore[arg-type]
    step = mean.make(graph, None, config)["step"]
    np.testing.assert_allclose(step.toarray(), dense_mean(graph, direction), atol=1e-15)
    assert step.nnz <= OPERATORS["mean"].entries(graph, config)


def test_rows_sum_to_one_or_have_no_neighbour() -> None:
    graph = random_graph()
    step = mean.make(graph, None, SageConfig(direction="out"))["step"].toarray()
    lonely = graph.edges.toarray().sum(axis=1) == 0
    assert lonely[0] and lonely[1]  # isolated, and a sink
    np.testing.assert_allclose(step.sum(axis=1), np.where(lonely, 0.0, 1.0))


def test_without_edges() -> None:
    step = mean.make(without_edges(random_graph()), None, SageConfig())["step"]
    assert step.nnz == 0
