"""What neighbours add to a probability: against networks over dense matrices from which entries were taken out."""

from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from cgnn_cli.analysis import influence
from cgnn_cli.analysis.influence import TrainedModels, without_entry
from cgnn_cli.analysis.prediction import predict_classes
from cgnn_cli.graph import Checkpoint, CommuteTimes, Graph, Operators
from cgnn_cli.models.model_table import train_config
from cgnn_cli.numerics.csr import row_of_entries
from cgnn_cli.stages.operators import make_operators
from cgnn_cli.stages.train import fit, forward
from tests.graphs import graph_of, random_edges

NODES, NODE = 24, 3
SHORT = {"epochs": 4, "hidden": 5, "lr": 0.05}


def labelled() -> Graph:
    """A small random graph in three classes, with two splits."""
    drawn = graph_of(NODES, random_edges(NODES, 3.5, 7))
    labels = np.arange(NODES) % 3
    splits = np.array([[1, 1, 1, 2, 2, 3] * (NODES // 6), [3, 2, 1, 1, 1, 1] * (NODES // 6)], dtype=np.uint8)
    names = np.array([b"a", b"b", b"c"])
    return Graph(adjacency=drawn.adjacency, features=drawn.features, labels=labels, class_names=names, splits=splits)


def times_of(graph: Graph) -> CommuteTimes:
    """Weights at random: the models read nothing else."""
    edges, rng = graph.edges, np.random.default_rng(5)
    unread = np.ones(edges.nnz)
    weights = {name: rng.uniform(0.1, 1, edges.nnz) for name in ("weight_out", "weight_in")}
    return CommuteTimes(
        source=row_of_entries(edges),
        target=edges.indices,
        hitting=unread,
        hitting_back=unread,
        commute=unread,
        **weights,
    )


def trained(model: str, **options: Any) -> TrainedModels:
    """Models of both splits."""
    graph, config = labelled(), train_config(model, **SHORT, **options)
    config = config.resolved(type("F", (), {"features": "own", "proximity": "none"})())
    operators = make_operators(graph, times_of(graph), config)
    fits = {str(split): fit(graph, operators, config, split).to_elements() for split in (0, 1)}
    return TrainedModels(graph, operators, Checkpoint(fits=fits), config, (0, 1))


def dense_without(models: TrainedModels, node: int, other: int | None) -> np.ndarray:
    """Mean probabilities of a node over whole matrices in which the entry was set to nothing, by the ordinary way."""
    cut = {}
    for name, matrix in models.operators.matrices.items():
        cut[name] = matrix
        if isinstance(matrix, csr_array) and name not in ("twins", "shared-in", "shared-out"):
            coo = matrix.tocoo()
            keep = ~((coo.row == node) & (coo.col == (-1 if other is None else other)))
            place = np.lexsort((coo.col[keep], coo.row[keep]))
            rows, columns, data = (part[keep][place] for part in (coo.row, coo.col, coo.data))
            offsets = np.searchsorted(rows, np.arange(matrix.shape[0] + 1))
            cut[name] = csr_array((data, columns.astype(np.int32), offsets.astype(np.int32)), shape=matrix.shape)
    known = models.graph, Operators(matrices=cut), models.checkpoint, models.config
    outputs = [forward(*known, split).logits[node].double().softmax(0) for split in models.splits]
    return np.asarray(torch.stack(outputs).mean(dim=0))


CASES: list[tuple[str, dict[str, Any]]] = [
    ("cgnn", {}),
    ("cgnn", {"propagation": "ppr", "propagation_steps": 3}),
    ("cgnn", {"layers": 3, "batch_norm": True, "knn": 2}),
    ("dirgnn", {"layers": 1}),
    ("dirgnn", {"variant": "gat", "heads": 2}),
    ("dirgnn", {"direction": "in", "label_input": True, "degree_features": True}),
    ("dirgnn", {"label_walk": True}),
    ("gcn", {"batch_nodes": 8}),
    ("sage", {"l2_norm": True}),
    ("gat", {"heads": 2}),
    ("appnp", {}),
    ("mixhop", {}),
    ("dgcn", {}),
    ("digcn", {}),
    ("digcl", {"pretrain_epochs": 2}),
    ("magnet", {}),
    ("duplex", {}),
]


@pytest.mark.parametrize(("model", "options"), CASES, ids=[f"{model}-{'-'.join(more)}" for model, more in CASES])
def test_differences_are_those_of_the_whole_graph(model: str, options: dict[str, Any]) -> None:
    models = trained(model, **options)
    found = models.influence(NODE, 50)
    assert len(found.heard) >= 2 and NODE not in found.heard
    np.testing.assert_allclose(found.probabilities, dense_without(models, NODE, None), atol=2e-6)
    for other, said in zip(found.heard, found.without, strict=True):
        np.testing.assert_allclose(said, dense_without(models, NODE, int(other)), atol=2e-6)
    assert abs(found.without - found.probabilities).max() > 1e-4, "something must have changed"


def test_what_is_predicted_is_what_is_explained() -> None:
    models = trained("cgnn")
    predicted = predict_classes(models.graph, models.operators, models.checkpoint, models.config, [0, 1])
    for node in range(NODES):
        np.testing.assert_allclose(models.influence(node, 0).probabilities, predicted.probabilities[node], atol=1e-6)


def test_the_heaviest_come_first_and_the_rest_is_not_tried() -> None:
    models = trained("cgnn", aggregation="weighted-mean")
    found = models.influence(NODE, 2)
    sizes = sum(abs(matrix.toarray()[NODE]) for matrix in models.matrices.values())
    assert [*sizes[found.heard]] == sorted(sizes[found.heard], reverse=True)
    assert found.without.shape == (2, 3) and len(found.heard) > 2


def test_the_size_of_what_is_asked_at_once_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    models = trained("dirgnn")
    together = models.influence(NODE, 50)
    monkeypatch.setattr(influence, "ROWS_AT_ONCE", 1)
    np.testing.assert_allclose(models.influence(NODE, 50).without, together.without, atol=1e-7)


def test_models_without_messages_do_not_hear() -> None:
    assert trained("cgnn").hear
    assert not trained("mlp").hear


def test_an_entry_is_taken_out_and_zeros_stay() -> None:
    matrix = csr_array(([1.0, 0.0, 2.0], [0, 1, 1], [0, 2, 3]), shape=(2, 2))
    cut = without_entry(matrix, 0, 0)
    assert (cut.data.tolist(), cut.indices.tolist(), cut.indptr.tolist()) == ([0.0, 2.0], [1, 1], [0, 1, 2])
    assert without_entry(matrix, 1, 0) is matrix and without_entry(matrix, 0, None) is matrix
