"""Files with a row a node: features and labels, with the table that names the nodes."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.sparse import coo_array, csr_array

from cgnn_cli import mapped
from cgnn_cli.datasets.files.archives import load_matrix
from cgnn_cli.datasets.files.arrays import (
    ZIP_MAGIC,
    load_array,
    lossless,
    narrow,
)
from cgnn_cli.datasets.files.columns import Column
from cgnn_cli.datasets.files.edges import EdgeList
from cgnn_cli.datasets.files.invalid_rows import NAMED_ROWS, Faults
from cgnn_cli.datasets.files.node_columns import choose_features, choose_id, choose_label, node_table
from cgnn_cli.datasets.files.reading import read_array_or_table
from cgnn_cli.datasets.files.tables import LONGEST_NAME, Reading, Table
from cgnn_cli.datasets.files.times import read_times
from cgnn_cli.datasets.wording import shorten
from cgnn_cli.errors import DataError, UsageError
from cgnn_cli.numerics.csr import canonical_csr

BATCH_VALUES = 1 << 20  # of features that are read at a time
Impute = Literal["zero"] | None
MOST_NAMES = 10_000  # titles of columns that are kept
NO_LABELS = frozenset({"-1", "?", "na", "n/a", "nan", "none", "null", "unk", "unknown", "unlabelled", "unlabeled"})


@dataclass(frozen=True)
class NodeValues:
    """A value a row, with the table that names the node of each row; without a table, row i is node i.

    names: the titles of the columns of features, where all have one of their own.
    """

    path: Path
    values: Any
    table: Table | None = None
    id_column: int = 0
    time: np.ndarray | None = None
    names: list[str] | None = None

    @property
    def ids(self) -> Column | None:
        return None if self.table is None else self.table.columns[self.id_column]

    @property
    def row_count(self) -> int:
        return int(self.values.shape[0]) if hasattr(self.values, "shape") else len(self.values)


class NodeColumns(NamedTuple):
    """The columns of node tables that are asked for, by name or number; `moment` says of what kind the times are."""

    id: str | None = None
    label: str | None = None
    features: str | None = None
    time: str | None = None
    moment: str | None = None


def read_features(
    path: Path,
    edges: EdgeList,
    asked: NodeColumns,
    reading: Reading,
    *,
    beside_labels: bool = False,
    impute: Impute = None,
) -> NodeValues:
    """Features as an array or a CSR matrix of finite numbers; `impute` says what becomes of those that are not.

    beside_labels: whether the label is in the same table.
    """
    content, notes = read_array_or_table(path, reading), reading.notes
    if not isinstance(content, Table):
        if asked.features is not None:
            raise UsageError(f"--feature-columns is for tables, but {path} is an array", "leave it out")
        return _array_features(content, path, notes, impute)
    named = [part for part in (asked.features or "").split(",") if part]
    table = node_table(content, edges, reading, asked.id, *named)
    ids = choose_id(table, asked.id, edges.has_nodes)
    label = choose_label(table, asked.label, ids) if beside_labels else None
    columns = choose_features(table, asked.features, ids, label, asked.time if beside_labels else None)
    table, _ = _valid_rows(table, ids, None, reading)
    array = _numbers(table, columns, impute, reading)
    told = ", ".join(map(table.name, columns[:5])) + (", ..." if len(columns) > 5 else "")
    notes.append(f"features: {table.name(ids)} and {len(columns)} column(s), {told}; {table.row_count:,} rows")
    titles = [table.header[column] for column in columns] if table.header else []
    are_names = all(titles) and len(set(titles)) == len(columns) <= MOST_NAMES
    return NodeValues(path, array, table, ids, names=titles if are_names else None)


def _valid_rows(
    table: Table, ids: int, times: tuple[int, str | None] | None, reading: Reading
) -> tuple[Table, np.ndarray | None]:
    """The rows that can be used, and their times, if they have any."""
    faults = Faults.of(table)
    faults.add_ids(table, ids)
    time = None if times is None else read_times(table.columns[times[0]], faults, times[1])
    rows = faults.settle(reading)
    if rows is None:
        return table, time
    return table.keep(rows), None if time is None else time[rows]


def _make_finite(path: Path, values: np.ndarray, rows: np.ndarray, impute: Impute, notes: list[str]) -> None:
    """Set what is NaN or infinite to 0, in place, where the user asked for it; `rows` holds the row of each value."""
    bad = ~np.isfinite(values)
    if bad.any():
        first = np.unique(np.broadcast_to(rows, values.shape)[bad])[:NAMED_ROWS]
        _settle_bad(path, int(bad.sum()), "row", first.tolist(), impute, notes)
        values[bad] = 0


def _settle_bad(path: Path, count: int, unit: str, first: Sequence[Any], impute: Impute, notes: list[str]) -> None:
    """Values that are NaN or infinite are said to become 0, or refused."""
    if impute == "zero":
        notes.append(f"{path}: {count} value(s) that were NaN or infinite are set to 0")
        return
    raise DataError(
        f"{path} holds {count} value(s) that are NaN or infinite, first in {unit} {', '.join(map(str, first))}",
        "fill in or drop those values, or set them to 0 with --impute zero",
    )


def _numbers(table: Table, columns: list[int], impute: Impute, reading: Reading) -> np.ndarray:
    """Columns of finite numbers, read some rows at a time: float32 where it holds every value exactly."""
    rows = max(1, BATCH_VALUES // len(columns))
    array = mapped.empty((table.row_count, len(columns)), np.float32)
    bad, first = 0, np.zeros(0, np.int64)
    for start in range(0, table.row_count, rows):
        reading.tell(start, table.row_count, "rows of features read")
        part = slice(start, start + rows)
        values = np.column_stack([_part_of(table, column, part) for column in columns])
        finite = np.isfinite(values)
        if not finite.all():
            bad += int(np.count_nonzero(~finite))
            first = np.concatenate([first, start + np.flatnonzero(~finite.all(axis=1))])[:NAMED_ROWS]
            values[~finite] = 0
        if array.dtype == np.float32 and narrow(values).dtype != np.float32:
            array = _widened(array, start)
        array[part] = values
    if bad:
        _settle_bad(table.path, bad, table.unit, [table.lines[row] for row in first.tolist()], impute, reading.notes)
    return array


def _part_of(table: Table, column: int, rows: slice) -> np.ndarray:
    values = table.columns[column][rows].numbers()
    return table.numbers(column) if values is None else values  # which says what is no number


def _widened(array: np.ndarray, rows: int) -> np.ndarray:
    """The array as float64, of which only the first rows are filled."""
    wide, step = mapped.empty(array.shape, np.float64), max(1, BATCH_VALUES // array.shape[1])
    for start in range(0, rows, step):
        part = slice(start, min(start + step, rows))
        wide[part] = array[part]
    return wide


def _array_features(content: bytes, path: Path, notes: list[str], impute: Impute) -> NodeValues:
    if content.startswith(ZIP_MAGIC):
        return _with_columns(NodeValues(path, _sparse_features(load_matrix(content, path), path, notes, impute)))
    array = lossless(load_array(content, path, "biuf"), path)
    if array.ndim != 2:
        raise DataError(f"{path} has shape {array.shape}, but features are nodes x features", "save a 2-d array")
    _make_finite(path, array, np.arange(len(array))[:, np.newaxis], impute, notes)
    return _with_columns(NodeValues(path, narrow(array)))


def _sparse_features(matrix: coo_array, path: Path, notes: list[str], impute: Impute) -> csr_array:
    values = lossless(matrix.data, path)
    _make_finite(path, values, matrix.coords[0], impute, notes)
    features = canonical_csr(csr_array((values, matrix.coords), shape=matrix.shape))
    features.data = narrow(features.data)
    return features


def _with_columns(features: NodeValues) -> NodeValues:
    if 0 in features.values.shape:
        raise DataError(f"{features.path} has shape {features.values.shape}: no features", "leave --features out")
    return features


def read_labels(
    path: Path, edges: EdgeList, asked: NodeColumns, reading: Reading, unknown: Sequence[str] = ()
) -> NodeValues:
    """Labels as class names, empty where there is no label; `unknown` are labels that mean none."""
    content = read_array_or_table(path, reading)
    if not isinstance(content, Table):
        if content.startswith(ZIP_MAGIC):
            hint = "save the array of labels with numpy.save"
            raise DataError(f"{path} is an .npz file, but labels are CSV or .npy", hint)
        if any((asked.id, asked.label, unknown)):
            raise UsageError(f"--id-column, --label-column and --unknown-label are for tables, but {path} is an array")
        return _array_labels(load_array(content, path, "biuf"), path)
    table = node_table(content, edges, reading, asked.id, asked.label)
    ids = choose_id(table, asked.id, edges.has_nodes)
    column = choose_label(table, asked.label, ids)
    if column == ids:
        raise UsageError(f"ids and labels are both column {ids + 1} of {path}", "name both columns")
    table.check_exact(column, "labels")
    times = table.header.index(asked.time) if table.header and asked.time in table.header else None
    table, time = _valid_rows(table, ids, None if times is None else (times, asked.moment), reading)
    fields = table.columns[column]
    names = fields.encoded[1]
    _check_labels(path, names, unknown, reading)
    fields = fields.without(unknown)
    known = len(fields) - fields.empty_count
    told = f"labels: {table.name(ids)}, {table.name(column)}" + ("" if times is None else f", time {asked.time}")
    reading.notes.append(f"{told}; {table.row_count:,} rows, {len(fields) - known:,} without a label")
    return NodeValues(path, fields, table, ids, time)


def _check_labels(path: Path, names: list[str], unknown: Sequence[str], reading: Reading) -> None:
    for word in unknown:
        if word not in names:
            raise DataError(f"{path}: no label is {shorten(word)}, which --unknown-label names", "check its spelling")
    for word in sorted(name for name in set(names) - set(unknown) if name.lower() in NO_LABELS):
        hint = f"--unknown-label {word} says that it means none"
        reading.notes.append(f"{path}: the label {word} is a class like any other; {hint}")
    if len(max(names, key=len)) > LONGEST_NAME:
        raise DataError(f"{path} holds a label of more than {LONGEST_NAME} characters", "use shorter class names")


def _array_labels(array: np.ndarray, path: Path) -> NodeValues:
    if array.ndim != 1:
        raise DataError(f"{path} has shape {array.shape}, but labels have one entry a node", "save a 1-d array")
    good = np.floor(array) == array if array.dtype.kind == "f" else np.ones(len(array), dtype=bool)
    good &= (array >= -1) & (array < 2**53)
    if not good.all():
        row = int(np.argmin(good))
        raise DataError(f"{path}, row {row}: {array[row]} is not a class number", "use 0, 1, 2, ...; -1 is no label")
    return NodeValues(path, Column.from_numbers(array.astype(np.int64), empty=array < 0))
