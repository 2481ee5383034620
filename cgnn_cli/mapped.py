"""Large arrays in files without names: they take disk instead of memory, and are gone with whoever has them open.

What the system keeps of them in memory it can write back and take away at any time, unlike memory of a process's own.
Smaller arrays are ordinary ones.
"""

from __future__ import annotations

import errno
import math
import mmap
import os
import tempfile
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from cgnn_cli.errors import ResourceError
from cgnn_cli.resources import readable_bytes

if TYPE_CHECKING:
    import pyarrow as pa

FOLDER: ContextVar[Path | None] = ContextVar("FOLDER", default=None)  # where the files lie: that of the store
MAPPED_FROM = 32 << 20  # bytes of an array
OUT_OF_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
BATCH_BYTES = 32 << 20  # of columns that are written at a time


def empty(shape: tuple[int, ...] | int, kind: Any) -> np.ndarray:
    """An array that may hold anything; in a file if it is large."""
    shape = (shape,) if isinstance(shape, int) else shape
    size = math.prod(shape) * np.dtype(kind).itemsize
    return np.empty(shape, kind) if size < MAPPED_FROM else in_file(shape, kind, FOLDER.get())


def in_file(shape: tuple[int, ...], kind: Any, folder: Path | None) -> np.ndarray:
    """The same, in a file."""
    size = math.prod(shape) * np.dtype(kind).itemsize
    with unnamed_file(folder) as file:
        try:
            os.posix_fallocate(file.fileno(), 0, size)  # a full disk is an error here, and a crash later
        except OSError as error:
            if error.errno in OUT_OF_SPACE:
                raise no_room(size, error, folder) from error
            os.ftruncate(file.fileno(), size)  # a disk that cannot reserve
        return np.ndarray(shape, kind, buffer=mmap.mmap(file.fileno(), size))


def is_mapped(array: Any) -> bool:
    """Whether the bytes of an array are those of a file."""
    while isinstance(array, np.ndarray):
        array = array.base
    return isinstance(array.obj if isinstance(array, memoryview) else array, mmap.mmap)


def full(shape: tuple[int, ...] | int, value: Any, kind: Any) -> np.ndarray:
    """An array that holds one value everywhere."""
    array = empty(shape, kind)
    array[...] = value
    return array


class Spool:
    """Arrow's record batches of one schema, written to a file one by one, and read from there as chunks of columns."""

    def __init__(self) -> None:
        self._file = unnamed_file(FOLDER.get())
        self._writer: Any = None
        self._held: list[Any] = []
        self._size = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Write a batch; small ones are collected first."""
        self._held.append(batch)
        self._size += batch.nbytes
        if self._size >= BATCH_BYTES:
            self._flush()

    def columns(self) -> list[pa.ChunkedArray]:
        """What was written, as columns that map the file. Nothing can be added any more."""
        import pyarrow as pa

        self._flush()
        if self._writer is None:
            return []
        self._writer.close()
        self._file.flush()
        with self._file as file:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return list(pa.ipc.open_file(pa.BufferReader(pa.py_buffer(content))).read_all().columns)

    def _flush(self) -> None:
        import pyarrow as pa

        if not self._held:
            return
        try:
            if self._writer is None:
                self._writer = pa.ipc.new_file(pa.PythonFile(self._file, mode="w"), self._held[0].schema)
            for batch in pa.Table.from_batches(self._held).combine_chunks().to_batches():
                self._writer.write_batch(batch)
        except OSError as error:
            if error.errno in OUT_OF_SPACE:
                raise no_room(self._size, error, FOLDER.get()) from error
            raise
        self._held, self._size = [], 0


def spooled(arrays: Iterator[Any]) -> Any:
    """Arrow's arrays of one type as a chunked array in a file; they are taken one by one."""
    import pyarrow as pa

    spool = Spool()
    for array in arrays:
        spool.add(pa.record_batch([array], ["0"]))
    return spool.columns()[0]


def unnamed_file(folder: Path | None) -> IO[bytes]:
    """A file without a name in a folder, or, where that is not there yet, in the next one above it."""
    while folder is not None and not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return tempfile.TemporaryFile(prefix=".cgnn-", dir=folder)


def no_room(size: int, error: OSError, folder: Path | None) -> ResourceError:
    """What it means that a file of so many bytes cannot be written."""
    message = f"no room for {readable_bytes(size)} of a temporary file in {folder or tempfile.gettempdir()}: "
    return ResourceError(
        message + (error.strerror or str(error)), "free some space, or choose another store with --store"
    )
