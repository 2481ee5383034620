"""Rows that come in batches, from wherever: a table of them whose columns lie in a file, and take no memory."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cgnn_cli import mapped
from cgnn_cli.datasets.files.columns import Column
from cgnn_cli.datasets.files.tables import Table
from cgnn_cli.datasets.wording import one_line, shorten
from cgnn_cli.errors import CgnnError, DataError


def table_of(path: Path, names: list[str], batches: Iterable[Any], *, unit: str = "row") -> Table:
    """The table of some record batches, which are taken one by one; errors name it by its path.

    names: the titles of the columns. A column holds text, whole or floating-point numbers, and is of one type; nulls
    are empty fields.
    """
    import pyarrow as pa

    spool, count, schema = mapped.Spool(), 0, None
    for batch in batches:
        columns = [simple(column, path, name) for column, name in zip(batch.columns, names, strict=True)]
        plain = pa.record_batch(columns, [str(place) for place in range(len(names))])
        schema = schema or plain.schema
        if plain.schema != schema:
            name, one, other = next(
                (name, one.type, other.type)
                for name, one, other in zip(names, schema, plain.schema, strict=True)
                if one != other
            )
            message = (
                f"{path}: column {shorten(name)} has the type {one} at first, and {other} from {unit} {count + 1} on"
            )
            raise DataError(message, "store numbers or strings, one of them in all rows")
        spool.add(plain)
        count += len(plain)
    if not count:
        raise DataError(f"{path} holds no rows", "check how it was made")
    return Table(path, [Column.of(array) for array in spool.columns()], range(1, count + 1), list(names), unit)


def simple(column: Any, path: Path, name: str) -> Any:
    """An array as text or numbers, checked: text has no NUL, and empty fields in the place of nulls."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        column.validate(full=True)
        if pa.types.is_nested(column.type):
            raise ValueError("it holds lists or structures")
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
            return column
        text = column.cast(pa.string()).fill_null("")
        if pc.any(pc.match_substring(text, "\0")).as_py():
            raise ValueError("it holds a NUL character")
    except (CgnnError, MemoryError):
        raise
    except Exception as error:  # Arrow raises its own errors, and Python's for some damaged values
        raise DataError(
            f"{path}: column {shorten(name)} cannot be read: {one_line(error)}", "store numbers or strings"
        ) from error
    return text
