"""How often neighbours share a class, over the edges inside the training nodes alone, and what weights add to it.

    h = the share of these edges that join two nodes of one class
    corrected for chance: (h - sum_c p_c^2) / (1 - sum_c p_c^2), p_c the share of class c among their ends
    gain = sum(w alike) / sum(w) - h, over both weights of each edge, that of its source's row and its target's

An edge counts once for every split whose training nodes have both ends. No other label is read. Weights are 1 at most,
so that no edge outweighs the rest, however its time is off.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cgnn_cli.graph import TRAIN, Graph
from cgnn_cli.numerics.csr import row_of_entries


@dataclass(frozen=True)
class TrainingEdges:
    """Edges between training nodes by their places among the graph's edges.

    counts: the splits that each is counted for; alike: 1 where the ends have one class; chance: sum_c p_c^2.
    """

    edges: np.ndarray
    counts: np.ndarray
    alike: np.ndarray
    chance: float

    @property
    def homophily(self) -> float:
        return float(self.counts @ self.alike / self.counts.sum())

    @property
    def corrected(self) -> float | None:
        """Homophily beyond that of edges with the same ends, joined at random; 0 is chance, 1 is all alike."""
        return None if self.chance >= 1 else (self.homophily - self.chance) / (1 - self.chance)

    def gain(self, weight_out: np.ndarray, weight_in: np.ndarray, covered: np.ndarray) -> dict[str, Any] | None:
        """Weighted minus plain homophily of the edges that are covered, and its error as if edges were independent."""
        counts = self.counts * covered[self.edges]
        weights = counts * (weight_out + weight_in)[self.edges]
        if not weights.sum() > 0:
            return None
        weights, plain = weights / weights.sum(), counts / counts.sum()
        share = float(plain @ self.alike)
        error = np.sqrt(share * (1 - share) * np.square(weights - plain).sum())
        return {
            "homophily": float(weights @ self.alike),
            "gain": float((weights - plain) @ self.alike),
            "error": float(error),
        }


def training_nodes(graph: Graph, splits: Sequence[int] = ()) -> np.ndarray | None:
    """Which nodes have a label and train in some splits, or in all, a row a split; None where nothing can train."""
    if graph.labels is None or graph.splits is None:
        return None
    chosen = graph.splits[list(splits)] if splits else graph.splits
    return (chosen == TRAIN) & (graph.labels >= 0)


def training_classes(graph: Graph, splits: Sequence[int] = ()) -> int:
    """How many classes the training nodes of some splits have, or of all."""
    training = training_nodes(graph, splits)
    return 0 if training is None or graph.labels is None else len(np.unique(graph.labels[training.any(axis=0)]))


def training_edges(graph: Graph, splits: Sequence[int] = ()) -> TrainingEdges | None:
    """The edges inside the training nodes of some splits, or of all; None where there are none."""
    training = training_nodes(graph, splits)
    if training is None or graph.labels is None:
        return None
    source, target = row_of_entries(graph.edges), graph.edges.indices
    counts = np.zeros(len(source))
    for nodes in training:
        counts += nodes[source] & nodes[target]
    edges = np.flatnonzero(counts)
    if not len(edges):
        return None
    counts = counts[edges]
    first, second = graph.labels[source[edges]], graph.labels[target[edges]]
    ends = np.bincount(first, counts, graph.class_count) + np.bincount(second, counts, graph.class_count)
    chance = float(np.square(ends / ends.sum()).sum())
    return TrainingEdges(edges, counts, (first == second).astype(np.float64), chance)
