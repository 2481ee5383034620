"""Figures that describe a graph, for `cgnn data show`."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from cgnn_cli.graph import SPLIT_PARTS, Graph
from cgnn_cli.numerics.csr import ones_on, row_of_entries, strong_components
from cgnn_cli.operators.twins import twin_share


def graph_statistics(graph: Graph) -> dict[str, Any]:
    """The figures as plain Python values. Clean edges are those without self-loops."""
    clean, features, labels, splits = graph.edges, graph.features, graph.labels, graph.splits
    out_degree = np.diff(clean.indptr)
    in_degree = np.bincount(clean.indices, minlength=graph.node_count)
    components, component = strong_components(graph.adjacency)
    sizes, filled = np.zeros(0, np.int64), 0.0
    if features is not None:
        filled = float(np.count_nonzero(features) if isinstance(features, np.ndarray) else features.count_nonzero())
    if labels is not None:
        sizes = np.bincount(labels[labels >= 0], minlength=graph.class_count)
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
        "features": 0 if features is None else int(features.shape[1]),
        "feature_density": None if features is None else float(filled / max(features.shape[0] * features.shape[1], 1)),
        "sparse_features": not (features is None or isinstance(features, np.ndarray)),
        "homophily": homophily_of(graph),
        "classes": graph.class_count,
        "class_sizes": {} if labels is None else dict(zip(graph.class_labels(), sizes.tolist(), strict=True)),
        "test_twins": None if splits is None else twin_share(graph.adjacency, splits),
        "unlabelled": graph.node_count if labels is None else int((labels < 0).sum()),
        "splits": [
            {part: int((row == code).sum()) for part, code in SPLIT_PARTS.items()}
            for row in (() if splits is None else splits)
        ],
    }


def reciprocity_of(clean: csr_array) -> float:
    """The share of edges whose reverse is an edge too."""
    pattern = ones_on(clean)
    return float(pattern.multiply(pattern.T).sum() / max(clean.nnz, 1))


def homophily_of(graph: Graph) -> float | None:
    """The share of edges between labelled nodes that join two of the same class."""
    if graph.labels is None:
        return None
    source, target = graph.labels[row_of_entries(graph.edges)], graph.labels[graph.edges.indices]
    known = (source >= 0) & (target >= 0)
    return float((source == target)[known].mean()) if known.any() else None
