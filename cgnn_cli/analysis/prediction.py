"""Predictions for every node, labelled or not."""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import Any

import numpy as np
import torch

from cgnn_cli.artifact_tables import write_named_rows, write_table
from cgnn_cli.configs import ComputeConfig, TrainConfig
from cgnn_cli.errors import UsageError
from cgnn_cli.graph import SPLIT_PARTS, UNUSED, Checkpoint, Graph, Operators
from cgnn_cli.numerics.calibration import decided, probabilities_of
from cgnn_cli.stages.task import set_up_torch
from cgnn_cli.stages.train import forward


@dataclass(frozen=True)
class Predictions:
    """The class of each node, its probability, that of every class, and the last hidden layer of the first model.

    graph: with the classes of the models. known: the label of each node as its graph has it, "" where it has none.
    own_graph: whether the models were trained on this graph. met: on another graph, the nodes that by their ids were
    training or validation nodes of the models.
    """

    graph: Graph
    splits: list[int]
    classes: np.ndarray
    probability: np.ndarray
    hidden: np.ndarray
    probabilities: np.ndarray
    known: np.ndarray
    own_graph: bool = True
    met: np.ndarray | None = None

    @property
    def ids(self) -> np.ndarray:
        return self.graph.ids()

    @cached_property
    def predicted(self) -> np.ndarray:
        """The name of the class of each node."""
        return np.array(self.graph.class_labels(), dtype=object)[self.classes]

    def parts(self) -> list[str]:
        """The part of each node in the splits of the models: a word, or as `train:2 test:1` where they differ.

        Empty for nodes in no split, and on another graph than the models' own.
        """
        if not self.own_graph or self.graph.splits is None:
            return [""] * self.graph.node_count
        words = {code: name for name, code in SPLIT_PARTS.items()} | {UNUSED: "unused"}
        rows, place = np.unique(self.graph.splits[self.splits], axis=1, return_inverse=True)
        said = [_in_words(Counter(words[code] for code in row)) for row in rows.T.tolist()]
        return [said[number] for number in place.ravel().tolist()]

    def ranked(self, name: str, count: int | None = None, *, labelled: bool = False) -> np.ndarray:
        """The nodes by the probability of a class, highest first, the first of equals first; those without a label."""
        order = np.argsort(-self.probabilities[:, self.graph.class_number(name)], kind="stable")
        chosen = order if labelled else order[self.known[order] == ""]
        if not len(chosen):
            raise UsageError("every node has a label, so there is none to rank", "--all ranks these too")
        return chosen[:count]

    def unlabelled_first(self, name: str, count: int | None = None) -> np.ndarray:
        """The nodes without a label, then the others, each by the probability of a class."""
        order = self.ranked(name, labelled=True)
        return order[np.argsort(self.known[order] != "", kind="stable")][:count]

    def columns(self, nodes: np.ndarray | None = None) -> dict[str, Any]:
        """A table of all nodes, or of some in their order: what is predicted, what is known, and every probability."""
        found: dict[str, Any] = {
            "id": self.ids,
            "predicted": self.predicted,
            "probability": self.probability,
            "label": self.known,
            "part": np.array(self.parts(), dtype=object),
            **{f"p_{name}": self.probabilities[:, place] for place, name in enumerate(self.graph.class_labels())},
        }
        return found if nodes is None else {name: values[nodes] for name, values in found.items()}

    def to_table(self, kind: str, nodes: np.ndarray | None = None) -> bytes:
        """These columns as a file of the kind `parquet` or `csv`."""
        return write_table(self.columns(nodes), kind)

    def embeddings(self) -> bytes:
        """The last hidden layer beside the ids, as the content of an .npz file."""
        return write_named_rows(self.ids, self.hidden)

    def agreement(self) -> dict[str, Any]:
        """How many nodes of a graph that is not the models' own have a label, and what share is predicted so.

        base_rate: the share of the most frequent label among them. left_out: how many more the models have met.
        """
        has_label = self.known != ""
        if self.own_graph or not has_label.any():
            return {}
        chosen = has_label if self.met is None else has_label & ~self.met
        left_out, labels = int(has_label.sum() - chosen.sum()), self.known[chosen]
        if not len(labels):
            return {"labelled": 0, "left_out": left_out}
        most = max(Counter(labels.tolist()).values())
        right = float((labels == self.predicted[chosen]).mean())
        return {"labelled": len(labels), "left_out": left_out, "accuracy": right, "base_rate": most / len(labels)}


def _in_words(counts: Counter[str]) -> str:
    if len(counts) == 1:
        (only,) = counts
        return "" if only == "unused" else only
    return " ".join(f"{name}:{counts[name]}" for name in (*SPLIT_PARTS, "unused") if counts[name])


def known_labels(graph: Graph) -> np.ndarray:
    """The name of the label of each node, "" where it has none."""
    names = np.array([*graph.class_labels(), ""], dtype=object)
    return names[np.full(graph.node_count, -1) if graph.labels is None else graph.labels]


def predict_classes(
    graph: Graph,
    operators: Operators,
    checkpoint: Checkpoint,
    config: TrainConfig,
    splits: list[int],
    compute: ComputeConfig | None = None,
    other: Graph | None = None,
) -> Predictions:
    """Mean class probabilities over the models of some splits; a class with thresholds from their mean on.

    other: a graph that is not the models' own, as it was read; then `graph` is what they see of it (`as_seen`).
    """
    device = set_up_torch(compute or ComputeConfig())
    outputs = [forward(graph, operators, checkpoint, config, split, device) for split in splits]
    fits = [checkpoint.fit(split) for split in splits]
    if config.decides_later:  # in 64 bits, in which a threshold was chosen
        parts = [probabilities_of(o.logits.cpu().numpy(), fit.divisor) for o, fit in zip(outputs, fits, strict=True)]
        probabilities = np.mean(parts, axis=0)
    else:
        probabilities = torch.stack([output.logits.softmax(dim=1) for output in outputs]).mean(dim=0).cpu().numpy()
    thresholds = [float(fit.threshold[0]) for fit in fits if fit.threshold is not None]
    focus = graph.class_number(str(config.metric_class)) if thresholds else None
    classes = decided(probabilities, focus, fmean(thresholds) if thresholds else None)
    given = probabilities[np.arange(len(classes)), classes]
    hidden, known = outputs[0].hidden.cpu().numpy(), known_labels(other or graph)
    return Predictions(graph, splits, classes, given, hidden, probabilities, known, own_graph=other is None)
