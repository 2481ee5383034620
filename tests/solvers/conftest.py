"""Small graphs of every family, and the walks on them."""

import pytest

from cgnn_cli.graph import Dilap, Graph
from tests.graphs import FAMILIES, graph_of
from tests.solvers.samples import walk_on


@pytest.fixture(scope="module", params=[family for family in FAMILIES if family != "no edges"])
def graph(request: pytest.FixtureRequest) -> Graph:
    return graph_of(25, FAMILIES[request.param](25))


@pytest.fixture(scope="module")
def walk(graph: Graph) -> Dilap:
    return walk_on(graph)
