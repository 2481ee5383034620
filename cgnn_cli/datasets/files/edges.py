"""Edges of the user's graph from a table, an array of node numbers or a sparse matrix."""

import contextlib
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cgnn_cli.datasets.adjacency import WEIGHT_RANGE, usable_weights
from cgnn_cli.datasets.files.archives import load_matrix
from cgnn_cli.datasets.files.arrays import NPY_MAGIC, load_array
from cgnn_cli.datasets.files.columns import Column
from cgnn_cli.datasets.files.ends import choose_ends, guess_ends
from cgnn_cli.datasets.files.headers import has_header, settle_header
from cgnn_cli.datasets.files.ids import Coded, as_text, encode, places
from cgnn_cli.datasets.files.invalid_rows import Faults
from cgnn_cli.datasets.files.reading import read_array_or_table
from cgnn_cli.datasets.files.tables import NODE_NUMBER, Reading, Table, column_number
from cgnn_cli.datasets.files.times import read_times
from cgnn_cli.datasets.files.titles import find_ends
from cgnn_cli.datasets.wording import shorten
from cgnn_cli.errors import DataError, UsageError
from cgnn_cli.resources import check_reading

EDGE_MEMORY = 56  # an edge takes about so many bytes while it becomes an entry of the adjacency matrix
Ids = Column | np.ndarray


class EdgeColumns(NamedTuple):
    """The columns that are asked for: each a name in the header, a number counted from 1, or None."""

    source: str | None = None
    target: str | None = None
    weight: str | None = None
    time: str | None = None
    moment: str | None = None  # what the times are compared with, which says of what kind they are


@dataclass(frozen=True)
class EdgeList:
    """Edges as they were read: ids are strings, or numbers from an array. `node_count` is that of a matrix."""

    path: Path
    source: Ids
    target: Ids
    weight: np.ndarray | None = None
    node_count: int = 0
    time: np.ndarray | None = None

    @cached_property
    def ends(self) -> Coded:
        """The different ids of columns, and a code for both ends of each edge; none where the ends are numbers."""
        return encode([ends.array for ends in (self.source, self.target) if not isinstance(ends, np.ndarray)])

    @cached_property
    def number_count(self) -> int:
        """How many nodes there are by the numbers of an array or the size of a matrix."""
        ends = [ends for ends in (self.source, self.target) if isinstance(ends, np.ndarray)]
        return max([self.node_count, *(int(numbers.max()) + 1 for numbers in ends)])

    def has_nodes(self, names: Sequence[str] | Any) -> np.ndarray:
        """Which ids, in a list or as Arrow has them, are nodes of an edge, or of a matrix of edges."""
        import pyarrow as pa

        if isinstance(names, list):
            names = pa.array(names, pa.large_string())
        found = places(names, self.ends.names) >= 0
        if self.number_count:
            numbers = (
                NODE_NUMBER.fullmatch(name) and int(name) < self.number_count for name in as_text(names).to_pylist()
            )
            found |= np.fromiter(map(bool, numbers), dtype=bool, count=len(names))
        return found

    def keep(self, rows: np.ndarray | None) -> "EdgeList":
        """The edges of a mask; None keeps all."""
        if rows is None:
            return self
        source, target = (
            ends[rows] if isinstance(ends, np.ndarray) else ends.keep(rows) for ends in (self.source, self.target)
        )
        weight, time = (values if values is None else values[rows] for values in (self.weight, self.time))
        return replace(self, source=source, target=target, weight=weight, time=time)


def read_edges(path: Path, asked: EdgeColumns, reading: Reading) -> EdgeList:
    """The edges in a file of any kind."""
    content = read_array_or_table(path, reading, "edge")
    if isinstance(content, Table):
        return table_edges(content, asked, reading)
    if asked.source is not None or asked.target is not None:
        raise UsageError(f"--source-column and --target-column are for tables, but {path} is an array")
    edges = _array_edges if content.startswith(NPY_MAGIC) else _matrix_edges
    return edges(content, path, asked.weight, reading)


