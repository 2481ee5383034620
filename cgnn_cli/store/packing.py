"""Packs: artifacts and all they were made from in one file, to carry them to a machine without a shared disk.

A pack is an uncompressed tar file of `<stage>/<key>.h5` members and, last, `manifest.json`:

    {"format": "cgnn-pack", "version": 1, "wanted": [key, ...], "datasets": {name: record},
     "artifacts": [{"name": "<stage>/<key>.h5", "size": bytes, "sha256": digest}, ...]}
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import tarfile
from pathlib import Path
from typing import IO, Any

from cgnn_cli.errors import ResourceError, UpstreamError, UsageError
from cgnn_cli.store.artifact import Header
from cgnn_cli.store.disk import replace, sync
from cgnn_cli.store.housekeeping import closure, dataset_names
from cgnn_cli.store.store import OUT_OF_SPACE, Store

FORMAT, VERSION = "cgnn-pack", 1
MANIFEST = "manifest.json"
BLOCK = 1 << 20


def pack(store: Store, wanted: list[tuple[str, str]], output: Path) -> tuple[list[Header], int]:
    """Write a pack of some artifacts, whole or not at all; the headers in it and its size."""
    headers = closure(store, wanted)
    keys = {header.key for header in headers if header.stage == "graph"}
    names = sorted(name for key, names in dataset_names(store).items() if key in keys for name in names)
    manifest: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "wanted": [key for _, key in dict.fromkeys(wanted)],
        "datasets": {name: store.dataset(name) for name in names},
    }
    temporary = output.with_name(f".{output.name}.{os.urandom(6).hex()}.tmp")
    try:
        with tarfile.open(temporary, "w:", format=tarfile.USTAR_FORMAT) as archive:
            manifest["artifacts"] = [_add_artifact(archive, store, header) for header in headers]
            _add(archive, MANIFEST, io.BytesIO(text := json.dumps(manifest, indent=1, sort_keys=True).encode()), text)
        sync(temporary)
        size = temporary.stat().st_size
        replace(temporary, output)
    except OSError as error:
        raise _output_error(output, error) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
    return headers, size


def _output_error(output: Path, error: OSError) -> Exception:
    if error.errno in OUT_OF_SPACE:
        return ResourceError(f"no room for {output}", "free some space, or name a file on another disk")
    return UsageError(f"cannot write {output}: {error.strerror}", "name a file in an existing, writable folder")


def _add_artifact(archive: tarfile.TarFile, store: Store, header: Header) -> dict[str, Any]:
    """Copy an artifact file; what the manifest says about it."""
    path = store.path(header.stage, header.key)
    try:
        file = open(path, "rb")  # noqa: SIM115 - an error here is about the store, not about the pack
    except OSError as error:
        raise UpstreamError(f"{path} has gone while it was being packed", "run the command again") from error
    with file:
        counted = _Counted(file)
        _add(archive, f"{header.stage}/{header.key}.h5", counted, None, os.fstat(file.fileno()).st_size)
    return {"name": f"{header.stage}/{header.key}.h5", "size": counted.size, "sha256": counted.digest.hexdigest()}


def _add(archive: tarfile.TarFile, name: str, file: Any, text: bytes | None, size: int = 0) -> None:
    """Add a member that says nothing about this machine or the time: equal content makes equal packs."""
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(text) if text is not None else size, 0o444
    archive.addfile(member, file)


class _Counted:
    """A file that counts and hashes what is read from it."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self.size, self.digest = file, 0, hashlib.sha256()

    def read(self, count: int = -1) -> bytes:
        block = self._file.read(count)
        self.size += len(block)
        self.digest.update(block)
        return block
