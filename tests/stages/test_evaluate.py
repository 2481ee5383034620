"""Metrics against scikit-learn."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn import metrics

from cgnn_cli.errors import DataError
from cgnn_cli.graph import Checkpoint, Graph, Operators
from cgnn_cli.models.model_table import train_config
from cgnn_cli.stages.evaluate import evaluate, score
from cgnn_cli.stages.task import untrained_warnings


def make_graph(labels: np.ndarray, splits: np.ndarray, classes: int) -> Graph:
    names = np.array([f"class {k}".encode() for k in range(classes)])
    return Graph(
        adjacency=csr_array((len(labels), len(labels))),
        labels=labels,
        class_names=names,
        splits=splits.astype(np.uint8),
    )


@pytest.mark.parametrize("seed", range(5))
def test_scores_against_scikit_learn(seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels = rng.integers(4, size=200)
    labels[:20] = -1
    splits = rng.integers(1, 4, size=(3, 200))
    splits[:, :20] = 0
    predictions = np.where(rng.random((3, 200)) < 0.6, labels, rng.integers(4, size=(3, 200))).clip(0)
    scores = score(make_graph(labels, splits, 4), np.arange(3), predictions)
    for row in range(3):
        truth, guess = labels[splits[row] == 3], predictions[row][splits[row] == 3]
        precision, recall, f1, _ = metrics.precision_recall_fscore_support(
            truth, guess, labels=range(4), zero_division=0
        )
        np.testing.assert_array_equal(scores.confusion[row], metrics.confusion_matrix(truth, guess, labels=range(4)))
        np.testing.assert_allclose(scores.precision[row], precision)
        np.testing.assert_allclose(scores.recall[row], recall)
        np.testing.assert_allclose(scores.f1[row], f1)
        assert scores.accuracy[row] == pytest.approx(metrics.accuracy_score(truth, guess))
        assert scores.macro_f1[row] == pytest.approx(metrics.f1_score(truth, guess, average="macro"))
    summary = scores.summary
    assert summary["test_accuracy"]["std"] == pytest.approx(np.std(scores.accuracy))
    assert summary["per_class"]["class 2"]["f1"]["mean"] == pytest.approx(scores.f1[:, 2].mean())


def test_a_class_that_occurs_nowhere_is_left_out_of_macro_f1() -> None:
    labels = np.array([0, 1, 0, 1, 2, 2])
    splits = np.array([[3, 3, 3, 3, 1, 2]])
    scores = score(make_graph(labels, splits, 3), np.array([0]), np.array([[0, 1, 0, 0, 2, 1]]))
    assert scores.macro_f1[0] == pytest.approx(metrics.f1_score(labels[:4], [0, 1, 0, 0], average="macro"))
    assert (scores.train_accuracy[0], scores.validation_accuracy[0]) == (1, 0)
    np.testing.assert_array_equal(scores.f1[0][2], 0)


def test_the_only_node_of_a_class_in_the_test_is_scored_as_an_error() -> None:
    labels = np.array([0, 1, 0, 1, 2, 0])
    splits = np.array([[3, 3, 1, 1, 3, 2], [1, 1, 3, 3, 2, 2], [1, 1, 3, 2, 1, 2]])
    graph = make_graph(labels, splits, 3)
    scores = score(graph, np.arange(3), np.array([[0, 1, 0, 1, 1, 0], [0, 1, 0, 1, 1, 0], [0, 1, 0, 1, 2, 0]]))
    assert scores.accuracy.tolist() == pytest.approx([2 / 3, 1, 1])
    assert scores.validation_accuracy.tolist() == [1, 0.5, 1]
    expected = metrics.f1_score([0, 1, 2], [0, 1, 1], average="macro", zero_division=0)
    assert scores.macro_f1.tolist() == pytest.approx([expected, 1, 1])
    assert all(np.isfinite(values).all() for values in (scores.precision, scores.recall, scores.f1))
    told = untrained_warnings(graph, [0, 1, 2])["warnings"]
    assert [warning.partition(",")[0] for warning in told] == [
        f"split {split} has no train node of class class 2" for split in (0, 1)
    ]
    assert untrained_warnings(graph, [2]) == {}


def test_a_split_without_test_nodes_is_refused() -> None:
    graph = make_graph(np.array([0, 1, 0, 1]), np.array([[1, 1, 2, 2]]), 2)
    with pytest.raises(DataError, match="split 0 has no test nodes"):
        evaluate(graph, Operators(matrices={}), Checkpoint(fits={"0": {}}), train_config(model="dirgnn"))
