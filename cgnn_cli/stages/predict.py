"""Predictions for every node, labelled or not."""

from dataclasses import dataclass

import numpy as np
import torch

from cgnn_cli.configs import ComputeConfig, TrainConfig
from cgnn_cli.graph import Checkpoint, Graph, Operators
from cgnn_cli.stages.task import set_up_torch
from cgnn_cli.stages.train import forward


@dataclass(frozen=True)
class Predictions:
    """The likeliest class of each node, its probability, and the last hidden layer of the first split's model."""

    classes: np.ndarray
    probability: np.ndarray
    hidden: np.ndarray


def predict_classes(
    graph: Graph,
    operators: Operators,
    checkpoint: Checkpoint,
    config: TrainConfig,
    splits: list[int],
    compute: ComputeConfig | None = None,
) -> Predictions:
    """Mean class probabilities over the models of some splits."""
    device = set_up_torch(compute or ComputeConfig())
    outputs = [forward(graph, operators, checkpoint, config, split, device) for split in splits]
    probabilities = torch.stack([output.logits.softmax(dim=1) for output in outputs]).mean(dim=0).cpu().numpy()
    return Predictions(probabilities.argmax(axis=1), probabilities.max(axis=1), outputs[0].hidden.cpu().numpy())
