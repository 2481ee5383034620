"""Download of one file: resumed after a cut, checked against its checksum, and whole or not there at all."""

import contextlib
import errno
import fcntl
import logging
import os
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from cgnn_cli import __version__
from cgnn_cli.datasets.receiving import Cut, Partial, receive
from cgnn_cli.errors import DataError, FetchError, ResourceError

LONGEST_WAIT = 10.0
NO_LOCKS = {errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP}

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class FetchOptions:
    timeout: float = 30.0
    """Seconds without a byte from the server."""
    retries: int = 4


def drive_address(file_id: str) -> str:
    """Where Google Drive gives the file itself."""
    return f"https://drive.usercontent.google.com/download?id={quote(file_id, safe='')}&export=download&confirm=t"


def drive_page(file_id: str) -> str:
    """The page of a file on Google Drive for a person with a browser."""
    return f"https://drive.google.com/file/d/{quote(file_id, safe='')}/view"


def download(
    url: str, target: Path, *, sha256: str | None, options: FetchOptions, progress: Progress, limit: int
) -> None:
    """Get a file of at most `limit` bytes.

    After an error nothing is left of it. After an interruption its partial file is, and the next call goes on with it.
    """
    partial = Partial(target.with_name(f".{target.name}.part"), known=sha256 is not None)
    folders: list[Path] = []
    try:
        with _locked(target, folders, progress):
            try:
                _retrieve(url, target, partial, sha256, options, progress, limit)
            except BrokenPipeError:
                raise
            except (FetchError, DataError, OSError):
                partial.remove()
                raise
    except BrokenPipeError:  # not of the disk but of whoever reads the progress: an interruption
        raise
    except (FetchError, DataError):
        _remove_empty(folders)
        raise
    except OSError as error:
        _remove_empty(folders)
        reason = error.strerror or str(error)
        hint = "free some space there, or use another folder; check its permissions"
        raise ResourceError(f"{target.parent} cannot be written: {reason}", hint) from error


def _retrieve(
    url: str, target: Path, partial: Partial, sha256: str | None, options: FetchOptions, progress: Progress, limit: int
) -> None:
    """pooch checks the file and moves it into its place; it does nothing if another process has done so."""
    import pooch

    def receive_all(_url: str, output_file: str, _pooch: object) -> None:
        output = Path(output_file)
        output.unlink()  # it is empty, and would be left behind if the process is killed
        _remove_other_links(partial.path)
        _attempt(url, target.name, partial, options, progress, limit)
        _link_or_copy(partial.path, output)

    pooch.get_logger().setLevel(logging.CRITICAL)
    logging.getLogger("urllib3").setLevel(logging.CRITICAL)
    known = None if sha256 is None else f"sha256:{sha256}"
    try:
        pooch.retrieve(url, known, target.name, target.parent.absolute(), downloader=receive_all)
    except ValueError as error:  # raised by pooch for a wrong checksum, and for nothing else here
        raise DataError(
            f"{url} gives a file with sha256 {pooch.file_hash(partial.path)}, but {sha256} is expected",
            "try again; if it stays so, the file was changed at its source",
        ) from error
    partial.remove()


def _attempt(url: str, name: str, partial: Partial, options: FetchOptions, progress: Progress, limit: int) -> None:
    """Receive the file, with retries after growing waits."""
    import requests

    def report(done: int, total: int) -> None:
        progress(done, total, f"downloading {name}")

    with requests.Session() as session:
        session.headers["User-Agent"] = f"cgnn/{__version__}"
        for failures in range(1, options.retries + 2):
            try:
                return receive(session, url, partial, options.timeout, limit, report)
            except Cut as cut:
                if failures > options.retries:
                    tries = "1 try" if failures == 1 else f"{failures} tries"
                    raise FetchError(f"{url} could not be fetched in {tries}: {cut}", cut.hint) from cut
                seconds = min(2.0 ** (failures - 1), LONGEST_WAIT)
                progress(partial.size(), 0, f"{name}: {cut}; trying again in {seconds:g} s")
            _wait(seconds)


def _wait(seconds: float) -> None:
    time.sleep(seconds)


@contextlib.contextmanager
def _locked(target: Path, folders: list[Path], progress: Progress) -> Iterator[None]:
    """Hold the lock of a file, which is gone afterwards; `folders` takes those that had to be made, deepest first.

    A lock counts only if its file still is in its place: whoever held it before has removed it.
    """
    path = target.with_name(f".{target.name}.lock")
    while True:
        folders += [folder for folder in (target.parent, *target.parent.parents) if not folder.exists()]
        target.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.ExitStack() as stack:
            try:
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
            except FileNotFoundError:  # another process has just removed the folder
                continue
            stack.callback(os.close, descriptor)
            _acquire(descriptor, lambda: progress(0, 0, f"waiting for another process that downloads {target.name}"))
            if _is_in_place(descriptor, path):
                stack.callback(path.unlink, missing_ok=True)
                yield
                return


def _is_in_place(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def _acquire(descriptor: int, tell: Callable[[], None]) -> None:
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            tell()
            fcntl.flock(descriptor, fcntl.LOCK_EX)
    except OSError as error:
        if error.errno not in NO_LOCKS:  # without locks two processes may spoil the file, which its checksum tells
            raise


def _link_or_copy(source: Path, output: Path) -> None:
    """The partial file stays until the target is there."""
    try:
        os.link(source, output)
    except OSError:  # not every disk has hard links
        shutil.copyfile(source, output)


def _remove_other_links(partial: Path) -> None:
    """What a process left that was killed while it checked the file."""
    if not partial.exists() or partial.stat().st_nlink == 1:
        return
    for other in partial.parent.glob("tmp*"):
        with contextlib.suppress(FileNotFoundError):
            if other.samefile(partial):
                other.unlink()


def _remove_empty(folders: list[Path]) -> None:
    for folder in folders:
        with contextlib.suppress(OSError):
            folder.rmdir()
