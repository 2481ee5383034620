"""series: what would take long is refused before it begins."""

import pytest

from cgnn_cli.configs import CommuteConfig
from cgnn_cli.errors import ResourceError
from cgnn_cli.graph import Dilap, Graph
from cgnn_cli.solvers import series
from cgnn_cli.stages.commute import commute
from tests.graphs import chain_edges, graph_of
from tests.solvers.samples import walk_on


def test_a_plan_that_takes_long_is_refused(graph: Graph, walk: Dilap, monkeypatch: pytest.MonkeyPatch) -> None:
    assert commute(graph, walk, CommuteConfig(solver="series", steps=5)).summary["steps"] == 5
    monkeypatch.setattr(series, "WORK_A_SECOND", 1e-6)
    with pytest.raises(ResourceError, match="5 steps of the series may take about"):
        commute(graph, walk, CommuteConfig(solver="series", steps=5))


def test_a_tolerance_chooses_the_steps_and_says_where_none_is_enough() -> None:
    graph = graph_of(25, chain_edges(25))  # which mixes slowly
    walk = walk_on(graph)
    chosen = commute(graph, walk, CommuteConfig(solver="series", tolerance=0.9)).summary
    assert chosen["steps"] < 50 and chosen["sampled_error"] <= 0.9 and not chosen["notes"]
    most = commute(graph, walk, CommuteConfig(solver="series", tolerance=1e-9)).summary
    assert most["steps"] == 50 and "no number of steps up to 50 reaches --tolerance 1e-09" in most["notes"][0]
