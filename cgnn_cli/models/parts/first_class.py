"""The walk that meets classes: which way it goes and how soon it dies is chosen by the validation nodes of a split."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from cgnn_cli.configs import TrainConfig
from cgnn_cli.graph import TRAIN, VALIDATION, Graph
from cgnn_cli.numerics.classification import measure
from cgnn_cli.numerics.first_met import class_probabilities, first_met, walk_along

DIRECTIONS = ("undirected", "out", "in")
DEATH_RATES = (0.2, 0.05, 0.01)
LEAST_CHANCE = 1e-12  # in logarithms


@dataclass(frozen=True)
class WalkSetting:
    """A walk that is tried: its validation accuracy and loss, the largest residual, and the score it is judged by."""

    direction: str
    death_rate: float
    accuracy: float
    loss: float
    residual: float
    score: float

    def is_better(self, other: "WalkSetting | None") -> bool:
        return other is None or (self.score, -self.loss) > (other.score, -other.loss)

    def figures(self) -> dict[str, Any]:
        """For the summary; an error is at most the residual by the death rate."""
        return {
            "direction": self.direction,
            "death_rate": self.death_rate,
            "residual": self.residual,
            "error_bound": self.residual / self.death_rate,
        }


def training_labels(graph: Graph, split: int) -> np.ndarray:
    """The labels of the training nodes, -1 for all others."""
    assert graph.labels is not None and graph.splits is not None
    return np.where(graph.splits[split] == TRAIN, graph.labels, -1)


def probabilities_along(walk: csr_array, known: np.ndarray, classes: int, death: float) -> tuple[np.ndarray, float]:
    """The probability of each class for each node, in float32, and the residual of the solve."""
    met = first_met(walk, known, classes, death)
    return class_probabilities(met.chances, known).astype(np.float32), met.residual


def logarithms(probabilities: np.ndarray) -> np.ndarray:
    """Class scores whose softmax are the probabilities."""
    return np.log(np.maximum(probabilities, LEAST_CHANCE, dtype=np.float32))


def judged_by(graph: Graph, config: TrainConfig) -> Callable[[np.ndarray, np.ndarray], float] | None:
    """What a walk is chosen by where that is not accuracy."""
    return None if config.metric == "accuracy" else partial(measure, config.metric, focus=graph.class_in_focus(config))


def choose_walk(
    graph: Graph,
    split: int,
    direction: str,
    death_rate: float | None,
    progress: Callable[[int, int, str], None],
    judged: Callable[[np.ndarray, np.ndarray], float] | None = None,
) -> tuple[WalkSetting, np.ndarray, list[WalkSetting]]:
    """The setting of the highest validation score, among equals of the lowest loss, the first of these.

    The score is accuracy, or what `judged` makes of the classes and probabilities of the validation nodes. With the
    setting come its probabilities for all nodes, and all settings that were tried.
    """
    assert graph.labels is not None and graph.splits is not None
    known, validated = training_labels(graph, split), graph.splits[split] == VALIDATION
    truth = graph.labels[validated]
    ways = DIRECTIONS if direction == "auto" else (direction,)
    rates = DEATH_RATES if death_rate is None else (death_rate,)
    tried: list[WalkSetting] = []
    best, kept, walk, along = None, np.empty(0), graph.edges, ""
    for way, rate in product(ways, rates):
        if way != along:
            walk, along = walk_along(graph.edges, way), way
        found, residual = probabilities_along(walk, known, graph.class_count, rate)
        guesses = found[validated]
        loss = -float(logarithms(guesses)[np.arange(len(truth)), truth].mean(dtype=np.float64))
        accuracy = float((guesses.argmax(axis=1) == truth).mean())
        score = accuracy if judged is None else judged(truth, guesses)
        setting = WalkSetting(way, rate, accuracy, loss, residual, score)
        tried.append(setting)
        if setting.is_better(best):
            best, kept = setting, found
        assert best is not None
        progress(len(tried), len(ways) * len(rates), f"walk {way}, death rate {rate:g}  validation {best.score:.3f}")
    assert best is not None
    return best, kept, tried
