"""All solvers on walks that jump with a chance of each state: against absorbing systems of the dense walk."""

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from cgnn_cli.configs import CommuteConfig, RewireConfig
from cgnn_cli.graph import CommuteTimes, Dilap, Graph
from cgnn_cli.numerics import exact
from cgnn_cli.solver_table import SOLVERS
from cgnn_cli.stages.commute import commute
from cgnn_cli.stages.dilap import dilap
from cgnn_cli.stages.rewire import rewire
from tests.graphs import FAMILIES, absorbing_hitting, graph_of, random_edges

pytestmark = pytest.mark.filterwarnings("error")
CONFIGS: dict[str, dict[str, Any]] = {
    "svd": {"rank": 24, "proximity": "none"},
    "exact": {},
    "series": {"steps": 1000, "tail": False},
    "sketch": {"steps": 200, "probes": 40},
    "pi-only": {},
}


def escaping(graph: Graph, **options: Any) -> Dilap:
    return dilap(rewire(graph, RewireConfig(method="escape", **options)))


def hit(times: CommuteTimes, hitting: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return hitting[times.source, times.target], hitting[times.target, times.source]


def expected_times(solver: str, made: Dilap) -> np.ndarray:
    """Steps of absorbing systems; scores of the full svd and the popularity of pi-only by their formulas."""
    dense = made.walk().to_dense()
    if solver == "pi-only":
        return np.tile(1 / made.perron, (len(dense), 1))
    if solver == "svd":
        moves = dense - np.diag(np.diag(dense))
        inverse = np.linalg.pinv(np.diag((moves + moves.T).sum(axis=1)) - moves - moves.T)
        return np.diag(inverse) / made.perron - inverse / np.sqrt(np.outer(made.perron, made.perron))
    return absorbing_hitting(csr_array(dense))


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("family", ["random", "chain", "sinks", "isolated", "two cliques"])
def test_times_are_those_of_the_dense_walk(solver: str, family: str) -> None:
    graph = graph_of(25, FAMILIES[family](25))
    made = escaping(graph, escape=0.2, escape_floor=0.02)
    assert made.jump is not None
    config = CommuteConfig(solver=solver, **CONFIGS[solver])
    times, hitting = commute(graph, made, config), expected_times(solver, made)
    there, back = hit(times, hitting)
    near, least = 1e-4 if solver == "sketch" else 1e-6, 1e-9 * float(np.abs(there).max())
    np.testing.assert_allclose(times.hitting, there, rtol=near, atol=least)
    np.testing.assert_allclose(times.hitting_back, back, rtol=near, atol=least)
    np.testing.assert_allclose(times.commute, there + back, rtol=near, atol=least)


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_measured_error_and_the_self_check_are_right_on_a_walk_that_jumps(solver: str) -> None:
    graph = graph_of(60, [*random_edges(50, 3, seed=5), *((node, 50 + node) for node in range(10))])
    made = escaping(graph)
    times = commute(graph, made, CommuteConfig(solver=solver, verify=1000, probes=8))
    summary = times.summary
    truth = np.add(*hit(times, absorbing_hitting(csr_array(made.walk().to_dense()))))
    errors = np.abs(times.commute / truth - 1)
    assert summary["verify"]["edges"] == graph.edges.nnz
    assert summary["verify"]["median_relative_error"] == pytest.approx(np.median(errors), rel=1e-3, abs=1e-6)
    if check := summary.get("self_check"):
        assert check["checked"] == check["edges"] == 8
        assert check["largest_relative_error"] <= errors.max() + 1e-3


def test_exact_times_without_a_dense_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    """By sparse factors, and the jumps as a change of rank one."""
    count = 1000
    edges = [(i, i + 1) for i in range(count - 1)] + [(i + 1, i) for i in range(count - 2) if i % 7]
    graph = graph_of(count, edges)
    made = escaping(graph, escape_floor=1e-3)
    assert made.jump is not None
    dense = commute(graph, made, CommuteConfig(solver="exact"))
    monkeypatch.setattr(exact, "dense_bytes", lambda size: 1 << 60)
    for work in (exact.LONG_FACTORS, -1.0):  # here, and in a process of its own
        monkeypatch.setattr(exact, "LONG_FACTORS", work)
        sparse = commute(graph, made, CommuteConfig(solver="exact"))
        np.testing.assert_allclose(sparse.hitting, dense.hitting, rtol=1e-9)
        np.testing.assert_allclose(sparse.hitting_back, dense.hitting_back, rtol=1e-9)
        assert sparse.summary["uncertain_edges"] == 0
