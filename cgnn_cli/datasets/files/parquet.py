"""Parquet files as tables: the names of the columns are the header, and values are what their text would be."""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from cgnn_cli.datasets.files.columns import Column
from cgnn_cli.datasets.files.tables import Table
from cgnn_cli.datasets.wording import one_line, shorten
from cgnn_cli.errors import CgnnError, DataError
from cgnn_cli.resources import READING_HINT, allowed_memory, check_memory

BATCH_ROWS = 1 << 16
VALUE_BYTES, TEXT_COPIES = 16, 2  # what a value takes, or its place in a column of text; that is copied when trimmed
COPY_HINT = "check how the file was made or copied"


def parquet_table(content: bytes, path: Path) -> Table:
    """The table in the content of a Parquet file. A column is read when it is used."""
    import pyarrow as pa

    file = _open(pa.BufferReader(content), path)
    names, count = _names_of(file, path), int(file.metadata.num_rows)
    if count < 1:
        raise DataError(f"{path} holds no rows", COPY_HINT)
    columns = [Column(partial(_load, file, name, path), count) for name in names]
    return Table(path, columns, range(1, count + 1), names, "row")


def schema_of(path: Path) -> tuple[Any, int]:
    """The columns of a Parquet file, as Arrow has them, and the number of rows."""
    file = _open(str(path), path)
    with file:
        _names_of(file, path)
        return file.schema_arrow, int(file.metadata.num_rows)


def read_column(path: Path, name: str) -> Iterator[Any]:
    """A column of a Parquet file as strings or numbers, in batches that are taken one by one."""
    file = _open(str(path), path)
    with file:
        yield from _batches(file, name, path, hold=False)


def kind_of(kind: Any) -> Any:
    """The type that a column has when it is read."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return kind if pa.types.is_integer(kind) or pa.types.is_floating(kind) else pa.string()


def _open(source: Any, path: Path) -> Any:
    import pyarrow.parquet as pq

    try:
        texts = [field.name for field in pq.read_schema(source) if _is_text(field.type)]
        return pq.ParquetFile(source, read_dictionary=texts)
    except Exception as error:  # Arrow raises its own errors, and Python's for some damaged files
        raise DataError(f"{path} cannot be read as a Parquet file: {one_line(error)}", COPY_HINT) from error


def _names_of(file: Any, path: Path) -> list[str]:
    names = list(file.schema_arrow.names)
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise DataError(f"{path} has several columns called {shorten(repeated[0])}", "give each column its own name")
    if not names:
        raise DataError(f"{path} holds no rows", COPY_HINT)
    return names


def _load(file: Any, name: str, path: Path) -> Any:
    import pyarrow as pa

    return pa.chunked_array(list(_batches(file, name, path, hold=True)))


def _batches(file: Any, name: str, path: Path, *, hold: bool) -> Iterator[Any]:
    """A column as strings or numbers, read and unpacked a group of rows at a time.

    hold: whether all of it will be held in memory, and has to fit.
    """
    import pyarrow as pa

    place, found, count = file.schema_arrow.get_field_index(name), 0, int(file.metadata.num_rows)
    needed, limit = 0, allowed_memory()
    try:
        if pa.types.is_nested(file.schema_arrow.field(place).type):
            raise ValueError("it holds lists or structures")
        if hold:
            groups = (file.metadata.row_group(number) for number in range(file.num_row_groups))
            # The mean over the columns: Arrow ends the process over a damaged entry of a single one.
            declared = sum(group.total_byte_size for group in groups) // len(file.schema_arrow)
            check_memory(f"reading {path}", max(declared, VALUE_BYTES * count), limit, READING_HINT)
        for batch in file.iter_batches(BATCH_ROWS, columns=[name]):
            column = batch.column(0)
            column.validate(full=True)
            needed = needed * hold + _size_as_text(column)
            check_memory(f"reading {path}", needed, limit, READING_HINT)
            column = _simple(column)
            found += len(column)
            yield column
    except (CgnnError, MemoryError):
        raise
    except Exception as error:  # as above
        message = f"{path}: column {shorten(name)} cannot be read: {one_line(error)}"
        raise DataError(message, f"store numbers or strings; {COPY_HINT}") from error
    if found != count:
        raise DataError(f"{path} is damaged: column {shorten(name)} has {found} of {count} rows", COPY_HINT)


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    return any(told(kind) for told in (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary))


def _size_as_text(column: Any) -> int:
    """How many bytes the values take when each of them is written out, as many times as it is there."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_dictionary(column.type) or not _is_text(column.type.value_type):
        return VALUE_BYTES * len(column)
    lengths = pc.binary_length(column.dictionary).cast(pa.int64())
    return VALUE_BYTES * len(column) + TEXT_COPIES * int(pc.sum(lengths.take(column.indices)).as_py() or 0)


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
