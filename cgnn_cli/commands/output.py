"""Files that the user asks a command for: checked before the work, and what is said of them after it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cgnn_cli.commands.session import Session
from cgnn_cli.errors import UsageError
from cgnn_cli.store import outputs
from cgnn_cli.store.artifact import Header


def check_output(session: Session, path: Path | None) -> None:
    """Refuse a file that could not be written, before any work is done for it."""
    outputs.check_output(path)
    if path is not None and session.as_json and outputs.is_standard_output(path):
        raise UsageError(f"{path} and --json both fill standard output", "name another file, or leave --json out")


def said_of(path: Path) -> str | None:
    """What a command prints of a file that it wrote: its name, or nothing where standard output holds its content."""
    return None if outputs.is_standard_output(path) else str(path)


def standin_mark(header: Header) -> dict[str, Any]:
    """The mark of a result that was made from a stand-in."""
    return {name: value for name, value in header.summary.items() if name == "standin"}
