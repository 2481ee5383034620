"""Import of the user's own graph: edges, features, labels and splits from text, Parquet, .npy and .npz files.

Tables name their nodes; the rows and numbers of arrays are nodes 0..N-1. Kinds of files are told by their content.
"""

import numpy as np
from scipy.sparse import csr_array

from cgnn_cli.datasets.adjacency import edge_counts, unit_adjacency, weighted_adjacency
from cgnn_cli.datasets.files.edges import EdgeColumns, EdgeList, read_edges, relabelled
from cgnn_cli.datasets.files.import_memory import import_memory
from cgnn_cli.datasets.files.import_options import ImportOptions
from cgnn_cli.datasets.files.nodes import Nodes, collect_nodes, place_features, place_labels, read_features, read_labels
from cgnn_cli.datasets.files.stored_splits import check_splits, read_splits
from cgnn_cli.datasets.files.tables import Reading
from cgnn_cli.datasets.splits import DEFAULT_RATIO, DEFAULT_VALIDATION, parse_ratio, per_class_splits, ratio_splits
from cgnn_cli.graph import Graph, byte_strings
from cgnn_cli.resources import allowed_memory, check_memory

RELIEF = "leave out what is not needed, or use a machine with more memory"


def import_graph(options: ImportOptions) -> Graph:
    """Read the files and join them into a graph; `summary` holds counts and notes on what was taken how."""
    check_memory("the import", import_memory(options), allowed_memory(), RELIEF)
    reading = Reading(options.header, options.comment)
    columns = EdgeColumns(options.source_column, options.target_column, options.weight_column)
    edges = read_edges(options.edges, columns, reading)
    if options.relabel:
        edges = relabelled(edges)
    features = None if options.features is None else read_features(options.features, reading, options.impute)
    if features is None:
        reading.notes.append("no features given: a training takes an encoding of the graph in their place (--encoding)")
    labels = None if options.labels is None else read_labels(options.labels, reading)
    nodes = collect_nodes(edges, [values for values in (features, labels) if values is not None])
    source, target = nodes.positions(edges.source), nodes.positions(edges.target)
    adjacency = _adjacency(source, target, edges, nodes.count)
    codes, class_names = (None, None) if labels is None else place_labels(labels, nodes)
    graph = Graph(
        adjacency=adjacency,
        features=None if features is None else place_features(features, nodes),
        labels=codes,
        class_names=None if class_names is None else byte_strings(class_names),
        node_ids=None if nodes.names is None else byte_strings(nodes.names),
        splits=None if codes is None else _make_splits(options, codes, class_names or [], nodes, reading),
    )
    graph.summary.update(
        edge_counts(len(source), adjacency),
        unlabelled=graph.node_count if codes is None else int((codes < 0).sum()),
        comment_lines=reading.comment_lines,
        notes=reading.notes,
    )
    return graph


def _adjacency(source: np.ndarray, target: np.ndarray, edges: EdgeList, count: int) -> csr_array:
    """Repeats count once, or have their weights summed."""
    if edges.weight is None:
        return unit_adjacency(source, target, count)
    return weighted_adjacency(source, target, edges.weight, count)


def _make_splits(
    options: ImportOptions, labels: np.ndarray, class_names: list[str], nodes: Nodes, reading: Reading
) -> np.ndarray:
    count, seed = options.split_count, options.split_seed
    if options.splits is not None:
        splits = read_splits(options.splits, nodes, reading)
        check_splits(splits, labels, options.splits, nodes.names)
        return splits
    if options.per_class is not None:
        val = DEFAULT_VALIDATION if options.val is None else options.val
        return per_class_splits(labels, options.per_class, val, count, seed, class_names=class_names)
    if options.split_ratio is None:
        reading.notes.append(f"no split option given: {count} random splits of 48/32/20 are used")
    ratio = DEFAULT_RATIO if options.split_ratio is None else parse_ratio(options.split_ratio)
    return ratio_splits(labels, ratio, count, seed)
