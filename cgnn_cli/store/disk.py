"""Files on disks that may be shared, full or about to lose power: whole or not at all."""

import contextlib
import errno
import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def file_sha256(path: Path) -> str:
    """sha256 of a file's bytes."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextlib.contextmanager
def temporary_beside(path: Path) -> Iterator[Path]:
    """A fresh name beside a file, for what will replace it; in the end nothing is left under it."""
    temporary = path.with_name(f".{path.stem}.{os.urandom(6).hex()}.tmp")
    try:
        yield temporary
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def write_atomically(path: Path, data: bytes) -> None:
    """Write a small file so that readers see the old content or the new, never a part."""
    with temporary_beside(path) as temporary:
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)


def write_json(path: Path, value: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, json.dumps(value, indent=1, sort_keys=True).encode())


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object, or an empty one where the file is missing or damaged."""
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
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


def replace(source: Path, target: Path) -> None:
    """Rename; network disks may answer ESTALE once or twice."""
    for _ in range(2):
        try:
            return os.replace(source, target)
        except OSError as error:
            if error.errno != errno.ESTALE:
                raise
    os.replace(source, target)
