"""Disks that are full, read-only, slow to agree or swept clean: a clear error or the right result, never a remnant."""

import errno
import fcntl
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import pytest

from cgnn_cli.errors import ResourceError
from cgnn_cli.store import artifact as files
from cgnn_cli.store.artifact import Header
from cgnn_cli.store.store import Store
from tests.faults.processes import (
    COMMUTE,
    WITHOUT_PRIVILEGES,
    artifacts_of,
    assert_nothing_half_written,
    payload_of,
    run,
    temporaries_of,
)
from tests.front_door import FrontDoor
from tests.store.samples import sample

SWEEP = """
import resource, sys
from pathlib import Path
from cgnn_cli.errors import CgnnError
from cgnn_cli.store.store import Store
from tests.store.samples import sample
codes = []
for limit in map(int, sys.argv[1:]):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    try:
        Store(Path("store")).publish(sample(config={"limit": limit}))
        codes.append(0)
    except CgnnError as error:
        codes.append(error.exit_code)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(*codes)
"""


def files_in(store: Path) -> set[Path]:
    """All files but the locks."""
    return {path for path in store.rglob("*") if path.is_file() and path.parent.name != "locks"}


# --- full ------------------------------------------------------------------------------------------------------------


def test_case_04_a_full_disk_ends_a_real_process_with_7_and_leaves_nothing(
    upstream: Path, payloads: dict[str, str], cgnn: FrontDoor
) -> None:
    before = files_in(upstream)
    full = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (3000, resource.RLIM_INFINITY))"
    result = run(*COMMUTE, patch=full)
    assert (result.code, result.out) == (7, "")
    error = result.err.splitlines()[-1]
    assert error.startswith("error: no room in the store") and "bytes needed" in error and "free" in error
    assert "Traceback" not in result.err
    assert files_in(upstream) == before
    assert payload_of(cgnn.ok(*COMMUTE).json["artifact"]) == payloads["commute"]


