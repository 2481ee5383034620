"""MATLAB files of versions 5 to 7.2: the dense and sparse matrices of real numbers in them.

scipy's loadmat is not used: a single wrong byte in a file can make it crash the process.
"""

import io
import os
import zlib
from collections.abc import Collection
from pathlib import Path
from typing import BinaryIO

import numpy as np
from scipy.sparse import csc_array

from cgnn_cli.datasets.arrays import one_line
from cgnn_cli.datasets.readers.assembly import FETCH_AGAIN
from cgnn_cli.errors import DataError

HEADER_BYTES, TAG_BYTES, BLOCK_BYTES = 128, 8, 1 << 20
MAGIC = b"MATLAB 5.0 "
BYTE_ORDERS = {b"IM": "<", b"MI": ">"}
MATRIX_ELEMENT, COMPRESSED_ELEMENT = 14, 15
NUMBER_TYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
SPARSE_CLASS, NUMBER_CLASSES = 5, range(6, 16)
COMPLEX_FLAG = 0x800
DEFLATE_RATIO = 1032


def read_mat(path: Path, names: Collection[str]) -> dict[str, np.ndarray | csc_array]:
    """The named variables; numbers have the type in which they are stored, and sparse matrices are checked in full."""
    try:
        with path.open("rb") as stream:
            found = _read_variables(stream, names)
    except MemoryError:
        raise
    except Exception as error:  # numpy, scipy and zlib promise no set of exceptions for damaged content
        raise DataError(f"{path} cannot be read as a MATLAB file: {one_line(error)}", FETCH_AGAIN) from error
    missing = [name for name in names if name not in found]
    if missing:
        raise DataError(f"{path} has no {missing[0]}", FETCH_AGAIN)
    return found


def _read_variables(stream: BinaryIO, names: Collection[str]) -> dict[str, np.ndarray | csc_array]:
    header = stream.read(HEADER_BYTES)
    if not header.startswith(MAGIC):
        raise ValueError("it is not of version 5 to 7.2")
    order = BYTE_ORDERS[header[-2:]]
    size = os.fstat(stream.fileno()).st_size
    found = {}
    while (start := stream.tell()) < size:
        kind, length = _Elements(stream, order, TAG_BYTES).tag()
        if start + TAG_BYTES + length > size:
            raise ValueError("it ends too early")
        elements = _Elements(stream, order, length)
        if kind == COMPRESSED_ELEMENT:
            elements = _Elements(_Inflated(stream, length), order, DEFLATE_RATIO * length)
            kind, inner = elements.tag()
            elements.left = min(elements.left, inner)
        if kind == MATRIX_ELEMENT:
            found.update(_read_matrix(elements, names))
        stream.seek(start + TAG_BYTES + length)
    return found


class _Elements:
    """The elements inside an element of a file, which cannot be longer than what is left of it."""

    def __init__(self, stream: "BinaryIO | _Inflated", order: str, left: int) -> None:
        self.stream, self.order, self.left = stream, order, left

    def take(self, length: int) -> np.ndarray:
        if length > self.left:
            raise ValueError("an element is longer than the one that holds it")
        self.left -= length
        content = np.empty(length, dtype=np.uint8)
        filled = 0
        while filled < length:
            count = self.stream.readinto(content.data[filled:])  # type: ignore[union-attr]
            if not count:
                raise ValueError("an element ends too early")
            filled += count
        return content

    def tag(self) -> tuple[int, int]:
        """The kind and the length of the next element."""
        kind, length = self.take(TAG_BYTES).view(self.order + "u4").tolist()
        return kind, length

    def numbers(self) -> np.ndarray:
        """The next element, which holds numbers; up to four bytes of them are kept inside its tag."""
        tag = self.take(TAG_BYTES)
        kind, length = tag.view(self.order + "u4").tolist()
        if kind >> 16:
            kind, length = kind & 0xFFFF, kind >> 16
            content = tag[4 : 4 + length]
        else:
            content = self.take(length)
            self.take(min(-length % 8, self.left))
        return content.view(self.order + NUMBER_TYPES[kind])


def _read_matrix(elements: _Elements, names: Collection[str]) -> dict[str, np.ndarray | csc_array]:
    """The variable in an element by its name; nothing where it is not asked for."""
    flags, shape, name = elements.numbers(), elements.numbers().tolist(), elements.numbers().tobytes().decode("latin-1")
    if name not in names:
        return {}
    kind = int(flags[0]) & 0xFF
    if flags[0] & COMPLEX_FLAG or kind not in (SPARSE_CLASS, *NUMBER_CLASSES) or len(shape) != 2 or min(shape) < 0:
        raise ValueError(f"{name} is not a matrix of real numbers")
    matrix: np.ndarray | csc_array
    if kind == SPARSE_CLASS:
        rows, starts, values = (_native(elements.numbers()) for _ in range(3))
        matrix = csc_array((values, rows, starts), shape=tuple(shape))
        matrix.check_format(full_check=True)  # indices out of range would crash later
    else:
        matrix = _native(elements.numbers()).reshape(shape, order="F")
    if isinstance(elements.stream, _Inflated):
        elements.stream.check_end()
    return {name: matrix}


def _native(numbers: np.ndarray) -> np.ndarray:
    return numbers.astype(numbers.dtype.newbyteorder("="), copy=False)


class _Inflated(io.RawIOBase):
    """What the next `length` bytes of a stream unpack to."""

    def __init__(self, stream: BinaryIO, length: int) -> None:
        super().__init__()
        self._stream, self._left, self._inflater = stream, length, zlib.decompressobj()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = b""
        while not data and not self._inflater.eof:
            packed = self._inflater.unconsumed_tail or self._read_packed()
            if not packed:
                break
            data = self._inflater.decompress(packed, min(len(buffer), BLOCK_BYTES))
        buffer[: len(data)] = data
        return len(data)

    def check_end(self) -> None:
        """Read on to the checksum, which zlib verifies."""
        while self.read(TAG_BYTES):
            pass
        if not self._inflater.eof:
            raise ValueError("compressed data end too early")

    def _read_packed(self) -> bytes:
        packed = self._stream.read(min(self._left, BLOCK_BYTES))
        self._left -= len(packed)
        return packed
