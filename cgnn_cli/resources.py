"""What the machine and the job allow: memory, disk, cores."""

import contextlib
import errno
import io
import os
import re
import resource
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextvars import ContextVar
from pathlib import Path

from cgnn_cli.errors import ResourceError, UsageError

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
CGROUPS = Path("/sys/fs/cgroup")
OWN_CGROUP = Path("/proc/self/cgroup")
ASKED_LIMIT: ContextVar[str] = ContextVar("ASKED_LIMIT", default="auto")
LEAST_SPACE, LEAST_TORCH_SPACE, SPACE_A_CORE = 896 << 20, 1920 << 20, 64 << 20  # 1 and 2 GiB on two cores
SPACE_FOR_DATA = 256 << 20  # what the least leaves to data
MAPPED_FROM = 32 << 20  # bytes of an array that lies in a file, as far as it may: scratch.py
BLOCK_ENTRIES, LEAST_ENTRIES = 1 << 22, 1 << 16  # of the blocks of rows that large matrices are made of
BYTES_AN_ENTRY = 256  # of the memory that may be used, for each entry of a block: a tenth of it or so is then taken
SPACE_HINT = "raise `ulimit -v`, or lift it: --memory-limit or a control group bound the memory that is really used"
MOST_SETTINGS = 1 << 20
READING_HINT = "check that the file is what it should be"
NO_MEMORY = re.compile(
    "alloc.{0,20}memory|memory alloc|bad_alloc|start new thread|failed to map segment", flags=re.IGNORECASE
)


def parse_bytes(text: str) -> int:
    """'4G' -> 4294967296; a plain number is bytes."""
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?)(?:i?B)?\s*", text, flags=re.IGNORECASE)
    if not match or float(match[1]) == 0:
        raise UsageError(f"--memory-limit {text!r} is not an amount of memory", "write it like 800M or 12G")
    return int(float(match[1]) * UNITS[match[2].upper()])


def readable_bytes(count: float) -> str:
    """1536 -> '1.5 KiB'."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"


def memory_limit(asked: str = "auto", environment: Mapping[str, str] = os.environ) -> int:
    """Bytes that may be used: what was asked for, or the least of free memory, control groups and Slurm's grant."""
    return parse_bytes(asked) if asked != "auto" else min(count for _, count in memory_bounds(environment))


def memory_bounds(environment: Mapping[str, str] = os.environ) -> Iterator[tuple[str, int]]:
    """What bounds the memory, and the bytes that each allows."""
    import psutil

    yield "free memory", int(psutil.virtual_memory().available)
    yield from (("its control group", count) for count in _cgroup_limits())
    yield from (("Slurm's grant", count) for count in _slurm_limits(environment))
    yield from (("ulimit", count) for count in _process_limits())


def allowed_memory() -> int:
    """Bytes that this process may use, by what was last asked for in it (ASKED_LIMIT)."""
    return memory_limit(ASKED_LIMIT.get())


