"""Small digraphs, built networks, and dense versions of the operators by loops: what the tests of the models share."""

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor

from cgnn_cli.configs import CommuteConfig, DilapConfig, RewireConfig, TrainConfig
from cgnn_cli.graph import CommuteTimes, Graph
from cgnn_cli.models.model_table import build_network, train_config
from cgnn_cli.models.parts.classifier import Classifier, Shape
from cgnn_cli.models.parts.propagate import as_input
from cgnn_cli.numerics.csr import canonical_csr
from cgnn_cli.stages.commute import commute
from cgnn_cli.stages.dilap import dilap
from cgnn_cli.stages.operators import make_operators
from cgnn_cli.stages.rewire import rewire

CPU = torch.device("cpu")
FEATURES = 6
DIRECTIONS = ("out", "in", "both", "undirected")


def random_graph(seed: int = 0, count: int = 25, density: float = 0.15) -> Graph:
    """A digraph with an isolated node (0), a sink with a self-loop (1) and a source (2)."""
    rng = np.random.default_rng(seed)
    dense = (rng.random((count, count)) < density).astype(float)
    np.fill_diagonal(dense, 0)
    dense[0, :] = dense[:, 0] = dense[1, :] = dense[:, 2] = 0
    dense[1, 1] = 1
    return Graph(
        adjacency=canonical_csr(csr_array(dense)),
        features=rng.standard_normal((count, FEATURES)).astype(np.float32),
        labels=rng.integers(3, size=count),
        class_names=np.array([b"a", b"b", b"c"]),
    )


def without_edges(graph: Graph) -> Graph:
    """The same nodes, no edge at all."""
    return dataclasses.replace(graph, adjacency=canonical_csr(csr_array(graph.adjacency.shape)))


def communities(shift: float, inside: float = 0.10, across: float = 0.01) -> Graph:
    """Two communities with edges mostly inside them; a class moves each of 8 features by `shift` deviations."""
    return two_classes(np.array([[inside, across], [across, inside]]), np.array([0.0, shift]))


def oriented() -> Graph:
    """Edges from one class to the other only, and features that say nothing: a class is told by where edges point."""
    return two_classes(np.array([[0.0, 0.15], [0.0, 0.0]]), np.array([1.0, 1.0]))


def two_classes(chances: np.ndarray, means: np.ndarray, count: int = 120) -> Graph:
    """Edges with chances by the classes of their ends; the features of a class have a mean, and variance 1."""
    rng = np.random.default_rng(3)
    labels = np.arange(count) % 2
    dense = (rng.random((count, count)) < chances[labels[:, None], labels[None, :]]).astype(float)
    np.fill_diagonal(dense, 0)
    features = rng.standard_normal((count, 8)) + means[labels][:, None]
    return Graph(
        adjacency=canonical_csr(csr_array(dense)),
        features=features.astype(np.float32),
        labels=labels,
        class_names=np.array([b"left", b"right"]),
        splits=rng.permutation(np.repeat([1, 2, 3], count // 3))[None, :].astype(np.uint8),
    )


def times_of(graph: Graph, **options: Any) -> CommuteTimes:
    return commute(graph, dilap(rewire(graph, RewireConfig()), DilapConfig()), CommuteConfig(**options))


def permuted(graph: Graph, times: CommuteTimes, order: np.ndarray) -> tuple[Graph, CommuteTimes]:
    """The nodes in another order: new node i is old node order[i]. The weights of the edges move with them."""
    assert isinstance(graph.features, np.ndarray)
    moved = dataclasses.replace(
        graph, adjacency=canonical_csr(graph.adjacency[order][:, order]), features=graph.features[order]
    )
    edges, weights = graph.edges, {}
    for name in ("weight_out", "weight_in"):
        # Shifted away from 0 on the way, so that no weight is taken for a missing entry.
        matrix = csr_array((getattr(times, name) + 2.0, edges.indices, edges.indptr), shape=edges.shape)
        weights[name] = canonical_csr(matrix[order][:, order]).data - 2.0
    return moved, dataclasses.replace(times, **weights)


def changed(config: TrainConfig, **options: Any) -> TrainConfig:
    """A configuration with other options, of another model too."""
    return train_config(**{**dataclasses.asdict(config), **options})


def build(graph: Graph, times: CommuteTimes | None, **options: Any) -> Classifier:
    """The network of a configuration with seed 0, in evaluation mode."""
    config = train_config(**options)
    matrices = make_operators(graph, times, config).matrices
    assert graph.features is not None
    torch.manual_seed(0)
    shape = Shape(graph.features.shape[1], graph.class_count)
    return build_network(matrices, shape, config, CPU).eval()


def randomised(network: Classifier) -> Classifier:
    """Every parameter drawn anew, so that no bias is 0."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.copy_(0.5 * torch.randn(parameter.shape, generator=generator))
    return network


def features_of(graph: Graph) -> Tensor:
    return torch.from_numpy(np.asarray(graph.features))


def logits(network: Classifier, graph: Graph) -> Tensor:
    assert graph.features is not None
    with torch.no_grad():
        return network(as_input(graph.features, CPU)).logits


def edge_index(graph: Graph, direction: str) -> Tensor:
    """The edges as torch-geometric wants them, so that a node collects from its neighbours of a direction."""
    return torch.from_numpy(np.stack(np.nonzero(neighbours(graph, direction))[::-1]).astype(np.int64))


def neighbours(graph: Graph, direction: str) -> np.ndarray:
    """Entry (i, j) is 1 where node i takes a message from node j: its neighbours, never itself."""
    coordinates = graph.adjacency.tocoo()
    dense = np.zeros((graph.node_count, graph.node_count))
    for i, j in zip(coordinates.row, coordinates.col, strict=True):
        if i != j and direction in ("out", "undirected"):
            dense[i, j] = 1
        if i != j and direction in ("in", "undirected"):
            dense[j, i] = 1
    return dense


def dense_convolution(graph: Graph, direction: str) -> np.ndarray:
    """1 / sqrt(d_i d_j) over the neighbours; with the node itself where edges count both ways."""
    if direction == "both":
        return (dense_convolution(graph, "out") + dense_convolution(graph, "in")) / 2
    pattern = neighbours(graph, direction)
    if direction == "undirected":
        pattern = pattern + np.eye(len(pattern))
    degree = pattern.sum(axis=1)
    result = np.zeros_like(pattern)
    for i, j in np.argwhere(pattern):
        if degree[i] and degree[j]:
            result[i, j] = 1 / np.sqrt(degree[i] * degree[j])
    return result


def dense_mean(graph: Graph, direction: str) -> np.ndarray:
    """1 / d_i over the neighbours."""
    if direction == "both":
        return (dense_mean(graph, "out") + dense_mean(graph, "in")) / 2
    pattern = neighbours(graph, direction)
    return np.array([row / row.sum() if row.any() else row for row in pattern])


@contextmanager
def kept_sizes() -> Iterator[list[int]]:
    """The sizes of the tensors that wait for a backward pass, each once."""
    sizes: list[int] = []
    seen: set[int] = set()

    def note(part: Tensor) -> Tensor:
        if part.data_ptr() not in seen:
            seen.add(part.data_ptr())
            sizes.append(part.numel())
        return part

    with torch.autograd.graph.saved_tensors_hooks(note, lambda part: part):
        yield sizes


def tensor(dense: np.ndarray) -> Tensor:
    return torch.from_numpy(dense.astype(np.float32))