def table_edges(table: Table, asked: EdgeColumns, reading: Reading) -> EdgeList:
    """The edges in a table, by its titles or by what was asked for."""
    _check_width(table)
    named = any(column is not None and column_number(column) is None for column in asked[:3])
    if named and reading.header is False and table.header is None:
        raise UsageError("a column is named, but there is no header to find the name in", "give column numbers")
    if table.header is None:
        ends, titled = guess_ends(table, asked.source, asked.target)
        table = settle_header(table, ends, reading, titled=titled, named=named or asked.time in table.row(0))
    weight = None if asked.weight is None else table.find_column(asked.weight, "--weight-column", 2)
    time = _time_column(table, asked.time)
    source, target = choose_ends(table, asked.source, asked.target, (weight, time))
    check_reading(table.path, EDGE_MEMORY * table.row_count)
    faults = Faults.of(table)
    faults.add_ids(table, source, target)
    edges = EdgeList(table.path, table.columns[source], table.columns[target])
    if weight is not None:
        fields = table.columns[weight]
        edges = replace(edges, weight=_checked_weights(fields.parsed(), faults, lambda row: shorten(fields[row])))
    if time is not None:
        edges = replace(edges, time=read_times(table.columns[time], faults, asked.moment))
    _note_columns(table, source, target, weight, time, reading)
    return edges.keep(faults.settle(reading))


def _time_column(table: Table, asked: str | None) -> int | None:
    """The column of times, if it is one of the edges; one that is named may be one of the nodes."""
    if asked is None or (column_number(asked) is None and asked not in (table.header or ())):
        return None
    return table.find_column(asked, "--time-column", 2)


def _note_columns(
    table: Table, source: int, target: int, weight: int | None, time: int | None, reading: Reading
) -> None:
    """Say what the columns were taken for, and which were not."""
    taken = f"edges: {table.name(source)} -> {table.name(target)}"
    if weight is not None:
        taken += f", weight {table.name(weight)}"
    if time is not None:
        taken += f", time {table.name(time)}"
    taken += f"; {table.row_count:,} rows"
    if weight is not None and (lacking := table.columns[weight].empty_count):
        taken += f", {lacking:,} without {table.name(weight)}"
    reading.notes.append(taken)
    for column in sorted(set(range(len(table.columns))) - {source, target, weight, time}):
        hint = "" if weight is not None else "; name it with --weight-column if it holds weights"
        reading.notes.append(f"{table.path}: column {table.title(column)} is ignored{hint}")


def read_pairs(path: Path, known: Set[str], reading: Reading) -> tuple[list[str], list[str]]:
    """The ids of pairs of known nodes in a file of any kind of edges.

    The first row of a text is a header where it names no known node and has the titles of ends, or where all that is
    below is of another kind.
    """
    content = read_array_or_table(path, reading, "edge")
    if not isinstance(content, Table):
        edges = read_edges(path, EdgeColumns(), reading)
        table = Table(path, [_as_column(edges.source), _as_column(edges.target)], range(len(edges.source)), [], "row")
    else:
        table = content
        _check_width(table)
    if table.header is None and table.row_count > 1 and not known & set(table.row(0)):
        with contextlib.suppress(DataError):  # in doubt it is data, which has to name known nodes
            table = table.take_header(has_header(table, *guess_ends(table, None, None)), reading)
    sources, targets = find_ends(table.header or [])
    source = sources[0] if len(sources) == 1 else 0
    target = targets[0] if len(targets) == 1 else 1
    for column in {source, target}:
        table.check_exact(column, "node ids")
        codes, names = table.columns[column].encoded
        unknown = np.array([name not in known for name in names], dtype=bool)[codes]
        if unknown.any():
            row = int(np.argmax(unknown))
            message = f"{table.where(row)}: {shorten(table.columns[column][row])} is no node of the graph"
            raise DataError(message, "write ids exactly as in your files; a header has names such as source,target")
    return list(table.columns[source]), list(table.columns[target])


def _as_column(ids: Ids) -> Column:
    return Column.from_numbers(ids) if isinstance(ids, np.ndarray) else ids


