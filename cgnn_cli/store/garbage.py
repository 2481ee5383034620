"""Garbage of a store: what nobody needs any more.

The store may lie in a folder that holds other things. So a file goes only if its name is one that cgnn gives, with a
whole key in it, and what is in the file says the same; all else is left alone. It goes under the lock of its key; where
another process holds that, it stays. What has been moved to quarantine goes only when that is asked for.
"""

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from cgnn_cli.errors import CgnnError, CorruptError, ForeignError, ResourceError
from cgnn_cli.keys import KEY, is_key
from cgnn_cli.pipeline import STAGES, parts_in, stage_in_role
from cgnn_cli.store import artifact as files
from cgnn_cli.store.artifact import Header
from cgnn_cli.store.choices import choice_keys, choice_path, is_own, sound_choices
from cgnn_cli.store.crashpoints import crash_point
from cgnn_cli.store.disk import DAY, entries, identity, is_young, read_at_most, read_json
from cgnn_cli.store.housekeeping import (
    are_metrics,
    artifact_files,
    dataset_names,
    recorded_headers,
    run_folders,
    temporaries,
)
from cgnn_cli.store.lineage import walk
from cgnn_cli.store.locking import MOST_OWNER, claim_lock
from cgnn_cli.store.store import PIN, Place, Store

STALE_LOCK, METRICS = "stale lock", "metrics of a run"
LOCK = re.compile(rf"({'|'.join(STAGES)})-({KEY})\.(lock|owner)")
OWNER = re.compile(r"[^\s:]*:[0-9]+")


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
    """What went, or would go: each piece with its bytes; what stayed because it is in use; how much is needed.

    quarantined: the files that stay in quarantine.
    """

    removed: list[tuple[Piece, int]] = field(default_factory=list)
    in_use: list[Piece] = field(default_factory=list)
    kept: int = 0
    quarantined: list[Path] = field(default_factory=list)

    @property
    def freed(self) -> int:
        return sum(size for _, size in self.removed)


def collect_garbage(
    store: Store, *, keep_days: float = 0.0, quarantine: bool = False, dry_run: bool = False
) -> Collected:
    """Remove what the newest results do not depend on and nobody is using; with `dry_run` only tell."""
    collected = Collected()
    if not store.root.is_dir():
        return collected
    if not dry_run:
        store.check_writable()
    # Artifacts are listed before pins, and pins before names: see Store.pinned.
    found = _entries(store)
    needed = _needed(store, found, keep_days)
    collected.kept = len(needed)
    unneeded = [entry for place, entry in found.items() if place not in needed]
    # Results go before what they were made from, so that a run that is cut short leaves no artifact without inputs.
    unneeded.sort(key=lambda entry: list(STAGES).index(entry.place[0]), reverse=True)
    for entry in unneeded:
        what = "damaged artifact" if entry.damaged else "artifact"
        paths = (entry.path, *_companions(store, entry.place))
        _remove(store, Piece(what, paths, entry.place, identity(entry.path)), collected, dry_run)
    gone = {piece.guard for piece, _ in collected.removed}
    orphans = (*_orphans(store), *_orphaned_choices(store, gone))
    for piece in (*orphans, *_traces_of_runs(store, gone), *_leftovers(store)):
        _remove(store, piece, collected, dry_run)
    collected.quarantined = store.quarantined()
    if quarantine:
        for path in collected.quarantined:
            _remove(store, Piece("quarantined file", (path,)), collected, dry_run)
        collected.quarantined = []
    for piece in _locks(store):
        _remove(store, piece, collected, dry_run)
    return collected


def remove_graph(store: Store, key: str, collected: Collected) -> None:
    """Remove a graph that has no name, unless something in the store was made from it or cannot be told."""
    entries_here = _entries(store)
    entry = entries_here.get(("graph", key))
    others = [other for place, other in entries_here.items() if place[0] != "graph"]
    if entry is None or entry.damaged or entry.header is None:
        return
    if any(other.header is None or key in other.header.inputs.values() for other in others):
        return
    paths = (entry.path, *_companions(store, entry.place))
    piece = Piece("artifact", paths, entry.place, identity(entry.path))
    _remove(store, piece, collected, dry_run=False, newest_too=True)


