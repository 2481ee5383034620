"""What solvers share: the floor of times, quantiles, parts without a saved state, and the measured error."""

import numpy as np
import pytest

from cgnn_cli.configs import CommuteConfig
from cgnn_cli.errors import StoppedEarly
from cgnn_cli.graph import Dilap, Graph
from cgnn_cli.solvers.solution import Allowance, Pairs, Unsaved, quantiles, solve_pairs
from cgnn_cli.watch import Watch


def test_times_are_never_below_a_return(graph: Graph, walk: Dilap) -> None:
    pairs = Pairs(walk, *graph.edges.nonzero())
    count = len(pairs.source)
    there, back, times = pairs.in_steps(np.zeros(count), np.full(count, 1e-3))
    np.testing.assert_allclose(times, 1 / np.minimum(walk.perron[pairs.source], walk.perron[pairs.target]))
    np.testing.assert_allclose(there, back)


def test_quantiles() -> None:
    assert quantiles(np.zeros(0)) == {}
    assert quantiles(np.arange(101.0)) == {"minimum": 0, "p05": 5, "median": 50, "p95": 95, "maximum": 100}


class Impatient(Watch):
    def stop_requested(self) -> bool:
        return True


def test_work_without_a_state_just_ends() -> None:
    Unsaved(Watch()).progress(3, 8, "nodes")
    with pytest.raises(StoppedEarly, match="stopped after 3 of 8 nodes"):
        Unsaved(Impatient()).progress(3, 8, "nodes")


def test_the_error_is_measured_where_it_is_asked_for(graph: Graph, walk: Dilap) -> None:
    pairs = Pairs(walk, *graph.edges.nonzero())
    assert "verify" not in solve_pairs(pairs, CommuteConfig(solver="exact"), Allowance()).figures
    measured = solve_pairs(pairs, CommuteConfig(solver="exact", verify=9), Allowance()).figures["verify"]
    assert measured["edges"] == 9 and measured["median_relative_error"] < 1e-6
