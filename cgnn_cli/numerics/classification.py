"""How well classes are told: figures from true classes and from the probabilities that a model gives.

Figures of a ranking (area under the ROC curve, average precision) count nodes of equal score together, so that no
order among ties decides; what is not defined, for want of nodes of a class or of others, is NaN.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from cgnn_cli.errors import DataError

RECALLS = np.linspace(0, 1, 101)  # where precision is noted


def confusion_matrix(labels: np.ndarray, predictions: np.ndarray, classes: int) -> np.ndarray:
    """Counts; row = true class, column = predicted class."""
    return np.bincount(labels * classes + predictions, minlength=classes * classes).reshape(classes, classes)


def precision_recall_f1(confusion: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Per class; 0 where undefined."""
    hits = np.diagonal(confusion).astype(np.float64)
    predicted, true = confusion.sum(axis=0), confusion.sum(axis=1)

    def share(part: np.ndarray, totals: np.ndarray) -> np.ndarray:
        return np.divide(part, totals, out=np.zeros_like(hits), where=totals > 0)

    return share(hits, predicted), share(hits, true), share(2 * hits, predicted + true)


def macro_f1(confusion: np.ndarray, f1: np.ndarray) -> float:
    """Mean F1 over the classes that occur among the true or the predicted labels."""
    present = confusion.sum(axis=0) + confusion.sum(axis=1) > 0
    return float(f1[present].mean()) if present.any() else 0.0


class Curve(NamedTuple):
    """Precision and recall of taking all nodes with at least a score, from the highest score down."""

    scores: np.ndarray
    precision: np.ndarray
    recall: np.ndarray

    def precision_at_recalls(self) -> np.ndarray:
        """Precision at the first score that reaches each of RECALLS."""
        reached = np.searchsorted(self.recall, RECALLS - 1e-12)
        return self.precision[np.minimum(reached, len(self.precision) - 1)]


def precision_recall_curve(positive: np.ndarray, scores: np.ndarray) -> Curve:
    """A point for each distinct score; there must be a positive node."""
    order = np.argsort(-scores, kind="stable")
    falling = scores[order]
    last = np.append(np.flatnonzero(np.diff(falling)), len(falling) - 1)  # of the nodes of each score
    found = np.cumsum(positive[order])[last]
    return Curve(falling[last], found / (last + 1), found / found[-1])


def average_precision(positive: np.ndarray, scores: np.ndarray) -> float:
    """Sum over the scores, falling, of precision times the recall that is gained."""
    if not positive.any():
        return np.nan
    curve = precision_recall_curve(positive, scores)
    return float(curve.precision @ np.diff(curve.recall, prepend=0))


def roc_auc(positive: np.ndarray, scores: np.ndarray) -> float:
    """The chance that a positive node scores higher than another one; a tie is half of it (Mann and Whitney)."""
    count = int(positive.sum())
    others = len(positive) - count
    if not count or not others:
        return np.nan
    _, place, sizes = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = np.cumsum(sizes) - (sizes - 1) / 2
    return float((ranks[place][positive].sum() - count * (count + 1) / 2) / (count * others))


Ranking = Callable[[np.ndarray, np.ndarray], float]
RANKINGS: dict[str, Ranking] = {"auc": roc_auc, "average-precision": average_precision}


def one_against_rest(ranking: Ranking, labels: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """A figure of a ranking for each class, by the probability of the class; NaN where it is not defined."""
    return np.array([ranking(labels == k, scores) for k, scores in enumerate(probabilities.T)])


def mean_known(values: np.ndarray) -> float:
    """The mean of what is defined; NaN if nothing is."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else np.nan


def spread(values: np.ndarray) -> dict[str, Any]:
    """For a summary: mean and population deviation of what is defined, and how many that are; null where nothing is."""
    known = values[~np.isnan(values)]
    figures = (float(known.mean()), float(known.std())) if len(known) else (None, None)
    return {"mean": figures[0], "std": figures[1], "runs": len(known)}


def counted_score(metric: str, confusion: np.ndarray) -> float:
    """accuracy, macro-f1 (over the classes that occur), or balanced-accuracy (mean recall of those that occur)."""
    _, recall, f1 = precision_recall_f1(confusion)
    if metric == "macro-f1":
        return macro_f1(confusion, f1)
    if metric == "balanced-accuracy":
        return float(recall[confusion.sum(axis=1) > 0].mean())
    return float(np.diagonal(confusion).sum() / confusion.sum())


def measure(metric: str, labels: np.ndarray, probabilities: np.ndarray, focus: int | None = None) -> float:
    """A metric of some nodes, from the probabilities of their classes.

    auc and average-precision: each class that occurs against the rest, and their mean, or the class `focus` alone.
    """
    if metric not in RANKINGS:
        predictions = probabilities.argmax(axis=1)
        return counted_score(metric, confusion_matrix(labels, predictions, probabilities.shape[1]))
    if focus is None:
        return mean_known(one_against_rest(RANKINGS[metric], labels, probabilities))
    return RANKINGS[metric](labels == focus, probabilities[:, focus])


def constant_probabilities(known: np.ndarray, count: int, classes: int) -> np.ndarray:
    """The base rate as a model: to so many nodes it gives the most frequent of the known classes."""
    always = np.zeros((count, classes))
    always[:, np.bincount(known, minlength=classes).argmax()] = 1
    return always


def check_measurable(metric: str, labels: np.ndarray, focus: int | None, where: str) -> None:
    """Refuse a figure of a ranking that the nodes do not define: it takes nodes of a class, and others."""
    if metric in RANKINGS and len(np.unique(labels if focus is None else labels == focus)) < 2:
        told = "no nodes of two classes" if focus is None else "no nodes of --metric-class, or no others"
        raise DataError(f"{where} has {told}, so {metric} is not defined there", "use another --metric or --split")
