"""pi-only: the sum of the return times."""

import numpy as np
import pytest

from cgnn_cli.configs import CommuteConfig
from cgnn_cli.graph import Dilap, Graph
from cgnn_cli.stages.commute import commute

pytestmark = pytest.mark.filterwarnings("error")


def test_pi_only_is_the_sum_of_return_times(graph: Graph, walk: Dilap) -> None:
    times = commute(graph, walk, CommuteConfig(solver="pi-only"))
    np.testing.assert_array_equal(times.hitting, 1 / walk.perron[times.target])
    np.testing.assert_array_equal(times.hitting_back, 1 / walk.perron[times.source])
    np.testing.assert_array_equal(times.commute, times.hitting + times.hitting_back)
