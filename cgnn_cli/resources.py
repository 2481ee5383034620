"""What the machine has: memory that may be used, and how to print it."""

from pathlib import Path

CGROUP_FILES = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def available_memory() -> int:
    """Bytes that may be used: free memory, or the limit of the control group if that is lower."""
    limits = [_available_bytes()]
    for name in CGROUP_FILES:
        try:
            limits.append(int(Path(name).read_text()))
        except (OSError, ValueError):
            continue
    return min(limits)


def _available_bytes() -> int:
    import psutil

    return int(psutil.virtual_memory().available)


def readable_bytes(count: float) -> str:
    """1536 -> '1.5 KiB'."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"