def _process_limits() -> Iterator[int]:
    """What `ulimit -v` and `ulimit -d` leave to this process, after what libraries reserve."""
    limits = [resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
    if any(limit != resource.RLIM_INFINITY for limit in limits):
        import psutil

        used = psutil.Process().memory_info()
        libraries = LEAST_SPACE + SPACE_A_CORE * allowed_cores({}) - SPACE_FOR_DATA
        taken = (max(used.vms, libraries), getattr(used, "data", 0))
        yield from (max(0, a - b) for a, b in zip(limits, taken, strict=True) if a != resource.RLIM_INFINITY)


def check_address_space(least: int, what: str) -> None:
    """Refuse what libraries would abort at, before anyone could say why: they reserve much more than they use."""
    limit, least = resource.getrlimit(resource.RLIMIT_AS)[0], least + SPACE_A_CORE * allowed_cores({})
    if limit != resource.RLIM_INFINITY and limit < least:
        message = f"{what} need {readable_bytes(least)} of address space, and this process may have "
        raise ResourceError(message + readable_bytes(limit), SPACE_HINT)


def on_device(error: BaseException) -> bool:
    """Whether it is a device that lacks memory: torch's error, told without importing torch."""
    return type(error).__name__ == "OutOfMemoryError"


def lacks_memory(error: BaseException) -> bool:
    """Whether an error, of whatever library, says that there was not enough memory."""
    if isinstance(error, MemoryError) or on_device(error):
        return True
    if isinstance(error, OSError) and error.errno == errno.ENOMEM:
        return True
    return isinstance(error, ImportError | RuntimeError | OSError) and NO_MEMORY.search(str(error)) is not None


def _cgroup_limits() -> Iterator[int]:
    """The limits of the process's own control groups (version 2, then 1), up to the root."""
    yield 1 << 62
    try:
        entries = [line.split(":", 2) for line in OWN_CGROUP.read_text().splitlines()]
    except OSError:
        return
    for _, controllers, name in entries:
        root = CGROUPS / controllers if controllers else CGROUPS
        file = "memory.limit_in_bytes" if controllers else "memory.max"
        if controllers and "memory" not in controllers.split(","):
            continue
        folder = root / name.strip("/")
        while folder != CGROUPS.parent:
            with contextlib.suppress(OSError, ValueError):  # no such group here, or "max"
                yield int((folder / file).read_text())
            folder = folder.parent


def _slurm_limits(environment: Mapping[str, str]) -> Iterator[int]:
    """What Slurm granted the job, in MiB; 0 stands for the whole node."""
    node = _number(environment, "SLURM_MEM_PER_NODE")
    if node:
        yield node << 20
    per_cpu = _number(environment, "SLURM_MEM_PER_CPU")
    if per_cpu:
        cpus = _number(environment, "SLURM_CPUS_PER_TASK") or _number(environment, "SLURM_CPUS_ON_NODE") or 1
        yield (per_cpu * cpus) << 20


def _number(environment: Mapping[str, str], name: str) -> int:
    text = environment.get(name, "")
    return int(text) if text.isdecimal() else 0


def machine_cores() -> int:
    """All cores of the machine."""
    return os.cpu_count() or 1


def allowed_cores(environment: Mapping[str, str] = os.environ) -> int:
    """Cores that this process may use: its affinity, and what Slurm granted the task."""
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else machine_cores()
    granted = _number(environment, "SLURM_CPUS_PER_TASK")
    return min(affinity, granted) if granted else affinity


def block_entries(memory: int) -> int:
    """How many entries a block of rows has at most, unless a single row has more, by the memory that may be used."""
    return min(BLOCK_ENTRIES, max(LEAST_ENTRIES, memory // BYTES_AN_ENTRY))


def private_bytes(*sizes: int) -> int:
    """Of arrays of so many bytes, what those take that do not lie in files."""
    return sum(size for size in sizes if size < MAPPED_FROM)


def thread_count(asked: int | None, default: int) -> int:
    """Threads to use: what was asked for, or else the default; 0 stands for all that the job may use.

    The ranks of torchrun on one machine share its cores.
    """
    return (default if asked is None else asked) or max(1, allowed_cores() // local_ranks())


def local_ranks(environment: Mapping[str, str] = os.environ) -> int:
    """How many ranks of torchrun share this machine."""
    return _number(environment, "LOCAL_WORLD_SIZE") or 1


def free_disk(folder: Path) -> int:
    """Free bytes on the disk of a folder that may not exist yet."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return shutil.disk_usage(folder).free


def check_memory(what: str, needed: int, limit: int, hint: str) -> None:
    """Refuse work that would not fit, before it starts."""
    if needed > limit:
        raise ResourceError(
            f"{what} needs about {readable_bytes(needed)} of memory, and {readable_bytes(limit)} may be used",
            f"{hint}; --memory-limit overrides the limit",
        )


def check_reading(path: object, needed: int) -> None:
    """Refuse to read a file which declares that it would not fit."""
    check_memory(f"reading {path}", needed, allowed_memory(), READING_HINT)


def settings_text(path: Path) -> str:
    """The text of a file of settings, which is never large; a device may have no end."""
    with open(path, "rb") as file:
        content = file.read(MOST_SETTINGS + 1)
    if len(content) > MOST_SETTINGS:
        most = readable_bytes(MOST_SETTINGS)
        raise UsageError(
            f"{path} is larger than {most}, and files of settings are not", "check that it is the right file"
        )
    return content.decode("utf-8")


def gather(blocks: Iterable[bytes], path: object, factor: int = 1) -> bytes:
    """The bytes of blocks that are read or unpacked one by one; `factor` is how much memory each byte takes later."""
    buffer, limit = io.BytesIO(), allowed_memory()
    for block in blocks:
        if factor * (buffer.tell() + len(block)) > limit:
            so_far, most = readable_bytes(factor * (buffer.tell() + len(block))), readable_bytes(limit)
            message = f"reading {path} needs more than {so_far} of memory, and {most} may be used"
            raise ResourceError(message, f"{READING_HINT}; --memory-limit overrides the limit")
        buffer.write(block)
    return buffer.getvalue()


def check_disk(what: str, needed: int, folder: Path) -> None:
    """Refuse work whose result could not be written."""
    if needed > (free := free_disk(folder)):
        raise ResourceError(
            f"{what} may write {readable_bytes(needed)} to {folder}, where {readable_bytes(free)} are free",
            "free some space, or choose another store with --store",
        )
