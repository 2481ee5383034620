"""Graphs as torch-geometric's `Data`, and back."""

from __future__ import annotations

import dataclasses

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor
from torch_geometric.data import Data

from cgnn_cli.configs import Encoding
from cgnn_cli.datasets.adjacency import WEIGHT_RANGE, unit_adjacency, usable_weights, weighted_adjacency
from cgnn_cli.datasets.splits import DEFAULT_RATIO, SPLITS_DRAWN, ratio_splits
from cgnn_cli.errors import DataError
from cgnn_cli.graph import SPLIT_PARTS, Graph, byte_strings
from cgnn_cli.models.model_table import train_config
from cgnn_cli.numerics.csr import row_of_entries
from cgnn_cli.stages.features import features_of
from cgnn_cli.stages.operators import make_operators


def graph_to_pyg(
    graph: Graph, *, sparse_features: bool = False, encoding: Encoding = "none", encoding_size: int | None = None
) -> Data:
    """A graph as `Data`: x, edge_index, y, masks of its splits (a column each where there are several).

    edge_weight is there for weighted graphs, class_names and node_ids where the graph has them. Sparse features become
    dense, as most layers want them, unless `sparse_features` keeps them as a CSR tensor. An `encoding` is appended to
    them, or taken where there are none, as a training does.
    """
    adjacency = graph.adjacency
    ends = np.stack([row_of_entries(adjacency), adjacency.indices]).astype(np.int64)
    data = Data(edge_index=torch.from_numpy(ends), num_nodes=graph.node_count)
    features = graph.features
    if encoding != "none":
        config = train_config("mlp", encoding=encoding, encoding_size=encoding_size)
        features = features_of(graph, make_operators(graph, None, config), config)
    if features is not None:
        data.x = _features_of(features, sparse_features)
    if graph.is_weighted:
        data.edge_weight = torch.from_numpy(adjacency.data.astype(np.float32))
    if graph.labels is not None:
        data.y = torch.from_numpy(graph.labels.astype(np.int64))
        data.class_names = graph.class_labels()
    if graph.node_ids is not None:
        data.node_ids = graph.ids().tolist()
    if graph.splits is not None:
        for name, part in SPLIT_PARTS.items():
            mask = torch.from_numpy((graph.splits == part).T.copy())
            data[f"{name}_mask"] = mask[:, 0] if graph.split_count == 1 else mask
    return data


def _features_of(features: np.ndarray | csr_array, sparse: bool) -> Tensor:
    if isinstance(features, np.ndarray):
        return torch.from_numpy(np.ascontiguousarray(features, dtype=np.float32))
    if not sparse:
        return torch.from_numpy(features.astype(np.float32).toarray())
    offsets, indices = (torch.from_numpy(part.astype(np.int64)) for part in (features.indptr, features.indices))
    values = torch.from_numpy(features.data.astype(np.float32))
    return torch.sparse_csr_tensor(offsets, indices, values, size=features.shape, check_invariants=True)


def graph_from_pyg(data: Data) -> Graph:
    """A `Data` as a graph: the inverse of `graph_to_pyg`.

    Repeated edges count once, or have their weights (edge_weight, or an edge_attr of one column) summed. Classes are
    the numbers in y, -1 where unknown; without masks, splits are drawn.
    """
    graph = unlabelled_graph_of(data)
    if data.get("y") is None:
        return graph
    labels = _labels_of(data.y, graph.node_count)
    names = data.get("class_names") or [str(code) for code in range(int(labels.max()) + 1)]
    return dataclasses.replace(
        graph,
        labels=labels,
        class_names=byte_strings(names),
        splits=_splits_of(data, labels),
    )


def unlabelled_graph_of(data: Data) -> Graph:
    """The edges, features and ids of a `Data`, whatever its y is about."""
    if data.edge_index is None or data.edge_index.ndim != 2:
        raise DataError("this Data has no edge_index", "a graph is made from edge_index, not from adj_t")
    source, target = data.edge_index.cpu().numpy().astype(np.int64)
    count, weight = int(data.num_nodes), _edge_weights(data)
    if len(source) and (min(source.min(), target.min()) < 0 or max(source.max(), target.max()) >= count):
        raise DataError(f"edge_index has nodes that are not in 0..{count - 1}")
    adjacency = (
        unit_adjacency(source, target, count) if weight is None else weighted_adjacency(source, target, weight, count)
    )
    ids = data.get("node_ids")
    return Graph(
        adjacency=adjacency,
        features=None if data.get("x") is None else _array_of(data.x),
        labels=None,
        class_names=None,
        node_ids=None if ids is None else byte_strings(ids),
        splits=None,
    )


def _edge_weights(data: Data) -> np.ndarray | None:
    weight = data.get("edge_weight")
    if weight is None and (attribute := data.get("edge_attr")) is not None and attribute[:1].numel() == 1:
        weight = attribute
    if weight is None:
        return None
    values: np.ndarray = weight.detach().cpu().numpy().astype(np.float64).ravel()
    if not usable_weights(values).all():
        hint = "an edge_attr of one column counts as weights: remove it where it is something else"
        raise DataError(f"the weights of edges must be {WEIGHT_RANGE}", hint)
    return values


def _labels_of(y: Tensor, count: int) -> np.ndarray:
    if y.is_floating_point() or y.numel() != count:
        raise DataError(f"y has shape {tuple(y.shape)} and type {y.dtype}, not a class number for each node")
    return y.cpu().numpy().astype(np.int64).ravel()


def _array_of(x: Tensor) -> np.ndarray | csr_array:
    features = scipy_of(x) if x.layout is torch.sparse_csr else x.detach().to_dense().cpu().numpy()
    if not np.isfinite(features.data if isinstance(features, csr_array) else features).all():
        raise DataError("features must be finite")
    return features


def _splits_of(data: Data, labels: np.ndarray) -> np.ndarray:
    """Masks as rows of parts, and splits by ratio where there are none."""
    masks = {part: data.get(f"{name}_mask") for name, part in SPLIT_PARTS.items()}
    if masks[SPLIT_PARTS["train"]] is None:
        return ratio_splits(labels, DEFAULT_RATIO, SPLITS_DRAWN, 0)
    columns = {part: mask.cpu().numpy().reshape(len(labels), -1).T for part, mask in masks.items() if mask is not None}
    splits = np.zeros(np.broadcast_shapes(*(mask.shape for mask in columns.values())), dtype=np.uint8)
    for part, mask in columns.items():
        splits[np.broadcast_to(mask, splits.shape)] = part
    return splits


def scipy_of(matrix: Tensor) -> csr_array:
    """A CSR tensor as scipy has it."""
    parts = (part.cpu().numpy() for part in (matrix.values(), matrix.col_indices(), matrix.crow_indices()))
    return csr_array(tuple(parts), shape=tuple(matrix.shape))
