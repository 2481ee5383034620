"""Rows of a query as Arrow's batches of text, as a CSV of them would have it."""

from __future__ import annotations

import datetime
import re
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

from cgnn_cli.databases.connection import Database
from cgnn_cli.errors import DataError, UsageError

BATCH_ROWS = 1 << 16
COMMENT = re.compile(r"(?s)(?:\s|\(|--[^\n]*(?:\n|\Z)|/\*.*?\*/)*")
WORD = re.compile(r"[A-Za-z]*")
ASKING = {"select", "with", "values", "table", "from", "show"}


def check_query(flag: str, query: str) -> None:
    """Refuse what is told easily to be no query; for the rest there are the rights of the connection."""
    begun = COMMENT.match(query)
    word = WORD.match(query, begun.end() if begun else 0)
    if word is None or word[0].lower() not in ASKING:
        raise UsageError(
            f"{flag} is not a query: it begins with {(word and word[0]) or query[:20]!r}", "write select ..."
        )


@contextmanager
def selected(database: Database, query: str) -> Iterator[tuple[list[str], Iterator[Any]]]:
    """The titles of the columns of a query, and its rows in batches, which the database gives as they are asked for."""
    with database.reading() as connection:
        result = connection.execution_options(yield_per=BATCH_ROWS).exec_driver_sql(query)
        if not result.returns_rows:
            raise UsageError("the query has no rows to give", "write select ...")
        names = list(result.keys())
        yield names, (_batch(rows, names) for rows in result.partitions(BATCH_ROWS))


def _batch(rows: Sequence[Sequence[Any]], names: list[str]) -> Any:
    import pyarrow as pa

    columns = [
        pa.array([_text(value, name) for value in column], pa.string())
        for name, column in zip(names, zip(*rows, strict=True), strict=True)
    ]
    return pa.record_batch(columns, [str(place) for place in range(len(names))])


def _text(value: Any, name: str) -> str | None:
    """A value as a CSV has it; None, which is an empty field, for NULL."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, datetime.datetime):
        return value.isoformat(" ")
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, uuid.UUID):
        return str(value)
    raise DataError(
        f"column {name!r} of the query holds values of the type {type(value).__name__}", "cast them to text or numbers"
    )
