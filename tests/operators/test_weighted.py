"""CGNN's weighted operators: both aggregations of layers, and the step of `--propagation ppr`, against loops."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from cgnn_cli.graph import CommuteTimes, Graph
from cgnn_cli.models.cgnn import CgnnConfig
from cgnn_cli.operators import weighted as commute
from cgnn_cli.operators.operator_table import OPERATORS
from tests.models.samples import DIRECTIONS, random_graph, times_of

Dense = dict[str, np.ndarray]


@pytest.fixture(scope="module")
def graph() -> Graph:
    return random_graph()


@pytest.fixture(scope="module", params=["inverse", "exp"])
def times(graph: Graph, request: pytest.FixtureRequest) -> CommuteTimes:
    """Weights that are all positive, and some that are 0."""
    found = times_of(graph, solver="exact", proximity=request.param)
    if request.param == "exp":
        for weights in (found.weight_out, found.weight_in):
            weights[::3] = 0
    return found


def dense_weights(graph: Graph, times: CommuteTimes) -> Dense:
    """C_out[i, j] for an edge i -> j, C_in[j, i] for the same edge, and the larger of all between two nodes."""
    count = graph.node_count
    out, into, either = (np.zeros((count, count)) for _ in range(3))
    for i, j, a, b in zip(times.source, times.target, times.weight_out, times.weight_in, strict=True):
        out[i, j], into[j, i] = a, b
        either[i, j] = either[j, i] = max(either[i, j], a, b)
    return {"out": out, "in": into, "undirected": either}


def dense_neighbours(graph: Graph) -> Dense:
    out = graph.edges.toarray() != 0
    return {"out": out, "in": out.T, "undirected": out | out.T}


def dense_aggregated(weights: np.ndarray, neighbours: np.ndarray, aggregation: str) -> np.ndarray:
    """A neighbour of weight 0 is a neighbour, and counts."""
    taken, given = np.count_nonzero(neighbours, axis=1), np.count_nonzero(neighbours, axis=0)
    result = np.zeros_like(weights)
    for i, j in np.argwhere(weights):
        divisor = {
            "mean": taken[i],
            "weighted-mean": weights[i].sum(),
            "sym": np.sqrt(taken[i] * given[j]),
            "sym-out": np.sqrt(taken[i] * taken[j]),
        }[aggregation]
        result[i, j] = weights[i, j] / divisor if divisor else 0
    return result


def dense_step(weights: Dense, direction: str) -> np.ndarray:
    if direction == "both":
        return (dense_step(weights, "out") + dense_step(weights, "in")) / 2
    looped = weights[direction] + np.eye(len(weights[direction]))
    total = looped.sum(axis=1)
    if direction == "undirected":
        return looped / np.sqrt(total[:, None] * total[None, :])
    return looped / total[:, None]


@pytest.mark.parametrize("aggregation", ["mean", "weighted-mean", "sym", "sym-out"])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_layers(graph: Graph, times: CommuteTimes, aggregation: Any, direction: Any) -> None:
    config = CgnnConfig(aggregation=aggregation, direction=direction)
    made = commute.make(graph, times, config)
    weights = dense_weights(graph, times)
    ways = {"both": {"out": "out", "in": "in"}, "in": {"in": "in"}, "undirected": {"out": "undirected"}}
    assert sum(matrix.nnz for matrix in made.values()) <= OPERATORS["commute"].entries(graph, config)
    for name, way in ways.get(direction, {"out": "out"}).items():
        expected = dense_aggregated(weights[way], dense_neighbours(graph)[way], aggregation)
        np.testing.assert_allclose(made.pop(name).toarray(), expected, atol=1e-14)
    assert not made


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_step_of_pagerank(graph: Graph, times: CommuteTimes, direction: Any) -> None:
    made = commute.make(graph, times, CgnnConfig(propagation="ppr", direction=direction))
    assert set(made) == {"step"}
    np.testing.assert_allclose(made["step"].toarray(), dense_step(dense_weights(graph, times), direction), atol=1e-14)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_edges_without_a_value_carry_no_message(graph: Graph, times: CommuteTimes, direction: Any) -> None:
    zero = np.zeros_like(times.weight_out)
    silent = dataclasses.replace(times, weight_out=zero, weight_in=zero)
    for aggregation in ("mean", "weighted-mean", "sym", "sym-out"):
        config = CgnnConfig(aggregation=aggregation, direction=direction)
        for matrix in commute.make(graph, silent, config).values():
            assert not matrix.toarray().any()
    step = commute.make(graph, silent, CgnnConfig(propagation="ppr", direction=direction))["step"]
    np.testing.assert_array_equal(step.toarray(), np.eye(graph.node_count))
