"""Metrics against scikit-learn, with ties, and by their definitions where it has none."""

import numpy as np
import pytest
from sklearn import metrics

from cgnn_cli.configs import METRICS
from cgnn_cli.errors import DataError
from cgnn_cli.numerics.classification import (
    RECALLS,
    average_precision,
    check_measurable,
    constant_probabilities,
    mean_known,
    measure,
    precision_recall_curve,
    roc_auc,
    spread,
)


def drawn(seed: int, classes: int = 3, coarse: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Labels and probabilities; coarse ones have many ties."""
    rng = np.random.default_rng(seed)
    labels = np.append(np.arange(classes), rng.integers(classes, size=90))
    scores = rng.random((len(labels), classes)) + 0.4 * np.eye(classes)[labels]
    if coarse:
        scores = np.round(4 * scores) + 1
    return labels, scores / scores.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("coarse", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_rankings_against_scikit_learn(seed: int, coarse: bool) -> None:
    labels, probabilities = drawn(seed, coarse=coarse)
    for k in range(3):
        positive, scores = labels == k, probabilities[:, k]
        assert coarse == (len(np.unique(scores)) < len(scores))
        assert roc_auc(positive, scores) == pytest.approx(metrics.roc_auc_score(positive, scores))
        assert average_precision(positive, scores) == pytest.approx(metrics.average_precision_score(positive, scores))
        assert measure("auc", labels, probabilities, k) == roc_auc(positive, scores)
        precision, recall, thresholds = metrics.precision_recall_curve(positive, scores)
        curve, kept = precision_recall_curve(positive, scores), slice(None, -1)
        np.testing.assert_allclose(curve.scores, thresholds[::-1])
        np.testing.assert_allclose(curve.precision, precision[kept][::-1])
        np.testing.assert_allclose(curve.recall, recall[kept][::-1])


@pytest.mark.parametrize("seed", range(4))
def test_every_metric_against_scikit_learn(seed: int) -> None:
    labels, probabilities = drawn(seed)
    guesses, each = probabilities.argmax(axis=1), np.eye(3)[labels]
    expected = {
        "accuracy": metrics.accuracy_score(labels, guesses),
        "macro-f1": metrics.f1_score(labels, guesses, average="macro"),
        "balanced-accuracy": metrics.balanced_accuracy_score(labels, guesses),
        "auc": metrics.roc_auc_score(labels, probabilities, multi_class="ovr", average="macro"),
        "average-precision": metrics.average_precision_score(each, probabilities, average="macro"),
    }
    assert {name: measure(name, labels, probabilities) for name in METRICS} == pytest.approx(expected)


def test_the_order_of_nodes_decides_nothing_among_ties() -> None:
    positive, scores = np.array([True, False, False, True]), np.array([0.5, 0.5, 0.5, 0.5])
    for order in ([0, 1, 2, 3], [3, 0, 2, 1], [2, 1, 0, 3]):
        assert (roc_auc(positive[order], scores), average_precision(positive[order], scores)) == (0.5, 0.5)


def test_only_classes_that_occur_count() -> None:
    labels, probabilities = drawn(0)
    here = labels != 2
    both = [average_precision(labels[here] == k, probabilities[here, k]) for k in (0, 1)]
    assert measure("average-precision", labels[here], probabilities[here]) == pytest.approx(np.mean(both))
    recalls = [(probabilities[here].argmax(axis=1)[labels[here] == k] == k).mean() for k in (0, 1)]
    assert measure("balanced-accuracy", labels[here], probabilities[here]) == pytest.approx(np.mean(recalls))
    assert np.isnan(roc_auc(labels == 7, probabilities[:, 0])) and np.isnan(mean_known(np.array([np.nan])))
    assert spread(np.array([np.nan])) == {"mean": None, "std": None, "runs": 0}
    assert spread(np.array([np.nan, 1.0, 3.0])) == {"mean": 2, "std": 1, "runs": 2}


def test_the_base_rate_is_what_chance_reaches_in_every_metric() -> None:
    labels = np.repeat([0, 1], [96, 4])
    always = constant_probabilities(np.array([1, 0, 0]), 100, 2)
    found = {name: measure(name, labels, always) for name in METRICS}
    f1 = 2 * 0.96 / 1.96 / 2
    assert found == pytest.approx(
        {"accuracy": 0.96, "macro-f1": f1, "balanced-accuracy": 0.5, "auc": 0.5, "average-precision": 0.5}
    )
    assert measure("average-precision", labels, always, 1) == pytest.approx(0.04)
    assert constant_probabilities(np.array([1, 0]), 1, 2).argmax() == 0  # the first of equals


def test_precision_is_noted_where_recall_reaches_a_share() -> None:
    curve = precision_recall_curve(np.array([True, False, True, False]), np.array([0.9, 0.8, 0.7, 0.1]))
    noted = dict(zip(np.round(RECALLS, 2).tolist(), curve.precision_at_recalls().tolist(), strict=True))
    assert (noted[0.0], noted[0.5], noted[0.51], noted[1.0]) == (1, 1, 2 / 3, 2 / 3)


@pytest.mark.parametrize(("labels", "focus"), [([1, 1], None), ([0, 0], 1), ([1, 1], 1)])
def test_a_ranking_without_two_kinds_of_nodes_is_refused(labels: list[int], focus: int | None) -> None:
    with pytest.raises(DataError, match="split 3 has no nodes of"):
        check_measurable("auc", np.array(labels), focus, "split 3")
    check_measurable("macro-f1", np.array(labels), focus, "split 3")
    check_measurable("auc", np.array([0, 1]), focus, "split 3")
