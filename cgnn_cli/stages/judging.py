"""What the validation nodes say of a trained model, what is decided by them, and when a model is to be doubted."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cgnn_cli.configs import METRICS, TrainConfig
from cgnn_cli.errors import DataError
from cgnn_cli.graph import TRAIN, VALIDATION, Fit, Graph
from cgnn_cli.numerics.calibration import (
    calibration_error,
    choose_threshold,
    fit_temperature,
    is_at_a_bound,
    probabilities_of,
    reliability,
)
from cgnn_cli.numerics.classification import RANKINGS, check_measurable, constant_probabilities, measure, spread

REACHED = ("value", "validation_precision", "validation_recall")  # of a threshold


def in_part(graph: Graph, split: int, part: int) -> np.ndarray:
    """Which nodes are in a part of a split."""
    assert graph.splits is not None
    return np.asarray(graph.splits[split] == part)


def base_rate(graph: Graph, config: TrainConfig, split: int, part: int, metric: str | None = None) -> float:
    """What always predicting the most frequent class of the training nodes reaches on the nodes of a part."""
    assert graph.labels is not None
    known, labels = (graph.labels[in_part(graph, split, each)] for each in (TRAIN, part))
    always = constant_probabilities(known, len(labels), graph.class_count)
    return measure(metric or config.metric, labels, always, graph.class_in_focus(config))


def metric_named(config: TrainConfig) -> dict[str, Any]:
    """What a model was chosen by, for a summary; nothing where it is accuracy, as 0.1.0 has nothing else."""
    read = config.to_dict()
    return {name: read[name] for name in ("metric", "metric_class") if name in read and config.metric != "accuracy"}


def check_validation(graph: Graph, config: TrainConfig, split: int) -> None:
    """Refuse a metric that the validation nodes of a split do not define."""
    assert graph.labels is not None
    labels, focus = graph.labels[in_part(graph, split, VALIDATION)], graph.class_in_focus(config)
    check_measurable(config.metric, labels, focus, f"the validation part of split {split}")


def validation_figures(graph: Graph, config: TrainConfig, split: int, score: float, classes: int) -> dict[str, Any]:
    """For the summary of a fit: its score, unless that is accuracy, the base rate, and how many classes it predicts."""
    told = {"base_rate": base_rate(graph, config, split, VALIDATION), "predicted_classes": classes}
    return told if config.metric == "accuracy" else {**metric_named(config), "validation_score": score, **told}


def solved_figures(graph: Graph, config: TrainConfig, split: int, logits: np.ndarray) -> dict[str, Any]:
    """The same of a model that learns nothing, by its class scores."""
    assert graph.labels is not None
    chosen = in_part(graph, split, VALIDATION)
    score = measure(config.metric, graph.labels[chosen], probabilities_of(logits[chosen]), graph.class_in_focus(config))
    return validation_figures(graph, config, split, score, len(np.unique(logits[chosen].argmax(axis=1))))


def decide(graph: Graph, config: TrainConfig, split: int, fit: Fit, logits: np.ndarray) -> Fit:
    """A model with its temperature and its threshold, as far as they are asked for, from the validation nodes alone."""
    assert graph.labels is not None
    chosen = in_part(graph, split, VALIDATION)
    scores, labels = logits[chosen], graph.labels[chosen]
    temperature, told = 1.0, dict(fit.summary)
    if config.calibrate:
        temperature = fit_temperature(scores, labels)
        told["temperature"] = temperature
        told["calibration_error_before"] = calibration_error(reliability(probabilities_of(scores), labels))
        told["calibration_error"] = calibration_error(reliability(probabilities_of(scores, temperature), labels))
        fit = replace(fit, temperature=np.array([temperature]))
    if config.has_target:
        focus = graph.class_number(str(config.metric_class))
        if not (labels == focus).any():
            lacks = f"split {split} has no validation node of class {config.metric_class}"
            raise DataError(f"{lacks}, so no threshold can be chosen", "leave the target or the split out")
        likely = probabilities_of(scores, temperature)[:, focus]
        found = choose_threshold(labels == focus, likely, config.target_precision, config.target_recall)
        figures = (found.value, found.precision, found.recall)
        told["threshold"] = {**target_named(config), **dict(zip(REACHED, figures, strict=True))}
        fit = replace(fit, threshold=np.array([found.value]))
    return replace(fit, summary=told)


def target_named(config: TrainConfig) -> dict[str, Any]:
    """What a threshold is to reach, for a summary."""
    targets = {"target_precision": config.target_precision, "target_recall": config.target_recall}
    return {"class": config.metric_class, **{name: value for name, value in targets.items() if value is not None}}


def figures_of_splits(told: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Mean and deviation of what the summaries of all splits have; those of 0.1.0 have none of it."""
    names = ("validation_score", "base_rate", "temperature", "calibration_error_before", "calibration_error")
    found: dict[str, Any] = {
        name: spread(np.array([each[name] for each in told])) for name in names if all(name in each for each in told)
    }
    if "threshold" in told[0]:
        chosen = [each["threshold"] for each in told]
        reached = {name: spread(np.array([each[name] for each in chosen])) for name in REACHED}
        found["threshold"] = {**chosen[0], **reached}
    return found


