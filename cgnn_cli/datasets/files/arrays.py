"""Numpy and scipy files: told by their first bytes, loaded without pickles, and checked for what they hold."""

import io
from pathlib import Path

import numpy as np

from cgnn_cli.datasets.files.tables import PARQUET_MAGIC
from cgnn_cli.datasets.files.text_files import read_content
from cgnn_cli.datasets.wording import one_line
from cgnn_cli.errors import DataError
from cgnn_cli.resources import check_reading
from cgnn_cli.store.elements import check_npy

NUMBER_MEMORY = 24  # a number takes about so many bytes while it becomes a float64 or a place in a matrix
NPY_MAGIC, ZIP_MAGIC = b"\x93NUMPY", b"PK\x03\x04"


def read_array_or_text(path: Path) -> bytes:
    """The bytes of a user's file, which is a numpy or Parquet file if it has the name of one."""
    content = read_content(path)
    suffix = Path(path).suffix.lower()
    if suffix == ".parquet" and not PARQUET_MAGIC.match(content):
        raise DataError(f"{path} is not a Parquet file, in spite of its name", "write it again, or rename it")
    magic = {".npy": NPY_MAGIC, ".npz": ZIP_MAGIC}.get(suffix, b"")
    if not content.startswith(magic):
        hint = "write it again with numpy.save or save_npz"
        raise DataError(f"{path} is not a numpy file, in spite of its name", hint)
    return content


def load_array(content: bytes, path: Path, kinds: str) -> np.ndarray:
    """A .npy array of one of the kinds of dtype; nothing is ever unpickled."""
    try:
        check_npy(io.BytesIO(content), len(content))
        array = np.load(io.BytesIO(content), allow_pickle=False)
    except Exception as error:  # numpy promises no set of exceptions for damaged files
        raise DataError(f"{path} cannot be read as a .npy array: {one_line(error)}", array_hint(error)) from error
    if array.dtype.kind not in kinds:
        raise DataError(f"{path} holds values of type {array.dtype}, which cannot be used here", "save plain numbers")
    check_reading(path, NUMBER_MEMORY * array.size)
    return array


def array_hint(error: Exception) -> str:
    """What to do about a numpy file that cannot be loaded."""
    objects = "allow_pickle" in str(error) or "Object arrays" in str(error)
    return (
        "pickled objects are never loaded: save plain numbers" if objects else "check how the file was made or copied"
    )


def lossless(array: np.ndarray, path: Path) -> np.ndarray:
    """The values as float64, which must hold them exactly."""
    with np.errstate(over="ignore", invalid="ignore"):
        converted = np.ascontiguousarray(array, dtype=np.float64)
        kept = (converted.astype(array.dtype) == array) | (array != array)  # noqa: PLR0124 - NaN is told later
        if array.dtype.kind in "iu":
            kept &= np.abs(converted) <= 2**53
    if not kept.all():
        hint = "round or scale them"
        raise DataError(f"{path} holds values of type {array.dtype} that float64 cannot hold exactly", hint)
    return converted


def narrow(array: np.ndarray) -> np.ndarray:
    """float32 where it holds every value exactly."""
    with np.errstate(over="ignore", under="ignore"):
        short = array.astype(np.float32)
    return short if np.array_equal(short, array) else array
