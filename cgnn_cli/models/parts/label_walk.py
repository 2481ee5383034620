"""`--label-walk`: the chances of the class that a walk meets first, as columns of the input, by folds.

Columns that are safe for a node by itself still tell its label by those of its neighbours. So the training nodes are
parted into folds, and each fold has columns of its own for ALL nodes, solved for without any label of the fold: what a
network says of these nodes in training cannot depend on the labels that it is to find. What is validated, tested and
predicted takes the columns of all training labels.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from cgnn_cli.configs import TrainConfig
from cgnn_cli.graph import Graph
from cgnn_cli.models.parts.first_class import choose_walk, judged_by, probabilities_along, training_labels
from cgnn_cli.numerics.first_met import walk_along

FOLDS = 5
STREAM = 2**31  # of random numbers, apart from those of batches
WEIGHTS = "label_walk"  # the name of the columns among the weights of what was trained


class Fold(NamedTuple):
    """Some training nodes, and the columns of all nodes that are made without their labels."""

    nodes: np.ndarray
    columns: np.ndarray


class LabelWalk(NamedTuple):
    """The columns of all training labels; the folds, for training alone; and what is to be told of the walk."""

    columns: np.ndarray
    folds: Sequence[Fold] = ()
    figures: dict[str, Any] | None = None


def label_walk(graph: Graph, config: TrainConfig, split: int, progress: Callable[[int, int, str], None]) -> LabelWalk:
    """The columns of a split. The walk is chosen once, by the validation nodes, and is the same for every fold."""
    chosen, columns, _ = choose_walk(
        graph, split, config.walk_direction, config.death_rate, progress, judged_by(graph, config)
    )
    known, walk = training_labels(graph, split), walk_along(graph.edges, chosen.direction)
    parts, folds = folds_of(known >= 0, config.seed + split), []
    for nodes in parts:
        others = known.copy()
        others[nodes] = -1
        made, _ = probabilities_along(walk, others, graph.class_count, chosen.death_rate)
        folds.append(Fold(nodes, made))
        progress(len(folds), len(parts), "walks without the labels of a fold")
    return LabelWalk(columns, folds, chosen.figures())


def folds_of(trained: np.ndarray, seed: int) -> list[np.ndarray]:
    """The training nodes in folds of one size, in the order of a number that the seed draws for each node.

    Labels play no part. Fewer than five training nodes are a fold each.
    """
    drawn = np.random.default_rng([seed, STREAM]).random(len(trained))
    nodes = np.flatnonzero(trained)
    order = nodes[np.argsort(drawn[nodes], kind="stable")]
    return [np.sort(order[first::FOLDS]) for first in range(min(FOLDS, len(order)))]
