"""Arrays that may be larger than memory: large ones lie in files without a name, in a folder that the runner gives.

The files are mapped, so they count as the system's page cache and not as memory of the process: the system writes pages
to the disk where others need the room, and reads them again. A file without a name is gone with the process, however
that ends. Where no folder is given, as for callers of the Python functions, all arrays are ordinary ones. Nothing here
changes a number.
"""

from __future__ import annotations

import contextlib
import math
import mmap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cgnn_cli import resources
from cgnn_cli.mapped import OUT_OF_SPACE, in_file, no_room, unnamed_file

SLICE = 1 << 18  # numbers of an array that are worked on at a time


@dataclass(frozen=True)
class Place:
    """Where large arrays lie, and the memory that blocks follow."""

    folder: Path | None = None
    memory: int = 1 << 40


PLACE = Place()


@contextlib.contextmanager
def lying_in(folder: Path, memory: int) -> Iterator[None]:
    """Let large arrays lie in a folder; those that are made meanwhile stay there for as long as they live."""
    global PLACE  # noqa: PLW0603 - not by thread: arrays are made in those of a stage too
    before, PLACE = PLACE, Place(folder, memory)
    try:
        yield
    finally:
        PLACE = before


def block_entries() -> int:
    """How many entries a block of rows has at most, unless a single row has more."""
    return resources.block_entries(PLACE.memory)


def empty(shape: int | tuple[int, ...], dtype: Any = np.float64) -> np.ndarray:
    """An array to be filled."""
    return _made(np.empty, shape, dtype)


def zeros(shape: int | tuple[int, ...], dtype: Any = np.float64) -> np.ndarray:
    """An array of zeros, as new files are."""
    return _made(np.zeros, shape, dtype)


def _made(small: Callable[..., np.ndarray], shape: int | tuple[int, ...], dtype: Any) -> np.ndarray:
    shape, kind = (shape,) if isinstance(shape, int) else shape, np.dtype(dtype)
    if PLACE.folder is None or math.prod(shape) * kind.itemsize < resources.MAPPED_FROM:
        return small(shape, kind)
    return in_file(shape, kind, PLACE.folder)


def computed(length: int, make: Callable[[slice], Any], dtype: Any = np.float64) -> np.ndarray:
    """An array whose numbers depend on nothing but what stands in their own places, made in slices."""
    whole = empty(length, dtype)
    for part in parts(length):
        whole[part] = make(part)
    return whole


def selected(length: int, choose: Callable[[slice], np.ndarray]) -> np.ndarray:
    """The numbers below `length` that are chosen, by a mask for each slice of them."""
    found = Pieces(np.int64)
    for part in parts(length):
        found.add(np.flatnonzero(choose(part)) + part.start)
    return found.joined()


def gathered(values: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The values at some places."""
    return computed(len(places), lambda part: values[places[part]], values.dtype)


def compressed(values: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """The values where a mask says so; the array itself where it says so everywhere."""
    if mask.all():
        return values
    found = Pieces(values.dtype)
    for part in parts(len(values)):
        found.add(values[part][mask[part]])
    return found.joined()


def count(length: int, choose: Callable[[slice], np.ndarray]) -> int:
    """How many of the numbers below `length` are chosen, by a mask for each slice of them."""
    return sum(int(np.count_nonzero(choose(part))) for part in parts(length))


def parts(length: int) -> Iterator[slice]:
    """The numbers below `length` in slices."""
    yield from (slice(start, min(start + SLICE, length)) for start in range(0, length, SLICE))


class Pieces:
    """An array that is made of pieces in their order; how many there will be is not known."""

    def __init__(self, dtype: Any = np.float64) -> None:
        self.dtype, self.length = np.dtype(dtype), 0
        self._held: list[np.ndarray] = []
        self._file: Any = None

    def add(self, piece: np.ndarray) -> None:
        """One more piece."""
        self.length += len(piece)
        self._held.append(np.ascontiguousarray(piece, dtype=self.dtype))
        if self._file is None:
            if PLACE.folder is None or self.length * self.dtype.itemsize < resources.MAPPED_FROM:
                return
            self._file = unnamed_file(PLACE.folder)
        try:
            for held in self._held:
                self._file.write(held.data)
            self._file.flush()
        except OSError as error:
            if error.errno in OUT_OF_SPACE:
                raise no_room(self.length * self.dtype.itemsize, error, PLACE.folder) from error
            raise
        self._held = []

    def joined(self) -> np.ndarray:
        """The whole array."""
        if self._file is not None:
            with self._file:
                return np.frombuffer(mmap.mmap(self._file.fileno(), 0), self.dtype)
        if len(self._held) == 1:
            return self._held[0]
        return np.concatenate([np.zeros(0, self.dtype), *self._held])
