"""Files that the user asks a command for: checked before the work, and written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from cgnn_cli.errors import UsageError
from cgnn_cli.signals import STOPPER
from cgnn_cli.store.artifact import Header
from cgnn_cli.store.disk import write_atomically


def check_output(path: Path | None) -> None:
    """Refuse a file that could not be written, before any work is done for it."""
    if path is None:
        return
    if not path.name or path.is_dir():
        raise UsageError(f"cannot write {path}: it is a folder", "name a file")
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise UsageError(f"cannot write {path}: no such folder, or no right to", "name a file in a writable folder")


def make_folder(path: Path) -> None:
    """Make the folder of an output that the user asked for."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the folder {path}: {error.strerror}", "name another --output") from error


def write_output(path: Path, data: bytes) -> None:
    """Write a file that the user asked for, whole or not at all."""
    STOPPER.hear()
    try:
        write_atomically(path, data)
    except OSError as error:
        raise UsageError(
            f"cannot write {path}: {error.strerror}", "name a file in an existing, writable folder"
        ) from error


def standin_mark(header: Header) -> dict[str, Any]:
    """The mark of a result that was made from a stand-in."""
    return {name: value for name, value in header.summary.items() if name == "standin"}
