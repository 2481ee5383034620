"""Packs: artifacts and all they were made from in one file, to carry them to a machine without a shared disk.

A pack is an uncompressed tar file of `<stage>/<key>.h5` members and, last, `manifest.json`:

    {"format": "cgnn-pack", "version": 1, "wanted": [key, ...], "datasets": {name: record}, "choices": [record, ...],
     "artifacts": [{"name": "<stage>/<key>.h5", "size": bytes, "sha256": digest}, ...]}

A pack tells nothing of the machine it was made on, unless that is asked for: a header that does is written anew.

Nothing in a pack is trusted: only regular members with the name of an artifact are read, each must be as the manifest
says, and every artifact is verified in full before the first of them is published.
"""

import contextlib
import dataclasses
import functools
import hashlib
import io
import json
import os
import re
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from cgnn_cli.errors import CorruptError, ResourceError, UpstreamError
from cgnn_cli.keys import KEY_LENGTH, artifact_key
from cgnn_cli.pipeline import STAGES
from cgnn_cli.redaction import placeless
from cgnn_cli.store import artifact as files
from cgnn_cli.store.artifact import Artifact, Header
from cgnn_cli.store.choices import Choice, choice_of, choice_path, sound_choices, write_choice
from cgnn_cli.store.disk import file_sha256, temporary_beside, unreadable
from cgnn_cli.store.housekeeping import dataset_names
from cgnn_cli.store.lineage import walk
from cgnn_cli.store.outputs import opened_output
from cgnn_cli.store.provenance import shareable
from cgnn_cli.store.store import Store

FORMAT, VERSION = "cgnn-pack", 1
MANIFEST = "manifest.json"
MANIFEST_MOST_BYTES = 64 << 20
MEMBER = re.compile(rf"({'|'.join(STAGES)})/[0-9a-f]{{{KEY_LENGTH}}}\.h5")
TAR_ERRORS = (tarfile.TarError, OSError, EOFError, ValueError, OverflowError, RecursionError)
AGAIN, DISTRUST = "copy or pack it again", "do not use it"


