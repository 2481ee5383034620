"""Provenance: who made an artifact, when, with what; recorded beside the payload, never part of the key."""

import platform
import resource
import subprocess
import sys
import time
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from cgnn_cli import __version__
from cgnn_cli.printable import printable
from cgnn_cli.ranks import leading
from cgnn_cli.redaction import recorded_command, redacted_command

PROCESSES = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)  # a dense solve has one of its own
LIBRARIES = ("numpy", "scipy", "h5py", "torch", "torch-geometric", "joblib", "typer", "rich")


def library_versions() -> dict[str, str]:
    """Installed versions of what the numbers depend on."""
    versions = {"cgnn": __version__, "python": platform.python_version()}
    return versions | {name: _installed(name) for name in LIBRARIES}


@cache
def _installed(name: str) -> str:
    from importlib import metadata  # takes longer than all else that is imported here

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


@cache
def source_revision() -> str:
    """The git commit of a source checkout, with `-dirty` if it was changed; empty for an installed package."""
    root = Path(__file__).parents[2]
    if not (root / ".git").exists():
        return ""
    try:
        command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=40"]
        return subprocess.run(command, capture_output=True, text=True, timeout=5, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def _program() -> str:
    """`cgnn`, or the name of the script that uses its functions."""
    name = Path(sys.argv[0]).name
    return "cgnn" if name in ("cgnn", "__main__.py") else name


def shown(provenance: dict[str, Any]) -> dict[str, Any]:
    """A provenance as it may be shown: one that 0.1.0 recorded may hold credentials."""
    return _with_command(provenance, places=True)


def shareable(provenance: dict[str, Any], *, with_origin: bool = False) -> dict[str, Any]:
    """A provenance as it may leave the machine: without its name and paths on it, unless they are asked for."""
    if with_origin:
        return shown(provenance)
    kept = {name: value for name, value in provenance.items() if name != "host"}
    return _with_command(kept, places=False)


def _with_command(provenance: dict[str, Any], *, places: bool) -> dict[str, Any]:
    command = provenance.get("command")
    return {**provenance, **({} if command is None else {"command": recorded_command(str(command), places=places)})}


class Recorder:
    """Measures one computation: make it before, call `provenance` after."""

    def __init__(self) -> None:
        self._started = datetime.now(UTC)
        self._clock = time.perf_counter()

    def provenance(self) -> dict[str, Any]:
        return {
            "started": self._started.isoformat(timespec="microseconds"),
            "seconds": round(time.perf_counter() - self._clock, 4),
            "peak_rss_bytes": 1024 * max(resource.getrusage(who).ru_maxrss for who in PROCESSES),
            "command": printable(redacted_command([_program(), *sys.argv[1:]])),
            "host": platform.node(),
            **({"ranks": leading.size()} if leading.size() > 1 else {}),
            "revision": source_revision(),
            "versions": library_versions(),
        }
