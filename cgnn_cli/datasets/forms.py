"""Other forms of a graph: symmetrised, with other splits, or without its features."""

from __future__ import annotations

import dataclasses

from cgnn_cli.configs import FEATURE_NAMES, GraphConfig
from cgnn_cli.datasets.splits import DEFAULT_RATIO, DEFAULT_VALIDATION, per_class_splits, ratio_splits
from cgnn_cli.errors import DataError, UsageError
from cgnn_cli.graph import Graph
from cgnn_cli.numerics.csr import canonical_csr

PER_CLASS, RUNS, FIXED_SEED = 20, 10, 1020


def variant(graph: Graph, config: GraphConfig) -> Graph:
    """The form of a graph that is asked for."""
    if config.protocol != "default":
        graph = with_protocol(graph, config.protocol)
    if config.featureless:
        graph = without_features(graph)
    return symmetrised(graph) if config.undirected else graph


def without_features(graph: Graph) -> Graph:
    """The graph alone; one that has no features is what it was."""
    if graph.features is None:
        return graph
    kept = {name: value for name, value in graph.summary.items() if name != FEATURE_NAMES}
    return dataclasses.replace(graph, features=None, summary={**kept, "featureless": True})


def symmetrised(graph: Graph) -> Graph:
    """Every edge in both directions; where both are there with different weights, the greater one holds."""
    adjacency = canonical_csr(graph.adjacency.maximum(graph.adjacency.T))
    return dataclasses.replace(graph, adjacency=adjacency, summary={**graph.summary, "undirected": True})


def with_protocol(graph: Graph, protocol: str) -> Graph:
    """The graph with the splits of a protocol; `published` are those it was read with."""
    if graph.labels is None:
        raise DataError("this dataset has no labels, so it has no splits", "leave --protocol out")
    if protocol == "published":
        if graph.splits is None:
            raise UsageError("no splits were published with this dataset", "use --protocol per-class or random")
        return graph
    if protocol == "random":
        splits = ratio_splits(graph.labels, DEFAULT_RATIO, RUNS, seed=0)
    else:
        count, seed = (1, FIXED_SEED) if protocol == "per-class-1020" else (RUNS, 0)
        names = graph.class_labels()
        try:
            splits = per_class_splits(graph.labels, PER_CLASS, DEFAULT_VALIDATION, count, seed, class_names=names)
        except DataError as error:
            raise DataError(error.message, "use --protocol random") from error
    return dataclasses.replace(graph, splits=splits, summary={**graph.summary, "protocol": protocol})
