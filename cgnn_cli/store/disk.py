"""Files on disks that may be shared, full or about to lose power: whole or not at all."""

import contextlib
import errno
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from cgnn_cli.errors import ResourceError

PASSING = (errno.ESTALE, errno.EINTR)
REFUSED = (errno.EACCES, errno.EPERM, errno.EROFS, errno.EIO, errno.ESTALE, errno.EMFILE, errno.ENFILE)
MOST_JSON = 64 << 20
DAY = 24 * 3600.0
T = TypeVar("T")


def patiently(call: Callable[[], T]) -> T:
    """Call again, at most twice, what fails as it may for a moment: network disks answer ESTALE."""
    for _ in range(2):
        try:
            return call()
        except OSError as error:
            if error.errno not in PASSING:
                raise
    return call()


def unreadable(path: Path, error: OSError) -> ResourceError:
    """What it means that a file cannot be read now: nothing about what is in it."""
    reason = f"{path} cannot be read: {error.strerror or error}"
    return ResourceError(reason, "check its permissions, its owner and the disk; it was left as it is")


def open_plain(path: str | os.PathLike[str], flags: int) -> int:
    """An opener for `open` that follows no symbolic link: what is written goes into no other file."""
    return os.open(path, flags | os.O_NOFOLLOW, 0o666)


def entries(folder: Path) -> list[Path]:
    """What lies in a folder, by name; nothing where there is no such folder. One that cannot be read is an error."""
    try:
        return [folder / name for name in sorted(patiently(lambda: os.listdir(folder)))]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise unreadable(folder, error) from error


def is_young(path: Path) -> bool:
    """Whether a file was written within the last day."""
    return time.time() - path.stat().st_mtime <= DAY


def file_sha256(path: Path) -> str:
    """sha256 of a file's bytes."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextlib.contextmanager
def temporary_beside(path: Path) -> Iterator[Path]:
    """A fresh name beside a file, for what will replace it; in the end nothing is left under it."""
    temporary = path.with_name(f".{path.stem[:40]}.{os.urandom(6).hex()}.cgnn.tmp")
    try:
        yield temporary
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def write_atomically(path: Path, data: bytes) -> None:
    """Write a small file so that readers see the old content or the new, never a part."""
    with temporary_beside(path) as temporary:
        with open(temporary, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)


def write_json(path: Path, value: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, json.dumps(value, indent=1, sort_keys=True).encode())


def read_at_most(path: Path, count: int) -> bytes:
    """The first bytes of a file: what others put in the place of a record may be of any size."""
    with open(path, "rb") as file:
        return file.read(count)


def read_json(path: Path, *, strict: bool = False) -> dict[str, Any]:
    """A JSON object, or an empty one where the file is missing, damaged or far too large.

    strict: one that is there and cannot be read is an error.
    """
    try:
        content = patiently(lambda: read_at_most(path, MOST_JSON + 1))
        value = json.loads(content) if len(content) <= MOST_JSON else {}
    except (ValueError, RecursionError, FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        if strict:
            raise unreadable(path, error) from error
        return {}
    return value if isinstance(value, dict) else {}


def identity(path: Path) -> tuple[int, int, int] | None:
    """What tells a file from another one under the same name."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def protect(path: Path) -> None:
    """Make a file read-only, through no link."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        os.fchmod(descriptor, 0o444)
    finally:
        os.close(descriptor)


def replace(source: Path, target: Path) -> None:
    """Rename."""
    patiently(lambda: os.replace(source, target))
