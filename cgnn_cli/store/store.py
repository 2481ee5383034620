"""The store: a folder of published artifacts, each complete and checksummed, or not there.

STORE/<stage>/<key>.h5       the artifact, read-only
STORE/<stage>/<key>.json     its side record: header, size and sha256 of the file
STORE/datasets/<name>.json   which graph artifact a dataset name stands for
STORE/latest/<stage>.json    which artifact of a stage was last made or asked for
STORE/quarantine/            damaged files, moved out of the way
STORE/locks/                 locks that save duplicate work; nothing depends on them
"""

import contextlib
import errno
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cgnn_cli.errors import CgnnError, CorruptError, ResourceError, UpstreamError
from cgnn_cli.pipeline import STAGES
from cgnn_cli.resources import free_disk
from cgnn_cli.store import artifact as files
from cgnn_cli.store.artifact import Artifact, Header
from cgnn_cli.store.crashpoints import crash_point
from cgnn_cli.store.disk import file_sha256, identity, read_json, replace, sync, temporary_beside, write_json
from cgnn_cli.store.locking import hold_lock

OUT_OF_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


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
        """The header of a verified artifact, or None. A damaged one is quarantined and counts as missing."""
        if stage not in STAGES or not key.isalnum():
            return None
        path = self.path(stage, key)
        record = read_json(path.with_suffix(".json"))
        header = _recorded_header(record)
        try:
            as_recorded = path.stat().st_size == record.get("size") and file_sha256(path) == record["file_sha256"]
        except FileNotFoundError:
            return None
        except (OSError, KeyError):
            as_recorded = False
        if as_recorded and header and header.key == key and header.stage == stage:
            return header
        return self.adopt(stage, key)

    def adopt(self, stage: str, key: str) -> Header | None:
        """Verify an artifact whose record is missing or does not fit, and write the record anew."""
        path = self.path(stage, key)
        before = identity(path)
        try:
            header = files.read(path).header
            if header.key != key or header.stage != stage:
                raise CorruptError(f"{path} holds the artifact {header.stage} {header.key}")
        except ResourceError:
            raise
        except CgnnError as error:
            # Another process may have put a good file in its place meanwhile.
            if before and identity(path) == before:
                self._quarantine(path, error.message)
            return None
        with contextlib.suppress(OSError):
            self._protect_and_record(path, _side_record(path, header))
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
                temporary.touch()
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
        path.chmod(0o444)
        crash_point("protected")
        write_json(path.with_suffix(".json"), record)
        crash_point("recorded")

    def check_writable(self) -> None:
        """Fail before hours of work if the result could not be written."""
        try:
            self.root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self.storage_error(error, 0) from error
        if not os.access(self.root, os.W_OK | os.X_OK):
            raise ResourceError(f"the store {self.root} cannot be written", "choose another one with --store")

    def storage_error(self, error: OSError, needed: int) -> CgnnError:
        """What a failed write means for the user."""
        if error.errno in OUT_OF_SPACE or (error.errno is None and free_disk(self.root) < needed):
            return ResourceError(
                f"no room in the store {self.root}: up to {needed:,} bytes needed, {free_disk(self.root):,} free",
                "free some space, or choose another store with --store",
            )
        reason = error.strerror or error
        return ResourceError(f"the store {self.root} cannot be written: {reason}", "choose another one with --store")

    def _quarantine(self, path: Path, reason: str) -> None:
        folder = self.root / "quarantine"
        kept = folder / f"{path.parent.name}-{path.stem}-{time.time_ns()}.h5"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            os.replace(path, kept)
            path.with_suffix(".json").unlink(missing_ok=True)
            self.warn(f"damaged cache entry moved to {kept}: {reason}")
        except OSError:
            self.warn(f"damaged cache entry ignored: {reason}")

    def lock_path(self, stage: str, key: str) -> Path:
        return self.root / "locks" / f"{stage}-{key}.lock"

    def lock(self, stage: str, key: str) -> contextlib.AbstractContextManager[None]:
        """Hold the lock of a key while computing it."""
        return hold_lock(self.lock_path(stage, key), f"computing {stage} {key[:12]}", self.lock_timeout, self.warn)

    def headers(self, stage: str) -> list[Header]:
        """The recorded artifacts of a stage, oldest first. Only the side records are read."""
        found = []
        for path in (self.root / stage).glob("*.json"):
            header = _recorded_header(read_json(path))
            if header and path.with_suffix(".h5").exists():
                found.append(header)
        return sorted(found, key=lambda header: (str(header.provenance.get("started")), header.key))

    def latest_path(self, stage: str) -> Path:
        """Where it is noted which artifact of a stage was last made or asked for."""
        return self.root / "latest" / f"{stage}.json"

    def remember_latest(self, stage: str, key: str) -> None:
        """Note that this artifact, if it is here, was the last of its stage to be made or asked for."""
        with contextlib.suppress(OSError):
            if self.path(stage, key).exists():
                write_json(self.latest_path(stage), {"key": key})

    def latest(self, stage: str) -> Header | None:
        """The artifact of a stage that was last made or asked for."""
        key = read_json(self.latest_path(stage)).get("key")
        headers = self.headers(stage)
        return next((header for header in headers if header.key == key), headers[-1] if headers else None)

    def resolve(self, name: str) -> tuple[str, str]:
        """Stage and key of the artifact whose key starts with `name`."""
        stages = STAGES if name.isalnum() else ()
        matches = [(stage, path.stem) for stage in stages for path in (self.root / stage).glob(f"{name}*.h5")]
        if not matches:
            raise UpstreamError(
                f"{name} is neither a file nor a key in the store {self.root}", "`cgnn cache ls` shows what is there"
            )
        if len(matches) > 1:
            raise UpstreamError(f"the key {name} is ambiguous in the store {self.root}", "give more of its letters")
        return matches[0]

    def dataset(self, name: str) -> dict[str, Any]:
        """The record of a dataset name: its graph key and source; empty where the store does not know it."""
        record = read_json(self.root / "datasets" / f"{name}.json")
        return record if all(isinstance(record.get(part), str) for part in ("content", "key")) else {}

    def set_dataset(self, name: str, record: dict[str, Any]) -> None:
        try:
            write_json(self.root / "datasets" / f"{name}.json", record)
        except OSError as error:
            raise self.storage_error(error, 0) from error

    def dataset_names(self) -> list[str]:
        return sorted(path.stem for path in (self.root / "datasets").glob("*.json"))


def _side_record(path: Path, header: Header) -> dict[str, Any]:
    """The side record of a file that has been verified."""
    return {
        "header": header.to_json(),
        "header_sha256": files.header_sha256(header),
        "size": path.stat().st_size,
        "file_sha256": file_sha256(path),
    }


def _recorded_header(record: dict[str, Any]) -> Header | None:
    """The header in a side record, or None where the record is damaged."""
    try:
        header = Header(**record["header"])
        return header if files.header_sha256(header) == record["header_sha256"] else None
    except (KeyError, TypeError, ValueError):
        return None
