"""What becomes of large blocks of memory that are freed: given back at once, or kept for those that come next."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator

MMAP_THRESHOLD, TRIM_THRESHOLD = -3, -1  # of malloc.h
CHOSEN = ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "GLIBC_TUNABLES")  # by whoever started this process
USUAL = 32 << 20  # the largest block that glibc comes to keep by itself
LARGEST, NEVER = (1 << 31) - 1, -1


@contextlib.contextmanager
def keeping_blocks(worth_it: bool = True) -> Iterator[None]:
    """Within, glibc keeps blocks of up to 2 GiB that are freed, and hands them out again.

    Otherwise it gives a block of 32 MiB or more back to the system, which fills every page of the next one with zeros
    first: half of the CPU time of a training on a graph that large. Kept blocks that do not fit pile up
    (estimates.py), so this is worth it only where memory is left. Other systems' libraries are left as they are, and
    glibc too where its environment says what it is to keep.
    """
    library = set_thresholds(LARGEST, NEVER) if worth_it and not any(name in os.environ for name in CHOSEN) else None
    try:
        yield
    finally:
        if library is not None:
            set_thresholds(USUAL, 2 * USUAL)
            library.malloc_trim(0)


def set_thresholds(largest: int, trimmed: int) -> ctypes.CDLL | None:
    """Keep freed blocks up to a size, and so many bytes at the end of the heap; the library, if it is glibc."""
    try:
        library = ctypes.CDLL(None) if os.confstr("CS_GNU_LIBC_VERSION") else None
    except (OSError, ValueError):  # there is no such library, or no such name
        return None
    if library is not None:
        library.mallopt(MMAP_THRESHOLD, largest)
        library.mallopt(TRIM_THRESHOLD, trimmed)
    return library
