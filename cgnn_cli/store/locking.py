"""Locks between processes and machines: one works, the others wait and find the result."""

from __future__ import annotations

import contextlib
import os
import platform
from collections.abc import Callable, Iterator
from pathlib import Path

from cgnn_cli.errors import BusyError


@contextlib.contextmanager
def hold_lock(path: Path, doing: str, timeout: float, warn: Callable[[str], None]) -> Iterator[None]:
    """Hold a lock while `doing` something. Where locks do not work, go on without one."""
    from filelock import FileLock, Timeout

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            warn(f"waiting for {_owner_of(path)}, which is {doing}")
            lock.acquire(timeout=timeout)
        path.with_suffix(".owner").write_text(f"{platform.node()}:{os.getpid()}")
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


def _owner_of(lock: Path) -> str:
    """Who holds a lock, as host:pid; only for messages."""
    try:
        return lock.with_suffix(".owner").read_text()
    except OSError:
        return "another process"
