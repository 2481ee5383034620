"""The columns of a table: its header, the columns that are asked for, and its node ids."""

import re
from collections.abc import Iterable

import numpy as np

from cgnn_cli.datasets.tables import Table, shorten
from cgnn_cli.datasets.text_columns import TextColumn, encode
from cgnn_cli.errors import DataError, UsageError

NODE_NUMBER = re.compile(r"0|[1-9][0-9]{0,17}")
LONGEST_NAME = 1000
IDS_HINT = "give a CSV file whose first column is the node id"


def take_header(table: Table, header: bool | None, notes: list[str]) -> Table:
    """The table, with its first row taken as the header where it is one; a note says which.

    The columns of Parquet have names already.
    """
    if table.header is not None:
        return table
    if not header:
        notes.append(f"{table.path}: no header; line {table.lines[0]} is data")
        return table
    table = table.with_header()
    if not table.row_count:
        raise DataError(f"{table.path} holds a header and no rows", "if its only row is data, use --no-header")
    titles = ", ".join(map(shorten, table.header[:4] if table.header else ()))
    notes.append(f"{table.path}: the first row is the header ({titles}{', ...' if len(table.columns) > 4 else ''})")
    return table


def column_number(column: str | None) -> int | None:
    """The position of a column that is given by its number; None where it is not."""
    return int(column) - 1 if column is not None and NODE_NUMBER.fullmatch(column) and column != "0" else None


def column_title(table: Table, column: int) -> str:
    """A column as it goes into a message."""
    return str(column + 1) if table.header is None else f"{column + 1} ({table.header[column]})"


def by_name(table: Table, words: Iterable[str], default: int) -> int:
    """The only column that has one of the words as its name."""
    found = [column for column, title in enumerate(table.header or ()) if title.lower() in words]
    return found[0] if len(found) == 1 else default


def find_column(table: Table, asked: str | None, flag: str, default: int) -> int:
    """The position of the column asked for with the flag; without one, the default."""
    if asked is None:
        return default
    number = column_number(asked)
    found = (
        [column for column, title in enumerate(table.header or ()) if title == asked] if number is None else [number]
    )
    if len(found) > 1:
        raise UsageError(f"{flag} {asked}: {table.path} has {len(found)} columns of that name", "give a column number")
    if not found or found[0] >= len(table.columns):
        titles = ", ".join(column_title(table, column) for column in range(min(len(table.columns), 10)))
        raise UsageError(f"{flag} {asked}: {table.path} has no such column", f"its columns are {titles}")
    return found[0]


def check_ids(table: Table, columns: Iterable[int]) -> None:
    """Node ids are text or whole numbers, not empty and not too long."""
    for column in columns:
        check_exact(table, column, "node ids")
        codes, names = encode(table.columns[column])
        lengths = np.fromiter(map(len, names), dtype=np.int64, count=len(names))
        if not lengths.all():
            row = int(np.argmax(lengths[codes] == 0))
            raise DataError(f"{table.where(row)}: the node id in column {column + 1} is empty", "give every node an id")
        if lengths.max() > LONGEST_NAME:
            row = int(np.argmax(lengths[codes] > LONGEST_NAME))
            length = lengths[codes[row]]
            raise DataError(f"{table.where(row)}: a node id of {length} characters", f"ids have at most {LONGEST_NAME}")


def check_exact(table: Table, column: int, what: str) -> None:
    """A column of names does not hold floating-point numbers, which have no text of their own."""
    fields = table.columns[column]
    if isinstance(fields, TextColumn) and fields.float_type:
        raise DataError(
            f"{table.path}: column {column_title(table, column)} has the type {fields.float_type}, which {what} cannot",
            "store them as integers or strings",
        )


def check_single_rows(table: Table, positions: np.ndarray) -> None:
    """No node has two rows; `positions` holds the node of each."""
    first = np.unique(positions, return_index=True)[1]
    if len(first) < len(positions):
        row = int(np.setdiff1d(np.arange(len(positions)), first)[0])
        name = shorten(table.columns[0][row])
        raise DataError(f"{table.where(row)}: node {name} has a row already", "keep one row a node")
