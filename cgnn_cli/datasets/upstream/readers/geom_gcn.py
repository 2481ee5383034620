"""The text files of geom-gcn: a list of edges, a table of features and labels, and a mask file a split.

Features are a row of 0 and 1, or, where the header states their amount, the columns that are 1. In place of the mask
files there may be one file of the heterophilous graphs, with all masks and the same labels.
"""

import io
import re
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from cgnn_cli.datasets.files.archives import read_npz
from cgnn_cli.datasets.files.stored_splits import check_splits, splits_from_masks
from cgnn_cli.datasets.files.text_files import read_content
from cgnn_cli.datasets.upstream.readers import assembly, heterophilous
from cgnn_cli.errors import DataError
from cgnn_cli.graph import Graph

EDGES, NODES = "out1_graph_edges.txt", "out1_node_feature_label.txt"
SPLIT_NAME = re.compile(r".*_split_0\.6_0\.2_([0-9]+)\.npz")
MASKS = ("train_mask", "val_mask", "test_mask")
NODE_LINE = re.compile(rb"([0-9]{1,18})\t([01](?:,[01])*)\t([0-9]{1,18})")
LIST_LINE = re.compile(rb"([0-9]{1,18})\t([0-9]{1,9}(?:,[0-9]{1,9})*)\t([0-9]{1,18})")
AMOUNT = re.compile(rb"\tfeature\(feature_amount:([0-9]{1,7})\)\t")
ONE = ord("1")


def read(files: dict[str, Path]) -> Graph:
    """The graph, with 0/1 features and upstream's splits."""
    features, labels = _nodes(files[NODES])
    _, body = _parts(files[EDGES])
    source, target = assembly.number_columns(io.BytesIO(body), ["int64", "int64"], str(files[EDGES]), "\t")
    edges = assembly.checked_edges(source, target, len(labels), files[EDGES])
    return assembly.build_graph(edges, features, labels, splits=_splits(files, labels))


def _splits(files: dict[str, Path], labels: np.ndarray) -> np.ndarray:
    numbers = {int(match[1]): path for name, path in files.items() if (match := SPLIT_NAME.fullmatch(name))}
    stored = [(path, MASKS) for _, path in sorted(numbers.items())]
    if not stored:
        (path,) = (path for name, path in files.items() if name.endswith(".npz"))
        if not np.array_equal(read_npz(path, ["node_labels"])["node_labels"], labels):
            raise DataError(f"{path} has splits of other labels than {files[NODES]}", assembly.FETCH_AGAIN)
        stored = [(path, heterophilous.MASKS)]
    splits = []
    for path, masks in stored:
        splits.append(splits_from_masks(read_npz(path, masks), len(labels), path))
        check_splits(splits[-1], labels, path)
    return np.concatenate(splits)


def _parts(path: Path) -> tuple[bytes, bytes]:
    """The header of a file, and what comes after it."""
    header, _, body = read_content(path).partition(b"\n")
    if not header.startswith(b"node_id\t"):
        raise DataError(f"{path} does not begin with the header of a geom-gcn file", assembly.FETCH_AGAIN)
    return header, body


def _nodes(path: Path) -> tuple[csr_array, np.ndarray]:
    """The features and labels in the order of the node numbers, each of which has one line."""
    header, body = _parts(path)
    amount, lines = AMOUNT.search(header), body.splitlines()
    width = int(amount[1]) + 1 if amount else 0  # columns are numbered from 0 to the stated amount, both included
    form, what = (
        (LIST_LINE, f"features from 0 to {width - 1}") if amount else (NODE_LINE, "as many 0/1 features as above")
    )
    ids, labels, columns = np.full(len(lines), -1), np.zeros(len(lines), dtype=np.int64), []
    for row, line in enumerate(lines):
        match = form.fullmatch(line)
        ones = _ones(match[2], listed=amount is not None) if match else np.zeros(0, dtype=np.int64)
        width = width or (len(match[2]) + 1 if match else 0) // 2
        if match is None or (ones.max(initial=0) >= width if amount else len(match[2]) != 2 * width - 1):
            raise DataError(f"{path}, line {row + 2}: not a node, {what}, a label", assembly.FETCH_AGAIN)
        ids[row], labels[row] = int(match[1]), int(match[3])
        columns.append(ones)
    if not lines or not np.array_equal(np.sort(ids), np.arange(len(lines))):
        raise DataError(f"{path} does not have a line for each of nodes 0..{len(lines) - 1}", assembly.FETCH_AGAIN)
    order = np.argsort(ids)
    columns = [columns[row] for row in order]
    indices = np.concatenate(columns).astype(np.int32)
    indptr = np.cumsum([0, *map(len, columns)]).astype(np.int32)
    values = np.ones(len(indices), dtype=np.float32)
    features = csr_array((values, indices, indptr), shape=(len(lines), width))
    return features, assembly.checked_labels(labels[order], path)


def _ones(field: bytes, *, listed: bool) -> np.ndarray:
    """The columns of a row that are 1, in order; a list may repeat one."""
    if listed:
        return np.unique(list(map(int, field.split(b","))))
    return np.flatnonzero(np.frombuffer(field, dtype=np.uint8)[::2] == ONE)
