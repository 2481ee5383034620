"""The store: a folder of published artifacts, each complete and checksummed, or not there.

STORE/<stage>/<key>.h5       the artifact, read-only
STORE/<stage>/<key>.json     its side record: header, size and sha256 of the file
STORE/datasets/<name>.json   which graph artifact a dataset name stands for
STORE/choices/<key>.json     what `cgnn tune` chose for a graph, by the graph's key
STORE/latest/<stage>.json    which artifact of a stage was last made or asked for
STORE/quarantine/            damaged files, moved out of the way
STORE/locks/                 locks that save duplicate work; nothing depends on them
STORE/.pin-<number>.json     what clean-up leaves alone while a name for it is being written

The store may lie in a folder of other things. A file is only ever moved, removed or replaced if its name has a key in
it, and its header or its side record says that it is the artifact of that stage and key.
"""

import contextlib
import errno
import os
import re
import stat as modes
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cgnn_cli.errors import CgnnError, CorruptError, ForeignError, NewerFormatError, ResourceError, UpstreamError
from cgnn_cli.keys import KEY, is_key
from cgnn_cli.pipeline import STAGES
from cgnn_cli.resources import free_disk
from cgnn_cli.store import artifact as files
from cgnn_cli.store.artifact import Artifact, Header
from cgnn_cli.store.crashpoints import crash_point
from cgnn_cli.store.disk import (
    entries,
    file_sha256,
    identity,
    is_young,
    patiently,
    protect,
    read_json,
    replace,
    sync,
    temporary_beside,
    unreadable,
    write_json,
)
from cgnn_cli.store.locking import hold_lock

OUT_OF_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
QUARANTINED = re.compile(rf"({'|'.join(STAGES)})-({KEY})-[0-9]+\.h5")
PIN = re.compile(r"\.pin-[0-9a-f]{12}\.json")
IMPORTED = {"edges", "features", "labels", "splits", "previous"}  # what the source of an imported graph tells
Place = tuple[str, str]