def pack(
    store: Store, wanted: list[tuple[str, str]], output: Path, *, with_origin: bool = False
) -> tuple[list[Header], int]:
    """Write a pack of some artifacts, whole or not at all; the headers of what is in it and its size."""
    headers, names = _with_lineage(store, wanted), dataset_names(store)
    manifest: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "wanted": [key for _, key in dict.fromkeys(wanted)],
        "datasets": {
            name: _told_record(store.dataset(name), with_origin=with_origin)
            for header in headers
            for name in names.get(header.key, ())
        },
    }
    graphs = {header.key for header in headers}
    if choices := [choice.to_record() for choice in sound_choices(store) if choice.graph in graphs]:
        manifest["choices"] = choices
    with opened_output(output) as file:
        # As a stream, for a pipe cannot be sought in.
        with tarfile.open(fileobj=file, mode="w|", format=tarfile.USTAR_FORMAT) as archive:
            add = functools.partial(_add_artifact, archive, store, with_origin=with_origin)
            manifest["artifacts"] = [add(header) for header in headers]
            _add(archive, MANIFEST, io.BytesIO(json.dumps(manifest, indent=1, sort_keys=True).encode()))
        size = -(-archive.offset // tarfile.RECORDSIZE) * tarfile.RECORDSIZE
    return headers, size


def _with_lineage(store: Store, wanted: list[tuple[str, str]]) -> list[Header]:
    """Artifacts and all they were made from, inputs first, each once; every one is found and checked."""

    @functools.cache
    def find(stage: str, key: str) -> Header:
        if header := store.find(stage, key):
            return header
        raise UpstreamError(
            f"{stage} {key[:12]} is needed, and missing or damaged in the store {store.root}",
            "run the command that made it again",
        )

    found = [header for place in wanted for header in (*(made for _, made in walk(find(*place), find)), find(*place))]
    return list({header.key: header for header in found}.values())


def _told_record(record: dict[str, Any], *, with_origin: bool) -> dict[str, Any]:
    """The record of a dataset; of the files that it was imported from, only the names."""
    if with_origin:
        return record
    names = {path: Path(path).name for path in record.get("source", {}).values() if isinstance(path, str)}
    source: dict[str, Any] = {
        part: names[value] if isinstance(value, str) else value for part, value in record["source"].items()
    }
    if isinstance(queries := record["source"].get("sql"), dict):
        source["sql"] = {part: placeless(str(text)) for part, text in queries.items()}
    notes = record["summary"].get("notes", [])
    for path, name in names.items():
        notes = [note.replace(path, name) for note in notes]
    return {**record, "source": source, "summary": {**record["summary"], "notes": [placeless(note) for note in notes]}}


def _add_artifact(archive: tarfile.TarFile, store: Store, header: Header, *, with_origin: bool) -> dict[str, Any]:
    """Add the file as it is, or an equal artifact whose provenance tells no more than it may."""
    path, name = store.path(header.stage, header.key), f"{header.stage}/{header.key}.h5"
    provenance = shareable(header.provenance, with_origin=with_origin)
    try:
        file = open(path, "rb")  # noqa: SIM115 - an error here is about the store, not about the pack
    except OSError as error:
        raise UpstreamError(f"{path} has gone while it was being packed", "run the command again") from error
    with file:
        if provenance == header.provenance:
            return _add(archive, name, file)
    told = Artifact(dataclasses.replace(header, provenance=provenance), files.read(path).elements)
    with contextlib.ExitStack() as stack:
        try:
            copy = stack.enter_context(tempfile.TemporaryFile())
            files.write_h5_to(copy, told)
        except OSError as error:
            message = f"no room for a copy of {name} among the temporary files: {error.strerror or error}"
            raise ResourceError(message, "free some space there, or name another folder in TMPDIR") from error
        return _add(archive, name, copy)


def _add(archive: tarfile.TarFile, name: str, file: IO[bytes]) -> dict[str, Any]:
    """Add a member; what the manifest says about it.

    It tells nothing of this machine or the time: equal content makes equal packs.
    """
    member = tarfile.TarInfo(name)
    member.size, member.mode = file.seek(0, os.SEEK_END), 0o444
    file.seek(0)
    digest = hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
    file.seek(0)
    archive.addfile(member, file)
    return {"name": name, "size": member.size, "sha256": digest}


@dataclass(frozen=True)
class Unpacked:
    """What a pack brought: headers with whether they were there already, and what became of its dataset names."""

    artifacts: list[tuple[Header, bool]]
    datasets: dict[str, str]


def unpack(
    store: Store, path: Path, name_pattern: re.Pattern[str], is_free: Callable[[str, dict[str, Any]], bool]
) -> Unpacked:
    """Publish the artifacts of a pack that is sound to its end, and take over its dataset names that are free."""
    with _opened(path) as archive:
        manifest = _read_manifest(path, archive, _read_members(path, archive))
        if wrong := [name for name in manifest.datasets if not name_pattern.fullmatch(name)]:
            raise CorruptError(f"{path} has the dataset name {wrong[0]!r}, which cannot be one", DISTRUST)
        with _verified(store, path, archive, manifest) as staged:
            return _take_over(store, staged, manifest, is_free)


@dataclass(frozen=True)
class Manifest:
    """A manifest that fits its pack: the sha256 of its members, the keys that were asked for, records."""

    members: dict[str, str]
    wanted: list[str]
    datasets: dict[str, dict[str, Any]]
    choices: list[Choice]


def _opened(path: Path) -> tarfile.TarFile:
    try:
        return tarfile.open(path, "r:")
    except OSError as error:
        if error.errno in files.NO_SUCH_FILE:
            raise UpstreamError(f"cannot read {path}: {error.strerror}") from error
        raise unreadable(path, error) from error
    except TAR_ERRORS as error:
        raise CorruptError(f"{path} is not a pack of cgnn, or its beginning is damaged") from error


def _read_members(path: Path, archive: tarfile.TarFile) -> dict[str, tarfile.TarInfo]:
    """The members of a pack by name; anything but plain files with the names of artifacts is refused."""
    members: dict[str, tarfile.TarInfo] = {}
    try:
        for member in archive:
            if member.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or member.issparse():
                raise CorruptError(f"{path} holds {member.name!r}, which is not a plain file", DISTRUST)
            if member.name != MANIFEST and not MEMBER.fullmatch(member.name):
                raise CorruptError(f"{path} holds {member.name!r}, which no pack of cgnn holds", DISTRUST)
            if member.name in members:
                raise CorruptError(f"{path} holds {member.name!r} twice", DISTRUST)
            members[member.name] = member
    except TAR_ERRORS as error:
        raise CorruptError(f"{path} is damaged: it cannot be read to its end", AGAIN) from error
    return members


def _read_manifest(path: Path, archive: tarfile.TarFile, members: dict[str, tarfile.TarInfo]) -> Manifest:
    member = members.get(MANIFEST)
    if member is None or member.size > MANIFEST_MOST_BYTES:
        raise CorruptError(f"{path} is not a pack of cgnn, or its end is missing", AGAIN)
    try:
        value = json.loads(archive.extractfile(member).read())  # type: ignore[union-attr]
        version = value["version"] if value["format"] == FORMAT else None
        if isinstance(version, int) and version > VERSION:
            raise UpstreamError(f"{path} is a pack of version {version}, this cgnn reads {VERSION}", "upgrade cgnn")
        if version != VERSION:
            raise ValueError("not a pack")
        sizes = {str(item["name"]): int(item["size"]) for item in value["artifacts"]}
        digests = {str(item["name"]): str(item["sha256"]) for item in value["artifacts"]}
        wanted = [str(key) for key in value["wanted"]]
        datasets = {str(name): _dataset_record(record) for name, record in value["datasets"].items()}
        choices = [choice_of(record) for record in value.get("choices", ())]
    except (*TAR_ERRORS, KeyError, TypeError, AttributeError) as error:
        raise CorruptError(f"{path} is damaged: its manifest cannot be read", AGAIN) from error
    if set(sizes) != set(members) - {MANIFEST} or len(sizes) != len(value["artifacts"]):
        raise CorruptError(f"{path} is damaged: it does not hold what its manifest says", AGAIN)
    for name, size in sizes.items():
        if members[name].size != size:
            held = members[name].size
            raise CorruptError(f"{path} is damaged: {name} has {held:,} bytes, its manifest says {size:,}", AGAIN)
    return Manifest(digests, wanted, datasets, choices)


def _dataset_record(record: dict[str, Any]) -> dict[str, Any]:
    """A dataset record with exactly the parts that such records have."""
    content, key, source, summary = (record[part] for part in ("content", "key", "source", "summary"))
    notes, titles = (summary.get(part, []) for part in ("notes", "feature_names"))
    known = isinstance(content, str) and isinstance(key, str) and isinstance(source, dict) and isinstance(notes, list)
    known = known and isinstance(titles, list) and isinstance(summary.get("repeats", 0), int)
    if not known or not all(isinstance(text, str) for text in [*notes, *titles]):
        raise ValueError("not a dataset record")
    return {"content": content, "key": key, "source": source, "summary": summary}


@contextlib.contextmanager
def _verified(
    store: Store, path: Path, archive: tarfile.TarFile, manifest: Manifest
) -> Iterator[list[tuple[Header, Path]]]:
    """Copies of all members in the store's folder, each verified; those that are not put in place are removed."""
    is_new = not store.root.exists()
    store.check_writable()
    try:
        with contextlib.ExitStack() as stack:
            staged: dict[str, tuple[Header, Path]] = {}
            for name, sha256 in manifest.members.items():
                file = stack.enter_context(temporary_beside(store.root / Path(name).name))
                staged[name] = _extract(path, archive, name, sha256, file), file
            for name, record in manifest.datasets.items():
                graph, _ = staged.get(f"graph/{record['key']}.h5", (None, None))
                if graph is None or graph.config.get("content") != record["content"]:
                    raise CorruptError(f"{path} names a dataset {name} whose graph it does not hold", DISTRUST)
            for choice in manifest.choices:
                if f"graph/{choice.graph}.h5" not in staged:
                    raise CorruptError(f"{path} has a choice for a graph that it does not hold", DISTRUST)
            yield list(staged.values())
    except OSError as error:
        raise store.storage_error(error, 0) from error
    finally:
        if is_new:
            with contextlib.suppress(OSError):
                store.root.rmdir()  # only where it is empty


def _take_over(
    store: Store,
    staged: list[tuple[Header, Path]],
    manifest: Manifest,
    is_free: Callable[[str, dict[str, Any]], bool],
) -> Unpacked:
    """Put in place what is not there yet, and write the names that stand for it."""
    unpacked = Unpacked([], {})
    with store.pinned((header.stage, header.key) for header, _ in staged):
        for header, file in staged:
            hit = store.find(header.stage, header.key) is not None
            unpacked.artifacts.append((header if hit else store.publish_file(file, header), hit))
        for name, record in manifest.datasets.items():
            present = store.dataset(name)  # a name that stands for another graph here keeps its meaning
            is_hit, is_new = bool(present) and present["key"] == record["key"], not present and is_free(name, record)
            unpacked.datasets[name] = "new" if is_new else "hit" if is_hit else "kept"
            if is_new:
                store.set_dataset(name, record)
        for choice in manifest.choices:
            if not choice_path(store, choice.graph).exists():
                write_choice(store, choice)
        # What was packed on purpose, and what it was made from, is what the next command goes on from.
        by_key = {header.key: header for header, _ in unpacked.artifacts}
        for wanted in (by_key[key] for key in manifest.wanted if key in by_key):
            for _, header in (*walk(wanted, lambda _, key: by_key.get(key)), ("", wanted)):
                store.remember_latest(header.stage, header.key)
    return unpacked


def _extract(path: Path, archive: tarfile.TarFile, name: str, sha256: str, file: Path) -> Header:
    """Copy a member into a file and read it in full: it is as the manifest says, and its key that of what it holds."""
    from cgnn_cli.store.elements import checksum

    try:
        with open(file, "xb") as target:
            shutil.copyfileobj(archive.extractfile(name), target)  # type: ignore[arg-type]
    except tarfile.TarError as error:
        raise CorruptError(f"{path} is damaged: {name} is cut short", "copy it again") from error
    if file_sha256(file) != sha256:
        raise CorruptError(f"{path} is damaged: {name} does not match its checksum", AGAIN)
    try:
        artifact = files.read(file)
    except CorruptError as error:
        reason = error.message.removeprefix(f"{file} is damaged: ").replace(str(file), name)
        raise CorruptError(f"{path} is damaged: {name}: {reason}") from error
    except UpstreamError as error:
        raise UpstreamError(error.message.replace(str(file), f"{name} in {path}"), error.hint) from error
    header = artifact.header
    if f"{header.stage}/{header.key}.h5" != name:
        raise CorruptError(f"{path} holds {header.stage} {header.key[:12]} under the name {name}", DISTRUST)
    has_own_key = header.key == artifact_key(header.stage, header.algorithm, header.config, header.inputs)
    if not has_own_key or (header.stage == "graph" and header.config.get("content") != checksum(artifact.elements)):
        raise CorruptError(f"{path} holds {name}, whose content belongs to another key", DISTRUST)
    return header
