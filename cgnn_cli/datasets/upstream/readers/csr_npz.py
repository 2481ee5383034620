"""The .npz files of the CSR family: the parts of two CSR matrices, adjacency and features, and the labels."""

from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from cgnn_cli.datasets.files.archives import open_archive, read_npz
from cgnn_cli.datasets.upstream.readers import assembly
from cgnn_cli.errors import DataError
from cgnn_cli.graph import Graph
from cgnn_cli.numerics.csr import row_of_entries


def read(files: dict[str, Path]) -> Graph:
    """The graph, with its features as they are stored and without splits, which these files do not have."""
    (path,) = files.values()
    labels = assembly.checked_labels(read_npz(path, ["labels"])["labels"], path)
    adjacency = _matrix(path, "adj")
    if adjacency.shape != (len(labels), len(labels)) or adjacency.data.dtype.kind not in "biuf":
        kind = f"type {adjacency.data.dtype} and shape {adjacency.shape}"
        raise DataError(f"{path} has an adjacency of {kind} for {len(labels)} labels", assembly.FETCH_AGAIN)
    stored = adjacency.data != 0
    edges = assembly.checked_edges(row_of_entries(adjacency)[stored], adjacency.indices[stored], len(labels), path)
    return assembly.build_graph(edges, _features(path, len(labels)), labels)


def _matrix(path: Path, prefix: str) -> csr_array:
    parts = read_npz(path, [f"{prefix}_{part}" for part in ("data", "indices", "indptr", "shape")])
    *matrix, shape = parts.values()
    return assembly.checked_csr(matrix, shape, path)


def _features(path: Path, count: int) -> np.ndarray | csr_array:
    """Sparse features, or the dense ones that some files of the family have in their place."""
    with open_archive(path) as archive:
        names = archive.namelist()
    if "attr_data.npy" in names or "attr_matrix.npy" not in names:
        return assembly.sparse_features(_matrix(path, "attr"), count, path)
    return assembly.sparse_if_mostly_zero(
        assembly.dense_features(read_npz(path, ["attr_matrix"])["attr_matrix"], count, path)
    )
