"""Files that the user asks a command for: whole or not at all where they are files, and written to where they are not.

A link stays a link: what it leads to is written. Pipes, devices and descriptors of this process (`/dev/stdout`,
`/dev/fd/3`, `>(gzip)`) are written to and never replaced.
"""

import contextlib
import fcntl
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from cgnn_cli.errors import CgnnError, ResourceError, UsageError
from cgnn_cli.signals import STOPPER
from cgnn_cli.store.disk import replace, temporary_beside
from cgnn_cli.store.store import OUT_OF_SPACE

DESCRIPTOR = re.compile(r"/(?:dev|proc/self)/fd/([0-9]+)")
MOST_LINKS = 40


def check_output(path: Path | None) -> None:
    """Refuse a file that could not be written, before any work is done for it."""
    if path is None:
        return
    if (descriptor := descriptor_of(path)) is not None:
        try:
            readable_only = fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY
        except OSError:  # nothing is open there
            readable_only = True
        if readable_only:
            raise UsageError(f"cannot write {path}: it is not open for writing", "name another file")
        return
    if not path.name or path.is_dir():
        raise UsageError(f"cannot write {path}: it is a folder", "name a file")
    if path.exists() and not path.is_file():
        if not os.access(path, os.W_OK):
            raise UsageError(f"cannot write {path}: no right to", "name another file")
        return
    folder = _real(path).parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise UsageError(f"cannot write {path}: no such folder, or no right to", "name a file in a writable folder")


def descriptor_of(path: Path) -> int | None:
    """The descriptor of this process that a name stands for, by itself or through links."""
    name = os.path.abspath(path) if path.is_absolute() else str(path.absolute())
    for _ in range(MOST_LINKS):
        if found := DESCRIPTOR.fullmatch(name):
            return int(found[1])
        if not os.path.islink(name):
            return None
        name = os.path.normpath(os.path.join(os.path.dirname(name), os.readlink(name)))
    return None


def is_standard_output(path: Path) -> bool:
    """Whether a command that writes this file fills its standard output with it."""
    return descriptor_of(path) == 1


@contextlib.contextmanager
def opened_output(path: Path) -> Iterator[BinaryIO]:
    """A file to write to. A regular one is replaced in the end, and stays as it was if anything fails before."""
    try:
        descriptor = descriptor_of(path)
        if descriptor is not None:
            with open(os.dup(descriptor), "wb") as file:
                yield file
        elif path.exists() and not path.is_file():
            with open(path, "wb") as file:
                yield file
        else:
            with _replaced(_real(path)) as file:
                yield file
    except BrokenPipeError:
        raise
    except OSError as error:
        raise output_error(path, error) from error


@contextlib.contextmanager
def _replaced(path: Path) -> Iterator[BinaryIO]:
    """A new file that takes the place of a regular one, with its permissions."""
    with temporary_beside(path) as temporary:
        with open(temporary, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            temporary.chmod(path.stat().st_mode & 0o7777)
        replace(temporary, path)


def write_output(path: Path, data: bytes) -> None:
    """Write a file that the user asked for."""
    STOPPER.hear()
    with opened_output(path) as file:
        file.write(data)


def make_folder(path: Path) -> None:
    """Make the folder of an output that the user asked for."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise output_error(path, error, "make the folder") from error


def output_error(path: Path, error: OSError, verb: str = "write") -> CgnnError:
    """What a failed write of an output means for the user."""
    if error.errno in OUT_OF_SPACE:
        return ResourceError(f"no room for {path}", "free some space, or name a place on another disk")
    return UsageError(f"cannot {verb} {path}: {error.strerror}", "name one in an existing, writable folder")


def _real(path: Path) -> Path:
    """The file that a name leads to, through links; it need not exist."""
    return Path(os.path.realpath(path))
