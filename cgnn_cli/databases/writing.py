"""Columns into a table of a database: all rows in one transaction, or none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np

from cgnn_cli.databases.connection import Database
from cgnn_cli.errors import UsageError

ROWS_AT_ONCE = 5000
UNDOES_TABLES = {"postgresql", "sqlite", "mssql", "duckdb"}  # whose transactions hold the creation of a table too
NAME_LETTERS = 63  # of PostgreSQL, which cuts longer ones off
Existing = Literal["refuse", "replace", "append"]


def write_rows(
    database: Database,
    name: str,
    columns: Mapping[str, Any],
    existing: Existing = "refuse",
    hear: Callable[[], None] = lambda: None,
) -> int:
    """Write columns into a new table, or in the place of the rows of one that is there, or below them; how many rows.

    name: TABLE or SCHEMA.TABLE, which is quoted. hear: called between the parts; what it raises undoes all.
    """
    import sqlalchemy as sa

    schema, _, short = name.rpartition(".")
    if long := next((title for title in (short, *columns) if len(title.encode()) > NAME_LETTERS), None):
        raise UsageError(f"{long[:80]!r} is too long for the name of a table or column", "write a file with --output")
    lists = {title: np.asarray(values).tolist() for title, values in columns.items()}
    count = max(map(len, lists.values()), default=0)
    kinds = [sa.Column(sa.quoted_name(title, True), _kind(values)) for title, values in lists.items()]
    table = sa.Table(sa.quoted_name(short, True), sa.MetaData(), *kinds, schema=sa.quoted_name(schema, True) or None)
    with database.writing() as connection:
        there = sa.inspect(connection).has_table(short, schema=schema or None)
        if there:
            _check_existing(connection, database, name, list(lists), existing)
            if existing == "replace":
                connection.execute(table.delete())
        else:
            table.create(connection)
        try:
            for start in range(0, count, ROWS_AT_ONCE):
                hear()
                part = [values[start : start + ROWS_AT_ONCE] for values in lists.values()]
                rows = [dict(zip(lists, row, strict=True)) for row in zip(*part, strict=True)]
                connection.execute(table.insert(), rows)
            hear()
        except BaseException:
            if not there and connection.dialect.name not in UNDOES_TABLES:
                connection.rollback()
                table.drop(connection)
            raise
    return count


def _check_existing(connection: Any, database: Database, name: str, wanted: list[str], existing: Existing) -> None:
    import sqlalchemy as sa

    if existing == "refuse":
        hint = "--existing replace writes in the place of its rows, --existing append below them; or name another table"
        raise UsageError(f"{database} has a table {name} already", hint)
    schema, _, short = name.rpartition(".")
    found = {column["name"] for column in sa.inspect(connection).get_columns(short, schema=schema or None)}
    if lacking := [title for title in wanted if title not in found]:
        message = f"the table {name} has no column {lacking[0]!r}, so that it is not one of these rows"
        raise UsageError(message, "name another table")


def _kind(values: list[Any]) -> Any:
    """The type of a column: of text, whole or floating-point numbers."""
    import sqlalchemy as sa

    if values and all(isinstance(value, int) for value in values):
        return sa.BigInteger
    return sa.Double if values and all(isinstance(value, float) for value in values) else sa.Text
