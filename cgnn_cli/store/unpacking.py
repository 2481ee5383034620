"""Unpacking: the artifacts of a pack (packing.py) into a store.

Nothing in a pack is trusted: only regular members with the name of an artifact are read, each must be as the manifest
says, and every artifact is verified in full before the first of them is published.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import tarfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cgnn_cli.errors import CorruptError, UpstreamError
from cgnn_cli.store import artifact as files
from cgnn_cli.store.artifact import ROOT_TYPES, Artifact, Header
from cgnn_cli.store.disk import replace, sync
from cgnn_cli.store.keys import KEY_LENGTH, artifact_key
from cgnn_cli.store.packing import BLOCK, FORMAT, MANIFEST, VERSION
from cgnn_cli.store.store import Store, record_of

MANIFEST_MOST_BYTES = 64 << 20
MEMBER = re.compile(rf"({'|'.join(ROOT_TYPES)})/([0-9a-f]{{{KEY_LENGTH}}})\.h5")
TAR_ERRORS = (tarfile.TarError, OSError, EOFError, ValueError, OverflowError, RecursionError)


@dataclass
class Unpacked:
    """What a pack brought: headers with whether they were there already, and what became of its dataset names."""

    artifacts: list[tuple[Header, bool]] = field(default_factory=list)
    datasets: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _Manifest:
    """A manifest that has been checked: members with size and checksum, keys that were asked for, dataset records."""

    members: dict[str, tuple[int, str]]
    wanted: list[str]
    datasets: dict[str, dict[str, Any]]


def unpack(store: Store, path: Path, name_pattern: re.Pattern[str]) -> Unpacked:
    """Publish the artifacts of a pack that is sound to its end, and take over its dataset names that are free."""
    with _opened(path) as archive, _Staging(store) as staging:
        members = _members(path, archive)
        manifest = _read_manifest(path, archive, members, name_pattern)
        verified: dict[str, Header] = {}
        for name, (size, digest) in manifest.members.items():
            file = staging.place(name)
            _extract(path, archive, members[name], file, size, digest)
            verified[name] = _verify(path, name, file)
        _check_datasets(path, manifest, verified)
        unpacked = Unpacked([(header, staging.publish(name, header)) for name, header in verified.items()])
    for name, record in manifest.datasets.items():
        unpacked.datasets[name] = _take_over(store, name, record)
    _remember(store, manifest.wanted, verified.values())
    return unpacked


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[tarfile.TarFile]:
    try:
        file = open(path, "rb")  # noqa: SIM115 - closed below; its own error is not one of the tar format
    except OSError as error:
        raise UpstreamError(f"cannot read {path}: {error.strerror}") from error
    with file:
        try:
            archive = tarfile.open(fileobj=file, mode="r:")  # noqa: SIM115
        except TAR_ERRORS as error:
            raise CorruptError(f"{path} is not a pack of cgnn, or its beginning is damaged") from error
        with archive:
            yield archive


def _members(path: Path, archive: tarfile.TarFile) -> dict[str, tarfile.TarInfo]:
    """The members of a pack by name; anything but plain files with the names of artifacts is refused."""
    members: dict[str, tarfile.TarInfo] = {}
    try:
        for member in archive:
            if member.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or member.issparse():
                raise CorruptError(f"{path} holds {member.name!r}, which is not a plain file", "do not use it")
            if member.name != MANIFEST and not MEMBER.fullmatch(member.name):
                raise CorruptError(f"{path} holds {member.name!r}, which no pack of cgnn holds", "do not use it")
            if member.name in members:
                raise CorruptError(f"{path} holds {member.name!r} twice", "do not use it")
            members[member.name] = member
    except TAR_ERRORS as error:
        raise CorruptError(f"{path} is damaged: it cannot be read to its end", "copy or pack it again") from error
    return members


def _read_manifest(
    path: Path, archive: tarfile.TarFile, members: dict[str, tarfile.TarInfo], name_pattern: re.Pattern[str]
) -> _Manifest:
    member = members.get(MANIFEST)
    if member is None or member.size > MANIFEST_MOST_BYTES:
        raise CorruptError(f"{path} is not a pack of cgnn, or its end is missing", "copy or pack it again")
    try:
        value = json.loads(b"".join(_blocks(archive, member)))
        version = value["version"] if value["format"] == FORMAT else None
        if isinstance(version, int) and version > VERSION:
            raise UpstreamError(f"{path} is a pack of version {version}, this cgnn reads {VERSION}", "upgrade cgnn")
        if version != VERSION:
            raise ValueError("not a pack")
        entries = {str(item["name"]): (int(item["size"]), str(item["sha256"])) for item in value["artifacts"]}
        wanted = [str(key) for key in value["wanted"]]
        datasets = {str(name): _checked_record(record) for name, record in value["datasets"].items()}
    except (*TAR_ERRORS, KeyError, TypeError, AttributeError) as error:
        raise CorruptError(f"{path} is damaged: its manifest cannot be read", "copy or pack it again") from error
    if set(entries) != set(members) - {MANIFEST} or len(entries) != len(value["artifacts"]):
        raise CorruptError(f"{path} is damaged: it does not hold what its manifest says", "copy or pack it again")
    if wrong := [name for name in datasets if not name_pattern.fullmatch(name)]:
        raise CorruptError(f"{path} has the dataset name {wrong[0]!r}, which cannot be one", "do not use it")
    return _Manifest(entries, wanted, datasets)


def _checked_record(record: dict[str, Any]) -> dict[str, Any]:
    """A dataset record with exactly the parts that such records have."""
    content, key, source, summary = (record[part] for part in ("content", "key", "source", "summary"))
    notes = summary.get("notes", [])
    known = isinstance(content, str) and isinstance(key, str) and isinstance(source, dict) and isinstance(notes, list)
    if not known or not all(isinstance(note, str) for note in notes) or not isinstance(summary.get("repeats", 0), int):
        raise ValueError("not a dataset record")
    return {"content": content, "key": key, "source": source, "summary": summary}


def _blocks(archive: tarfile.TarFile, member: tarfile.TarInfo) -> Iterator[bytes]:
    """The content of a member; tarfile itself raises where the file ends too early."""
    content = archive.extractfile(member)
    assert content is not None
    with content:
        while block := content.read(BLOCK):
            yield block


def _extract(
    path: Path, archive: tarfile.TarFile, member: tarfile.TarInfo, target: Path, size: int, sha256: str
) -> None:
    """Copy a member into a file of our own naming, and compare it with the manifest."""
    if member.size != size:
        raise CorruptError(f"{path} is damaged: {member.name} has {member.size:,} bytes, its manifest says {size:,}")
    digest = hashlib.sha256()
    blocks = _blocks(archive, member)
    with open(target, "wb") as file:
        while True:
            try:
                block = next(blocks, b"")
            except TAR_ERRORS as error:
                raise CorruptError(f"{path} is damaged: {member.name} is cut short", "copy it again") from error
            if not block:
                break
            digest.update(block)
            file.write(block)
    if digest.hexdigest() != sha256:
        raise CorruptError(f"{path} is damaged: {member.name} does not match its checksum", "copy or pack it again")


def _verify(path: Path, name: str, file: Path) -> Header:
    """Read an extracted artifact in full: its checksums, and that its key is that of what it says it is."""
    try:
        artifact = files.read(file)
    except CorruptError as error:
        reason = error.message.removeprefix(f"{file} is damaged: ")
        raise CorruptError(f"{path} is damaged: {name}: {reason}".replace(str(file), name)) from error
    except UpstreamError as error:
        raise UpstreamError(error.message.replace(str(file), f"{name} in {path}"), error.hint) from error
    header = artifact.header
    if f"{header.stage}/{header.key}.h5" != name:
        raise CorruptError(f"{path} holds {header.stage} {header.key[:12]} under the name {name}", "do not use it")
    if not _has_true_key(artifact):
        raise CorruptError(f"{path} holds {name}, whose content belongs to another key", "do not use it")
    return header


def _has_true_key(artifact: Artifact) -> bool:
    header = artifact.header
    if header.stage == "graph":
        from cgnn_cli.store.elements import checksum

        if header.config.get("content") != checksum(artifact.elements):
            return False
    return header.key == artifact_key(header.stage, header.algorithm, header.config, header.inputs)


def _check_datasets(path: Path, manifest: _Manifest, verified: dict[str, Header]) -> None:
    """Every dataset record must stand for a graph of the pack."""
    for name, record in manifest.datasets.items():
        graph = verified.get(f"graph/{record['key']}.h5")
        if graph is None or graph.config.get("content") != record["content"]:
            raise CorruptError(f"{path} names a dataset {name} whose graph it does not hold", "do not use it")


class _Staging:
    """Temporary files beside the places where artifacts will lie; what is not published goes again."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.files: dict[str, Path] = {}
        self.folders: list[Path] = []

    def __enter__(self) -> _Staging:
        if not self.store.root.exists():
            self.folders.append(self.store.root)
        self.store.check_writable()
        return self

    def __exit__(self, *reason: object) -> None:
        for path in self.files.values():
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
        for folder in reversed(self.folders):
            with contextlib.suppress(OSError):
                folder.rmdir()  # only where it is empty
        error = reason[1]
        if isinstance(error, OSError):
            raise self.store.storage_error(error, 0) from error

    def place(self, name: str) -> Path:
        """A fresh temporary file for a member, in its final folder."""
        stage, key = _stage_and_key(name)
        folder = self.store.path(stage, key).parent
        if not folder.exists():
            folder.mkdir(parents=True, exist_ok=True)
            self.folders.append(folder)
        self.files[name] = folder / f".{key}.{os.urandom(6).hex()}.tmp"
        return self.files[name]

    def publish(self, name: str, header: Header) -> bool:
        """Put a verified file in its place, as `Store.publish` does; True if a sound one was there already."""
        if self.store.find(header.stage, header.key):
            return True
        temporary, path = self.files[name], self.store.path(header.stage, header.key)
        record = record_of(temporary, header)
        sync(temporary)
        replace(temporary, path)
        sync(path.parent)
        self.store.protect_and_record(path, record)
        return False


def _stage_and_key(name: str) -> tuple[str, str]:
    match = MEMBER.fullmatch(name)
    assert match is not None
    return match[1], match[2]


def _take_over(store: Store, name: str, record: dict[str, Any]) -> str:
    """Write a dataset record; a name that stands for another graph here keeps its meaning."""
    present = store.dataset(name)
    if present:
        return "hit" if present["key"] == record["key"] else "kept"
    store.set_dataset(name, record)
    return "new"


def _remember(store: Store, wanted: list[str], headers: Iterable[Header]) -> None:
    """What was packed on purpose, and what it was made from, is what the next command goes on from."""
    by_key = {header.key: header for header in headers}

    def note(header: Header | None) -> None:
        if header is not None:
            for key in header.inputs.values():
                note(by_key.get(key))
            store.remember_latest(header.stage, header.key)

    for key in wanted:
        note(by_key.get(key))
