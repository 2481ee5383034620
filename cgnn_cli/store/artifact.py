"""The artifact file: a header and elements, in HDF5 (the store's format) or NPZ, with checksums over both.

Reading never trusts a file: its root type, version and checksum are verified before anything is returned, and nothing
in it is ever executed. numpy and h5py are imported only where a file is read or written, so that a cache hit is quick.
"""

from __future__ import annotations

import dataclasses
import errno
import hashlib
import io
import json
import os
import zipfile
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from cgnn_cli.errors import CorruptError, ForeignError, NewerFormatError, ResourceError, UpstreamError
from cgnn_cli.keys import canonical_json, is_key
from cgnn_cli.pipeline import STAGES
from cgnn_cli.resources import check_reading, lacks_memory
from cgnn_cli.store.crashpoints import crash_point
from cgnn_cli.store.disk import open_plain, patiently, unreadable, write_atomically
from cgnn_cli.store.provenance import shown
from cgnn_cli.store.unfailing import Unfailing

if TYPE_CHECKING:
    from cgnn_cli.store.elements import Elements

FORMAT_VERSION, PLAIN_VERSION = 2, 1  # what is read up to, and what 0.1.0 reads: no packed strings, no later elements
LATER_ELEMENTS = {"popularity", "direct", "indirect", "auc"}  # which 0.1.0 would meet under keys that it knows
FILE_TYPES = {**{stage.name: stage.file_type for stage in STAGES.values()}, "partial": "cgnn-partial"}
HDF5_MAGIC = b"\x89HDF\r\n\x1a\n"
TRAILER = b"\ncgnn-file-sha256 "
TRAILER_LENGTH = len(TRAILER) + 64 + 1
NPZ_HEADER = "cgnn-header"
HEADER_MOST_BYTES = 64 << 20
BLOCK = 1 << 20
NO_SUCH_FILE = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG)
ZIP_ERRORS = (zipfile.BadZipFile, zlib.error)


@dataclass(frozen=True)
class Header:
    """What an artifact is and where it came from; `provenance` alone may vary between equal runs."""

    stage: str
    key: str
    algorithm: int
    config: dict[str, Any]
    inputs: dict[str, str]
    summary: dict[str, Any]
    provenance: dict[str, Any] = field(default_factory=dict)
    payload: str = ""

    @property
    def seconds(self) -> float:
        """How long the stage took when the artifact was made."""
        return float(self.provenance.get("seconds", 0.0))

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


@dataclass(frozen=True)
class Artifact:
    header: Header
    elements: Elements


def payload_checksum(header: Header, elements: Elements) -> str:
    """The checksum that equal artifacts share: everything but the provenance."""
    from cgnn_cli.store.elements import checksum

    fixed = {name: value for name, value in header.to_json().items() if name not in ("provenance", "payload")}
    return checksum(elements, header=canonical_json({"format": PLAIN_VERSION, **fixed}))


def format_version(elements: Elements) -> int:
    """The version of the format that elements take: they are written so that an older cgnn reads what it can."""
    from cgnn_cli.store.elements import flatten, is_packed

    if not LATER_ELEMENTS.isdisjoint(elements):
        return FORMAT_VERSION
    return FORMAT_VERSION if any(map(is_packed, flatten(elements, pack=False).values())) else PLAIN_VERSION


def sealed(artifact: Artifact) -> Artifact:
    """The artifact with its payload checksum filled in."""
    payload = payload_checksum(artifact.header, artifact.elements)
    return Artifact(dataclasses.replace(artifact.header, payload=payload), artifact.elements)


def header_sha256(header: Header) -> str:
    """sha256 of the whole header, provenance included."""
    return hashlib.sha256(canonical_json(header.to_json()).encode()).hexdigest()


def write_h5(path: Path, artifact: Artifact) -> None:
    """Write a sealed artifact; the caller publishes the file."""
    with open(path, "w+b", opener=open_plain) as file:
        write_h5_to(file, artifact)
    crash_point("written")


def write_h5_to(file: BinaryIO, artifact: Artifact) -> None:
    """Write a sealed artifact to an empty file, ended by the checksum of the bytes before.

    Readers of HDF5 ignore what follows its last block.
    """
    import h5py

    from cgnn_cli.store.elements import MAPPED_FROM, PAGE, write_hdf5

    sink, header = Unfailing(file), artifact.header
    try:
        placed = {"alignment_threshold": MAPPED_FROM, "alignment_interval": PAGE}
        with h5py.File(sink, "w", track_order=False, **placed) as root:
            root.attrs["encoding-type"] = FILE_TYPES[header.stage]
            root.attrs["encoding-version"] = str(format_version(artifact.elements))
            root.attrs["header"] = canonical_json(header.to_json())
            root.attrs["header-sha256"] = header_sha256(header)
            write_hdf5(root, artifact.elements)
            sink.flush()
            crash_point("half-written")
    finally:
        sink.close()
    file.seek(0)
    digest = hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
    file.write(TRAILER + digest.encode() + b"\n")
    file.flush()


