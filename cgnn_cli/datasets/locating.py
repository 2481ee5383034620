"""Where the files of a benchmark graph are: in a mirror folder, in the data folder, or to be downloaded there."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

from cgnn_cli.configs import SourceConfig
from cgnn_cli.datasets.catalogue import MIB, Benchmark, UpstreamFile
from cgnn_cli.datasets.fetching import FetchOptions, download, drive_address, drive_page
from cgnn_cli.errors import FetchError, ResourceError, UsageError
from cgnn_cli.store.disk import replace

SCHEMES = ("http://", "https://")


class Listener(Protocol):
    """Who is told about notes and progress."""

    def note(self, message: str) -> None: ...

    def progress(self, done: int, total: int, message: str) -> None: ...


class Nobody:
    """A listener that keeps silent."""

    def note(self, message: str) -> None:
        pass

    def progress(self, done: int, total: int, message: str) -> None:
        pass


def data_folder(source: SourceConfig) -> Path:
    """The folder of downloaded datasets."""
    from platformdirs import user_data_path

    try:
        return Path(source.data).expanduser().absolute() if source.data else user_data_path("cgnn")
    except (RuntimeError, FileNotFoundError) as error:
        raise UsageError(f"the data folder {source.data} cannot be located: {error}", "give --data") from error


def mirror_folder(source: SourceConfig) -> Path | None:
    """The mirror, where it is a folder."""
    if source.mirror is None or source.mirror.startswith(SCHEMES):
        return None
    folder = Path(source.mirror).expanduser()
    if not folder.is_dir():
        raise UsageError(f"--mirror {source.mirror} is neither a folder nor an http(s) address", "check --mirror")
    return folder


def find_file(benchmark: Benchmark, file: UpstreamFile, source: SourceConfig) -> Path | None:
    """A file that is on disk."""
    for root in (mirror_folder(source), data_folder(source)):
        if root is not None and (path := root / benchmark.folder / file.name).is_file():
            return path
    return None


def find_files(benchmark: Benchmark, source: SourceConfig) -> dict[str, Path]:
    """The files that are on disk, by their upstream names."""
    found = {file.name: find_file(benchmark, file, source) for file in benchmark.files}
    return {name: path for name, path in found.items() if path is not None}


def obtain_files(
    name: str,
    benchmark: Benchmark,
    source: SourceConfig,
    options: FetchOptions,
    listener: Listener,
    *,
    again: bool = False,
) -> tuple[dict[str, Path], list[Path]]:
    """All files of a benchmark graph, and which of them were downloaded just now; `again`: also those on disk."""
    found = {} if again and mirror_folder(source) is None else find_files(benchmark, source)
    missing = [file for file in benchmark.files if file.name not in found]
    if missing:
        _check_reachable(name, benchmark, missing, source)
    new: list[Path] = []
    try:
        for file in missing:
            target = data_folder(source) / benchmark.folder / file.name
            fresh = target.with_name(f".{file.name}.new") if target.exists() else target
            _download(benchmark, file, fresh, source, options, listener)
            replace(fresh, target)
            new.append(target)
            found[file.name] = target
    except BaseException:
        remove_files(new)
        raise
    return {file.name: found[file.name] for file in benchmark.files}, new


def remove_files(paths: list[Path]) -> None:
    """Remove downloaded files that turned out to be unusable, and their folder if nothing else is in it."""
    for path in paths:
        path.unlink(missing_ok=True)
    for folder in {path.parent for path in paths}:
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()


def copy_files(benchmark: Benchmark, files: dict[str, Path], source: SourceConfig) -> list[Path]:
    """Copy files into the data folder, each whole or not at all; those that lie there already stay."""
    folder = data_folder(source) / benchmark.folder
    copied: list[Path] = []
    for name, path in files.items():
        target = folder / name
        if path.absolute() == target:
            continue
        temporary = folder / f".{name}.part"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, temporary)
            replace(temporary, target)
        except OSError as error:
            temporary.unlink(missing_ok=True)
            remove_files(copied)
            raise ResourceError(f"cannot write {target}: {error.strerror or error}", "choose another --data") from error
        copied.append(target)
    return copied


def _check_reachable(name: str, benchmark: Benchmark, missing: list[UpstreamFile], source: SourceConfig) -> None:
    """Files that are neither on disk nor to be downloaded are named, with what to do."""
    names = ", ".join(file.name for file in missing)
    place = data_folder(source) / benchmark.folder
    if source.offline:
        raise FetchError(
            f"{name} is not on disk, and --offline forbids to download it; missing: {names}",
            f"run `cgnn data fetch {name}` on a machine with internet and copy the files to {place}, "
            "or name a --mirror folder",
        )
    if mirror_folder(source) is not None:
        raise FetchError(
            f"the mirror {source.mirror} lacks files of {name} in its folder {benchmark.folder}: {names}",
            f"put them there or into {place}, or leave --mirror out to download them",
        )


def _download(
    benchmark: Benchmark,
    file: UpstreamFile,
    target: Path,
    source: SourceConfig,
    options: FetchOptions,
    listener: Listener,
) -> None:
    """From the mirror, whose files are checked when they are read, or from upstream, with its checksum."""
    if source.mirror is not None:
        address, sha256 = f"{source.mirror.rstrip('/')}/{benchmark.folder}/{quote(file.name)}", None
    else:
        address, sha256 = drive_address(file.drive) if file.drive else file.address, file.sha256

    def progress(done: int, total: int, message: str) -> None:
        listener.progress(done // MIB, max(total // MIB, 1), f"MiB, {message}")

    try:
        download(address, target, sha256=sha256, options=options, progress=progress, limit=file.limit)
    except FetchError as error:
        if file.drive and source.mirror is None:
            raise FetchError(
                f"{file.name} could not be fetched from Google Drive: {error.message}",
                f"open {drive_page(file.drive)} in a browser, save the file as {target}, and run the command again",
            ) from error
        raise
