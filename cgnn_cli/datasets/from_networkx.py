"""Graphs from networkx: any of its graphs, told by what it can do, so that networkx itself is not imported."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cgnn_cli.datasets.adjacency import WEIGHT_RANGE, unit_adjacency, usable_weights, weighted_adjacency
from cgnn_cli.datasets.splits import DEFAULT_RATIO, SPLITS_DRAWN, ratio_splits
from cgnn_cli.errors import DataError
from cgnn_cli.graph import Graph, byte_strings


def graph_from_networkx(
    network: Any, *, label: str | None = None, features: Sequence[str] | None = None, weight: str | None = "weight"
) -> Graph:
    """The graph of a networkx network; its nodes keep their order, and their names become the ids.

    An edge u -> v of a digraph is an edge u -> v; one of an undirected network goes both ways. label, features and
    weight name attributes: labels of any kind, missing where unknown; numbers or vectors; positive numbers, where any
    edge has one. With labels, ten splits are drawn.
    """
    nodes = list(network.nodes)
    number = {node: place for place, node in enumerate(nodes)}
    ends = [(number[u], number[v], attributes) for u, v, attributes in network.edges(data=True)]
    source, target = (np.array([end[side] for end in ends], dtype=np.int64) for side in (0, 1))
    weights = _weights([attributes for *_, attributes in ends], weight)
    if not network.is_directed():
        apart = source != target  # a self-loop is one edge
        source, target = np.concatenate([source, target[apart]]), np.concatenate([target, source[apart]])
        weights = None if weights is None else np.concatenate([weights, weights[apart]])
    count = len(nodes)
    if weights is None:
        adjacency = unit_adjacency(source, target, count)
    else:
        adjacency = weighted_adjacency(source, target, weights, count)
    codes, names = (None, None) if label is None else _labels(network, label)
    return Graph(
        adjacency=adjacency,
        features=None if features is None else _features(network, features),
        labels=codes,
        class_names=names,
        node_ids=byte_strings(nodes),
        splits=None if codes is None else ratio_splits(codes, DEFAULT_RATIO, SPLITS_DRAWN, 0),
    )


def _weights(edges: list[dict[str, Any]], name: str | None) -> np.ndarray | None:
    """The weights of the edges, 1 where one has none; nothing where none has any."""
    if name is None or not any(name in attributes for attributes in edges):
        return None
    weights = np.array([float(attributes.get(name, 1)) for attributes in edges])
    if not usable_weights(weights).all():
        raise DataError(f"the edge attribute {name!r} has weights that are not {WEIGHT_RANGE}", "scale the weights")
    return weights


def _labels(network: Any, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Class numbers with -1 for nodes without the attribute, and the names of the classes in sorted order."""
    values = [attributes.get(name) for _, attributes in network.nodes(data=True)]
    found = sorted({value for value in values if value is not None}, key=lambda value: (str(type(value)), value))
    if not found:
        raise DataError(f"no node has the attribute {name!r}", "name the attribute that holds the labels")
    number = {value: code for code, value in enumerate(found)}
    codes = np.array([-1 if value is None else number[value] for value in values])
    return codes, byte_strings(found)


def _features(network: Any, names: Sequence[str]) -> np.ndarray:
    rows = []
    for node, attributes in network.nodes(data=True):
        missing = [name for name in names if name not in attributes]
        if missing:
            raise DataError(f"node {node} has no attribute {missing[0]!r}", "every node needs every feature")
        rows.append(np.concatenate([np.atleast_1d(np.asarray(attributes[name], dtype=np.float64)) for name in names]))
    try:
        features = np.stack(rows)
    except ValueError as error:
        raise DataError(f"the features {', '.join(names)} are not of the same length on all nodes") from error
    if not np.isfinite(features).all():
        raise DataError("features must be finite")
    return features
