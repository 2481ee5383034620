"""Tables of pandas, polars and pyarrow: told by what they can do, read as Arrow, and made again of columns.

None of these libraries is imported before somebody has used it.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from cgnn_cli.datasets.wording import one_line
from cgnn_cli.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

TABLES = ("pandas", "polars", "pyarrow")


def libraries_of(value: object) -> set[str]:
    """The libraries that the type of a value, and what it inherits from, come from."""
    return {base.__module__.partition(".")[0] for base in type(value).__mro__} - {"builtins"}


def is_table(value: object) -> bool:
    """Whether a value has named columns: a data frame, an Arrow table, or what gives itself to Arrow as one."""
    if libraries_of(value) & {"pandas", "polars"}:
        return hasattr(value, "columns")
    return hasattr(value, "__arrow_c_stream__") and not libraries_of(value) & {"numpy", "torch"}


def is_series(value: object) -> bool:
    return bool(libraries_of(value) & {"pandas", "polars"}) and not hasattr(value, "columns")


def arrow_table(value: Any, role: str) -> pa.Table:
    """A table as Arrow has it; what is missing in it is null."""
    import pyarrow as pa

    try:
        if "pandas" in libraries_of(value):
            names = [str(name) for name in value.columns]
            columns = [_of_pandas(value.iloc[:, place]) for place in range(len(names))]
        else:
            table = pa.table(value.collect() if hasattr(value, "collect") else value)
            names, columns = table.column_names, list(table.columns)
        if repeated := next((name for name in names if names.count(name) > 1), None):
            raise DataError(f"{role} has several columns called {repeated}", "give each column its own name")
        return pa.table(dict(zip(names, map(_plain, columns), strict=True)))
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise DataError(
            f"{role} cannot be read as a table: {one_line(error)}", "give a data frame of plain columns"
        ) from error


def _of_pandas(values: Any) -> Any:
    """A column as Arrow; one of several types becomes text, as it would in a file."""
    import pyarrow as pa

    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError):
        missing = values.isna().to_numpy()
        return pa.array([None if lost else str(each) for each, lost in zip(values, missing, strict=True)], pa.string())


def _plain(column: Any) -> Any:
    """A column of a type that Parquet keeps and an import reads."""
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    is_text = any(told(column.type) for told in (pa.types.is_large_string, pa.types.is_string_view, pa.types.is_null))
    return column.cast(pa.string()) if is_text else column


def with_words(table: pa.Table) -> pa.Table:
    """The table with the words for truth values, as pandas writes them."""
    import pyarrow as pa

    def said(column: Any) -> Any:
        words = [None if value is None else str(value) for value in column.to_pylist()]
        return pa.array(words, pa.string())

    columns = [said(column) if pa.types.is_boolean(column.type) else column for column in table.columns]
    return pa.table(dict(zip(table.column_names, columns, strict=True)))


def whole_where_possible(table: pa.Table) -> pa.Table:
    """The table with whole numbers in columns of floats that hold no others, as pandas has them beside missing ones."""
    import pyarrow as pa

    columns = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        columns[name] = column
        if pa.types.is_floating(column.type):
            values = column.to_numpy(zero_copy_only=False)
            known = np.isfinite(values)
            if known.any() and (values[known] == np.floor(values[known])).all() and np.abs(values[known]).max() < 2**53:
                whole = np.where(known, values, 0).astype(np.int64)
                columns[name] = pa.array(whole, mask=~known)
    return pa.table(columns)


def without_nulls(table: pa.Table) -> pa.Table:
    """The table with NaN in the place of missing numbers."""
    import pyarrow as pa

    def filled(column: Any) -> Any:
        number = pa.types.is_floating(column.type) or pa.types.is_integer(column.type)
        return column.cast(pa.float64()).fill_null(np.nan) if number and column.null_count else column

    return pa.table({name: filled(column) for name, column in zip(table.column_names, table.columns, strict=True)})


def library_like(*values: object) -> str:
    """The library whose tables are returned: that of the first table among some values, else one that is there."""
    for value in values:
        if found := [name for name in TABLES if name in libraries_of(value)]:
            return found[0]
    return next((name for name in TABLES if find_spec(name)), TABLES[-1])


def make_table(columns: Mapping[str, Any], library: str) -> Any:
    """Columns as a table of a library."""
    if library == "pandas":
        import pandas

        return pandas.DataFrame(dict(columns))
    lists = {
        name: values.tolist() if np.asarray(values).dtype == object else values for name, values in columns.items()
    }
    if library == "polars":
        import polars

        return polars.DataFrame(lists)
    import pyarrow as pa

    return pa.table(lists)