@dataclass(frozen=True)
class Store:
    """A folder of artifacts. `warn` is told about repairs; `lock_timeout` is in seconds, negative for ever."""

    root: Path
    warn: Callable[[str], None] = lambda message: None
    lock_timeout: float = -1

    def path(self, stage: str, key: str) -> Path:
        """Where the artifact lies, or would lie."""
        return self.root / stage / f"{key}.h5"

    def find(self, stage: str, key: str) -> Header | None:
        """The header of a verified artifact, or None where there is none. A damaged one is quarantined and is none.

        A file that cannot be read now, is of a newer format, or is not provably cgnn's, is an error and stays.
        """
        if stage not in STAGES or not is_key(key):
            return None
        path = self.path(stage, key)
        record = read_json(path.with_suffix(".json"))
        header = _recorded_header(record, stage, key)
        try:
            if header and path.stat().st_size == record.get("size"):
                digest = patiently(lambda: file_sha256(path))
                if digest == record.get("file_sha256"):
                    return header
            return self.adopt(stage, key)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise unreadable(path, error) from error

    def adopt(self, stage: str, key: str) -> Header | None:
        """Verify an artifact whose record is missing or does not fit, and write the record anew."""
        path = self.path(stage, key)
        before = identity(path)
        try:
            header = self.inspect(stage, key)
        except CorruptError as error:
            # Another process may have put a good file in its place meanwhile.
            if before and identity(path) == before:
                self._quarantine(path, error.message)
            return None
        if header is not None:
            with contextlib.suppress(OSError):
                self._protect_and_record(path, _side_record(path, header))
        return header

    def inspect(self, stage: str, key: str) -> Header | None:
        """The header of an artifact that was read in full, or None where there is none; nothing is changed.

        It is damaged (CorruptError) only if it is proven to be cgnn's: by its side record, or by what its bytes say.
        """
        path = self.path(stage, key)
        record = read_json(path.with_suffix(".json"))
        version = _format_of(record)
        if version > files.FORMAT_VERSION and path.exists():
            raise files.newer_format(path, version)
        try:
            status = path.stat()
            is_own = _recorded_header(record, stage, key) is not None
            if modes.S_ISREG(status.st_mode) and not is_own:
                if not status.st_size:  # nothing is in it that could be lost
                    return None
                is_own = patiently(lambda: files.says_it_is(path, stage, key))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise unreadable(path, error) from error
        if not is_own or not modes.S_ISREG(status.st_mode):
            raise ForeignError(f"{path} is not cgnn's, and stays as it is", "move it away, or name another --store")
        try:
            header = files.read(path).header
        except (ForeignError, NewerFormatError):
            raise
        except UpstreamError:  # it has gone meanwhile
            return None
        if (header.stage, header.key) != (stage, key):
            raise CorruptError(f"{path} holds the artifact {header.stage} {header.key}")
        return header

    def load(self, stage: str, key: str) -> Artifact:
        """Read a whole artifact; its content is verified against its checksum."""
        return files.read(self.path(stage, key))

    def publish(self, artifact: Artifact) -> Header:
        """Write an artifact under its key: temporary file, verification, fsync, rename, side record."""
        from cgnn_cli.store.elements import flatten

        artifact = files.sealed(artifact)
        header, path = artifact.header, self.path(artifact.header.stage, artifact.header.key)
        needed = sum(array.nbytes for array in flatten(artifact.elements).values())
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with temporary_beside(path) as temporary:
                temporary.touch(exist_ok=False)
                crash_point("temporary-opened")
                files.write_h5(temporary, artifact)
                written = files.read(temporary).header  # its keys in the order in which a hit will give them
                if written != header:
                    raise CorruptError(f"{temporary} does not read back as it was written")
                crash_point("verified")
                return self.publish_file(temporary, written)
        except OSError as error:
            raise self.storage_error(error, needed) from error

    def publish_file(self, temporary: Path, header: Header) -> Header:
        """Put a file that has been verified in its place, with its side record."""
        path, record = self.path(header.stage, header.key), _side_record(temporary, header)
        if path.exists():
            with contextlib.suppress(CorruptError):
                self.inspect(header.stage, header.key)  # refuses to replace what is not this cgnn's
        sync(temporary)
        crash_point("synced")
        path.parent.mkdir(parents=True, exist_ok=True)
        replace(temporary, path)
        sync(path.parent)
        crash_point("renamed")
        self._protect_and_record(path, record)
        return header

    def write_partial(self, path: Path, artifact: Artifact) -> None:
        """Replace the snapshot of an unfinished run; it is verified when it is read."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with temporary_beside(path) as temporary:
                files.write_h5(temporary, files.sealed(artifact))
                sync(temporary)
                replace(temporary, path)
        except OSError as error:
            raise self.storage_error(error, 0) from error

    def _protect_and_record(self, path: Path, record: dict[str, Any]) -> None:
        protect(path)
        crash_point("protected")
        write_json(path.with_suffix(".json"), record)
        crash_point("recorded")

    def check_writable(self, *stages: str) -> None:
        """Fail before hours of work if the results of some stages could not be written."""
        try:
            self.root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self.storage_error(error, 0) from error
        for folder in (self.root, *(self.root / stage for stage in stages)):
            if os.path.lexists(folder) and not os.access(folder, os.W_OK | os.X_OK):
                what = f": {folder} is not writable" if folder != self.root else ""
                raise ResourceError(f"the store {self.root} cannot be written{what}", "choose another one with --store")

    def storage_error(self, error: OSError, needed: int) -> CgnnError:
        """What a failed write means for the user."""
        if error.errno in OUT_OF_SPACE or (error.errno is None and free_disk(self.root) < needed):
            return ResourceError(
                f"no room in the store {self.root}: up to {needed:,} bytes needed, {free_disk(self.root):,} free",
                "free some space, or choose another store with --store",
            )
        reason = error.strerror or error
        if error.errno == errno.ELOOP and error.filename:
            reason = f"{error.filename} is a symbolic link, through which nothing is written"
        return ResourceError(f"the store {self.root} cannot be written: {reason}", "choose another one with --store")

    def _quarantine(self, path: Path, reason: str) -> None:
        try:
            kept = self.move_aside(path)
            path.with_suffix(".json").unlink(missing_ok=True)
            self.warn(f"damaged cache entry moved to {kept}: {reason}{self._advice(path)}")
        except OSError:
            self.warn(f"damaged cache entry ignored: {reason}")

    def move_aside(self, path: Path) -> Path:
        """Move an artifact to quarantine; its new place."""
        kept = self.root / "quarantine" / f"{path.parent.name}-{path.stem}-{time.time_ns()}.h5"
        kept.parent.mkdir(parents=True, exist_ok=True)
        replace(path, kept)
        return kept

    def _advice(self, path: Path) -> str:
        """What to do about the loss of an artifact, if it was a graph that cannot be made again."""
        names = self.names_of(path.stem) if path.parent.name == "graph" else []
        if imported := [name for name in names if self.datasets()[name].get("source", {}).keys() <= IMPORTED]:
            return f"; it was imported: import it again with `cgnn data import {imported[0]} ...`"
        return ""

    def quarantined(self, stage: str = "", key: str = "") -> list[Path]:
        """The files that were moved to quarantine, all or those of an artifact, oldest first."""
        found = [(path, QUARANTINED.fullmatch(path.name)) for path in entries(self.root / "quarantine")]
        return [path for path, match in found if match and (not key or match.groups() == (stage, key))]

    def lock_path(self, stage: str, key: str) -> Path:
        return self.root / "locks" / f"{stage}-{key}.lock"

    def lock(self, stage: str, key: str) -> contextlib.AbstractContextManager[None]:
        """Hold the lock of a key while computing it."""
        return hold_lock(self.lock_path(stage, key), f"computing {stage} {key[:12]}", self.lock_timeout, self.warn)

    def headers(self, stage: str) -> list[Header]:
        """The recorded artifacts of a stage, oldest first. Only the side records are read."""
        found = [header for path in self.artifact_files(stage) if (header := self.recorded(stage, path.stem))]
        return sorted(found, key=lambda header: (str(header.provenance.get("started")), header.key))

    def artifact_files(self, stage: str) -> list[Path]:
        """The files that have the name of an artifact of a stage; what is in them may be anything."""
        return [path for path in entries(self.root / stage) if path.suffix == ".h5" and is_key(path.stem)]

    def recorded(self, stage: str, key: str) -> Header | None:
        """The header in the side record of an artifact, or None where the record is none of cgnn's, or is damaged."""
        return _recorded_header(read_json(self.path(stage, key).with_suffix(".json")), stage, key)

    def latest_path(self, stage: str) -> Path:
        """Where it is noted which artifact of a stage was last made or asked for."""
        return self.root / "latest" / f"{stage}.json"

    def remember_latest(self, stage: str, key: str) -> None:
        """Note that this artifact, if it is here, was the last of its stage to be made or asked for."""
        with contextlib.suppress(OSError, ResourceError):
            path = self.latest_path(stage)
            if self.path(stage, key).exists() and may_replace(path, lambda note: set(note) == {"key"}):
                write_json(path, {"key": key})

    def latest(self, stage: str) -> Header | None:
        """The artifact of a stage that was last made or asked for."""
        key = read_json(self.latest_path(stage)).get("key")
        headers = self.headers(stage)
        return next((header for header in headers if header.key == key), headers[-1] if headers else None)

    def resolve(self, name: str) -> tuple[str, str]:
        """Stage and key of the artifact whose key starts with `name`."""
        places = [(stage, path.stem) for stage in STAGES for path in self.artifact_files(stage)]
        matches = [(stage, key) for stage, key in places if name and key.startswith(name)]
        if not matches:
            raise UpstreamError(
                f"{name} is neither a file nor a key in the store {self.root}", "`cgnn cache ls` shows what is there"
            )
        if len(matches) > 1:
            raise UpstreamError(f"the key {name} is ambiguous in the store {self.root}", "give more of its letters")
        return matches[0]

    def dataset(self, name: str) -> dict[str, Any]:
        """The record of a dataset name: its graph key and source; empty where the store does not know it."""
        record = read_json(self.root / "datasets" / f"{name}.json", strict=True)
        return record if _is_dataset(record) else {}

    def set_dataset(self, name: str, record: dict[str, Any]) -> None:
        path = self.root / "datasets" / f"{name}.json"
        if not may_replace(path, _is_dataset):
            raise ForeignError(f"{path} is not a record of cgnn's, and stays as it is", "move it away")
        try:
            write_json(path, record)
        except OSError as error:
            raise self.storage_error(error, 0) from error

    def remove_dataset(self, name: str) -> None:
        """Take a dataset name away; its graph stays."""
        path = self.root / "datasets" / f"{name}.json"
        if not self.dataset(name):
            raise ForeignError(f"{path} is not a record of cgnn's, and stays as it is", "move it away")
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise self.storage_error(error, 0) from error

    def dataset_names(self) -> list[str]:
        return [path.stem for path in entries(self.root / "datasets") if path.suffix == ".json"]

    def datasets(self) -> dict[str, dict[str, Any]]:
        """The records of all dataset names that can be read."""
        records = {name: read_json(self.root / "datasets" / f"{name}.json") for name in self.dataset_names()}
        return {name: record for name, record in records.items() if _is_dataset(record)}

    def names_of(self, graph_key: str) -> list[str]:
        """The dataset names that stand for a graph."""
        return [name for name, record in self.datasets().items() if record["key"] == graph_key]

    @contextlib.contextmanager
    def pinned(self, places: Iterable[Place]) -> Iterator[None]:
        """Have clean-up leave artifacts alone, those that are there and those that are published meanwhile.

        Clean-up lists artifacts first, then pins, then names. So what is published under a pin, and named before the
        pin goes, is always seen to be needed, on any host and without locks.
        """
        pin = self.root / f".pin-{os.urandom(6).hex()}.json"
        try:
            write_json(pin, {"pinned": [list(place) for place in places]})
        except OSError as error:
            raise self.storage_error(error, 0) from error
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                pin.unlink(missing_ok=True)

    def pins(self) -> set[Place]:
        """What is pinned now; pins of more than a day ago were left behind by a process that was killed."""
        found: set[Place] = set()
        for path in entries(self.root):
            with contextlib.suppress(FileNotFoundError, ValueError, TypeError):
                if PIN.fullmatch(path.name) and is_young(path):
                    found |= {(stage, key) for stage, key in read_json(path, strict=True).get("pinned", ())}
        return found