def _check_bytes(path: Path) -> None:
    """Verify the bytes before HDF5 sees them: its library may crash or hang on damaged ones."""
    with open(path, "rb") as file:
        left = file.seek(max(0, file.seek(0, os.SEEK_END) - TRAILER_LENGTH))
        trailer, digest = file.read(), hashlib.sha256()
        if not trailer.startswith(TRAILER):
            if not holds(path, b"cgnn-"):
                return  # another program's file, whose type can be told
            raise CorruptError("its end is missing")
        file.seek(0)
        while left and (block := file.read(min(left, BLOCK))):
            digest.update(block)
            left -= len(block)
        if trailer[len(TRAILER) :] != digest.hexdigest().encode() + b"\n":
            raise CorruptError("its bytes do not match their checksum")


def holds(path: Path, *words: bytes) -> bool:
    """Whether all of some words are among the bytes of a file."""
    missing, before = set(words), b""
    with open(path, "rb") as file:
        while missing and (block := file.read(BLOCK)):
            missing -= {word for word in missing if word in before + block}
            before = block[-max(map(len, words)) :]
    return not missing


def says_it_is(path: Path, stage: str, key: str) -> bool:
    """Whether a file, sound or damaged, has the type of a stage and a key in it, as the header of an artifact has."""
    return holds(path, FILE_TYPES[stage].encode(), key.encode())


def write_npz(file: io.BufferedIOBase, artifact: Artifact) -> None:
    """Write the same elements flat, with the header as UTF-8 bytes."""
    import numpy as np

    from cgnn_cli.store.elements import flatten

    root = {"type": FILE_TYPES[artifact.header.stage], "version": format_version(artifact.elements)}
    text = canonical_json(
        {**root, "header": artifact.header.to_json(), "header-sha256": header_sha256(artifact.header)}
    )
    arrays: dict[str, Any] = {NPZ_HEADER: np.frombuffer(text.encode(), dtype=np.uint8), **flatten(artifact.elements)}
    np.savez_compressed(file, **arrays)


def write_npz_beside(path: Path) -> Path:
    """The same artifact as a flat .npz beside the HDF5 file."""
    target, buffer = path.with_suffix(".npz"), io.BytesIO()
    if target.exists() and not is_copy_of(target, path.parent.name, path.stem):
        raise ForeignError(f"{target} is not a copy that cgnn wrote, and stays as it is", "move it away")
    artifact = read(path)
    header = dataclasses.replace(artifact.header, provenance=shown(artifact.header.provenance))
    write_npz(buffer, Artifact(header, artifact.elements))
    write_atomically(target, buffer.getvalue())
    return target


def is_copy_of(path: Path, stage: str, key: str) -> bool:
    """Whether a .npz file is the copy of an artifact that cgnn wrote: its header says so."""
    import numpy as np

    try:
        with np.load(path, allow_pickle=False) as archive:
            if archive.zip.getinfo(f"{NPZ_HEADER}.npy").file_size > HEADER_MOST_BYTES:
                return False
            header = json.loads(archive[NPZ_HEADER].tobytes())["header"]
        return bool((header["stage"], header["key"]) == (stage, key))
    except (OSError, KeyError, ValueError, TypeError, EOFError, AttributeError, RuntimeError, *ZIP_ERRORS):
        return False


def read(path: Path) -> Artifact:
    """Read and fully verify an artifact file of either format.

    CorruptError means that its content is wrong; what keeps it from being read is another error.
    """
    try:
        return patiently(lambda: _read(path))
    except OSError as error:
        if error.errno in NO_SUCH_FILE:
            raise UpstreamError(f"cannot read {path}: {error.strerror}") from error
        raise unreadable(path, error) from error


def _read(path: Path) -> Artifact:
    with open(path, "rb") as file:
        magic = file.read(8)
    if magic.startswith(HDF5_MAGIC):
        artifact = _read_h5(path)
    elif magic.startswith(b"PK"):
        artifact = _read_npz(path)
    else:
        raise CorruptError(f"{path} is not a cgnn artifact, or its beginning is damaged")
    if payload_checksum(artifact.header, artifact.elements) != artifact.header.payload:
        raise CorruptError(f"{path} is damaged: its content does not match its checksum")
    return artifact


