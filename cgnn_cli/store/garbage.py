"""Garbage of a store: what nobody needs any more.

A file goes only under the lock of its key, and only if its name is one that cgnn gives: the store may lie in a folder
that holds other things. Where a lock is held by another process, the file stays.
"""

import contextlib
import re
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from cgnn_cli.errors import CgnnError, CorruptError, ResourceError
from cgnn_cli.pipeline import STAGES, parts_in, stage_in_role
from cgnn_cli.store import artifact as files
from cgnn_cli.store.artifact import Header
from cgnn_cli.store.disk import identity, read_json
from cgnn_cli.store.housekeeping import artifact_files, dataset_names, recorded_headers, temporaries
from cgnn_cli.store.lineage import walk
from cgnn_cli.store.locking import claim_lock
from cgnn_cli.store.store import Store

DAY = 24 * 3600.0
STALE_LOCK = "stale lock"
LOCK = re.compile(rf"({'|'.join(STAGES)})-([0-9a-zA-Z]+)\.(lock|owner)")
Place = tuple[str, str]


@dataclass(frozen=True)
class Entry:
    """An artifact file of the store; `header` is None where it cannot be told what it holds."""

    path: Path
    header: Header | None
    damaged: bool = False

    @property
    def place(self) -> Place:
        """Its stage and key."""
        return self.path.parent.name, self.path.stem

    @property
    def started(self) -> datetime:
        """When it was made; the time of the file where the provenance does not say."""
        with contextlib.suppress(KeyError, TypeError, ValueError):
            if self.header:
                moment = datetime.fromisoformat(self.header.provenance["started"])
                return moment.replace(tzinfo=moment.tzinfo or UTC)
        with contextlib.suppress(OSError):
            return datetime.fromtimestamp(self.path.stat().st_mtime, UTC)
        return datetime.now(UTC)


@dataclass(frozen=True)
class Piece:
    """Something of a store that can go: what it is, its files, and the key whose lock guards it.

    identity: for an artifact, that of the file that was judged.
    """

    what: str
    paths: tuple[Path, ...]
    guard: Place | None = None
    identity: tuple[int, int, int] | None = None


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
    unneeded.sort(key=lambda entry: list(STAGES).index(entry.place[0]), reverse=True)
    for entry in unneeded:
        what = "damaged artifact" if entry.damaged else "artifact"
        companions = tuple(path for end in (".h5", ".json", ".npz") if (path := entry.path.with_suffix(end)).exists())
        _remove(store, Piece(what, companions, entry.place, identity(entry.path)), collected, dry_run)
    gone = {piece.guard for piece, _ in collected.removed}
    for piece in (*_orphans(store), *_traces_of_runs(store, gone), *_leftovers(store)):
        _remove(store, piece, collected, dry_run)
    for piece in _locks(store):
        _remove(store, piece, collected, dry_run)
    return collected


def _entries(store: Store) -> dict[Place, Entry]:
    """Every artifact of the store; where the side record does not tell what it is, the file itself is read."""
    recorded = recorded_headers(store)
    entries = []
    for path in artifact_files(store):
        header, damaged = recorded.get((path.parent.name, path.stem)), False
        if header is None:
            try:
                header = files.read(path).header
            except CorruptError:
                damaged = True
            except CgnnError:
                pass  # of a newer format, or gone, or too large to read now: not ours to judge
        entries.append(Entry(path, header, damaged))
    return {entry.place: entry for entry in entries}


def _needed(store: Store, entries: dict[Place, Entry], keep_days: float) -> set[Place]:
    """The artifacts to keep: those that are kept for their own sake, and all they were made from."""

    def find(*place: str) -> Header | None:
        return entries[place].header if place in entries else None

    needed = set(_roots(store, entries, keep_days))
    for header in [header for place in needed if (header := find(*place))]:
        for made in (header, *(made for _, made in walk(header, find))):
            needed |= {(stage_in_role(role), key) for role, key in made.inputs.items()}
    return needed & entries.keys()


def _roots(store: Store, entries: dict[Place, Entry], keep_days: float) -> Iterator[Place]:
    """What is kept for its own sake."""
    graphs = dataset_names(store)
    yield from (("graph", key) for key in graphs)
    # What the next command would take up where no artifact is named.
    yield from ((stage, header.key) for stage in STAGES if (header := store.latest(stage)))
    newest: dict[tuple[str, str], Entry] = {}
    for entry in sorted(entries.values(), key=lambda entry: (entry.started, entry.path.stem)):
        if entry.header:
            newest[entry.place[0], entry.header.inputs.get("graph", "")] = entry
    yield from (entry.place for (stage, graph), entry in newest.items() if STAGES[stage].is_result and graph in graphs)
    trainings = [entry.header for (stage, _), entry in entries.items() if stage == "train" and entry.header]
    collected = {key for training in trainings for key in parts_in(training.inputs, "fit").values()}
    for (stage, key), entry in entries.items():
        age = (datetime.now(UTC) - entry.started).total_seconds()
        newer_format = entry.header is None and not entry.damaged
        # Fits that no training has collected yet are those of one that is running or was interrupted.
        in_progress = stage == "fit" and key not in collected and age < DAY
        if newer_format or ((in_progress or age < keep_days * DAY) and not entry.damaged):
            yield stage, key


def _orphans(store: Store) -> Iterator[Piece]:
    """Side records and .npz copies whose artifact has gone."""
    for stage in STAGES:
        for path in sorted((store.root / stage).glob("*")):
            if path.suffix in (".json", ".npz") and path.stem.isalnum() and not path.with_suffix(".h5").exists():
                yield Piece("orphaned " + ("record" if path.suffix == ".json" else "copy"), (path,), (stage, path.stem))


def _traces_of_runs(store: Store, gone: set[Place | None]) -> Iterator[Piece]:
    """Snapshots of trainings that are finished, and metrics of those of which neither result nor snapshot is left."""
    for path in sorted((store.root / "partial").glob("*.h5")):
        if path.stem.isalnum() and store.path("fit", path.stem).exists():
            yield Piece("state of a finished run", (path,), ("fit", path.stem))
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
        both = (store.lock_path(stage, key).with_suffix(end) for end in (".owner", ".lock"))
        yield Piece(STALE_LOCK, tuple(path for path in both if path.exists()), (stage, key))


def _remove(store: Store, piece: Piece, collected: Collected, dry_run: bool) -> None:
    """Remove a piece, unless it is in use, has gone, or is an artifact that was made or asked for meanwhile."""
    if not piece.paths:
        return
    lock = store.lock_path(*piece.guard) if piece.guard else None
    with claim_lock(lock) if lock and (lock.exists() or not dry_run) else contextlib.nullcontext(True) as free:
        if not free:
            collected.in_use.append(piece)
            return
        if piece.identity and piece.guard:
            stage, key = piece.guard
            is_asked_for = read_json(store.latest_path(stage)).get("key") == key
            if is_asked_for or identity(piece.paths[0]) != piece.identity:
                return
        collected.removed.append((piece, sum(_size(path) for path in piece.paths)))
        for path in () if dry_run else piece.paths:
            try:
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)
            except FileNotFoundError:
                continue
            except OSError as error:
                raise ResourceError(f"cannot remove {path}: {error.strerror}", "check who owns the store") from error


def _size(path: Path) -> int:
    """The bytes of a file, or of the files in a folder."""
    try:
        if path.is_dir() and not path.is_symlink():
            return sum(_size(inner) for inner in path.iterdir())
        return path.lstat().st_size
    except OSError:
        return 0