@dataclass(frozen=True)
class Judged:
    """What some nodes say of the model of a split: its score, the base rate, and whether it predicts a single class."""

    split: int
    score: float
    base_rate: float
    single: bool


def model_doubts(part: str, metric: str, models: Sequence[Judged]) -> list[str]:
    """Warnings of models that give all nodes of a part one class, or are no better than the base rate."""
    single = [model.split for model in models if model.single]
    told_already = single if metric not in RANKINGS else ()
    below = [model.split for model in models if model.score <= model.base_rate and model.split not in told_already]
    said = []
    if single:
        advice = "--class-weights balanced or --target-recall may help"
        said.append(f"on {_splits(single)} the model predicts one class for all {part} nodes; {advice}")
    if below:
        always = "the base rate of always predicting the most frequent class of the training nodes"
        said.append(f"on {_splits(below)} the {part} {METRICS[metric]} does not beat {always}")
    return said


def fit_doubts(told: Sequence[dict[str, Any]]) -> list[str]:
    """Warnings of what the validation nodes show of fits, from their summaries; those of 0.1.0 do not tell.

    A model that is right on every node is not doubted: there its part has one class where it predicts one.
    """
    metric = str(told[0].get("metric", "accuracy"))
    models = [
        Judged(
            each["split"],
            each.get("validation_score", each["validation_accuracy"]),
            each["base_rate"],
            each["predicted_classes"] == 1 and "threshold" not in each,
        )
        for each in told
        if "base_rate" in each and each["validation_accuracy"] < 1
    ]
    said = model_doubts("validation", metric, models)
    if bound := [each["split"] for each in told if "temperature" in each and is_at_a_bound(each["temperature"])]:
        said.append(f"on {_splits(bound)} the temperature is at the end of its range, as where every node is right")
    missed = [each for each in told if (found := each.get("threshold")) and not _is_reached(found)]
    if missed:
        target, highest = missed[0]["threshold"], max(each["threshold"]["validation_precision"] for each in missed)
        said.append(
            f"on {_splits([each['split'] for each in missed])} no threshold gives {target['class']} the precision "
            f"{target['target_precision']:g} on the validation nodes; the highest is {highest:.3f}"
        )
    return said


def _is_reached(threshold: dict[str, Any]) -> bool:
    return bool(threshold["validation_precision"] >= threshold.get("target_precision", 0) - 1e-12)


def _splits(numbers: Sequence[int]) -> str:
    return f"split{'' if len(numbers) == 1 else 's'} {', '.join(map(str, numbers))}"
