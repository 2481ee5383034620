"""The branch beside the graph layers: what it sees, and what it must never see."""

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch

from cgnn_cli.errors import UsageError
from cgnn_cli.graph import Graph, Operators
from cgnn_cli.models.dirgnn import DirgnnConfig
from cgnn_cli.models.mlp import MlpConfig
from cgnn_cli.models.model_table import train_config
from cgnn_cli.models.parts.branch import WithBranch, similar_labels
from cgnn_cli.operators import twins
from cgnn_cli.stages.operators import make_operators
from cgnn_cli.stages.task import known_of_nodes, prepare, with_similar
from cgnn_cli.stages.train import collect, fit, forward
from tests.front_door import FrontDoor
from tests.graphs import graph_of, random_edges

CPU = torch.device("cpu")
SMALL = DirgnnConfig(hidden=8, epochs=60, patience=60, label_input=True, degree_features=True, branch_hidden=16)


def labelled_graph(nodes: int = 90) -> Graph:
    """Random edges whose classes nobody can tell from the features; each node has twins of its class."""
    rng = np.random.default_rng(7)
    groups = np.arange(nodes) % 15
    labels = groups % 3
    rows = rng.random((15, nodes)) < 0.15
    edges = [(i, int(j)) for i in range(nodes) for j in np.flatnonzero(rows[groups[i]]) if i != j]
    splits = np.stack([np.random.default_rng(r).permutation(np.repeat([1, 2, 3], nodes // 3)) for r in range(2)])
    return dataclasses.replace(
        graph_of(nodes, edges, features=rng.standard_normal((nodes, 5)).astype(np.float32)),
        labels=labels,
        class_names=np.array([b"a", b"b", b"c"]),
        splits=splits.astype(np.uint8),
    )


@pytest.fixture(scope="module")
def graph() -> Graph:
    return labelled_graph()


@pytest.fixture(scope="module")
def operators(graph: Graph) -> Operators:
    return make_operators(graph, None, SMALL)


def dense_labels(similarity: np.ndarray, labels: np.ndarray, classes: int, powers: tuple[float, ...]) -> np.ndarray:
    rows = []
    for i in range(len(labels)):
        row: list[float] = []
        for power in powers:
            sums = np.zeros(classes)
            for j in range(len(labels)):
                if labels[j] >= 0 and similarity[i, j] > 0:
                    sums[labels[j]] += similarity[i, j] ** power
            row += list(sums / max(sums.sum(), 1))
        rows.append(row)
    return np.array(rows)


def test_similar_labels_against_loops() -> None:
    similarity = twins.make(graph_of(40, random_edges(40, 6, seed=2)), None, train_config())["twins"]
    labels = np.where(np.arange(40) % 2 == 0, np.arange(40) % 4, -1)
    found = similar_labels(similarity, labels, 4, (60, 2.5, 1))
    assert found.shape == (40, 12)
    np.testing.assert_allclose(found, dense_labels(similarity.toarray(), labels, 4, (60, 2.5, 1)), atol=1e-12)
    sums = found.reshape(40, 3, 4).sum(axis=2)
    assert sums.max() <= 1 + 1e-12 and sums.min() < 0.5  # few similar nodes say little, many say no more than 1


def test_no_node_sees_its_own_label(graph: Graph, operators: Operators) -> None:
    assert graph.labels is not None and graph.splits is not None
    before = known_of_nodes(graph, operators, SMALL, 0)
    reached = 0
    for node in np.flatnonzero(graph.splits[0] == 1):
        labels = graph.labels.copy()
        labels[node] = (labels[node] + 1) % 3
        after = known_of_nodes(dataclasses.replace(graph, labels=labels), operators, SMALL, 0)
        np.testing.assert_array_equal(after[node], before[node])
        reached += int((after != before).any())
    assert reached > 0  # its twins do see it


def test_validation_and_test_labels_are_never_read(graph: Graph, operators: Operators) -> None:
    assert graph.labels is not None and graph.splits is not None
    hidden = dataclasses.replace(graph, labels=np.where(graph.splits[0] == 1, graph.labels, -1))
    np.testing.assert_array_equal(
        known_of_nodes(graph, operators, SMALL, 0), known_of_nodes(hidden, operators, SMALL, 0)
    )


def test_the_branch_and_the_graph_layers_are_added_by_share(graph: Graph, operators: Operators) -> None:
    network: Any = prepare(graph, operators, dataclasses.replace(SMALL, graph_share=0.3), 0, CPU).network
    assert isinstance(network, WithBranch)
    task = prepare(graph, operators, dataclasses.replace(SMALL, graph_share=0.3), 0, CPU)
    network = task.network.eval()
    with torch.no_grad():
        state = network.known
        for linear in (network.first, network.second):
            state = torch.relu(state @ linear.weight.T + linear.bias)
        expected = 0.3 * network.network(task.x).logits + state @ network.last.weight.T + network.last.bias
        torch.testing.assert_close(network(task.x).logits, expected)


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_it_learns_what_the_features_do_not_tell(graph: Graph, operators: Operators, share: float) -> None:
    config = dataclasses.replace(SMALL, graph_share=share)
    result = fit(graph, operators, config, 0)
    assert result.summary["validation_accuracy"] >= 0.9
    logits = forward(graph, operators, collect({0: result}), config, 0).logits
    assert graph.labels is not None and graph.splits is not None
    tested = graph.splits[0] == 3
    assert (logits.argmax(dim=1).numpy() == graph.labels)[tested].mean() >= 0.85
    alone = fit(graph, operators, MlpConfig(hidden=8, epochs=60, patience=60), 0)
    assert alone.summary["validation_accuracy"] < 0.65


def test_the_share_of_twins_is_told(graph: Graph, operators: Operators) -> None:
    short = dataclasses.replace(SMALL, epochs=2)
    fits = {split: fit(graph, operators, short, split) for split in (0, 1)}
    summary = collect(fits).summary
    assert graph.splits is not None
    rows = [frozenset(row.indices.tolist()) for row in (graph.edges[[i]] for i in range(graph.node_count))]
    shares = []
    for split in graph.splits:
        known = {rows[i] for i in np.flatnonzero(split == 1)}
        shares.append(np.mean([bool(rows[i]) and rows[i] in known for i in np.flatnonzero(split == 3)]))
    assert summary["test_twins"] == pytest.approx(np.mean(shares))
    assert f"{100 * np.mean(shares):.1f} % of the test nodes" in summary["notes"][0]
    without = collect({0: fit(graph, operators, dataclasses.replace(short, label_input=False), 0)})
    assert "notes" not in without.summary


def test_knn_takes_its_share_of_every_direction() -> None:
    graph = labelled_graph()
    config = DirgnnConfig(knn=4, knn_share=0.25)
    matrices = make_operators(graph, None, config).matrices
    mixed = with_similar(matrices, config)
    for name in ("out", "in"):
        expected = 0.75 * matrices[name].toarray() + 0.25 * matrices["knn"].toarray()
        np.testing.assert_allclose(mixed[name].toarray(), expected, atol=1e-7)
        assert mixed[name].data.dtype == np.float32
    assert with_similar(matrices, DirgnnConfig()) is matrices


def test_options_and_operators_are_read_only_where_they_are_asked_for() -> None:
    assert train_config().operator_kinds() == ("commute",)
    assert dataclasses.replace(SMALL, knn=3).operator_kinds() == ("directed", "twins", "degrees", "knn")
    assert "label_powers" not in dataclasses.replace(SMALL, label_input=False).to_dict()
    assert "branch_hidden" not in train_config().to_dict()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "gat", "knn": 3}, "gat has no --knn"),
        ({"model": "dirgnn", "variant": "gat", "knn": 3}, "weighs its neighbours itself"),
    ],
)
def test_models_that_cannot_mix_in_similar_nodes_refuse(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        train_config(**options).check()


def test_all_options_through_the_front_door(cgnn: FrontDoor) -> None:
    options = ("--label-input", "--degree-features", "--knn", 5, "--propagation", "ppr", "--epochs", 4, "--split", 0)
    first = cgnn.ok("train", "--dataset", "demo", *options, "--json").json
    made = [stage["stage"] for stage in first["stages"]]
    assert made.count("operators") == 4
    assert any("identical out-neighbours" in warning for warning in first["warnings"])
    again = cgnn.ok("train", "--dataset", "demo", *options, "--knn-share", 0.5, "--json").json
    found = {stage["stage"]: stage["cache"] for stage in again["stages"]}
    assert (found["operators"], found["fit"]) == ("hit", "miss")  # the share is of the training, not of the operator
    scored = cgnn.ok("eval", "--dataset", "demo", *options, "--json").json
    assert scored["summary"]["test_twins"] == first["summary"]["test_twins"]
