"""Encodings: columns that say where a node lies in the graph, beside its features or for want of any (`--encoding`).

They come scaled: columns of variance 1, those of `roles`, `degrees` and `head-start` mapped to a normal distribution.
Self-loops count only for `structural`, the columns that imports of 0.1.0 wrote into graphs without features, and for
`roles`, the same columns mapped: chances to return differ by orders of magnitude, and what is rare lies in their tail.
"""

from typing import Any

import numpy as np

from cgnn_cli.configs import TrainConfig
from cgnn_cli.graph import CommuteTimes, Graph, Operators
from cgnn_cli.operators import degree_features, landmarks
from cgnn_cli.operators.structural import STRUCTURAL_NAMES, structural_features, work_bytes

OF_STRUCTURE = ("structural", "roles")
FIXED = {**dict.fromkeys(OF_STRUCTURE, len(STRUCTURAL_NAMES)), "degrees": degree_features.COLUMNS}
PANELS = 6  # of all columns in float64, beside each other
PANELS_OF_COUNTS = 5  # of ways to landmarks, for which nothing is solved
ENTRY = 40  # bytes of an entry, as estimates count them


def make(graph: Graph, times: CommuteTimes | None, config: TrainConfig) -> Operators:
    """One dense array, `encoding`, and what is to be told of it."""
    columns, figures = _columns(graph, config)
    figures = {"name": config.encoding, "columns": columns.shape[1], **figures}
    return Operators(matrices={"encoding": columns}, summary={"encoding": figures})


def _columns(graph: Graph, config: TrainConfig) -> tuple[np.ndarray, dict[str, Any]]:
    if config.encoding == "structural":
        return structural_features(graph.adjacency), {}
    if config.encoding == "roles":
        return degree_features.as_quantiles(structural_features(graph.adjacency).T), {}
    if config.encoding == "degrees":
        return degree_features.make(graph, None, config)["degrees"], {}
    if config.encoding == "head-start":
        return landmarks.head_start(graph.edges, config.encoding_columns)
    if config.encoding == "adjacency":
        return landmarks.adjacency_to(graph.edges, config.encoding_columns), {}
    from cgnn_cli.numerics.spectrum import laplacian_vectors

    found = laplacian_vectors(graph.edges, config.encoding_columns)
    deviation = found.vectors.std(axis=0)
    return found.vectors / np.where(deviation > 0, deviation, 1), found.figures()


def entries(graph: Graph, config: TrainConfig) -> int:
    """Of the edges both ways and the panels that are worked with, as many as would take as much memory."""
    if config.encoding in OF_STRUCTURE:
        return work_bytes(graph.adjacency) // ENTRY
    if config.encoding == "degrees":
        return degree_features.entries(graph, config)
    panels = PANELS_OF_COUNTS if config.encoding == "adjacency" else PANELS
    return 4 * int(graph.adjacency.nnz) + graph.node_count * 8 * panels * column_count(config) // ENTRY


def column_count(config: TrainConfig) -> int:
    """The most columns that an encoding has."""
    if not config.has_encoding:
        return 0
    ways = 1 if config.encoding == "laplacian" else 2
    return FIXED.get(config.encoding, ways * config.encoding_columns)