def test_case_04_wherever_the_disk_fills_up_it_is_an_error_or_a_whole_artifact() -> None:
    """At any size of the file: HDF5 must neither crash nor leave a file that looks finished."""
    limits = [0, 1, 100, 800, 2000, 4000, 8000, 16_000, 20_000, 1_000_000]
    process = subprocess.run(
        [sys.executable, "-c", SWEEP, *map(str, limits)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert (process.returncode, process.stderr) == (0, "")
    codes = [int(code) for code in process.stdout.split()]
    assert codes == sorted(codes, reverse=True) and set(codes) == {7, 0}
    assert len(artifacts_of(Path("store"))) == codes.count(0)
    assert temporaries_of(Path("store")) == []
    assert_nothing_half_written(Path("store"))


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_call_that_finds_no_room_is_a_resource_error(
    call: str, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path / "store")

    def fail(*arguments: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(ResourceError, match=r"no room in the store .*: up to 1\d\d bytes needed, [\d,]+ free"):
        store.publish(sample())
    assert files_in(store.root) == set()


def test_other_failures_of_the_disk_are_resource_errors_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path / "store")

    def fail(source: object, target: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(ResourceError, match="Input/output error"):
        store.publish(sample())
    assert files_in(store.root) == set()


# --- read-only -------------------------------------------------------------------------------------------------------


@pytest.fixture
def read_only(full: Path) -> Iterator[Path]:
    """A store that may be read and not written."""
    folders = [full, *(path for path in full.rglob("*") if path.is_dir())]
    for path in folders:
        path.chmod(0o555)
    yield full
    for path in folders:
        path.chmod(0o755)


def test_case_12_a_read_only_store_gives_hits_and_refuses_misses_before_any_work(read_only: Path) -> None:
    before = files_in(read_only)
    assert run(*COMMUTE, patch=WITHOUT_PRIVILEGES).json["cache"] == "hit"
    miss = run(*COMMUTE, "--proximity", "inverse", patch=WITHOUT_PRIVILEGES)
    assert (miss.code, miss.out) == (7, "")
    assert miss.err == f"error: the store {read_only} cannot be written (choose another one with --store)\n"
    assert files_in(read_only) == before


def test_a_store_that_cannot_be_made_is_a_resource_error(cgnn: FrontDoor) -> None:
    Path("file").write_text("")
    assert "file/store" in cgnn.fails(7, "rewire", "--dataset", "demo", "--store", "file/store")


# --- network disks ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("failures", [1, 2])
def test_case_11_stale_handles_are_tried_again(failures: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, replace, left = Store(tmp_path / "store"), os.replace, [failures]

    def stale(source: str, target: str) -> None:
        if left[0]:
            left[0] -= 1
            raise OSError(errno.ESTALE, "Stale file handle")
        replace(source, target)

    monkeypatch.setattr(os, "replace", stale)
    header = store.publish(sample())
    assert left == [0] and store.find("commute", header.key) == header


def test_case_11_a_handle_that_stays_stale_is_a_resource_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path / "store")
    tries = []

    def stale(source: str, target: str) -> None:
        tries.append(source)
        raise OSError(errno.ESTALE, "Stale file handle")

    monkeypatch.setattr(os, "replace", stale)
    with pytest.raises(ResourceError, match="Stale file handle"):
        store.publish(sample())
    assert len(tries) == 3 and files_in(store.root) == set()


def test_case_03_file_and_folder_are_flushed_around_the_rename(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []
    fsync, replace = os.fsync, os.replace

    def logged_fsync(descriptor: int) -> None:
        status = os.fstat(descriptor)
        events.append("flush folder" if stat.S_ISDIR(status.st_mode) else f"flush {status.st_ino}")
        fsync(descriptor)

    def logged_replace(source: str, target: str) -> None:
        events.append(f"rename {os.stat(source).st_ino} to {Path(target).suffix}")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", logged_fsync)
    monkeypatch.setattr(os, "replace", logged_replace)
    store = Store(tmp_path / "store")
    path = store.path("commute", store.publish(sample()).key)
    artifact, record = path.stat().st_ino, path.with_suffix(".json").stat().st_ino
    assert events == [
        f"flush {artifact}",
        f"rename {artifact} to .h5",
        "flush folder",
        f"flush {record}",
        f"rename {record} to .json",
    ]


def test_case_10_published_files_are_read_without_the_lock_of_hdf5(full: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """HDF5's lock is refused on some network disks (errno 11, 37 or 524)."""
    opened: list[object] = []
    original = h5py.File

    class Watched(original):  # type: ignore[misc, valid-type]
        def __init__(self, name: object, *arguments: Any, **options: Any) -> None:
            opened.append(options.get("locking"))
            super().__init__(name, *arguments, **options)

    monkeypatch.setattr(h5py, "File", Watched)
    (path,) = artifacts_of(full, "commute")
    with open(path, "rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)  # HDF5 is refused its lock, as on those disks
        with pytest.raises(BlockingIOError):
            original(path, "r", locking=True)
        files.read(path)
    assert opened == [False]


def test_case_11_a_damaged_file_that_cannot_be_moved_does_not_stop_the_work(
    full: Path, payloads: dict[str, str]
) -> None:
    """As where quarantine lies on another disk (EXDEV), or the disk refuses to rename."""
    (path,) = artifacts_of(full, "commute")
    path.chmod(0o644)
    path.write_bytes(path.read_bytes()[:-9])
    crossing = """
import errno, os
replace = os.replace
def cross(source, target):
    if "quarantine" in str(target):
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
    replace(source, target)
os.replace = cross
"""
    result = run(*COMMUTE, patch=crossing)
    assert result.json["cache"] == "miss" and "damaged cache entry ignored" in result.err
    assert payload_of(path) == payloads["commute"]


# --- swept clean while in use ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("damage", ["vanished", "truncated"])
def test_case_13_an_input_that_vanishes_after_it_was_found_is_made_again(
    damage: str, upstream: Path, payloads: dict[str, str], cgnn: FrontDoor, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = Store.find
    swept: list[Path] = []

    def find_then_sweep(store: Store, stage: str, key: str) -> Header | None:
        header = find(store, stage, key)
        if header is not None and stage == "dilap" and not swept:
            path = store.path(stage, key)
            swept.append(path)
            path.chmod(0o644)
            path.unlink() if damage == "vanished" else path.write_bytes(path.read_bytes()[:2000])
        return header

    monkeypatch.setattr(Store, "find", find_then_sweep)
    values = cgnn.ok(*COMMUTE).json
    assert payload_of(values["artifact"]) == payloads["commute"]
    assert [payload_of(path) for path in swept] == [payloads["dilap"]]


def test_case_13_a_store_that_is_deleted_between_two_commands_is_made_again(cgnn: FrontDoor) -> None:
    command = ("rewire", "--dataset", "demo", "--store", "store", "--json")
    first = cgnn.ok(*command).json
    shutil.rmtree("store")
    second = cgnn.ok(*command).json
    assert (first["key"], first["cache"], second["key"], second["cache"]) == (
        second["key"],
        "miss",
        first["key"],
        "miss",
    )
