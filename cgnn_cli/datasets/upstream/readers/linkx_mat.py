"""The MATLAB file of snap-patents, with the years of the patents as classes, and the splits published for them."""

from pathlib import Path
from typing import Any

import numpy as np

from cgnn_cli.datasets.upstream.readers import assembly
from cgnn_cli.datasets.upstream.readers.matlab import read_matlab
from cgnn_cli.errors import DataError
from cgnn_cli.graph import Graph

MATRICES, SPLITS = "snap_patents.mat", "snap-patents-splits.npy"
VARIABLES = ("edge_index", "node_feat", "years", "num_nodes")


def read(files: dict[str, Path]) -> Graph:
    """The graph with five classes of years; its features stay sparse."""
    path = files[MATRICES]
    variables = read_matlab(path, VARIABLES)
    years = _numbers(variables, "years", path).ravel()
    count, stated = len(years), _numbers(variables, "num_nodes", path).ravel().tolist()
    if stated != [count]:
        raise DataError(f"{path} has {count} years, but states {stated[:3]} nodes", assembly.FETCH_AGAIN)
    labels, class_names = assembly.year_classes(years, path)
    ends = _whole(_numbers(variables, "edge_index", path))
    if len(ends) != 2:
        raise DataError(f"{path} has an edge_index of shape {ends.shape}, not 2 x edges", assembly.FETCH_AGAIN)
    features = variables.pop("node_feat")
    if isinstance(features, np.ndarray):
        raise DataError(f"{path}: node_feat is not a sparse matrix", assembly.FETCH_AGAIN)
    return assembly.build_graph(
        assembly.checked_edges(ends[0], ends[1], count, path),
        assembly.sparse_features(features, count, path),
        labels,
        class_names=class_names,
        splits=assembly.read_index_splits(files[SPLITS], labels),
    )


def _numbers(variables: dict[str, Any], name: str, path: Path) -> np.ndarray:
    """A variable that is not sparse."""
    value = variables.pop(name)
    if not isinstance(value, np.ndarray):
        raise DataError(f"{path}: {name} is a sparse matrix", assembly.FETCH_AGAIN)
    return value


def _whole(values: np.ndarray) -> np.ndarray:
    """MATLAB's numbers, which are often floating-point, as integers where all of them are whole."""
    if values.dtype.kind == "f" and (np.floor(values) == values).all() and (np.abs(values) < 2**53).all():
        return values.astype(np.int64)
    return values