def _entries(store: Store) -> dict[Place, Entry]:
    """Every artifact of the store; where the side record does not tell what it is, the file itself is read."""
    recorded = recorded_headers(store)
    found = []
    for path in artifact_files(store):
        header, damaged = recorded.get((path.parent.name, path.stem)), False
        if header is None:
            try:
                header = store.inspect(path.parent.name, path.stem)
            except CorruptError:
                damaged = True
            except ForeignError:
                continue
            except CgnnError:
                pass  # of a newer format, or unreadable, or too large to read now: not ours to judge
            else:
                if header is None:  # it has gone
                    continue
        found.append(Entry(path, header, damaged))
    return {entry.place: entry for entry in found}


def _companions(store: Store, place: Place) -> Iterator[Path]:
    """The side record and the .npz copy of an artifact, if cgnn wrote them."""
    path = store.path(*place)
    if store.recorded(*place):
        yield path.with_suffix(".json")
    if path.with_suffix(".npz").exists() and files.is_copy_of(path.with_suffix(".npz"), *place):
        yield path.with_suffix(".npz")


def _needed(store: Store, found: dict[Place, Entry], keep_days: float) -> set[Place]:
    """The artifacts to keep: those that are kept for their own sake, and all they were made from."""

    def find(*place: str) -> Header | None:
        return found[place].header if place in found else None

    needed = set(_roots(store, found, keep_days))
    for header in [header for place in needed if (header := find(*place))]:
        for made in (header, *(made for _, made in walk(header, find))):
            needed |= {(stage_in_role(role), key) for role, key in made.inputs.items()}
    return needed & found.keys()


def _named(store: Store) -> set[Place] | None:
    """The graphs that a dataset name stands for, and what is pinned; None where a name does not tell its graph."""
    named = store.pins()
    for record in map(store.dataset, store.dataset_names()):
        if not record:
            return None
        named.add(("graph", record["key"]))
    return named


def _roots(store: Store, found: dict[Place, Entry], keep_days: float) -> Iterator[Place]:
    """What is kept for its own sake."""
    named = _named(store)
    yield from (place for place in found if place[0] == "graph") if named is None else named
    graphs = dataset_names(store)
    # What the next command would take up where no artifact is named.
    yield from ((stage, header.key) for stage in STAGES if (header := store.latest(stage)))
    newest: dict[tuple[str, str], Entry] = {}
    for entry in sorted(found.values(), key=lambda entry: (entry.started, entry.path.stem)):
        if entry.header:
            newest[entry.place[0], entry.header.inputs.get("graph", "")] = entry
    yield from (entry.place for (stage, graph), entry in newest.items() if STAGES[stage].is_result and graph in graphs)
    yield from (("train", choice.train) for choice in sound_choices(store) if choice.graph in graphs)
    trainings = [entry.header for (stage, _), entry in found.items() if stage == "train" and entry.header]
    collected = {key for training in trainings for key in parts_in(training.inputs, "fit").values()}
    for (stage, key), entry in found.items():
        age = (datetime.now(UTC) - entry.started).total_seconds()
        newer_format = entry.header is None and not entry.damaged
        # Fits that no training has collected yet are those of one that is running or was interrupted.
        in_progress = stage == "fit" and key not in collected and age < DAY
        if newer_format or ((in_progress or age < keep_days * DAY) and not entry.damaged):
            yield stage, key


def _orphans(store: Store) -> Iterator[Piece]:
    """Side records and .npz copies whose artifact has gone."""
    for stage in STAGES:
        listed = entries(store.root / stage)
        artifacts = {path.stem for path in listed if path.suffix == ".h5"}
        for key in sorted({path.stem for path in listed} - artifacts):
            for path in _companions(store, (stage, key)) if is_key(key) else ():
                yield Piece("orphaned " + ("record" if path.suffix == ".json" else "copy"), (path,), (stage, key))


def _orphaned_choices(store: Store, gone: set[Place | None]) -> Iterator[Piece]:
    """Choices for graphs that have gone, or are going, and that no name stands for."""
    named = dataset_names(store)
    for key in choice_keys(store):
        path, guard = choice_path(store, key), ("graph", key)
        left = guard not in gone and store.path(*guard).exists()
        if not left and key not in named and is_own(read_json(path), key):
            yield Piece("choice for a graph", (path,), guard)


