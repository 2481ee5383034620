"""Zip archives, .npz files and gzip streams from outside: checked in full first, and never unpacked onto the disk."""

import contextlib
import gzip
import io
import re
import stat
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np
from scipy.sparse import coo_array, load_npz

from cgnn_cli.datasets.files.arrays import NUMBER_MEMORY, array_hint
from cgnn_cli.datasets.files.text_files import GZIP_MAGIC
from cgnn_cli.datasets.wording import one_line, shorten
from cgnn_cli.errors import CgnnError, DataError
from cgnn_cli.resources import check_reading
from cgnn_cli.store.elements import check_npy

MEMBER_LIMIT = 8 << 30
ARRAY_MEMORY = 4  # a byte of an array takes about so many while it is checked and converted
DEFLATE_RATIO, RATIO_SLACK = 1032, 4096
ENCRYPTED_FLAGS = 0x1 | 0x40 | 0x2000
BLOCK_BYTES = 1 << 18
LISTED_NAMES = 20
COPY_HINT = "the file is damaged, or not what its name says: get it again from its source"
DANGER_HINT = "such an archive may be made to do harm, so nothing in it is read: get it again from its source"


def open_archive(path: Path, content: bytes | None = None) -> zipfile.ZipFile:
    """A zip archive, all members of which are harmless by what it declares of them; its bytes may have been read."""
    try:
        archive = zipfile.ZipFile(path if content is None else io.BytesIO(content))
    except Exception as error:  # zipfile promises no set of exceptions for damaged files
        reason = getattr(error, "strerror", None) or one_line(error)
        raise DataError(f"{path} cannot be read as a zip archive: {reason}", COPY_HINT) from error
    counts = Counter(member.filename for member in archive.infolist())
    for member in archive.infolist():
        fault = "its name is there twice" if counts[member.filename] > 1 else _fault_of(member)
        if fault:
            archive.close()
            raise DataError(f"{path}: member {shorten(member.orig_filename)} is refused: {fault}", DANGER_HINT)
    return archive


def open_member(archive: zipfile.ZipFile, name: str, path: Path) -> BinaryIO:
    """A member as a stream that ends where the archive declares it to end; damage is a DataError while reading."""
    try:
        member = archive.getinfo(name)
    except KeyError as error:
        raise DataError(f"{path} has no {shorten(name)}; {_listing(archive.namelist())}", COPY_HINT) from error
    what = f"{path}: member {shorten(name)}"
    try:
        source = archive.open(member)
    except Exception as error:  # as above
        raise DataError(f"{what} cannot be read: {one_line(error)}", COPY_HINT) from error
    return io.BufferedReader(_Watched(source, what, least=member.file_size, most=member.file_size), BLOCK_BYTES)


def open_gzip(stream: BinaryIO, limit: int, what: str) -> BinaryIO:
    """What a gzip stream unpacks to, which is at most `limit` bytes; `what` names it in errors."""
    packed = io.BufferedReader(stream)  # type: ignore[type-var]
    if not packed.peek(2).startswith(GZIP_MAGIC):
        raise DataError(f"{what} is not a gzip file", COPY_HINT)
    return io.BufferedReader(_Watched(gzip.GzipFile(fileobj=packed), what, least=0, most=limit), BLOCK_BYTES)


