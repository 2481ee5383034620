"""The published split files: pickles inside .npy files, read without running anything that they name.

A pickle builds its objects by calling what it names. Here every name that numpy's integer arrays need stands for
something of this module, and no other name is known, so a file can build lists, dicts and integer arrays and
nothing else. Python's own unpickler is used, not the C one, which reserves whatever memory a file asks for.
"""

import io
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cgnn_cli.datasets.arrays import one_line
from cgnn_cli.datasets.text_files import read_content
from cgnn_cli.errors import DataError

PARTS = ("train", "valid", "test")
LARGEST_FILE = 1 << 28
MOST_SPLITS = 1000
INTEGER_TYPES = {f"{kind}{size}" for kind in "iu" for size in (1, 2, 4, 8)}
OBJECT_TYPES = {"O", "O4", "O8"}
HINT = "fetch it again from where it was published; pickles of other content are never loaded"


def read_split_arrays(path: Path) -> list[dict[str, np.ndarray]]:
    """The train, valid and test nodes of each split, as int64."""
    try:
        size = path.stat().st_size
        if size > LARGEST_FILE:
            raise ValueError(f"{size} bytes are too many")
        content = read_content(path)
        stream = io.BytesIO(content)
        count = _split_count(stream)
        splits = _objects(_SplitUnpickler(stream).load(), count)
        return _as_arrays(splits, len(content))
    except DataError:
        raise
    except Exception as error:  # a damaged pickle may raise anything
        raise DataError(f"{path} cannot be read as a file of splits: {one_line(error)}", HINT) from error


def _split_count(stream: io.BytesIO) -> int:
    """The length that the header of a .npy file of objects gives; the pickle comes next in the stream."""
    version = np.lib.format.read_magic(stream)
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    shape, _, dtype = readers[version](stream)
    if dtype != np.dtype("O") or len(shape) != 1 or not 1 <= shape[0] <= MOST_SPLITS:
        raise ValueError(f"an array of type {dtype} and shape {shape}, not a list of splits")
    return int(shape[0])


class _Dtype:
    """Stands for a numpy dtype: that of objects, or of integers."""

    def __init__(self, code: str, *_flags: object) -> None:
        if code not in INTEGER_TYPES | OBJECT_TYPES:
            raise pickle.UnpicklingError(f"arrays of type {str(code)[:50]!r} are not admitted")
        self.code, self.order = code, "="

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _version, order, *fields = state[:5]
        if order not in ("<", ">", "|", "=") or fields != [None] * 3:
            raise pickle.UnpicklingError("dtypes with fields are not admitted")
        self.order = order

    def integers(self, content: bytes) -> np.ndarray:
        if self.code not in INTEGER_TYPES:
            raise pickle.UnpicklingError("objects where integers are expected")
        return np.frombuffer(content, dtype=np.dtype(self.order + self.code))


class _Array:
    """Stands for a numpy array; `values` is a list of objects or a one-dimensional array of integers."""

    def __init__(self, *_arguments: object) -> None:
        self.values: Any = None

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _version, shape, dtype, _fortran, content = state
        self.fill(shape, dtype, content)

    def fill(self, shape: tuple[int, ...], dtype: _Dtype, content: Any) -> None:
        self.values = content if type(content) is list else dtype.integers(content)
        if shape != (len(self.values),):
            raise pickle.UnpicklingError(f"an array of {len(self.values)} values has shape {str(shape)[:50]}")


def _from_buffer(content: bytes, dtype: _Dtype, shape: tuple[int, ...], _order: object) -> _Array:
    array = _Array()
    array.fill(shape, dtype, bytes(content))
    return array


def _scalar(dtype: _Dtype, content: bytes) -> int:
    return int(dtype.integers(content).item())


def _latin_bytes(text: str, _encoding: object) -> bytes:
    return text.encode("latin-1")


@dataclass(frozen=True)
class _Function:
    """Stands for a function or type that a pickle names. It has no state that a pickle could set."""

    call: Callable[..., Any]

    def __call__(self, *arguments: object) -> object:
        return self.call(*arguments)

    def __setstate__(self, _state: object) -> None:
        raise pickle.UnpicklingError("a function has no state")


STAND_INS: dict[tuple[str, str], object] = {
    ("numpy", "ndarray"): "numpy.ndarray",
    ("numpy", "dtype"): _Function(_Dtype),
    ("_codecs", "encode"): _Function(_latin_bytes),
}
for core in ("numpy.core", "numpy._core"):
    STAND_INS[f"{core}.multiarray", "_reconstruct"] = _Function(_Array)
    STAND_INS[f"{core}.multiarray", "scalar"] = _Function(_scalar)
    STAND_INS[f"{core}.numeric", "_frombuffer"] = _Function(_from_buffer)


class _SplitUnpickler(pickle._Unpickler):
    """Knows the names of the table above only; persistent ids are refused by its base."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in STAND_INS:
            raise pickle.UnpicklingError(f"it names {f'{module}.{name}'[:100]!r}, which is not admitted")
        return STAND_INS[module, name]


def _objects(loaded: object, count: int) -> list[Any]:
    if not isinstance(loaded, _Array) or type(loaded.values) is not list or len(loaded.values) != count:
        raise ValueError(f"not the array of {count} object(s) that its header promises")
    return loaded.values


def _as_arrays(splits: list[Any], most_entries: int) -> list[dict[str, np.ndarray]]:
    """Check what was loaded. No entry takes less than a byte of the file, unless something is used many times."""
    if not all(type(split) is dict and split.keys() == set(PARTS) for split in splits):
        raise ValueError(f"the splits are not made of {', '.join(PARTS)}")
    values = [[_entries(split[part]) for part in PARTS] for split in splits]
    if sum(len(part) for parts in values for part in parts) > most_entries:
        raise ValueError("it holds more entries than bytes")
    return [dict(zip(PARTS, map(_integers, parts), strict=True)) for parts in values]


def _entries(part: object) -> list[Any] | np.ndarray:
    values = part.values if isinstance(part, _Array) else part
    if type(values) is not list and not isinstance(values, np.ndarray):
        raise ValueError(f"a part of a split is of type {type(values).__name__}")
    return values


def _integers(values: list[Any] | np.ndarray) -> np.ndarray:
    if isinstance(values, list):
        if not set(map(type, values)) <= {int}:
            raise ValueError("a part of a split holds other values than integers")
        return np.fromiter(values, dtype=np.int64, count=len(values))
    return values.astype(np.int64)
