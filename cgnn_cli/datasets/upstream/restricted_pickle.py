"""The published split files: pickles inside .npy files, read without running anything that they name.

A pickle builds its objects by calling what it names. Here the names that numpy's integer arrays need give a note of
what would have been called, and no other name is known; the arrays are then made of these notes. Python's own
unpickler is used, not the C one, which reserves whatever memory a file asks for; but runs of plain integers, of which
lists of nodes are made, are known by their bytes to ask for nothing, and are left to it.
"""

import io
import pickle
import re
import struct
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from cgnn_cli.datasets.files.text_files import read_content
from cgnn_cli.datasets.wording import one_line
from cgnn_cli.errors import CgnnError, DataError
from cgnn_cli.resources import check_reading

PARTS = ("train", "valid", "test")
LARGEST_FILE = 1 << 28
OBJECT_MEMORY = 12  # a byte takes about so many where a number is an object
MOST_SPLITS = 1000
INTEGER_TYPES = {f"{kind}{size}" for kind in "iu" for size in (1, 2, 4, 8)}
ADMITTED = {
    **{name: name for name in ("_codecs.encode", "numpy.dtype", "numpy.ndarray")},
    **{
        f"numpy.{core}.{name}": name
        for core in ("core", "_core")
        for name in ("multiarray._reconstruct", "multiarray.scalar", "numeric._frombuffer")
    },
}
HINT = "fetch it again from where it was published; pickles of other content are never loaded"


def read_split_arrays(path: Path) -> list[dict[str, np.ndarray]]:
    """The train, valid and test nodes of each split, as int64."""
    try:
        size = path.stat().st_size
        if size > LARGEST_FILE:
            raise ValueError(f"{size} bytes are too many")
        check_reading(path, OBJECT_MEMORY * size)
        stream = io.BytesIO(read_content(path))
        version = np.lib.format.read_magic(stream)
        readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        shape, _, dtype = readers[version](stream)
        if dtype != np.dtype("O") or len(shape) != 1 or not 1 <= shape[0] <= MOST_SPLITS:
            raise ValueError(f"an array of type {dtype} and shape {shape}, not a list of splits")
        splits = _values(_SplitUnpickler(stream).load())
        if type(splits) is not list or len(splits) != shape[0]:
            raise ValueError(f"not the array of {shape[0]} object(s) that its header promises")
        return _checked_splits(splits, size)
    except CgnnError:
        raise
    except Exception as error:  # a damaged pickle may raise anything
        raise DataError(f"{path} cannot be read as a file of splits: {one_line(error)}", HINT) from error


# Integers of one, two and four bytes, one after another; at most so many, for the sake of memory.
INTEGERS = re.compile(rb"(?:K.|M..|J....){1,65536}+", re.DOTALL)


class _Note:
    """What a pickle names, the arguments it is called with, and the state that the result is given."""

    def __init__(self, name: str, arguments: tuple[Any, ...] = ()) -> None:
        self.name, self.arguments, self.state = name, arguments, None

    def __call__(self, *arguments: object) -> "_Note":
        return _Note(self.name, arguments)

    def __setstate__(self, state: Any) -> None:
        self.state = state


class _SplitUnpickler(pickle._Unpickler):
    """Admits the names above only, and gives notes for them; persistent ids are refused by its base."""

    def __init__(self, stream: io.BytesIO) -> None:
        super().__init__(stream)
        self._stream = stream

    def find_class(self, module: str, name: str) -> Any:
        named = f"{module}.{name}"
        if named not in ADMITTED:
            raise pickle.UnpicklingError(f"it names {named[:100]!r}, which is not admitted")
        return _Note(ADMITTED[named])

    def load_bytes(self: Any) -> None:
        """Its base would set aside as many bytes as the file asks for, before it looks how many are there."""
        (length,) = struct.unpack("<Q", self.read(8))
        self.append(bytearray(self.read(length)))

    def load_mark(self: Any) -> None:
        """Its base takes the integers of a list one by one, which come after a mark."""
        pickle._Unpickler.dispatch[pickle.MARK[0]](self)
        stream = self._unframer.current_frame or self._stream
        with stream.getbuffer() as content:
            found = INTEGERS.match(content, stream.tell())
            if found:
                self.stack.extend(pickle.loads(b"(%bl." % found[0]))
        if found:
            stream.seek(found.end())

    dispatch: ClassVar[dict[int, Any]] = {
        **pickle._Unpickler.dispatch,
        pickle.BYTEARRAY8[0]: load_bytes,
        pickle.MARK[0]: load_mark,
    }


def _checked_splits(splits: list[Any], most_entries: int) -> list[dict[str, np.ndarray]]:
    """Check what was loaded. No entry takes less than a byte of the file, unless something is used many times."""
    if not all(type(split) is dict and split.keys() == set(PARTS) for split in splits):
        raise ValueError(f"the splits are not made of {', '.join(PARTS)}")
    values = [
        {part: nodes if type(nodes) is list else _values(nodes) for part, nodes in split.items()} for split in splits
    ]
    if sum(len(part) for split in values for part in split.values()) > most_entries:
        raise ValueError("it holds more entries than bytes")
    return [{part: _as_int64(split[part]) for part in PARTS} for split in values]


def _values(loaded: Any) -> list[Any] | np.ndarray:
    """What a one-dimensional array holds: a list of objects, or integers."""
    if isinstance(loaded, _Note) and loaded.name == "multiarray._reconstruct" and loaded.state:
        _version, shape, dtype, _fortran, content = loaded.state
    elif isinstance(loaded, _Note) and loaded.name == "numeric._frombuffer":
        content, dtype, shape, _order = loaded.arguments
    else:
        raise ValueError(f"an object of type {type(loaded).__name__} where an array is expected")
    values = content if type(content) is list else _integers(dtype, content)
    if shape != (len(values),):
        raise ValueError(f"an array of {len(values)} values has shape {str(shape)[:50]}")
    return values


def _integers(dtype: Any, content: Any) -> np.ndarray:
    """The numbers in some bytes, which old protocols write as text."""
    if not isinstance(dtype, _Note) or dtype.name != "numpy.dtype" or dtype.arguments[0] not in INTEGER_TYPES:
        raise ValueError("objects where integers are expected")
    _version, order, *fields = (dtype.state or (3, "=", None, None, None))[:5]
    if order not in ("<", ">", "|", "=") or fields != [None] * 3:
        raise ValueError("dtypes with fields are not admitted")
    if isinstance(content, _Note) and content.name == "_codecs.encode":
        content = content.arguments[0].encode("latin-1")
    return np.frombuffer(content, dtype=np.dtype(order + dtype.arguments[0]))


def _as_int64(values: list[Any] | np.ndarray) -> np.ndarray:
    if isinstance(values, np.ndarray):
        return values.astype(np.int64)
    if set(map(type, values)) == {int}:
        return np.array(values, dtype=np.int64)
    return np.fromiter(map(_integer, values), dtype=np.int64, count=len(values))


def _integer(value: Any) -> int:
    if isinstance(value, _Note) and value.name == "multiarray.scalar":
        dtype, content = value.arguments
        return int(_integers(dtype, content).item())
    if type(value) is not int:
        raise ValueError("a part of a split holds other values than integers")
    return value
