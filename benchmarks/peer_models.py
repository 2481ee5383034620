"""The same directed network three ways: cgnn's, torch-geometric's layers, and plain torch with CSR matrices.

h' = W_self h + alpha (mean_out(W_out h) + b_out) + (1 - alpha) (mean_in(W_in h) + b_in), then ReLU, dropout and rows of
length 1; the largest of all layers goes into a linear head. The two peers are written as their users write them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from scipy.sparse import csr_array
from torch import Tensor, nn

from cgnn_cli.configs import CommuteConfig, TrainConfig
from cgnn_cli.freed_memory import LARGEST, NEVER, USUAL, set_thresholds
from cgnn_cli.graph import Graph, Operators
from cgnn_cli.models.model_table import train_config
from cgnn_cli.models.parts.adam import Adam
from cgnn_cli.numerics.csr import row_of_entries
from cgnn_cli.stages.commute import commute
from cgnn_cli.stages.dilap import dilap
from cgnn_cli.stages.operators import make_operators
from cgnn_cli.stages.rewire import rewire
from cgnn_cli.stages.task import Task, prepare
from cgnn_cli.stages.train import State, run_epoch

CPU = torch.device("cpu")
ALPHA = 0.5
SPARSE_BELOW = 0.25


@dataclass(frozen=True)
class Shape:
    """Layers, width and dropout of all sides."""

    layers: int = 5
    hidden: int = 128
    dropout: float = 0.0


def config_of(model: str, shape: Shape) -> TrainConfig:
    """The options of cgnn that stand for the network above; CGNN averages three terms, as it does by default."""
    return train_config(
        model=model,
        layers=shape.layers,
        hidden=shape.hidden,
        dropout=shape.dropout,
        jumping_knowledge="max",
        l2_norm=True,
        alpha=ALPHA,
        weight_decay=0.0,
    )


def operators_of(graph: Graph, config: TrainConfig) -> Operators:
    """CGNN's weights come from the stationary vector alone: the time of an epoch does not depend on their values."""
    if config.model == "dirgnn":
        return make_operators(graph, None, config)
    weights = CommuteConfig(solver="pi-only", scale="row-mean")
    return make_operators(graph, commute(graph, dilap(rewire(graph)), weights), config)


def own_task(graph: Graph, model: str, shape: Shape) -> Task:
    config = config_of(model, shape)
    return prepare(graph, operators_of(graph, config), config, 0, CPU)


def own_epoch(graph: Graph, model: str, shape: Shape) -> Callable[[], None]:
    """cgnn's own epoch: a training step and a validation, as `cgnn train` runs them.

    It keeps large blocks of memory; the other sides have them as their users do, from the same process.
    """
    task, state = own_task(graph, model, shape), State()
    optimiser = Adam(task.network.parameters(), task.config.lr, task.config.weight_decay)

    def epoch() -> None:
        set_thresholds(LARGEST, NEVER)
        run_epoch(task, optimiser, state)
        set_thresholds(USUAL, NEVER)

    return epoch


Join = Callable[[list[Tensor]], Tensor]


class Stack(nn.Module):
    """What surrounds the layers of both peers."""

    def __init__(self, layers: list[nn.Module], join: Join, classes: int, shape: Shape) -> None:
        super().__init__()
        self.layers, self.join, self.shape = nn.ModuleList(layers), join, shape
        self.head = nn.Linear(shape.hidden, classes)

    def forward(self, x: Tensor, *others: Tensor) -> Tensor:
        outputs = []
        for layer in self.layers:
            x = F.relu(layer(x, *others))
            x = F.normalize(F.dropout(x, self.shape.dropout, self.training), p=2, dim=1)
            outputs.append(x)
        scores: Tensor = self.head(self.join(outputs))
        return scores


