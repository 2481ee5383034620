"""A file that never fails toward HDF5, whose library may crash where it cannot write, as on a full disk."""

import os
from collections.abc import Callable
from typing import BinaryIO, TypeVar

T = TypeVar("T")


class Unfailing:
    """What h5py writes to in place of a file. The first error ends all writing, and `close` raises it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._error: OSError | None = None

    def _unless_failed(self, call: Callable[[], T], otherwise: T) -> T:
        if self._error is None:
            try:
                return call()
            except OSError as error:
                self._error = error
        return otherwise

    def write(self, data: memoryview) -> int:
        return self._unless_failed(lambda: self._file.write(data), len(data))

    def read(self, size: int = -1) -> bytes:
        return self._unless_failed(lambda: self._file.read(size), bytes(max(size, 0)))

    def readinto(self, data: memoryview) -> int:
        return self._unless_failed(lambda: self._file.readinto(data), len(data))  # type: ignore[attr-defined]

    def seek(self, place: int, whence: int = os.SEEK_SET) -> int:
        return self._unless_failed(lambda: self._file.seek(place, whence), place)

    def tell(self) -> int:
        return self._unless_failed(self._file.tell, 0)

    def truncate(self, size: int) -> int:
        return self._unless_failed(lambda: self._file.truncate(size), size)

    def flush(self) -> None:
        self._unless_failed(self._file.flush, None)

    def close(self) -> None:
        """The end of writing; not of the file."""
        self.flush()
        if self._error is not None:
            raise self._error
