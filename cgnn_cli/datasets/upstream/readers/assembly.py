"""What the readers share: numbers from text, the checks of edges, labels and features, and the making of the graph."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from scipy.sparse import csr_array

from cgnn_cli.datasets.adjacency import edge_counts, unit_adjacency
from cgnn_cli.datasets.files.archives import ARRAY_MEMORY
from cgnn_cli.datasets.files.arrays import lossless, narrow
from cgnn_cli.datasets.files.stored_splits import check_splits
from cgnn_cli.datasets.upstream.restricted_pickle import read_split_arrays
from cgnn_cli.datasets.wording import one_line
from cgnn_cli.errors import CgnnError, DataError
from cgnn_cli.graph import TEST, TRAIN, UNUSED, VALIDATION, Graph
from cgnn_cli.resources import check_reading

FETCH_AGAIN = "fetch the file again; if it stays like this, upstream has changed it"
SPARSE_BELOW = 0.1
YEAR_CLASSES = 5
BLOCK_BYTES = 1 << 22
PART_CODES = {"train": TRAIN, "valid": VALIDATION, "test": TEST}
Edges = tuple[np.ndarray, np.ndarray]


def build_graph(
    edges: Edges,
    features: np.ndarray | csr_array,
    labels: np.ndarray,
    *,
    class_names: Sequence[str] | None = None,
    splits: np.ndarray | None = None,
) -> Graph:
    """The graph of checked parts; without names, its classes are called by their numbers."""
    adjacency = unit_adjacency(*edges, len(labels))
    names = class_names or [str(label) for label in range(int(labels.max()) + 1)]
    return Graph(
        adjacency=adjacency,
        features=features,
        labels=labels,
        class_names=np.array([name.encode() for name in names]),
        splits=splits,
        summary=edge_counts(len(edges[0]), adjacency) | {"unlabelled": int((labels < 0).sum()), "notes": []},
    )


def checked_edges(source: np.ndarray, target: np.ndarray, count: int, path: Path) -> Edges:
    """Sources and targets as int64, all of them nodes of the graph."""
    if not len(source):
        raise DataError(f"{path} holds no edges", FETCH_AGAIN)
    for ends in (source, target):
        if ends.dtype.kind not in "iu":
            raise DataError(f"{path} has node numbers of type {ends.dtype}, not integers", FETCH_AGAIN)
        low, high = int(ends.min()), int(ends.max())
        if low < 0 or high >= count:
            odd = low if low < 0 else high
            raise DataError(f"{path} has an edge of node {odd}, but its nodes are 0..{count - 1}", FETCH_AGAIN)
    return source.astype(np.int64, copy=False), target.astype(np.int64, copy=False)


def checked_labels(labels: np.ndarray, path: Path) -> np.ndarray:
    """Class numbers as int64, one a node; -1 is no label."""
    if labels.dtype.kind not in "iu" or labels.ndim != 1 or not len(labels):
        raise DataError(f"{path} has labels of type {labels.dtype} and shape {labels.shape}", FETCH_AGAIN)
    low, high = int(labels.min()), int(labels.max())
    if low < -1 or not 0 <= high < len(labels):
        raise DataError(f"{path} has labels from {low} to {high} for {len(labels)} nodes", FETCH_AGAIN)
    return labels.astype(np.int64)


def dense_features(values: np.ndarray, count: int, path: Path) -> np.ndarray:
    """Finite features, a row for each of `count` nodes, in float32 where it holds them exactly."""
    return np.ascontiguousarray(_checked_numbers(values, values.shape, count, path))


def sparse_features(matrix: Any, count: int, path: Path) -> csr_array:
    """The same of a sparse matrix, whose indices have been checked; sorted, without repeats and zeros."""
    matrix.data = _checked_numbers(matrix.data, matrix.shape, count, path)
    features = csr_array(matrix)
    features.sum_duplicates()
    features.eliminate_zeros()
    if max(features.nnz, *features.shape) <= np.iinfo(np.int32).max:
        features.indices, features.indptr = features.indices.astype(np.int32), features.indptr.astype(np.int32)
    return features


def _checked_numbers(numbers: np.ndarray, shape: tuple[int, ...], count: int, path: Path) -> np.ndarray:
    if numbers.dtype.kind not in "biuf" or len(shape) != 2 or shape[0] != count or not shape[1]:
        raise DataError(f"{path} has features of type {numbers.dtype} and shape {shape} for {count} nodes", FETCH_AGAIN)
    if not np.isfinite(numbers).all():
        raise DataError(f"{path} has features that are NaN or infinite", FETCH_AGAIN)
    return numbers if numbers.dtype == np.float32 else narrow(lossless(numbers, path))


def sparse_if_mostly_zero(features: np.ndarray) -> np.ndarray | csr_array:
    """CSR where few of the values are not zero."""
    return csr_array(features) if np.count_nonzero(features) < SPARSE_BELOW * features.size else features


def checked_csr(parts: Sequence[np.ndarray], shape: np.ndarray, path: Path) -> csr_array:
    """A CSR matrix of data, indices and indptr, checked in full: indices out of range would crash later."""
    if any(part.dtype.kind not in "iu" for part in (*parts[1:], shape)) or shape.shape != (2,):
        raise DataError(f"{path} has a sparse matrix whose indices or shape are not integers", FETCH_AGAIN)
    try:
        matrix = csr_array(tuple(parts), shape=(int(shape[0]), int(shape[1])))
        matrix.check_format(full_check=True)
    except Exception as error:  # scipy promises no set of exceptions for wrong parts
        raise DataError(f"{path} has a damaged sparse matrix: {one_line(error)}", FETCH_AGAIN) from error
    return matrix


def year_classes(years: np.ndarray, path: Path) -> tuple[np.ndarray, list[str]]:
    """The class of each node, -1 where its year is NaN, and the names of the classes.

    The bounds are quantiles of the years; a class holds its lower bound and not its upper one, so classes differ in
    size.
    """
    years = years.astype(np.float64)
    known = np.isfinite(years)
    if np.isinf(years).any() or (years[known] != np.floor(years[known])).any() or not known.any():
        raise DataError(f"{path} has years that are not whole numbers", FETCH_AGAIN)
    bounds = np.quantile(years[known], np.arange(1, YEAR_CLASSES) / YEAR_CLASSES)
    labels = np.searchsorted(bounds, years, side="right")
    labels[~known] = -1
    starts = [int(np.ceil(bound)) for bound in bounds]
    spans = [(first, after - 1) for first, after in pairwise(starts)]
    middle = [
        "no year" if last < first else str(first) if first == last else f"{first}-{last}" for first, last in spans
    ]
    return labels, [f"before {starts[0]}", *middle, f"{starts[-1]} or later"]


def read_index_splits(path: Path, labels: np.ndarray) -> np.ndarray:
    """The splits of a published file of node numbers, one a row; no node is in two parts."""
    stored, count = read_split_arrays(path), len(labels)
    splits = np.full((len(stored), count), UNUSED, dtype=np.uint8)
    for number, parts in enumerate(stored):
        used = np.concatenate([parts[part] for part in PART_CODES])
        if len(used) and (used.min() < 0 or used.max() >= count):
            odd = int(used.min() if used.min() < 0 else used.max())
            raise DataError(f"{path}: split {number} has node {odd}, but the nodes are 0..{count - 1}", FETCH_AGAIN)
        for part, code in PART_CODES.items():
            splits[number, parts[part]] = code
        if np.count_nonzero(splits[number]) < len(used):
            node = int(np.argmax(np.bincount(used)))
            raise DataError(f"{path}: split {number} has node {node} more than once", FETCH_AGAIN)
    check_splits(splits, labels, path)
    return splits


def number_blocks(stream: BinaryIO, types: Sequence[str], what: str, delimiter: str = ",") -> Iterator[np.ndarray]:
    """A table whose columns have these types, some rows at a time; row c of each array is column c of the table."""
    import pyarrow as pa
    from pyarrow import csv

    columns = {f"f{number}": pa.type_for_alias(name) for number, name in enumerate(types)}
    try:
        reader = csv.open_csv(
            stream,
            csv.ReadOptions(autogenerate_column_names=True, block_size=BLOCK_BYTES, use_threads=False),
            csv.ParseOptions(delimiter=delimiter, quote_char=False),
            csv.ConvertOptions(column_types=columns, null_values=[]),
        )
        with reader:
            if reader.schema.names != list(columns):
                raise DataError(f"{what} has {len(reader.schema)} columns, not {len(columns)}", FETCH_AGAIN)
            for batch in reader:
                yield np.stack([column.to_numpy() for column in batch.columns])
    except (CgnnError, MemoryError):
        raise
    except Exception as error:  # of Arrow, of the archive or of the decompression
        raise DataError(f"{what} cannot be read as numbers: {one_line(error)}", FETCH_AGAIN) from error


def number_columns(stream: BinaryIO, types: Sequence[str], what: str, delimiter: str = ",") -> np.ndarray:
    """The whole table; row c of the array is column c of the table."""
    blocks: list[np.ndarray] = []
    for block in number_blocks(stream, types, what, delimiter):
        blocks.append(block)
        check_reading(what, ARRAY_MEMORY * len(blocks) * block.nbytes)
    return np.concatenate(blocks, axis=1)
