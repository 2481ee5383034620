"""Parquet files as tables: the names of the columns are the header, and values are what their text would be."""

from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

from cgnn_cli.datasets.files.columns import Column
from cgnn_cli.datasets.files.tables import Table
from cgnn_cli.datasets.wording import one_line, shorten
from cgnn_cli.errors import DataError

COPY_HINT = "check how the file was made or copied"


def parquet_table(content: bytes, path: Path) -> Table:
    """The table in the content of a Parquet file. A column is read when it is used."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(pa.BufferReader(content))
        names, count = list(file.schema_arrow.names), int(file.metadata.num_rows)
    except Exception as error:  # Arrow raises its own errors, and Python's for some damaged files
        raise DataError(f"{path} cannot be read as a Parquet file: {one_line(error)}", COPY_HINT) from error
    if not names or count < 1:
        raise DataError(f"{path} holds no rows", COPY_HINT)
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise DataError(f"{path} has several columns called {shorten(repeated[0])}", "give each column its own name")
    columns = [Column(partial(_load, file, name, count, path), count) for name in names]
    return Table(path, columns, range(1, count + 1), names, "row")


def _load(file: Any, name: str, count: int, path: Path) -> Any:
    """A column as strings or numbers."""
    try:
        column = file.read(columns=[name]).column(name)
        column.validate(full=True)
        column = _simple(column)
    except Exception as error:  # as above
        message = f"{path}: column {shorten(name)} cannot be read: {one_line(error)}"
        raise DataError(message, f"store numbers or strings; {COPY_HINT}") from error
    if len(column) != count:
        raise DataError(f"{path} is damaged: column {shorten(name)} has {len(column)} of {count} rows", COPY_HINT)
    return column


def _simple(column: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return column
    text = column.cast(pa.string()).fill_null("")
    if pc.any(pc.match_substring(text, "\0")).as_py():
        raise ValueError("it holds a NUL character")
    return text