def read_npz(path: Path, names: Sequence[str]) -> dict[str, np.ndarray]:
    """The named arrays of an .npz file; nothing is unpickled, and nothing else in the file is read."""
    with open_archive(path) as archive:
        held = [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
        for name in names:
            if name not in held:
                raise DataError(f"{path} has no array {shorten(name)}; {_listing(held)}", COPY_HINT)
        return _read_arrays(archive, names, path)


def read_masks(content: bytes, path: Path) -> dict[str, np.ndarray]:
    """The arrays of an .npz file that are called masks."""
    with open_archive(path, content) as archive:
        held = [name.removesuffix(".npy") for name in archive.namelist()]
        return _read_arrays(archive, [name for name in held if name.rstrip("s").endswith("_mask")], path)


def load_matrix(content: bytes, path: Path) -> coo_array:
    """A scipy sparse matrix of real numbers, checked in full: indices out of range would crash later."""
    with open_archive(path, content) as archive:
        members = [name for name in archive.namelist() if name.endswith(".npy")]
        check_reading(path, NUMBER_MEMORY * sum(_check_member(archive, name, path) for name in members))
    try:
        matrix: Any = load_npz(io.BytesIO(content))
        if matrix.format in ("csr", "csc", "bsr"):
            matrix.check_format(full_check=True)
        matrix = coo_array(matrix)
    except Exception as error:  # as above
        hint = "save the matrix with scipy.sparse.save_npz; " + array_hint(error)
        raise DataError(f"{path} cannot be read as a scipy sparse matrix: {one_line(error)}", hint) from error
    if matrix.data.dtype.kind not in "biuf" or matrix.ndim != 2:
        message = f"{path} holds values of type {matrix.data.dtype}, which cannot be used here"
        raise DataError(message, "save real numbers")
    check_reading(path, 8 * sum(matrix.shape))  # of which there may be many without any entries
    return matrix


def _fault_of(member: zipfile.ZipInfo) -> str | None:
    """Why a member is not to be trusted."""
    name = member.orig_filename
    kind = stat.S_IFMT(member.external_attr >> 16)
    faults = {
        "its name is an absolute path": name.startswith("/") or re.match("[A-Za-z]:", name) is not None,
        "its name leads out of the archive": ".." in name.split("/"),
        "its name has a backslash or a NUL": "\\" in name or "\0" in name,
        "it is a link or a special file": kind not in (0, stat.S_IFREG, stat.S_IFDIR),
        "it is encrypted": member.flag_bits & ENCRYPTED_FLAGS != 0,
        f"its compression method {member.compress_type} is neither deflate nor none": member.compress_type
        not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED),
        f"it declares {member.file_size} bytes, more than {MEMBER_LIMIT}": member.file_size > MEMBER_LIMIT,
        f"it declares {member.file_size} bytes, which {member.compress_size} cannot unpack to": member.file_size
        > DEFLATE_RATIO * member.compress_size + RATIO_SLACK,
    }
    return next((fault for fault, found in faults.items() if found), None)


def _read_arrays(archive: zipfile.ZipFile, names: Sequence[str], path: Path) -> dict[str, np.ndarray]:
    """The arrays in members that are as large as they declare, and fit."""
    for name in names:
        _check_member(archive, f"{name}.npy", path)
    check_reading(path, ARRAY_MEMORY * sum(archive.getinfo(f"{name}.npy").file_size for name in names))
    arrays = {}
    for name in names:
        with _damage_of(name, path), open_member(archive, f"{name}.npy", path) as stream:
            arrays[name] = np.lib.format.read_array(stream, allow_pickle=False)
    return arrays


def _check_member(archive: zipfile.ZipFile, member: str, path: Path) -> int:
    """How many numbers the array in a member has, which must be as large as its header declares."""
    with _damage_of(member.removesuffix(".npy"), path), open_member(archive, member, path) as stream:
        return check_npy(stream, archive.getinfo(member).file_size)


@contextlib.contextmanager
def _damage_of(name: str, path: Path) -> Iterator[None]:
    try:
        yield
    except (CgnnError, MemoryError):
        raise
    except Exception as error:  # as above
        message = f"{path}: array {shorten(name)} cannot be read: {one_line(error)}"
        raise DataError(message, array_hint(error)) from error


def _listing(names: Iterable[str]) -> str:
    shown = sorted(names)
    more = f" and {len(shown) - LISTED_NAMES} more" if len(shown) > LISTED_NAMES else ""
    return f"it holds {', '.join(map(shorten, shown[:LISTED_NAMES])) or 'nothing'}{more}"


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...

    def close(self) -> None: ...


class _Watched(io.RawIOBase):
    """A stream of between `least` and `most` bytes: any other length, and any damage, is a DataError.

    It unpacks a block at a time: zipfile would unpack all there is before it cuts what goes past the declared size.
    """

    def __init__(self, source: _Readable, what: str, *, least: int, most: int) -> None:
        super().__init__()
        self._source, self._what, self._least, self._most = source, what, least, most
        self._count = 0

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._count

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        try:
            data = self._source.read(min(len(buffer), BLOCK_BYTES))
        except DataError:
            raise
        except Exception as error:  # zipfile and gzip promise no set of exceptions for damaged files
            raise DataError(f"{self._what} is damaged: {one_line(error)}", COPY_HINT) from error
        self._count += len(data)
        if self._count > self._most:
            raise DataError(f"{self._what} unpacks to more than {self._most} bytes", DANGER_HINT)
        if not data and self._count < self._least:
            raise DataError(f"{self._what} ends after {self._count} of {self._least} bytes", COPY_HINT)
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._source.close()
        super().close()
