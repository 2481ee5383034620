"""What a training is judged by: the validation score that it settles at, and not that of its luckiest epoch.

The score is accuracy, or what --metric names. A network is kept at its epoch of the highest. As the highest of many
figures this is too high, by points, and most where they waver; a model that trains nothing has no such luck. The mean
over the epochs after the best one has none either, so it compares both. Validation labels alone are read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from statistics import fmean

from cgnn_cli.models.model_table import MODELS
from cgnn_cli.store.artifact import Header
from cgnn_cli.store.store import Store

LEAST_EPOCHS = 10
Judge = Callable[[Header], float]


def validation_score(fit: Header) -> float:
    """Of the epoch that a training was kept at, by --metric; its validation accuracy if nothing else was asked for."""
    return float(fit.summary.get("validation_score", fit.summary["validation_accuracy"]))


def settled(scores: Sequence[float], best_epoch: int) -> float:
    """The mean over the epochs after the best, or over the last ten where these are fewer."""
    return fmean(scores[max(0, min(best_epoch + 1, len(scores) - LEAST_EPOCHS)) :])


def judge_of(store: Store) -> Judge:
    """Judges trainings by their history in a store; one that learnt nothing, by its validation score."""

    @cache
    def judged(key: str) -> float:
        artifact = store.load("fit", key)
        history = artifact.elements["history"]
        history = history.get("validation_score", history["validation_accuracy"])  # by --metric, or accuracy
        return settled(history.tolist(), int(artifact.header.summary["best_epoch"]))

    def judge(header: Header) -> float:
        learns = MODELS[header.config["model"]].learns
        return judged(header.key) if learns else validation_score(header)

    return judge
