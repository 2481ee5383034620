"""Zip archives, .npz files and gzip streams from outside: checked in full first, and never unpacked onto the disk."""

import gzip
import io
import math
import re
import stat
import zipfile
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import BinaryIO, Protocol

import numpy as np

from cgnn_cli.datasets.files.arrays import array_hint
from cgnn_cli.datasets.files.text_files import GZIP_MAGIC
from cgnn_cli.datasets.wording import one_line, shorten
from cgnn_cli.errors import DataError

MEMBER_LIMIT = 8 << 30
DEFLATE_RATIO, RATIO_SLACK = 1032, 4096
ENCRYPTED_FLAGS = 0x1 | 0x40 | 0x2000
BLOCK_BYTES = 1 << 18
LISTED_NAMES = 20
COPY_HINT = "the file is damaged, or not what its name says: get it again from its source"
DANGER_HINT = "such an archive may be made to do harm, so nothing in it is read: get it again from its source"


def open_archive(path: Path) -> zipfile.ZipFile:
    """A zip archive, all members of which are harmless by what it declares of them."""
    try:
        archive = zipfile.ZipFile(path)
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
        return {name: _read_array(archive, name, path) for name in names}


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


def _read_array(archive: zipfile.ZipFile, name: str, path: Path) -> np.ndarray:
    member = f"{name}.npy"
    try:
        with open_member(archive, member, path) as stream:
            _check_header(stream, archive.getinfo(member).file_size)
        with open_member(archive, member, path) as stream:
            return np.lib.format.read_array(stream, allow_pickle=False)
    except (DataError, MemoryError):
        raise
    except Exception as error:  # numpy promises no set of exceptions for damaged files
        message = f"{path}: array {shorten(name)} cannot be read: {one_line(error)}"
        raise DataError(message, array_hint(error)) from error


def _check_header(stream: BinaryIO, size: int) -> None:
    """The array that the header declares must fill the member, or numpy would set aside memory for it in vain."""
    version = np.lib.format.read_magic(stream)
    if version > (2, 0):
        raise ValueError(f"version {version} of the .npy format")
    read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read_header(stream)
    if dtype.hasobject:
        raise ValueError("Object arrays are not read")
    declared, there = math.prod(shape) * max(dtype.itemsize, 1), size - stream.tell()
    if declared != there or min(shape, default=0) < 0:
        raise ValueError(f"its header declares {declared} bytes for shape {shape}, but {there} are there")


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
