"""Where the files of a benchmark graph are: in a mirror folder, in the data folder, or to be brought there."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path
from typing import Protocol
from urllib.parse import quote, urlsplit

from cgnn_cli.configs import SourceConfig
from cgnn_cli.datasets.catalogue import BENCHMARKS, MIB, Benchmark, UpstreamFile
from cgnn_cli.datasets.upstream.fetching import FetchOptions, download, drive_address, drive_page
from cgnn_cli.errors import FetchError, ResourceError, UsageError
from cgnn_cli.redaction import redacted_address
from cgnn_cli.store.disk import replace, sync
from cgnn_cli.store.locking import hold_lock

SCHEMES = ("http://", "https://")


class Listener(Protocol):
    """Who is told about notes, warnings and progress."""

    def begins(self, what: str) -> None: ...

    def note(self, message: str) -> None: ...

    def warn(self, message: str) -> None: ...

    def progress(self, done: int, total: int, message: str) -> None: ...


class Nobody:
    """A listener that keeps silent."""

    def begins(self, what: str) -> None: ...

    def note(self, message: str) -> None: ...

    def warn(self, message: str) -> None: ...

    def progress(self, done: int, total: int, message: str) -> None: ...


def data_folder(source: SourceConfig) -> Path:
    """The folder of downloaded datasets."""
    from platformdirs import user_data_path

    try:
        folder = Path(source.data).expanduser().absolute() if source.data else user_data_path("cgnn")
    except (RuntimeError, FileNotFoundError) as error:
        raise UsageError(f"the folder of datasets cannot be located: {error}", "give an absolute --data") from error
    if not folder.is_absolute():
        raise UsageError("the folder of datasets cannot be located: there is no home folder", "give --data")
    return folder


def place_of(benchmark: Benchmark, source: SourceConfig) -> Path:
    """The folder of a benchmark graph in the data folder."""
    return data_folder(source) / benchmark.folder


def mirror_folder(source: SourceConfig) -> Path | None:
    """The mirror, where it is a folder."""
    if source.mirror is None or source.mirror.startswith(SCHEMES):
        return None
    folder = Path(source.mirror).expanduser()
    if not folder.is_dir():
        shown = redacted_address(source.mirror)
        raise UsageError(f"--mirror {shown} is neither a folder nor an http(s) address", "check --mirror")
    return folder


def find_files(benchmark: Benchmark, source: SourceConfig) -> dict[str, Path]:
    """The files that are on disk, by their upstream names: those of a mirror folder, then those of the data folder."""
    mirror = mirror_folder(source)
    found = {} if mirror is None else _present(benchmark, mirror / benchmark.folder)
    if len(found) < len(benchmark.files):
        found = {**_present(benchmark, place_of(benchmark, source)), **found}
    return found


def fetched_files(benchmark: Benchmark, source: SourceConfig) -> dict[str, Path]:
    """The files that are in the data folder, by their upstream names."""
    return _present(benchmark, place_of(benchmark, source))


def _present(benchmark: Benchmark, folder: Path) -> dict[str, Path]:
    return {file.name: path for file in benchmark.files if (path := folder / file.name).is_file()}


def lock_dataset(
    benchmark: Benchmark, source: SourceConfig, timeout: float, listener: Listener
) -> contextlib.AbstractContextManager[None]:
    """Only one process at a time brings the files of a benchmark graph and judges them."""
    path = data_folder(source) / ".locks" / f"{benchmark.folder}.lock"
    return hold_lock(path, f"fetching {benchmark.folder}", timeout, listener.warn)


def check_reachable(name: str, files: dict[str, Path], source: SourceConfig) -> None:
    """Name the files that are neither on disk nor to be downloaded, with what to do."""
    benchmark = BENCHMARKS[name]
    names = ", ".join(file.name for file in benchmark.files if file.name not in files)
    place = place_of(benchmark, source)
    if not names:
        return
    if source.offline:
        raise FetchError(
            f"{name} is not on disk, and nothing is to be downloaded (--offline, or a dry run); missing: {names}",
            f"run `cgnn data fetch {name}` on a machine with internet and copy the files to {place}, "
            "or name a --mirror folder",
        )
    if mirror_folder(source) is not None:
        message = f"the mirror {source.mirror} lacks files of {name} in its folder {benchmark.folder}: {names}"
        raise FetchError(message, f"put them there or into {place}, or leave --mirror out to download them")


def bring_file(
    benchmark: Benchmark,
    file: UpstreamFile,
    target: Path,
    source: SourceConfig,
    options: FetchOptions,
    listener: Listener,
) -> None:
    """Download a file to its target: from a mirror, whose files are judged when read, or upstream by its checksum."""
    if source.mirror is not None:
        address, sha256 = _on_mirror(source.mirror, f"{benchmark.folder}/{quote(file.name)}"), None
    else:
        address, sha256 = drive_address(file.drive) if file.drive else file.address, file.sha256

    def progress(done: int, total: int, message: str) -> None:
        if total:
            listener.progress(done // MIB, max(total // MIB, 1), f"MiB, {message}")
        else:
            listener.note(message)

    try:
        download(address, target, sha256=sha256, options=options, progress=progress, limit=file.limit)
    except FetchError as error:
        if file.drive and source.mirror is None:
            raise FetchError(
                f"{file.name} could not be fetched from Google Drive: {error.message}",
                f"open {drive_page(file.drive)} in a browser, save the file as "
                f"{place_of(benchmark, source) / file.name}, and run the command again",
            ) from error
        raise


def _on_mirror(mirror: str, name: str) -> str:
    """The address of a file; what a mirror is asked with, such as a token, stays at its end."""
    try:
        base = urlsplit(mirror)
    except ValueError as error:
        raise FetchError(f"--mirror {redacted_address(mirror)} is no address: {error}", "check --mirror") from error
    return base._replace(path=f"{base.path.rstrip('/')}/{name}").geturl()


def copy_file(path: Path, target: Path) -> None:
    """Copy a file, whole or not at all."""
    temporary = target.with_name(f".{target.name}.{os.urandom(6).hex()}.tmp")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, temporary)
        sync(temporary)
        replace(temporary, target)
    except OSError as error:
        hint = "free some space there, or choose another folder with --data"
        raise ResourceError(f"{target.parent} cannot be written: {error.strerror or error}", hint) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
