"""What is decided by the validation nodes after a training: a temperature, and from which score on a class is given."""

from dataclasses import dataclass

import numpy as np

from cgnn_cli.numerics.classification import precision_recall_curve

TEMPERATURES = (0.05, 20.0)  # where it is searched
BINS = 15


def log_probabilities(logits: np.ndarray) -> np.ndarray:
    """Of class scores, in float64."""
    shifted = logits - logits.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


def probabilities_of(logits: np.ndarray, temperature: float = 1.0) -> np.ndarray:
    """softmax(logits / temperature), in float64."""
    return np.exp(log_probabilities(logits.astype(np.float64) / temperature))


def fit_temperature(logits: np.ndarray, labels: np.ndarray) -> float:
    """The temperature T of softmax(logits / T) under which the labels are likeliest (Guo et al., ICML 2017).

    The likelihood is convex in 1/T, so that a bounded search finds its only minimum, or ends at a bound.
    """
    from scipy.optimize import minimize_scalar

    scores, rows = logits.astype(np.float64), np.arange(len(labels))

    def loss(log_temperature: float) -> float:
        return -float(log_probabilities(scores / np.exp(log_temperature))[rows, labels].mean())

    found = minimize_scalar(loss, bounds=tuple(np.log(TEMPERATURES)), method="bounded", options={"xatol": 1e-6})
    return float(np.exp(found.x))


def is_at_a_bound(temperature: float) -> bool:
    """Whether the search ended where it may not go on, as it does where every validation node is right."""
    return bool(np.abs(np.log(temperature) - np.log(TEMPERATURES)).min() < 1e-3)


def reliability(probabilities: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Of the likeliest class, by bins of its probability: nodes, the sum of probabilities, and how many are right."""
    confidence = probabilities.max(axis=1)
    place = np.minimum((confidence * BINS).astype(np.int64), BINS - 1)
    right = probabilities.argmax(axis=1) == labels
    parts = (None, confidence, right.astype(np.float64))
    return np.stack([np.bincount(place, part, minlength=BINS) for part in parts], axis=1).astype(np.float64)


def calibration_error(bins: np.ndarray) -> float:
    """Expected calibration error: how far confidence and accuracy of a bin are apart, weighted by its nodes."""
    return float(np.abs(bins[:, 1] - bins[:, 2]).sum() / bins[:, 0].sum())


@dataclass(frozen=True)
class Threshold:
    """The probability from which a class is given, and the precision and recall that it has on the nodes it is from."""

    value: float
    precision: float
    recall: float


def choose_threshold(
    positive: np.ndarray, scores: np.ndarray, precision: float | None, recall: float | None
) -> Threshold:
    """The best threshold that reaches a precision, by recall, or a recall, by precision; among equals the highest.

    Where no threshold has the precision, that of the highest precision, by recall. A recall can always be reached.
    """
    curve = precision_recall_curve(positive, scores)
    reached, other = (curve.recall, curve.precision) if precision is None else (curve.precision, curve.recall)
    target = recall if precision is None else precision
    assert target is not None
    enough = reached >= min(target, reached.max()) - 1e-12
    best = int(np.where(enough, other, -1.0).argmax())
    return Threshold(*(float(values[best]) for values in curve))


def decided(probabilities: np.ndarray, focus: int | None = None, threshold: float | None = None) -> np.ndarray:
    """The likeliest class; with a threshold the class `focus` from this probability on, else the likeliest other."""
    if threshold is None:
        return np.asarray(probabilities.argmax(axis=1))
    others = probabilities.copy()
    others[:, focus] = -1
    return np.asarray(np.where(probabilities[:, focus] >= threshold, focus, others.argmax(axis=1)))