def _check_width(table: Table) -> None:
    if len(table.columns) < 2:
        message = f"{table.path} has one column, but an edge needs a source and a target"
        raise DataError(message, "separate them with a tab, comma, semicolon or space")


def _array_edges(content: bytes, path: Path, weight_column: str | None, reading: Reading) -> EdgeList:
    array = load_array(content, path, "iuf")
    if weight_column not in (None, "3"):
        raise UsageError(f"--weight-column {weight_column}: in {path} only column 3 can hold weights")
    if weight_column is None and array.ndim == 2 and array.shape[0] == 2 and array.shape[1] != 2:
        array = array.T
    width = 2 if weight_column is None else 3
    if array.ndim != 2 or array.shape[1] != width or not len(array):
        hint = "edges are M x 2 or 2 x M integers, or M x 3 with --weight-column 3"
        raise DataError(f"{path} has shape {array.shape}, which is not an array of edges", hint)
    if len(array) == 2 and width == 2:
        reading.notes.append(f"{path}: of a 2 x 2 array the rows are the edges")
    faults = Faults(path, range(len(array)), "row")
    weight = None if weight_column is None else _array_weights(array[:, 2].astype(np.float64), faults)
    source, target = (_node_numbers(array[:, column], path) for column in (0, 1))
    return EdgeList(path, source, target, weight).keep(faults.settle(reading))


def _matrix_edges(content: bytes, path: Path, weight_column: str | None, reading: Reading) -> EdgeList:
    matrix = load_matrix(content, path)
    if weight_column not in (None, "data"):
        raise UsageError(f"--weight-column {weight_column}: the weights of a sparse matrix are called data")
    if matrix.shape[0] != matrix.shape[1]:
        raise DataError(f"{path} has shape {matrix.shape}, which is not square", "give the N x N adjacency matrix")
    stored = matrix.data != 0
    values, (source, target) = matrix.data[stored].astype(np.float64), (index[stored] for index in matrix.coords)
    if not len(values):
        raise DataError(f"{path} holds no edges", "an edge is an entry that is not 0")
    if weight_column is None and (values != 1).any():
        reading.notes.append(f"{path}: values other than 1 are ignored; --weight-column data takes them as weights")
    faults = Faults(path, range(len(values)), "entry")
    weight = None if weight_column is None else _array_weights(values, faults)
    edges = EdgeList(path, source.astype(np.int64), target.astype(np.int64), weight, matrix.shape[0])
    return edges.keep(faults.settle(reading))


def _node_numbers(values: np.ndarray, path: Path) -> np.ndarray:
    limit = 2**53 if values.dtype.kind == "f" else np.iinfo(np.int64).max
    good = (values >= 0) & (values < limit)
    if values.dtype.kind == "f":
        good &= np.floor(values) == values
    if not good.all():
        row = int(np.argmin(good))
        hint = "number the nodes 0..N-1, or give text"
        raise DataError(f"{path}, row {row}: {values[row]} is not a node number", hint)
    return values.astype(np.int64)


def relabelled(edges: EdgeList) -> EdgeList:
    """The same edges with node numbers taken as ids, so that they need not be 0..N-1."""
    if not isinstance(edges.source, np.ndarray) or not isinstance(edges.target, np.ndarray):
        raise UsageError(
            "--relabel is for node numbers in .npy and .npz files; ids in text and Parquet are kept anyway"
        )
    source, target = Column.from_numbers(edges.source), Column.from_numbers(edges.target)
    return replace(edges, source=source, target=target, node_count=0)


def _array_weights(weight: np.ndarray, faults: Faults) -> np.ndarray:
    return _checked_weights(weight, faults, weight.__getitem__)


def _checked_weights(weight: np.ndarray, faults: Faults, show: Callable[[int], object]) -> np.ndarray:
    def reason(row: int) -> str:
        shown = str(show(row))
        return f"the weight {shown} is not a number {WEIGHT_RANGE}" + (", with a decimal point" if "," in shown else "")

    faults.add("without a usable weight", ~usable_weights(weight), reason)
    return weight
