"""DiGCL's views are PageRank operators on a grid of teleports."""

import numpy as np
import pytest

from cgnn_cli.models.digcl import DigclConfig
from cgnn_cli.operators import views
from tests.models.samples import random_graph
from tests.operators.test_pagerank import dense_operator

CONFIG = DigclConfig()


def test_one_view_a_teleport() -> None:
    graph = random_graph()
    made = views.make(graph, None, CONFIG)
    assert len(made) == len(views.GRID) == 17
    for teleport in views.GRID:
        view = made[views.view_name(teleport)].toarray()
        np.testing.assert_allclose(view, dense_operator(graph, teleport), atol=1e-9)
    assert sum(matrix.nnz for matrix in made.values()) <= views.entries(graph, CONFIG)


@pytest.mark.parametrize(
    ("teleport", "name"),
    [(0.9, "view-0.90"), (0.1, "view-0.10"), (0.087, "view-0.10"), (0.338, "view-0.35"), (2, "view-0.90")],
)
def test_the_nearest_view_is_taken(teleport: float, name: str) -> None:
    assert views.view_name(teleport) == name
