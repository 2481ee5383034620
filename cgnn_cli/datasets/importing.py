"""Import of the user's own graph: edges, features, labels and splits from text, Parquet, .npy and .npz files.

Tables name their nodes; the rows and numbers of arrays are nodes 0..N-1. Kinds of files are told by their content.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from scipy.sparse import csr_array

from cgnn_cli.datasets.adjacency import edge_counts, unit_adjacency, weighted_adjacency
from cgnn_cli.datasets.edges import EdgeColumns, EdgeList, read_edges, relabelled
from cgnn_cli.datasets.node_files import read_features, read_labels
from cgnn_cli.datasets.nodes import Nodes, collect_nodes, place_features, place_labels
from cgnn_cli.datasets.splits import (
    DEFAULT_RATIO,
    DEFAULT_VALIDATION,
    LARGEST_SEED,
    parse_ratio,
    per_class_splits,
    ratio_splits,
)
from cgnn_cli.datasets.stored_splits import check_splits, read_splits
from cgnn_cli.datasets.structural import STRUCTURAL_NAMES, structural_features
from cgnn_cli.errors import DataError, UsageError
from cgnn_cli.graph import Graph


@dataclass(frozen=True)
class ImportOptions:
    """What `cgnn data import` takes. A column is a name in the header, or a number counted from 1.

    `header` says for all text files whether their first row is one; None: it is detected for each. `impute` is for
    features that are NaN or infinite. `relabel` takes the node numbers of arrays as ids, like those of text.
    """

    edges: Path
    features: Path | None = None
    labels: Path | None = None
    splits: Path | None = None
    source_column: str | None = None
    target_column: str | None = None
    weight_column: str | None = None
    header: bool | None = None
    impute: Literal["zero"] | None = None
    relabel: bool = False
    split_ratio: str | None = None
    per_class: int | None = None
    val: int | None = None
    split_count: int = 10
    split_seed: int = 0

    def __post_init__(self) -> None:
        values = {"--splits": self.splits, "--split-ratio": self.split_ratio, "--per-class": self.per_class}
        given = [flag for flag, value in values.items() if value is not None]
        if len(given) > 1:
            raise UsageError(f"{' and '.join(given)} contradict each other", "give one of them")
        if self.val is not None and self.per_class is None:
            raise UsageError("--val goes with --per-class", "add --per-class, or use --split-ratio")
        if given and self.labels is None:
            raise UsageError(f"{given[0]} needs labels", "give them with --labels")
        if self.split_ratio is not None:
            parse_ratio(self.split_ratio)
        for flag, number in {
            "--per-class": self.per_class,
            "--val": self.val,
            "--split-count": self.split_count,
        }.items():
            if number is not None and number < 1:
                raise UsageError(f"{flag} must be at least 1, got {number}")
        if not 0 <= self.split_seed <= LARGEST_SEED - self.split_count:
            raise UsageError(
                f"--split-seed must be between 0 and {LARGEST_SEED - self.split_count}, got {self.split_seed}"
            )

    @property
    def edge_columns(self) -> EdgeColumns:
        return EdgeColumns(self.source_column, self.target_column, self.weight_column)


def import_graph(options: ImportOptions) -> Graph:
    """Read the files and join them into a graph; `summary` holds counts and notes on what was taken how."""
    notes: list[str] = []
    edges = read_edges(options.edges, options.edge_columns, options.header, notes)
    if options.relabel:
        edges = relabelled(edges)
    features = (
        None if options.features is None else read_features(options.features, options.header, notes, options.impute)
    )
    labels = None if options.labels is None else read_labels(options.labels, options.header, notes)
    nodes = collect_nodes(edges, [values for values in (features, labels) if values is not None])
    source, target = nodes.positions(edges.source), nodes.positions(edges.target)
    adjacency = _adjacency(source, target, edges, nodes.count)
    codes, class_names = (None, None) if labels is None else place_labels(labels, nodes)
    graph = Graph(
        adjacency=adjacency,
        features=_structural(adjacency, notes) if features is None else place_features(features, nodes),
        labels=codes,
        class_names=None if class_names is None else _byte_strings(class_names),
        node_ids=None if nodes.names is None else _byte_strings(nodes.names),
        splits=None if codes is None else _make_splits(options, codes, class_names or [], nodes, notes),
    )
    graph.summary.update(
        edge_counts(len(source), adjacency),
        unlabelled=graph.node_count if codes is None else int((codes < 0).sum()),
        notes=notes,
    )
    return graph


def _adjacency(source: np.ndarray, target: np.ndarray, edges: EdgeList, count: int) -> csr_array:
    """Repeats count once, or have their weights summed."""
    if edges.weight is None:
        return unit_adjacency(source, target, count)
    adjacency = weighted_adjacency(source, target, edges.weight, count)
    if not np.isfinite(adjacency.data).all():
        raise DataError(f"{edges.path}: the summed weights of a repeated edge are infinite", "scale the weights down")
    return adjacency


def _structural(adjacency: csr_array, notes: list[str]) -> np.ndarray:
    features = structural_features(adjacency)
    used, left_out = STRUCTURAL_NAMES[: features.shape[1]], STRUCTURAL_NAMES[features.shape[1] :]
    notes.append(f"no features given: structural ones are used ({', '.join(used)})")
    if left_out:
        notes.append(f"{' and '.join(left_out)} are left out: with hubs like these they would take too long")
    return features


def _byte_strings(names: list[str]) -> np.ndarray:
    return np.array([name.encode() for name in names])


def _make_splits(
    options: ImportOptions, labels: np.ndarray, class_names: list[str], nodes: Nodes, notes: list[str]
) -> np.ndarray:
    count, seed = options.split_count, options.split_seed
    if options.splits is not None:
        splits = read_splits(options.splits, options.header, nodes, notes)
        check_splits(splits, labels, options.splits, nodes.names)
        return splits
    if options.per_class is not None:
        val = DEFAULT_VALIDATION if options.val is None else options.val
        return per_class_splits(labels, options.per_class, val, count, seed, class_names=class_names)
    if options.split_ratio is None:
        notes.append(f"no split option given: {count} random splits of 48/32/20 are used")
    ratio = DEFAULT_RATIO if options.split_ratio is None else parse_ratio(options.split_ratio)
    return ratio_splits(labels, ratio, count, seed)
