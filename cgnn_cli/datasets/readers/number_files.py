"""Text files that hold a table of numbers and nothing else, read by Arrow a block at a time."""

from collections.abc import Iterator, Sequence
from typing import BinaryIO

import numpy as np

from cgnn_cli.datasets.arrays import one_line
from cgnn_cli.datasets.readers.assembly import FETCH_AGAIN
from cgnn_cli.errors import DataError

BLOCK_BYTES = 1 << 22


def number_blocks(stream: BinaryIO, types: Sequence[str], what: str, delimiter: str = ",") -> Iterator[np.ndarray]:
    """A table whose columns have these types, some rows at a time; row c of each array is column c of the table."""
    import pyarrow as pa
    from pyarrow import csv

    columns = {f"f{number}": pa.type_for_alias(name) for number, name in enumerate(types)}
    try:
        reader = csv.open_csv(
            stream,
            csv.ReadOptions(autogenerate_column_names=True, block_size=BLOCK_BYTES, use_threads=False),
            csv.ParseOptions(delimiter=delimiter, quote_char=False),
            csv.ConvertOptions(column_types=columns, null_values=[]),
        )
        with reader:
            if reader.schema.names != list(columns):
                raise DataError(f"{what} has {len(reader.schema)} columns, not {len(columns)}", FETCH_AGAIN)
            for batch in reader:
                yield np.stack([column.to_numpy() for column in batch.columns])
    except (DataError, MemoryError):
        raise
    except Exception as error:  # of Arrow, of the archive or of the decompression
        raise DataError(f"{what} cannot be read as numbers: {one_line(error)}", FETCH_AGAIN) from error


def number_columns(stream: BinaryIO, types: Sequence[str], what: str, delimiter: str = ",") -> np.ndarray:
    """The whole table; row c of the array is column c of the table."""
    return np.concatenate(list(number_blocks(stream, types, what, delimiter)), axis=1)
