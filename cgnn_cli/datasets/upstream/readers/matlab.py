"""MATLAB files: the dense and sparse matrices of real numbers in them.

scipy's loadmat reads them in a process of its own, with limits: a single wrong byte in a file can make it crash, or ask
for any memory.
"""

import os
import resource
import struct
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy.sparse import csc_array, issparse

import cgnn_cli
from cgnn_cli import apart
from cgnn_cli.datasets.files.arrays import one_line
from cgnn_cli.datasets.upstream.readers.assembly import FETCH_AGAIN
from cgnn_cli.errors import DataError, ResourceError
from cgnn_cli.resources import READING_HINT, allowed_memory, check_reading, readable_bytes

LEAST_SECONDS, BYTES_A_SECOND = 60.0, 1 << 21
IDLE_SPACE = 1 << 30  # address space of a process that has imported scipy
LEAST_MEMORY, MEMORY_A_BYTE = 2 << 30, 16  # a compressed file unpacks to several times its size
COMPRESSED, BLOCK_BYTES = 15, 1 << 16
PARTS = ("data", "indices", "indptr", "shape")
MODULE = "cgnn_cli.datasets.upstream.readers.matlab"
PROGRAM = apart.PROGRAM.replace("MODULE", MODULE)


def read_matlab(path: Path, names: Sequence[str]) -> dict[str, np.ndarray | csc_array]:
    """The named variables; numbers have the type in which they are stored, and sparse matrices are checked in full."""
    try:
        with tempfile.TemporaryDirectory(prefix="cgnn-") as folder:
            _read_apart(path, folder, names)
            found = {name: value for name in names if (value := _load_variable(Path(folder), name)) is not None}
    except (ValueError, OSError) as error:
        raise DataError(f"{path} cannot be read as a MATLAB file: {one_line(error)}", FETCH_AGAIN) from error
    if missing := [name for name in names if name not in found]:
        raise DataError(f"{path} has no {missing[0]}", FETCH_AGAIN)
    return found


def _read_apart(path: Path, folder: str, names: Sequence[str]) -> None:
    """Have another process write the variables as .npy files."""
    size = path.stat().st_size
    seconds, allowed = LEAST_SECONDS + size / BYTES_A_SECOND, IDLE_SPACE + allowed_memory()
    memory = min(LEAST_MEMORY + MEMORY_A_BYTE * size, allowed)
    package = str(Path(cgnn_cli.__file__).parents[1])
    command = [sys.executable, "-P", "-c", PROGRAM, package, str(memory), str(path.absolute()), folder, *names]
    reading, writing = os.pipe()  # whose end it notices when this process is killed
    try:
        done = subprocess.run(
            command, stdin=reading, capture_output=True, timeout=seconds, start_new_session=True, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise ValueError(f"it takes more than {seconds:g} s") from error
    finally:
        os.close(reading)
        os.close(writing)
    if done.returncode:
        lines = done.stderr.decode(errors="replace").split("\n")
        if memory == allowed and any(
            line.startswith(("MemoryError", "numpy._core._exceptions._Array")) for line in lines
        ):
            what = f"reading {path} needs more memory than the {readable_bytes(allowed_memory())} that may be used"
            raise ResourceError(what, f"{READING_HINT}; --memory-limit overrides the limit")
        raise ValueError(next(filter(str.strip, reversed(lines)), f"it crashes its reader (code {done.returncode})"))


def _load_variable(folder: Path, name: str) -> np.ndarray | csc_array | None:
    """A variable that the process has written; None where the file does not have it."""
    files = [folder / f"{name}.{part}.npy" for part in PARTS]
    check_reading(name, 2 * sum(file.stat().st_size for file in files if file.exists()))
    parts = [np.load(file, allow_pickle=False) for file in files if file.exists()]
    if len(parts) < len(PARTS):
        return parts[0] if parts else None
    *arrays, shape = parts
    matrix = csc_array(tuple(arrays), shape=tuple(shape.tolist()))
    matrix.check_format(full_check=True)  # indices out of range would crash later
    return matrix


def main(memory: str, path: str, folder: str, *names: str) -> None:
    """Write the named variables of a file into a folder, in a process that may die of it."""
    apart.end_with_starter()
    from scipy.io import loadmat

    resource.setrlimit(resource.RLIMIT_AS, (int(memory), int(memory)))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _check_elements(path)
    variables = loadmat(path, appendmat=False, variable_names=names)
    for name in variables.keys() & set(names):
        value = variables[name]
        if value.dtype.kind not in "biuf" or value.ndim != 2:
            sys.exit(f"{name} is not a matrix of real numbers")
        for part in PARTS if issparse(value) else PARTS[:1]:
            array = np.asarray(getattr(value, part) if issparse(value) else value)
            native = array.astype(array.dtype.newbyteorder("="), copy=False)
            np.save(Path(folder, f"{name}.{part}.npy"), native, allow_pickle=False)


def _check_elements(path: str) -> None:
    """Refuse a file that was cut, and compressed data with a wrong checksum: loadmat looks at neither."""
    size = os.stat(path).st_size
    with open(path, "rb") as file:
        header = file.read(128)
        if not header.startswith(b"MATLAB 5.0 "):
            raise ValueError("it is not of version 5 to 7.2")
        order = "<" if header.endswith(b"IM") else ">"
        while tag := file.read(8):
            kind, length = struct.unpack(f"{order}II", tag)
            if (end := file.tell() + length) > size:
                raise ValueError("it ends too early")
            inflater = zlib.decompressobj()
            while kind == COMPRESSED and (block := file.read(min(BLOCK_BYTES, end - file.tell()))):
                inflater.decompress(block)
            if kind == COMPRESSED and not inflater.eof:
                raise ValueError("compressed data end too early")
            file.seek(end)