def _read_h5(path: Path) -> Artifact:
    import h5py

    from cgnn_cli.store.elements import read_hdf5

    try:
        _check_bytes(path)
        # Published files never change, so HDF5's own lock is not needed; some network disks refuse it.
        with h5py.File(path, "r", locking=False) as file:
            names = ("encoding-type", "encoding-version", "header", "header-sha256")
            header = _parse_header(path, *(str(file.attrs.get(name)) for name in names))
            return Artifact(header, read_hdf5(file))
    except CorruptError as error:
        raise CorruptError(f"{path} is damaged: {error.message}") from error
    except (OSError, RuntimeError, KeyError, ValueError, TypeError, MemoryError, UnicodeDecodeError) as error:
        if lacks_memory(error):
            raise ResourceError(f"not enough memory to read {path}") from error
        if _is_of_the_disk(error):
            raise
        raise CorruptError(f"{path} is damaged: HDF5 cannot read it") from error


def _is_of_the_disk(error: Exception) -> bool:
    """Whether an error is the system's answer to reading, and not what a library says about the content."""
    return isinstance(error, OSError) and error.errno not in (None, errno.EINVAL)


def _read_npz(path: Path) -> Artifact:
    import numpy as np

    from cgnn_cli.store.elements import unflatten

    try:
        _check_members(path)
        with np.load(path, allow_pickle=False) as archive:
            text = json.loads(archive[NPZ_HEADER].tobytes().decode())
            header = _parse_header(
                path, text["type"], str(text["version"]), canonical_json(text["header"]), text["header-sha256"]
            )
            flat = {name: archive[name] for name in archive.files if name != NPZ_HEADER}
        return Artifact(header, unflatten(flat))
    except CorruptError as error:
        raise CorruptError(f"{path} is damaged: {error.message}") from error
    except (OSError, KeyError, ValueError, TypeError, EOFError, MemoryError, RuntimeError, *ZIP_ERRORS) as error:
        if lacks_memory(error):
            raise ResourceError(f"not enough memory to read {path}") from error
        if _is_of_the_disk(error):
            raise
        raise CorruptError(f"{path} is not a cgnn artifact, or it is damaged") from error


def version_of(path: Path) -> int:
    """The format of an HDF5 file that has been verified."""
    import h5py

    with h5py.File(path, "r", locking=False) as file:
        return int(file.attrs["encoding-version"])


def newer_format(path: Path, version: object) -> NewerFormatError:
    """What to say of an artifact that a later cgnn wrote."""
    return NewerFormatError(
        f"{path} was written in artifact format {version}, this cgnn reads up to {FORMAT_VERSION}",
        "upgrade cgnn, or make it again with this one in another --store",
    )


def _check_members(path: Path) -> None:
    """Refuse members that are not as they declare, and more of them than fit."""
    from cgnn_cli.store.elements import ARRAY_MEMORY, check_npy

    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        if any(member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for member in members):
            raise CorruptError("it is packed in a way that an artifact never uses")
        check_reading(path, ARRAY_MEMORY * sum(member.file_size for member in members))
        for member in members:
            if member.filename == f"{NPZ_HEADER}.npy" and member.file_size > HEADER_MOST_BYTES:
                raise CorruptError(f"its header has {member.file_size} bytes")
            with archive.open(member) as stream:
                check_npy(stream, member.file_size)


def _parse_header(path: Path, root_type: str, version: str, text: str, seal: str) -> Header:
    if root_type not in FILE_TYPES.values():
        raise ForeignError(f"{path} is not a cgnn artifact (its type is {root_type!r})")
    if version.isdigit() and int(version) > FORMAT_VERSION:
        raise newer_format(path, version)
    try:
        header = Header(**json.loads(text))
        roles = [role.replace("-", "") for role in header.inputs]
        if not all(map(is_key, (header.key, *header.inputs.values()))) or not all(map(str.isalnum, roles)):
            raise ValueError("keys and roles have a form, as they become names of files")
    except (ValueError, TypeError, AttributeError) as error:
        raise CorruptError("its header cannot be read") from error
    known = version in map(str, range(PLAIN_VERSION, FORMAT_VERSION + 1))
    if not known or header_sha256(header) != seal or FILE_TYPES.get(header.stage) != root_type:
        raise CorruptError("its header does not match its checksum")
    return header
