"""Locks between processes and machines: one works, the others wait and find the result."""

import contextlib
import os
import platform
from collections.abc import Callable, Iterator
from pathlib import Path

from cgnn_cli.errors import BusyError
from cgnn_cli.store.disk import read_at_most

MOST_OWNER = 1 << 12


@contextlib.contextmanager
def hold_lock(path: Path, doing: str, timeout: float, warn: Callable[[str], None]) -> Iterator[None]:
    """Hold a lock while `doing` something. Where locks do not work, go on without one."""
    from filelock import FileLock, Timeout

    try:
        lock = FileLock(_without_link(path))
        try:
            lock.acquire(timeout=0)
        except Timeout:
            warn(f"waiting for {_owner_of(path)}, which is {doing}")
            lock.acquire(timeout=timeout)
        _note_owner(path)
    except Timeout as error:
        raise BusyError(
            f"{_owner_of(path)} has been {doing} for more than {timeout:g} s",
            "wait for it, or give a longer --lock-timeout",
        ) from error
    except (OSError, NotImplementedError) as error:
        warn(f"no locks in {path.parent} ({error}); going on without, at worst work is done twice")
        yield
        return
    try:
        yield
    finally:
        lock.release()


@contextlib.contextmanager
def claim_lock(path: Path) -> Iterator[bool]:
    """Hold a lock without waiting; False where another process holds it. A lock file that was not there goes again."""
    from filelock import FileLock, Timeout

    was_there = path.exists()
    try:
        lock = FileLock(_without_link(path))
        lock.acquire(timeout=0)
    except Timeout:
        yield False
        return
    except (OSError, NotImplementedError):  # no locks on this disk: nothing depends on them
        yield True
        return
    try:
        yield True
    finally:
        if not was_there:
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
        lock.release()


def _without_link(path: Path) -> Path:
    """The place of a lock, with its folder; a symbolic link there is removed, whatever it points to stays as it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_symlink():
        path.unlink(missing_ok=True)
    return path


def _note_owner(lock: Path) -> None:
    """Note who holds a lock, for messages; in a new file, so that no link is followed."""
    path = lock.with_suffix(".owner")
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)
        with open(path, "x") as file:
            file.write(f"{platform.node()}:{os.getpid()}")


def _owner_of(lock: Path) -> str:
    """Who holds a lock, as host:pid; only for messages."""
    try:
        return read_at_most(lock.with_suffix(".owner"), MOST_OWNER).decode(errors="replace")
    except OSError:
        return "another process"