def _traces_of_runs(store: Store, gone: set[Place | None]) -> Iterator[Piece]:
    """Snapshots of trainings that are finished, and metrics of those of which neither result nor snapshot is left."""
    for path in entries(store.root / "partial"):
        if path.suffix == ".h5" and is_key(path.stem) and store.path("fit", path.stem).exists():
            with contextlib.suppress(OSError):  # it cannot be read now, or has just gone
                if path.is_file() and files.says_it_is(path, "partial", path.stem):
                    yield Piece("state of a finished run", (path,), ("fit", path.stem))
    for folder in run_folders(store):
        guard = ("fit", folder.name)
        finished = store.path(*guard).exists()
        unfinished = not finished and (store.root / "partial" / f"{folder.name}.h5").exists()
        if not unfinished and (guard in gone or not finished):
            yield Piece(METRICS, _metrics(folder), guard)


def _metrics(folder: Path) -> tuple[Path, ...]:
    """What cgnn wrote into the folder of a run; nothing where it is not such a folder."""
    try:
        if not are_metrics(folder / "metrics.jsonl"):
            return ()
    except OSError:
        return ()
    boards = [path for path in entries(folder) if path.name.startswith("events.out.tfevents.") and path.is_file()]
    return (folder / "metrics.jsonl", *boards)


def _leftovers(store: Store) -> Iterator[Piece]:
    """Temporaries that no writer can still be writing, and pins that were left behind."""
    pins = (path for path in entries(store.root) if PIN.fullmatch(path.name) and "pinned" in read_json(path))
    for path in (*temporaries(store), *pins):
        with contextlib.suppress(OSError):
            if not is_young(path):
                yield Piece("temporary", (path,))


def _locks(store: Store) -> Iterator[Piece]:
    """Files of locks that nobody holds."""
    matches = [match for path in entries(store.root / "locks") if (match := LOCK.fullmatch(path.name))]
    for stage, key in sorted({match.group(1, 2) for match in matches}):
        lock = store.lock_path(stage, key)
        owner, pieces = lock.with_suffix(".owner"), []
        with contextlib.suppress(OSError):
            if owner.is_file() and OWNER.fullmatch(read_at_most(owner, MOST_OWNER).decode(errors="replace")):
                pieces.append(owner)
        with contextlib.suppress(OSError):
            if lock.lstat().st_size == 0:
                pieces.append(lock)
        yield Piece(STALE_LOCK, tuple(pieces), (stage, key))


def _remove(store: Store, piece: Piece, collected: Collected, dry_run: bool, *, newest_too: bool = False) -> None:
    """Remove a piece, unless it is in use, has gone, or is an artifact that was made or asked for meanwhile.

    newest_too: also the artifact that was asked for last.
    """
    if not piece.paths:
        return
    lock = store.lock_path(*piece.guard) if piece.guard else None
    with claim_lock(lock) if lock and (lock.exists() or not dry_run) else contextlib.nullcontext(True) as free:
        if not free:
            collected.in_use.append(piece)
            return
        if piece.identity and piece.guard:
            stage, key = piece.guard
            is_asked_for = not newest_too and read_json(store.latest_path(stage)).get("key") == key
            if is_asked_for or identity(piece.paths[0]) != piece.identity or _is_named(store, piece.guard):
                return
        size = sum(_size(path) for path in piece.paths)
        if not dry_run and not _unlink(store, piece):
            return
        collected.removed.append((piece, size))


def _is_named(store: Store, place: Place) -> bool:
    """Whether a graph has got a name meanwhile, or an artifact a pin."""
    if place[0] != "graph":
        return place in store.pins()
    named = _named(store)
    return named is None or place in named


def _unlink(store: Store, piece: Piece) -> bool:
    """Remove the files of a piece; False where it turned out to be needed.

    A graph is moved aside first: who names it at this moment has either found it before, and then the name or the pin
    can be seen now, or misses it and publishes it again. So no lock is needed.
    """
    paths = list(piece.paths)
    try:
        if piece.guard and piece.identity and piece.guard[0] == "graph":
            aside = store.move_aside(paths[0])
            crash_point("graph-aside")
            if _is_named(store, piece.guard):
                if not paths[0].exists():
                    os.rename(aside, paths[0])
                return False
            paths[0] = aside
        for path in paths:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise ResourceError(f"cannot remove {paths[0]}: {error.strerror}", "check who owns the store") from error
    if piece.what == METRICS:
        with contextlib.suppress(OSError):
            paths[0].parent.rmdir()  # only where nothing else is in it
    return True


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0
