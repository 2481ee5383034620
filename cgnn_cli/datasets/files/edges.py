"""Edges of the user's graph from a table, an array of node numbers or a sparse matrix."""

from collections.abc import Callable, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from cgnn_cli.datasets.adjacency import WEIGHT_RANGE, usable_weights
from cgnn_cli.datasets.files.archives import load_matrix
from cgnn_cli.datasets.files.arrays import NPY_MAGIC, ZIP_MAGIC, load_array, read_array_or_text
from cgnn_cli.datasets.files.columns import Column
from cgnn_cli.datasets.files.tables import Reading, Table, column_number, looks_like_header, parse_table
from cgnn_cli.datasets.wording import shorten
from cgnn_cli.errors import DataError, UsageError
from cgnn_cli.resources import check_reading

SOURCE_WORDS, TARGET_WORDS = ("source", "src", "from"), ("target", "dst", "to")
EDGE_MEMORY = 56  # an edge takes about so many bytes while it becomes an entry of the adjacency matrix
Ids = Column | np.ndarray


class EdgeColumns(NamedTuple):
    """The columns that are asked for: each a name in the header, a number counted from 1, or None."""

    source: str | None = None
    target: str | None = None
    weight: str | None = None


@dataclass(frozen=True)
class EdgeList:
    """Edges as they were read: ids are strings, or numbers from an array. `node_count` is that of a matrix."""

    path: Path
    source: Ids
    target: Ids
    weight: np.ndarray | None = None
    node_count: int = 0


def read_edges(path: Path, asked: EdgeColumns, reading: Reading) -> EdgeList:
    """The edges in a file of any kind."""
    content = read_array_or_text(path)
    if not content.startswith((NPY_MAGIC, ZIP_MAGIC)):
        return _table_edges(parse_table(content, path, reading), asked, reading)
    if asked.source is not None or asked.target is not None:
        raise UsageError(f"--source-column and --target-column are for tables, but {path} is an array")
    edges = _array_edges if content.startswith(NPY_MAGIC) else _matrix_edges
    return edges(content, path, asked.weight, reading.notes)


def _table_edges(table: Table, asked: EdgeColumns, reading: Reading) -> EdgeList:
    header = reading.header
    _check_width(table)
    named = any(column is not None and not column.isdecimal() for column in asked)
    if named and header is False and table.header is None:
        raise UsageError("a column is named, but there is no header to find the name in", "give column numbers")
    if header is None and table.header is None:
        numbers = (column_number(column) for column in asked[:2])
        places = [default if number is None else number for number, default in zip(numbers, (0, 1), strict=True)]
        header = named or _looks_like_header(table, [place for place in places if place < len(table.columns)])
    table = table.take_header(header, reading)
    source = table.find_column(asked.source, "--source-column", table.named(SOURCE_WORDS, 0))
    target = table.find_column(asked.target, "--target-column", table.named(TARGET_WORDS, 1))
    if source == target:
        raise UsageError(f"source and target are both column {source + 1} of {table.path}", "name both columns")
    weight = None if asked.weight is None else table.find_column(asked.weight, "--weight-column", 2)
    for column in sorted(set(range(len(table.columns))) - {source, target, weight}):
        hint = "" if weight is not None else "; name it with --weight-column if it holds weights"
        reading.notes.append(f"{table.path}: column {table.title(column)} is ignored{hint}")
    check_reading(table.path, EDGE_MEMORY * table.row_count)
    table.check_ids(source, target)
    edges = EdgeList(table.path, table.columns[source], table.columns[target])
    if weight is None:
        return edges
    fields = table.columns[weight]
    return replace(edges, weight=_check_weights(table.numbers(weight), table.where, lambda row: shorten(fields[row])))


def read_pairs(path: Path, known: Set[str], reading: Reading) -> tuple[list[str], list[str]]:
    """The ids of pairs of known nodes in a file of any kind of edges.

    The first row of a text is a header where it looks like one and names no known node.
    """
    content = read_array_or_text(path)
    if content.startswith((NPY_MAGIC, ZIP_MAGIC)):
        edges = read_edges(path, EdgeColumns(), reading)
        table = Table(path, [_as_column(edges.source), _as_column(edges.target)], range(len(edges.source)), [], "row")
    else:
        table = parse_table(content, path, reading)
        _check_width(table)
    if (
        table.header is None
        and table.row_count > 1
        and not known & set(table.row(0))
        and _looks_like_header(table, [0, 1])
    ):
        table = table.take_header(True, reading)
    source, target = table.named(SOURCE_WORDS, 0), table.named(TARGET_WORDS, 1)
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


def _looks_like_header(table: Table, places: list[int]) -> bool:
    """Whether the first row names the columns, or at least one as source and one as target."""
    titles = {title.strip().lower() for title in table.row(0)}
    return bool(titles & set(SOURCE_WORDS) and titles & set(TARGET_WORDS)) or looks_like_header(table, places)


def _check_width(table: Table) -> None:
    if len(table.columns) < 2:
        message = f"{table.path} has one column, but an edge needs a source and a target"
        raise DataError(message, "separate them with a tab, comma, semicolon or space")


def _array_edges(content: bytes, path: Path, weight_column: str | None, notes: list[str]) -> EdgeList:
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
        notes.append(f"{path}: of a 2 x 2 array the rows are the edges")
    weight = None if weight_column is None else _array_weights(array[:, 2].astype(np.float64), f"{path}, row")
    source, target = (_node_numbers(array[:, column], path) for column in (0, 1))
    return EdgeList(path, source, target, weight)


def _matrix_edges(content: bytes, path: Path, weight_column: str | None, notes: list[str]) -> EdgeList:
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
        notes.append(f"{path}: values other than 1 are ignored; --weight-column data takes them as weights")
    weight = None if weight_column is None else _array_weights(values, f"{path}, entry")
    return EdgeList(path, source.astype(np.int64), target.astype(np.int64), weight, matrix.shape[0])


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
    return EdgeList(edges.path, source, target, edges.weight)


def _array_weights(weight: np.ndarray, unit: str) -> np.ndarray:
    return _check_weights(weight, lambda row: f"{unit} {row}", weight.__getitem__)


def _check_weights(weight: np.ndarray, where: Callable[[int], str], show: Callable[[int], object]) -> np.ndarray:
    bad = np.flatnonzero(~usable_weights(weight))
    if len(bad):
        row = int(bad[0])
        message = f"{where(row)}: the weight {show(row)} is not a number {WEIGHT_RANGE}"
        raise DataError(message, "correct or drop the edge, or scale all weights")
    return weight
