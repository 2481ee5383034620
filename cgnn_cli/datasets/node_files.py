"""Files with a row a node: features and labels of the user's graph."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy.sparse import coo_array, csr_array

from cgnn_cli.datasets.arrays import (
    NPY_MAGIC,
    ZIP_MAGIC,
    check_finite,
    load_array,
    load_matrix,
    lossless,
    narrow,
    read_array_or_text,
)
from cgnn_cli.datasets.columns import IDS_HINT, LONGEST_NAME, by_name, check_exact, check_ids, take_header
from cgnn_cli.datasets.tables import Table, looks_like_header, parse_table
from cgnn_cli.datasets.text_columns import Fields, encode
from cgnn_cli.errors import DataError
from cgnn_cli.numerics.transition import canonical_csr

LABEL_WORDS = ("label", "labels", "class", "category", "y")


@dataclass(frozen=True)
class NodeValues:
    """A value a row, with the table that names the node of each row; without a table, row i is node i."""

    path: Path
    values: Any
    table: Table | None = None

    @property
    def ids(self) -> Fields | None:
        return None if self.table is None else self.table.columns[0]

    @property
    def row_count(self) -> int:
        return int(self.values.shape[0]) if hasattr(self.values, "shape") else len(self.values)


def read_features(
    path: Path, header: bool | None, notes: list[str], impute: Literal["zero"] | None = None
) -> NodeValues:
    """Features as an array or a CSR matrix of finite numbers; `impute` says what becomes of those that are not."""
    content = read_array_or_text(path)
    if content.startswith(ZIP_MAGIC):
        return _with_columns(NodeValues(path, _sparse_features(load_matrix(content, path), path, notes, impute)))
    if content.startswith(NPY_MAGIC):
        array = lossless(load_array(content, path, "biuf"), path)
        if array.ndim != 2:
            raise DataError(f"{path} has shape {array.shape}, but features are nodes x features", "save a 2-d array")
        _impute(array, impute, path, notes)
        check_finite(array, np.arange(len(array))[:, np.newaxis], path, None)
        return _with_columns(NodeValues(path, narrow(array)))
    table = _node_table(content, path, header, notes)
    columns = [table.numbers(column) for column in range(1, len(table.columns))]
    array = np.column_stack(columns)
    _impute(array, impute, path, notes)
    check_finite(array, np.arange(len(array))[:, np.newaxis], path, table)
    return NodeValues(path, narrow(array), table)


def _impute(values: np.ndarray, impute: Literal["zero"] | None, path: Path, notes: list[str]) -> None:
    """Set what is NaN or infinite to 0, in place, where the user asked for it."""
    bad = ~np.isfinite(values)
    if impute == "zero" and bad.any():
        values[bad] = 0
        notes.append(f"{path}: {bad.sum()} value(s) that were NaN or infinite are set to 0")


def _sparse_features(matrix: coo_array, path: Path, notes: list[str], impute: Literal["zero"] | None) -> csr_array:
    values = lossless(matrix.data, path)
    _impute(values, impute, path, notes)
    check_finite(values, matrix.coords[0], path, None)
    features = canonical_csr(csr_array((values, matrix.coords), shape=matrix.shape))
    features.data = narrow(features.data)
    return features


def _with_columns(features: NodeValues) -> NodeValues:
    if 0 in features.values.shape:
        raise DataError(f"{features.path} has shape {features.values.shape}: no features", "leave --features out")
    return features


def read_labels(path: Path, header: bool | None, notes: list[str]) -> NodeValues:
    """Labels as class names, empty where there is no label."""
    content = read_array_or_text(path)
    if content.startswith(ZIP_MAGIC):
        raise DataError(
            f"{path} is an .npz file, but labels are CSV or .npy", "save the array of labels with numpy.save"
        )
    if content.startswith(NPY_MAGIC):
        return _array_labels(load_array(content, path, "biuf"), path)
    table = _node_table(content, path, header, notes)
    column = 1 if len(table.columns) == 2 else by_name(table, LABEL_WORDS, -1)
    if column < 1:
        raise DataError(
            f"{path} has {len(table.columns)} columns, and none is known as the label", "keep two: id,label"
        )
    check_exact(table, column, "labels")
    names = encode(table.columns[column])[1]
    if "-1" in names:
        notes.append(f"{path}: the label -1 is a class like any other; leave the field empty where there is no label")
    if len(max(names, key=len)) > LONGEST_NAME:
        raise DataError(f"{path} holds a label of more than {LONGEST_NAME} characters", "use shorter class names")
    return NodeValues(path, table.columns[column], table)


def _array_labels(array: np.ndarray, path: Path) -> NodeValues:
    if array.ndim != 1:
        raise DataError(f"{path} has shape {array.shape}, but labels have one entry a node", "save a 1-d array")
    good = np.floor(array) == array if array.dtype.kind == "f" else np.ones(len(array), dtype=bool)
    good &= (array >= -1) & (array < 2**53)
    if not good.all():
        row = int(np.argmin(good))
        raise DataError(f"{path}, row {row}: {array[row]} is not a class number", "use 0, 1, 2, ...; -1 is no label")
    return NodeValues(path, ["" if label < 0 else str(label) for label in array.astype(np.int64).tolist()])


def _node_table(content: bytes, path: Path, header: bool | None, notes: list[str]) -> Table:
    """A table whose first column is the node id."""
    table = parse_table(content, path)
    if len(table.columns) < 2:
        raise DataError(f"{path} has one column, but it needs a node id and a value", IDS_HINT)
    if header is None and table.header is None:
        header = table.columns[0][0] == "" or looks_like_header(table, [0], words=[0])
    table = take_header(table, header, notes)
    check_ids(table, [0])
    return table
