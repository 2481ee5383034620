"""Figures that describe a graph, for `cgnn data show`."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from cgnn_cli.graph import SPLIT_PARTS, Graph
from cgnn_cli.numerics.transition import row_of_entries, strong_components
from cgnn_cli.operators.twins import twin_share


def graph_statistics(graph: Graph) -> dict[str, Any]:
    """The figures as plain Python values. Clean edges are those without self-loops."""
    return {**_edge_statistics(graph), **_feature_statistics(graph), **_label_statistics(graph)}


def _edge_statistics(graph: Graph) -> dict[str, Any]:
    clean = graph.edges
    out_degree = np.diff(clean.indptr)
    in_degree = np.bincount(clean.indices, minlength=graph.node_count)
    components, component = strong_components(graph.adjacency)
    return {
        "nodes": graph.node_count,
        "edges": int(graph.adjacency.nnz),
        "clean_edges": int(clean.nnz),
        "repeats": int(graph.summary.get("repeats", 0)),
        "self_loops": int(graph.adjacency.nnz - clean.nnz),
        "sinks": int((out_degree == 0).sum()),
        "sources": int((in_degree == 0).sum()),
        "isolated": int(((out_degree == 0) & (in_degree == 0)).sum()),
        "reciprocity": reciprocity_of(clean),
        "components": components,
        "largest_component": int(np.bincount(component).max()),
    }


def reciprocity_of(clean: csr_array) -> float:
    """The share of edges whose reverse is an edge too."""
    pattern = csr_array((np.ones(clean.nnz), clean.indices, clean.indptr), shape=clean.shape)
    return float(pattern.multiply(pattern.T).sum() / max(clean.nnz, 1))


def _feature_statistics(graph: Graph) -> dict[str, Any]:
    features = graph.features
    if features is None:
        return {"features": 0, "feature_density": None, "sparse_features": False}
    filled = np.count_nonzero(features) if isinstance(features, np.ndarray) else features.count_nonzero()
    cells = features.shape[0] * features.shape[1]
    return {
        "features": int(features.shape[1]),
        "feature_density": float(filled / max(cells, 1)),
        "sparse_features": not isinstance(features, np.ndarray),
    }


def _label_statistics(graph: Graph) -> dict[str, Any]:
    splits = () if graph.splits is None else graph.splits
    figures: dict[str, Any] = {"homophily": None, "classes": graph.class_count, "class_sizes": {}}
    if graph.labels is not None:
        sizes = np.bincount(graph.labels[graph.labels >= 0], minlength=graph.class_count)
        figures["homophily"] = homophily_of(graph)
        figures["class_sizes"] = dict(zip(graph.class_labels(), sizes.tolist(), strict=True))
    figures["test_twins"] = None if graph.splits is None else twin_share(graph.adjacency, graph.splits)
    figures["unlabelled"] = graph.node_count if graph.labels is None else int((graph.labels < 0).sum())
    figures["splits"] = [{part: int((row == code).sum()) for part, code in SPLIT_PARTS.items()} for row in splits]
    return figures


def homophily_of(graph: Graph) -> float | None:
    """The share of edges between labelled nodes that join two of the same class."""
    if graph.labels is None:
        return None
    source, target = graph.labels[row_of_entries(graph.edges)], graph.labels[graph.edges.indices]
    known = (source >= 0) & (target >= 0)
    return float((source == target)[known].mean()) if known.any() else None