def _is_dataset(record: dict[str, Any]) -> bool:
    return all(isinstance(record.get(part), str) for part in ("content", "key"))


def may_replace(path: Path, is_own: Callable[[dict[str, Any]], bool]) -> bool:
    """Whether a JSON file is not there, empty, or one that cgnn wrote."""
    record = read_json(path, strict=True)
    if record:
        return is_own(record)
    return not path.exists() or path.stat().st_size <= len("{}\n")


def _side_record(path: Path, header: Header) -> dict[str, Any]:
    """The side record of a file that has been verified."""
    return {
        "format": files.version_of(path),
        "header": header.to_json(),
        "header_sha256": files.header_sha256(header),
        "size": path.stat().st_size,
        "file_sha256": file_sha256(path),
    }


def _recorded_header(record: dict[str, Any], stage: str, key: str) -> Header | None:
    """The header in a side record, or None where it is damaged, of a newer format, or of another place."""
    try:
        header = Header(**record["header"])
        is_sound = files.header_sha256(header) == record["header_sha256"] and _format_of(record) <= files.FORMAT_VERSION
    except (KeyError, TypeError, ValueError):
        return None
    return header if is_sound and (header.stage, header.key) == (stage, key) else None


def _format_of(record: dict[str, Any]) -> int:
    """The format of the artifact beside a side record; version 0.1.0 did not note it."""
    version = record.get("format", 1)
    return version if isinstance(version, int) else 1
