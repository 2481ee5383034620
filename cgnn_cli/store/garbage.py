"""Garbage of a store: what nobody needs any more.

A file goes only under the lock of its key, and only if its name is one that cgnn gives: the store may lie in a folder
that holds other things. Where a lock is held by another process, the file stays.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from cgnn_cli.errors import CgnnError, CorruptError, ResourceError
from cgnn_cli.store import artifact as files
from cgnn_cli.store.artifact import ROOT_TYPES, Header
from cgnn_cli.store.disk import identity, read_json
from cgnn_cli.store.housekeeping import artifact_files, dataset_names, temporaries
from cgnn_cli.store.store import Store

DAY = 24 * 3600.0
STALE_LOCK = "stale lock"
RESULTS = ("commute", "train", "eval")
LOCK = re.compile(rf"({'|'.join(ROOT_TYPES)})-([0-9a-zA-Z]+)\.(lock|owner)")


@dataclass(frozen=True)
class Entry:
    """An artifact file of the store; `header` is None where it cannot be told what it holds."""

    stage: str
    key: str
    path: Path
    header: Header | None
    damaged: bool = False

    def companions(self) -> tuple[Path, ...]:
        """The file, its side record, and its copy as .npz, as far as they are there."""
        return tuple(path for path in (self.path.with_suffix(end) for end in (".h5", ".json", ".npz")) if path.exists())

    @property
    def started(self) -> datetime:
        """When it was made; the time of the file where the provenance does not say."""
        moment = _time_of(self.header)
        with contextlib.suppress(OSError):
            moment = moment or datetime.fromtimestamp(self.path.stat().st_mtime, UTC)
        return moment or datetime.now(UTC)


def _time_of(header: Header | None) -> datetime | None:
    try:
        moment = datetime.fromisoformat(header.provenance["started"]) if header else None
    except (KeyError, TypeError, ValueError):
        return None
    return moment.replace(tzinfo=moment.tzinfo or UTC) if moment else None


Artifacts = dict[tuple[str, str], Entry]


@dataclass(frozen=True)
class Piece:
    """Something of a store that can go: what it is, its files, and the key whose lock guards it."""

    what: str
    paths: tuple[Path, ...]
    guard: tuple[str, str] | None = None
    identity: tuple[int, int, int] | None = None

    @property
    def size(self) -> int:
        return sum(_size(path) for path in self.paths)


@dataclass
class Collected:
    """What went, or would go: each piece with its bytes; what stayed because it is in use; how much is needed."""

    removed: list[tuple[Piece, int]] = field(default_factory=list)
    in_use: list[Piece] = field(default_factory=list)
    kept: int = 0

    @property
    def freed(self) -> int:
        return sum(size for _, size in self.removed)


def collect_garbage(store: Store, *, keep_days: float = 0.0, dry_run: bool = False) -> Collected:
    """Remove what the newest results do not depend on and nobody is using; with `dry_run` only tell."""
    collected = Collected()
    if not store.root.is_dir():
        return collected
    if not dry_run:
        store.check_writable()
    entries = _entries(store)
    needed = _needed(store, entries, keep_days)
    collected.kept = len(needed)
    unneeded = [entry for place, entry in entries.items() if place not in needed]
    # Results go before what they were made from, so that a run that is cut short leaves no artifact without inputs.
    unneeded.sort(key=lambda entry: list(ROOT_TYPES).index(entry.stage), reverse=True)
    for entry in unneeded:
        what = "damaged artifact" if entry.damaged else "artifact"
        piece = Piece(what, entry.companions(), (entry.stage, entry.key), identity(entry.path))
        _remove(store, piece, collected, dry_run)
    gone = {piece.guard for piece, _ in collected.removed}
    for piece in (*_orphans(store), *_finished_partials(store), *_runs(store, gone), *_leftovers(store)):
        _remove(store, piece, collected, dry_run)
    for piece in _locks(store):
        _remove(store, piece, collected, dry_run)
    return collected


def _entries(store: Store) -> Artifacts:
    """Every artifact of the store; where the side record does not tell what it is, the file itself is read."""
    recorded = {(stage, header.key): header for stage in ROOT_TYPES for header in store.headers(stage)}
    entries: Artifacts = {}
    for path in artifact_files(store):
        place = (path.parent.name, path.stem)
        header, damaged = recorded.get(place), False
        if header is None:
            try:
                header = files.read(path).header
            except CorruptError:
                damaged = True
            except CgnnError:
                pass  # of a newer format, or gone, or too large to read now: not ours to judge
        entries[place] = Entry(*place, path, header, damaged)
    return entries


def _needed(store: Store, entries: Artifacts, keep_days: float) -> set[tuple[str, str]]:
    """The artifacts to keep: the roots, and all they were made from."""
    needed: set[tuple[str, str]] = set()
    waiting = list(_roots(store, entries, keep_days))
    while waiting:
        place = waiting.pop()
        if place in needed or place not in entries:
            continue
        needed.add(place)
        header = entries[place].header
        if header is not None:
            waiting += [(role.split("-")[0], key) for role, key in header.inputs.items()]
    return needed


def _roots(store: Store, entries: Artifacts, keep_days: float) -> Iterator[tuple[str, str]]:
    """What is kept for its own sake."""
    graphs = dataset_names(store)
    yield from (("graph", key) for key in graphs)
    yield from _latest(store)
    for graph in graphs:
        for stage in RESULTS:
            made = [entry for entry in entries.values() if entry.stage == stage and _made_from(entry, graph)]
            if made:
                newest = max(made, key=lambda entry: (entry.started, entry.key))
                yield newest.stage, newest.key
    collected = {key for entry in entries.values() if entry.stage == "train" and entry.header for key in _fits(entry)}
    for place, entry in entries.items():
        age = (datetime.now(UTC) - entry.started).total_seconds()
        newer_format = entry.header is None and not entry.damaged
        # Fits that no training has collected yet are those of one that is running or was interrupted.
        in_progress = entry.stage == "fit" and entry.key not in collected and age < DAY
        if newer_format or ((in_progress or age < keep_days * DAY) and not entry.damaged):
            yield place


def _latest(store: Store) -> set[tuple[str, str]]:
    """What the next command would take up where no artifact is named."""
    return {(stage, header.key) for stage in ROOT_TYPES if (header := store.latest(stage))}


def _made_from(entry: Entry, graph: str) -> bool:
    return entry.header is not None and entry.header.inputs.get("graph") == graph


def _fits(entry: Entry) -> list[str]:
    return [key for role, key in entry.header.inputs.items() if role.startswith("fit-")] if entry.header else []


def _orphans(store: Store) -> Iterator[Piece]:
    """Side records and .npz copies whose artifact has gone."""
    for stage in ROOT_TYPES:
        for path in sorted((store.root / stage).glob("*")):
            if path.suffix in (".json", ".npz") and path.stem.isalnum() and not path.with_suffix(".h5").exists():
                yield Piece("orphaned " + ("record" if path.suffix == ".json" else "copy"), (path,), (stage, path.stem))


def _finished_partials(store: Store) -> Iterator[Piece]:
    """Snapshots of trainings that have been finished since."""
    for path in sorted((store.root / "partial").glob("*.h5")):
        if path.stem.isalnum() and store.path("fit", path.stem).exists():
            yield Piece("state of a finished run", (path,), ("fit", path.stem))


def _runs(store: Store, gone: set[tuple[str, str] | None]) -> Iterator[Piece]:
    """Metrics of trainings of which neither the result nor a snapshot is left."""
    for folder in sorted((store.root / "runs").glob("*")):
        guard = ("fit", folder.name)
        finished = store.path(*guard).exists()
        unfinished = not finished and (store.root / "partial" / f"{folder.name}.h5").exists()
        if folder.name.isalnum() and folder.is_dir() and not unfinished and (guard in gone or not finished):
            yield Piece("metrics of a run", (folder,), guard)


def _leftovers(store: Store) -> Iterator[Piece]:
    """Damaged files that were moved away, and temporaries that no writer can still be writing."""
    for path in sorted((store.root / "quarantine").glob("*.h5")):
        yield Piece("quarantined file", (path,))
    for path in sorted(temporaries(store)):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > DAY:
                yield Piece("temporary", (path,))


def _locks(store: Store) -> Iterator[Piece]:
    """Files of locks that nobody holds."""
    guards = {match.group(1, 2) for path in (store.root / "locks").glob("*") if (match := LOCK.fullmatch(path.name))}
    for stage, key in sorted(guards):
        both = (_lock_path(store, stage, key).with_suffix(end) for end in (".owner", ".lock"))
        yield Piece(STALE_LOCK, tuple(path for path in both if path.exists()), (stage, key))


def _remove(store: Store, piece: Piece, collected: Collected, dry_run: bool) -> None:
    if not piece.paths:  # it has gone by itself
        return
    with _claim(store, piece.guard, dry_run) as free:
        if not free:
            collected.in_use.append(piece)
            return
        if piece.identity and not _still_unneeded(store, piece):
            return
        size = piece.size
        if not dry_run:
            _delete(piece.paths)
        collected.removed.append((piece, size))


def _still_unneeded(store: Store, piece: Piece) -> bool:
    """Whether an artifact is the file that was judged, and nobody has asked for it meanwhile."""
    return identity(piece.paths[0]) == piece.identity and piece.guard not in _notes(store)


def _notes(store: Store) -> set[tuple[str, str]]:
    return {(stage, str(read_json(store.root / "latest" / f"{stage}.json").get("key"))) for stage in ROOT_TYPES}


def _delete(paths: Iterable[Path]) -> None:
    for path in paths:
        try:
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise ResourceError(f"cannot remove {path}: {error.strerror}", "check who owns the store") from error


@contextlib.contextmanager
def _claim(store: Store, guard: tuple[str, str] | None, dry_run: bool) -> Iterator[bool]:
    """Hold the lock of a key without waiting; False where another process holds it."""
    from filelock import FileLock, Timeout

    path = _lock_path(store, *guard) if guard else None
    if path is None or (dry_run and not path.exists()):
        yield True
        return
    there = path.exists()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path)
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
        if not there:
            path.unlink(missing_ok=True)
        lock.release()


def _lock_path(store: Store, stage: str, key: str) -> Path:
    return store.root / "locks" / f"{stage}-{key}.lock"


def _size(path: Path) -> int:
    """The bytes of a file, or of the files in a folder."""
    try:
        if path.is_dir() and not path.is_symlink():
            return sum(_size(inner) for inner in path.iterdir())
        return path.lstat().st_size
    except OSError:
        return 0
