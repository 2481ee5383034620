"""What the probabilities of test nodes say of models: every metric beside the base rate, curves, and reliability."""

from typing import Any

import numpy as np

from cgnn_cli.configs import METRICS, TrainConfig
from cgnn_cli.graph import TEST, Fit, Graph, Scores
from cgnn_cli.numerics.calibration import calibration_error, decided, probabilities_of, reliability
from cgnn_cli.numerics.classification import (
    RANKINGS,
    RECALLS,
    average_precision,
    counted_score,
    mean_known,
    one_against_rest,
    precision_recall_curve,
    roc_auc,
    spread,
)
from cgnn_cli.stages.judging import Judged, base_rate, in_part, metric_named, model_doubts


def from_threshold(graph: Graph, config: TrainConfig, fit: Fit, logits: np.ndarray) -> np.ndarray | None:
    """The class of every node where one class is given from a threshold on; None where no threshold was chosen."""
    if fit.threshold is None:
        return None
    focus = graph.class_number(str(config.metric_class))
    return decided(probabilities_of(logits, fit.divisor), focus, float(fit.threshold[0]))


def figures(graph: Graph, split: int, logits: np.ndarray, fit: Fit) -> dict[str, np.ndarray]:
    """Elements of the scores of a split: figures and curves of each class, and how reliable probabilities are."""
    assert graph.labels is not None
    test = in_part(graph, split, TEST)
    labels, probabilities = graph.labels[test], probabilities_of(logits[test], fit.divisor)
    curves = np.full((graph.class_count, len(RECALLS)), np.nan)
    for k in np.unique(labels):
        curves[k] = precision_recall_curve(labels == k, probabilities[:, k]).precision_at_recalls()
    found = {
        "auc": one_against_rest(roc_auc, labels, probabilities),
        "average_precision": one_against_rest(average_precision, labels, probabilities),
        "curve": curves,
        "reliability": reliability(probabilities, labels),
    }
    if fit.temperature is not None:
        found["reliability_before"] = reliability(probabilities_of(logits[test]), labels)
    return found


def summary(graph: Graph, scores: Scores, config: TrainConfig, trained: dict[str, Any]) -> dict[str, Any]:
    """For the summary of the scores: every metric, and what was decided on the models, with what it reaches.

    trained: the summary of the checkpoint.
    """
    assert scores.auc is not None and scores.average_precision is not None
    by_class = dict(zip(RANKINGS, (scores.auc, scores.average_precision), strict=True))
    told = {**metric_named(config), "metrics": _metrics(graph, scores, config, by_class)}
    told["base_rate"] = told["metrics"]["accuracy"]["base_rate"]
    per_class = scores.summary["per_class"]
    for k, figures in enumerate(per_class.values()):
        figures |= {"auc": spread(scores.auc[:, k]), "average_precision": spread(scores.average_precision[:, k])}
    bins = {"calibration_error": scores.reliability, "calibration_error_before": scores.reliability_before}
    told |= {
        name: spread(np.array(list(map(calibration_error, found)))) for name, found in bins.items() if found is not None
    }
    if "temperature" in trained:
        told["temperature"] = trained["temperature"]
    if chosen := trained.get("threshold"):
        reached = {f"test_{name}": per_class[chosen["class"]][name] for name in ("precision", "recall")}
        told["threshold"] = {**chosen, **reached}
    return told


def _metrics(graph: Graph, scores: Scores, config: TrainConfig, by_class: dict[str, np.ndarray]) -> dict[str, Any]:
    """Every metric on the test nodes, by split and together, beside the base rate."""
    focus, found = graph.class_in_focus(config), {}
    for name in METRICS:
        if name in by_class:
            values = [mean_known(row) if focus is None else float(row[focus]) for row in by_class[name]]
        else:
            values = [counted_score(name, confusion) for confusion in scores.confusion]
        base = [base_rate(graph, config, int(split), TEST, name) for split in scores.splits]
        per_split = [None if np.isnan(value) else value for value in values]
        found[name] = {**spread(np.array(values)), "per_split": per_split, "base_rate": spread(np.array(base))}
    return found


def doubts(graph: Graph, scores: Scores, config: TrainConfig) -> list[str]:
    """Warnings of models that the test nodes show to be of no use; none of those that are right on every node."""
    reached = scores.summary["metrics"][config.metric]["per_split"]
    models = [
        Judged(
            split,
            np.nan if score is None else score,
            base_rate(graph, config, split, TEST),
            bool(np.count_nonzero(confusion.sum(axis=0)) == 1),
        )
        for split, score, confusion in zip(scores.splits.tolist(), reached, scores.confusion, strict=True)
        if np.trace(confusion) < confusion.sum()
    ]
    return model_doubts("test", config.metric, models)
