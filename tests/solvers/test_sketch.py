"""sketch: fewer steps where hubs make the default too long, and a standard error for each pair."""

import numpy as np
import pytest

from cgnn_cli.configs import CommuteConfig
from cgnn_cli.errors import ResourceError
from cgnn_cli.numerics.series import plan_series
from cgnn_cli.solvers import series
from cgnn_cli.solvers.solution import Allowance, Pairs, solve_pairs
from tests.graphs import graph_of, random_edges
from tests.solvers.samples import walk_on


def test_the_default_steps_give_way_to_those_of_the_series(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = graph_of(60, random_edges(60, 3, seed=0))
    pairs = Pairs(walk_on(graph), *graph.edges.nonzero())
    walk, _, source, target = pairs.stepping
    two, three = (plan_series(walk, steps, source, target).work for steps in (2, 3))
    whole = solve_pairs(pairs, CommuteConfig(solver="sketch", probes=8), Allowance())
    assert whole.figures["steps"] == 3 and not whole.notes
    assert whole.error is not None and (whole.error >= 0).all() and np.isfinite(whole.times).all()
    monkeypatch.setattr(series, "WORK_A_SECOND", (two + three) / 2 / 3600)
    shorter = solve_pairs(pairs, CommuteConfig(solver="sketch", probes=8), Allowance())
    assert shorter.figures["steps"] == 2 and "3 steps would take too long" in shorter.notes[0]
    with pytest.raises(ResourceError, match="3 steps of the series"):
        solve_pairs(pairs, CommuteConfig(solver="sketch", probes=8, steps=3), Allowance())
