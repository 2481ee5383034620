"""A branch beside the graph layers: class scores from what is known of a node besides its features.

logits = graph_share * network(x) + MLP(z). z holds degree features (`--degree-features`) and training labels of other
nodes with similar out-neighbours (`--label-input`); neither ever shows a node its own label.
"""

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor, nn

from cgnn_cli.configs import TrainConfig
from cgnn_cli.models.parts.classifier import Classifier, Output, dropout
from cgnn_cli.models.parts.propagate import Input


class WithBranch(Classifier):
    """A network and a perceptron of two hidden layers over z, whose class scores are added."""

    def __init__(self, network: Classifier, known: Tensor, classes: int, config: TrainConfig) -> None:
        super().__init__()
        self.network, self.known, self.config = network, known, config
        self.pretrain_epochs, self.draws, self.undecayed = network.pretrain_epochs, network.draws, network.undecayed
        width = config.branch_hidden
        self.first, self.second = nn.Linear(known.shape[1], width), nn.Linear(width, width)
        self.last = nn.Linear(width, classes)

    def pretrain_loss(self, x: Input, epoch: int) -> Tensor:
        return self.network.pretrain_loss(x, epoch)

    def forward(self, x: Input) -> Output:
        return self.joined(self.known, self.network(x) if self.config.graph_share else None)

    def joined(self, known: Tensor, graph_output: Output | None) -> Output:
        """The scores of the branch and of the graph layers together; each node by itself."""
        state = known
        for linear in (self.first, self.second):
            state = dropout(torch.relu(linear(state)), self.config.branch_dropout, self.training)
        scores = self.last(state)
        if graph_output is None:
            return Output(scores, state)
        return Output(self.config.graph_share * graph_output.logits + scores, graph_output.hidden)


def similar_labels(similarity: csr_array, labels: np.ndarray, classes: int, powers: tuple[float, ...]) -> np.ndarray:
    """For each power p, the similarities^p of a node to the training nodes of each class, their sum at most 1.

    `labels` holds -1 for all nodes but those of the training; the similarity has no diagonal.
    """
    known = np.flatnonzero(labels >= 0)
    one_hot = csr_array((np.ones(len(known)), (known, labels[known])), shape=(len(labels), classes))
    parts = []
    for power in powers:
        raised = csr_array((similarity.data**power, similarity.indices, similarity.indptr), shape=similarity.shape)
        found = (raised @ one_hot).toarray()
        parts.append(found / np.maximum(found.sum(axis=1, keepdims=True), 1))
    return np.hstack(parts)
