"""What the disk of a store can do, tried in a folder that is gone in the end: write, rename, lock."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cgnn_cli.pipeline import STAGES
from cgnn_cli.store.disk import write_atomically

PREFIX = ".cgnn-doctor-"
CONTENT, SECONDS = os.urandom(1 << 16), 60
HELD = 3
# What another process does while this one holds the lock.
TRY_LOCK = f"""\
import sys
from filelock import FileLock, Timeout
try:
    FileLock(sys.argv[1]).acquire(timeout=0)
except Timeout:
    sys.exit({HELD})
"""


@dataclass(frozen=True)
class Probed:
    """What was found out about one ability: whether it is there, and a sentence where it is not."""

    name: str
    works: bool
    fault: str = ""


def existing(folder: Path) -> Path:
    """The folder, or the nearest one above that is there."""
    while not folder.is_dir() and folder != folder.parent:
        folder = folder.parent
    return folder


def probe(root: Path) -> list[Probed]:
    """Try what a store needs where it lies, or where it would be made; nothing is left there."""
    place = existing(root)
    found: list[Probed] = []
    try:
        with tempfile.TemporaryDirectory(prefix=PREFIX, dir=place) as name:
            folder = Path(name)
            for ability, trial in (("writing", _write), ("renaming", _rename), ("locking", _lock)):
                try:
                    fault = trial(folder)
                except OSError as error:
                    fault = error.strerror or str(error)
                found.append(Probed(ability, not fault, fault))
    except OSError as error:
        return [Probed("writing", False, f"{place}: {error.strerror or error}")]
    apart = [folder.name for folder in _folders(root) if folder.stat().st_dev != root.stat().st_dev]
    if apart:
        fault = f"{', '.join(apart)} on another file system"
        found = [Probed(each.name, False, fault) if each.name == "renaming" else each for each in found]
    return found


def _folders(root: Path) -> Iterator[Path]:
    """The folders of a store between which files are renamed."""
    yield from (root / name for name in (*STAGES, "quarantine", "datasets") if (root / name).is_dir())


def _write(folder: Path) -> str:
    path = folder / "written"
    write_atomically(path, CONTENT)
    return "" if path.read_bytes() == CONTENT else "what was read back is not what was written"


def _rename(folder: Path) -> str:
    """A file takes the place of another, from one folder to the next."""
    (folder / "from").mkdir()
    (folder / "to").mkdir()
    (folder / "to" / "file").write_bytes(b"old")
    (folder / "from" / "file").write_bytes(CONTENT)
    os.replace(folder / "from" / "file", folder / "to" / "file")
    whole = (folder / "to" / "file").read_bytes() == CONTENT and not (folder / "from" / "file").exists()
    return "" if whole else "a renamed file is not what it was"


def _lock(folder: Path) -> str:
    """Another process is refused while this one holds a lock."""
    from filelock import FileLock

    lock = FileLock(folder / "lock")
    try:
        lock.acquire(timeout=0)
    except NotImplementedError:
        return "there are no locks"
    command = [sys.executable, "-c", TRY_LOCK, str(folder / "lock")]
    try:
        code = subprocess.run(command, capture_output=True, timeout=SECONDS, check=False).returncode
    except subprocess.SubprocessError as error:
        return f"not tried: {error}"
    finally:
        lock.release()
    return {HELD: "", 0: "two processes hold one lock"}.get(code, f"not tried: another process ended with {code}")
