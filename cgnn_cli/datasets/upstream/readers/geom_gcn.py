"""The text files of geom-gcn: a list of edges, a table of features and labels, and a mask file a split."""

import io
import re
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from cgnn_cli.datasets.files.archives import read_npz
from cgnn_cli.datasets.files.stored_splits import check_splits, splits_from_masks
from cgnn_cli.datasets.files.text_files import read_content
from cgnn_cli.datasets.upstream.readers import assembly
from cgnn_cli.errors import DataError
from cgnn_cli.graph import Graph

EDGES, NODES = "out1_graph_edges.txt", "out1_node_feature_label.txt"
SPLIT_NAME = re.compile(r".*_split_0\.6_0\.2_([0-9]+)\.npz")
MASKS = ("train_mask", "val_mask", "test_mask")
NODE_LINE = re.compile(rb"([0-9]{1,18})\t([01](?:,[01])*)\t([0-9]{1,18})")
ONE = ord("1")


def read(files: dict[str, Path]) -> Graph:
    """The graph, with 0/1 features and a split for each of upstream's mask files."""
    features, labels = _nodes(files[NODES])
    source, target = assembly.number_columns(
        io.BytesIO(_body(files[EDGES])), ["int64", "int64"], str(files[EDGES]), "\t"
    )
    edges = assembly.checked_edges(source, target, len(labels), files[EDGES])
    numbers = {int(match[1]): path for name, path in files.items() if (match := SPLIT_NAME.fullmatch(name))}
    splits = []
    for _, path in sorted(numbers.items()):
        splits.append(splits_from_masks(read_npz(path, MASKS), len(labels), path))
        check_splits(splits[-1], labels, path)
    return assembly.build_graph(edges, features, labels, splits=np.concatenate(splits))


def _body(path: Path) -> bytes:
    """What comes after the header of a file."""
    header, _, body = read_content(path).partition(b"\n")
    if not header.startswith(b"node_id\t"):
        raise DataError(f"{path} does not begin with the header of a geom-gcn file", assembly.FETCH_AGAIN)
    return body


def _nodes(path: Path) -> tuple[csr_array, np.ndarray]:
    """The features and labels in the order of the node numbers, each of which has one line."""
    lines = _body(path).splitlines()
    ids, labels = np.full(len(lines), -1), np.zeros(len(lines), dtype=np.int64)
    columns, width = [], 0
    for row, line in enumerate(lines):
        match = NODE_LINE.fullmatch(line)
        width = width or (len(match[2]) if match else 0)
        if match is None or len(match[2]) != width:
            raise DataError(
                f"{path}, line {row + 2}: not a node, as many 0/1 features as above, a label", assembly.FETCH_AGAIN
            )
        ids[row], labels[row] = int(match[1]), int(match[3])
        columns.append(np.flatnonzero(np.frombuffer(match[2], dtype=np.uint8)[::2] == ONE))
    if not lines or not np.array_equal(np.sort(ids), np.arange(len(lines))):
        raise DataError(f"{path} does not have a line for each of nodes 0..{len(lines) - 1}", assembly.FETCH_AGAIN)
    order = np.argsort(ids)
    columns = [columns[row] for row in order]
    indices = np.concatenate(columns).astype(np.int32)
    indptr = np.cumsum([0, *map(len, columns)]).astype(np.int32)
    ones = np.ones(len(indices), dtype=np.float32)
    features = csr_array((ones, indices, indptr), shape=(len(lines), (width + 1) // 2))
    return features, assembly.checked_labels(labels[order], path)
