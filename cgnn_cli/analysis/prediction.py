"""Predictions for every node, labelled or not."""

from dataclasses import dataclass
from statistics import fmean

import numpy as np
import torch

from cgnn_cli.artifact_tables import write_named_rows, write_table
from cgnn_cli.configs import ComputeConfig, TrainConfig
from cgnn_cli.graph import Checkpoint, Graph, Operators
from cgnn_cli.numerics.calibration import decided, probabilities_of
from cgnn_cli.stages.task import set_up_torch
from cgnn_cli.stages.train import forward


@dataclass(frozen=True)
class Predictions:
    """The likeliest class of each node, its probability, and the last hidden layer of the first split's model."""

    graph: Graph
    splits: list[int]
    classes: np.ndarray
    probability: np.ndarray
    hidden: np.ndarray

    @property
    def ids(self) -> np.ndarray:
        return self.graph.ids()

    def to_table(self, kind: str) -> bytes:
        """Id, predicted class and its probability of every node, as a file of the kind `parquet` or `csv`."""
        names = self.graph.class_labels()
        predicted = [names[number] for number in self.classes.tolist()]
        return write_table({"id": self.ids, "predicted": predicted, "probability": self.probability}, kind)

    def embeddings(self) -> bytes:
        """The last hidden layer beside the ids, as the content of an .npz file."""
        return write_named_rows(self.ids, self.hidden)


def predict_classes(
    graph: Graph,
    operators: Operators,
    checkpoint: Checkpoint,
    config: TrainConfig,
    splits: list[int],
    compute: ComputeConfig | None = None,
) -> Predictions:
    """Mean class probabilities over the models of some splits; a class with thresholds from their mean on."""
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
    return Predictions(graph, splits, classes, given, outputs[0].hidden.cpu().numpy())
