"""exact: the times solve their defining systems."""

import numpy as np
import pytest

from cgnn_cli.configs import CommuteConfig, DilapConfig, RewireConfig
from cgnn_cli.graph import Dilap, Graph
from cgnn_cli.stages.commute import commute
from cgnn_cli.stages.dilap import dilap
from cgnn_cli.stages.rewire import rewire
from tests.graphs import absorbing_hitting, directed_cycle
from tests.solvers.samples import INCIDENCE, RANDOM_WALK, walk_on

pytestmark = pytest.mark.filterwarnings("error")

EXACT = CommuteConfig(solver="exact")


def test_exact_times_solve_the_absorbing_systems(graph: Graph, walk: Dilap) -> None:
    times, expected = commute(graph, walk, EXACT), absorbing_hitting(walk.transition)
    limit = 1e-8
    np.testing.assert_allclose(times.hitting, expected[times.source, times.target], rtol=limit)
    np.testing.assert_allclose(times.hitting_back, expected[times.target, times.source], rtol=limit)
    np.testing.assert_array_equal(times.commute, times.hitting + times.hitting_back)


def test_exact_does_not_depend_on_the_form_of_the_laplacian(graph: Graph) -> None:
    first, second = (commute(graph, walk_on(graph, form), EXACT) for form in (INCIDENCE, RANDOM_WALK))
    np.testing.assert_array_equal(first.commute, second.commute)


def test_directed_cycle_that_is_not_rewired() -> None:
    graph = Graph(adjacency=directed_cycle(7))
    walk = dilap(rewire(graph, RewireConfig(method="none")), DilapConfig())
    times = commute(graph, walk, EXACT)
    np.testing.assert_allclose(times.commute, 7, rtol=1e-8)
    np.testing.assert_allclose(times.hitting, 1, rtol=1e-8)
    np.testing.assert_allclose(times.hitting_back, 6, rtol=1e-8)