class CsrLayer(nn.Module):
    """The layer with torch's CSR matrices, the narrower product first."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.from_self, self.from_out, self.from_in = (nn.Linear(inputs, outputs) for _ in range(3))

    def forward(self, x: Tensor, out: Tensor, into: Tensor) -> Tensor:
        from_out = out @ (x @ self.from_out.weight.t()) + self.from_out.bias
        from_in = into @ (x @ self.from_in.weight.t()) + self.from_in.bias
        return x @ self.from_self.weight.t() + self.from_self.bias + ALPHA * from_out + (1 - ALPHA) * from_in


Peer = tuple[Stack, tuple[Tensor, ...]]


def csr_peer(graph: Graph, shape: Shape) -> Peer:
    """Network and inputs in plain torch; features are sparse where most of them are zero."""
    matrices = operators_of(graph, config_of("dirgnn", shape)).matrices
    features = csr_array(graph.features)
    few = features.nnz < SPARSE_BELOW * np.prod(features.shape)
    x = as_csr_tensor(features) if few else dense_features(graph)
    widths = [features.shape[1]] + [shape.hidden] * (shape.layers - 1)
    layers: list[nn.Module] = [CsrLayer(width, shape.hidden) for width in widths]
    network = Stack(layers, lambda outputs: torch.stack(outputs).amax(dim=0), graph.class_count, shape)
    return network, (x, as_csr_tensor(matrices["out"]), as_csr_tensor(matrices["in"]))


def geometric_peer(graph: Graph, shape: Shape) -> Peer:
    """Network and inputs with torch-geometric's DirGNNConv around SAGEConv; its features are dense."""
    from torch_geometric.nn import DirGNNConv, JumpingKnowledge, SAGEConv

    x, edges = dense_features(graph), graph.edges
    edge_index = torch.from_numpy(np.stack([row_of_entries(edges), edges.indices]).astype(np.int64))
    widths = [x.shape[1]] + [shape.hidden] * (shape.layers - 1)
    layers: list[nn.Module] = [DirGNNConv(SAGEConv(width, shape.hidden), alpha=ALPHA) for width in widths]
    return Stack(layers, JumpingKnowledge("max"), graph.class_count, shape), (x, edge_index)


def peer_epoch(peer: Peer, graph: Graph) -> Callable[[], None]:
    """An epoch as a training script has it: a step, then the accuracy on the validation nodes."""
    network, inputs = peer
    optimiser = torch.optim.Adam(network.parameters(), lr=0.01)
    assert graph.splits is not None and graph.labels is not None
    labels = torch.from_numpy(graph.labels.astype(np.int64))
    train, validation = (torch.from_numpy(np.flatnonzero(graph.splits[0] == part)) for part in (1, 2))

    def epoch() -> None:
        network.train()
        optimiser.zero_grad()
        F.cross_entropy(network(*inputs)[train], labels[train]).backward()
        optimiser.step()
        network.eval()
        with torch.no_grad():
            scores = network(*inputs)[validation]
        float((scores.argmax(dim=1) == labels[validation]).double().mean())

    return epoch


def as_csr_tensor(matrix: csr_array) -> Tensor:
    offsets, indices = (torch.from_numpy(part.astype(np.int64)) for part in (matrix.indptr, matrix.indices))
    values = torch.from_numpy(matrix.data.astype(np.float32))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the format is called a beta
        return torch.sparse_csr_tensor(offsets, indices, values, size=matrix.shape)


def dense_features(graph: Graph) -> Tensor:
    features = graph.features
    dense = features if isinstance(features, np.ndarray) else csr_array(features).toarray()
    return torch.from_numpy(np.ascontiguousarray(dense, dtype=np.float32))


SIDES: dict[str, Callable[[Graph, Shape], Callable[[], None]]] = {
    "cgnn, DirGNN": lambda graph, shape: own_epoch(graph, "dirgnn", shape),
    "cgnn, CGNN": lambda graph, shape: own_epoch(graph, "cgnn", shape),
    "native CSR": lambda graph, shape: peer_epoch(csr_peer(graph, shape), graph),
    "torch-geometric": lambda graph, shape: peer_epoch(geometric_peer(graph, shape), graph),
}
