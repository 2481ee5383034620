"""Absorption: a node has the class of the training node that a walk from it is likeliest to meet first.

The probabilities are solved for (numerics/first_met.py) with labels of training nodes alone; where the walk goes and
how soon it dies is chosen on the validation nodes. What is kept as weights are the probabilities of all nodes.
"""

import numpy as np

from cgnn_cli.graph import Fit, Graph
from cgnn_cli.models.absorption import AbsorptionConfig
from cgnn_cli.models.parts.first_class import DIRECTIONS, choose_walk, judged_by, logarithms
from cgnn_cli.watch import Watch


def solve(graph: Graph, config: AbsorptionConfig, split: int, watch: Watch) -> Fit:
    """The probabilities under the best setting, and the settings that were tried as history."""
    judged = judged_by(graph, config)
    setting = (config.walk_direction, config.death_rate)
    best, probabilities, tried = choose_walk(graph, split, *setting, watch.progress, judged)
    history = {
        "walk_direction": [DIRECTIONS.index(setting.direction) for setting in tried],
        "death_rate": [setting.death_rate for setting in tried],
        "validation_accuracy": [setting.accuracy for setting in tried],
        "validation_loss": [setting.loss for setting in tried],
    }
    if judged:
        history["validation_score"] = [setting.score for setting in tried]
    return Fit(
        weights={"probabilities": probabilities},
        history={name: np.array(values, dtype=np.float64) for name, values in history.items()},
        summary={"epochs": 0, "validation_accuracy": best.accuracy, "walk": best.figures()},
    )


def class_scores(weights: dict[str, np.ndarray]) -> np.ndarray:
    """Class scores of all nodes from what `solve` kept."""
    return logarithms(weights["probabilities"])
