"""The .npz files of the heterophilous graphs: dense features, labels, a list of edges, and masks."""

from pathlib import Path

from cgnn_cli.datasets.files.archives import read_npz
from cgnn_cli.datasets.files.stored_splits import check_splits, splits_from_masks
from cgnn_cli.datasets.upstream.readers import assembly
from cgnn_cli.errors import DataError
from cgnn_cli.graph import Graph

MASKS = ("train_masks", "val_masks", "test_masks")


def read(files: dict[str, Path]) -> Graph:
    """The graph, with its edges in the direction in which they are stored."""
    (path,) = files.values()
    arrays = read_npz(path, ["node_features", "node_labels", "edges", *MASKS])
    labels, edges = assembly.checked_labels(arrays["node_labels"], path), arrays["edges"]
    if edges.ndim != 2 or edges.shape[1] != 2:
        raise DataError(f"{path} has edges of shape {edges.shape}, not pairs of nodes", assembly.FETCH_AGAIN)
    features = assembly.dense_features(arrays["node_features"], len(labels), path)
    splits = splits_from_masks({name: arrays[name] for name in MASKS}, len(labels), path)
    check_splits(splits, labels, path)
    ends = assembly.checked_edges(edges[:, 0], edges[:, 1], len(labels), path)
    return assembly.build_graph(ends, assembly.sparse_if_mostly_zero(features), labels, splits=splits)
