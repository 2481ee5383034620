"""A store that this user may not read or write in part: an error with a documented code, and never taken for damage."""

import builtins
import errno
import io
import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import pytest

from cgnn_cli.errors import ResourceError
from cgnn_cli.store.store import Store
from tests.faults.conftest import LEARNING, write_graph
from tests.faults.processes import COMMUTE, TINY, WITHOUT_PRIVILEGES, Finished, artifacts_of, payload_of, run
from tests.store.samples import sample

ELSEWHERE = 65534  # another user's number


def as_other(*arguments: object) -> Finished:
    """A real process whose user is bound by permissions, as every user but root is."""
    return run(*arguments, patch=WITHOUT_PRIVILEGES)


@contextmanager
def mode(path: Path, bits: int) -> Iterator[None]:
    before = path.stat().st_mode
    path.chmod(bits)
    yield
    path.chmod(before)


def state_of(store: Path) -> dict[Path, tuple[int, int]]:
    """All files but locks and metrics, with what tells that they are the same and as they were."""
    files = [path for path in store.rglob("*") if path.is_file() and not {"locks", "runs"} & set(path.parts)]
    return {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in files}


def assert_refused(result: Finished, path: Path) -> None:
    assert (result.code, result.out) == (7, ""), result
    error = result.err.splitlines()[-1]
    assert error.startswith("error: ") and f"{path} cannot be read: Permission denied" in error
    assert "Traceback" not in result.err and "moved" not in result.err


def test_f17_an_imported_graph_that_cannot_be_read_now_is_not_lost(fresh: Path) -> None:
    (graph,) = artifacts_of(fresh, "graph")
    payload, before = payload_of(graph), state_of(fresh)
    with mode(graph, 0):
        for command in (("rewire", *TINY), ("cache", "verify", *TINY[2:]), ("show", graph, *TINY[2:])):
            assert_refused(as_other(*command), graph)
        assert as_other("cache", "gc", "--quarantine", *TINY[2:]).code == 0
    assert state_of(fresh) == before and payload_of(graph) == payload
    assert as_other("rewire", *TINY, "--json").json["cache"] == "miss"


def test_f17_without_its_record_a_file_that_cannot_be_read_stays_too(fresh: Path) -> None:
    (graph,) = artifacts_of(fresh, "graph")
    graph.with_suffix(".json").unlink()
    (fresh / "datasets" / "tiny.json").rename("tiny.json")  # nothing says any more that the graph is needed
    with mode(graph, 0):
        assert_refused(as_other("cache", "verify", *TINY[2:]), graph)
        assert as_other("cache", "gc", *TINY[2:]).code == 0
    assert payload_of(graph)


@pytest.mark.parametrize("name", ["commute", "datasets", "graph"])
def test_f17_a_folder_that_cannot_be_read_hides_nothing_from_clean_up(name: str, full: Path) -> None:
    """What cannot be listed might be needed, or name what is needed: gc must not go on as if it were not there."""
    before = state_of(full)
    with mode(full / name, 0):
        assert_refused(as_other("cache", "gc", *TINY[2:]), full / name)
    with mode(full / name, 0o444):  # its names can be read, its files cannot
        assert as_other("cache", "gc", *TINY[2:]).code in (0, 7)
        assert as_other(*COMMUTE).code in (0, 7)
    assert state_of(full).keys() == before.keys() or name == "datasets"
    assert artifacts_of(full, "graph")


def test_f17_a_name_that_cannot_be_read_keeps_its_graph(fresh: Path) -> None:
    record = fresh / "datasets" / "tiny.json"
    with mode(record, 0):
        assert_refused(as_other("rewire", *TINY), record)
        assert_refused(as_other("cache", "gc", *TINY[2:]), record)
    content = record.read_bytes()
    record.write_bytes(content[: len(content) // 2])  # damaged: nobody can tell any more which graph it names
    assert as_other("cache", "gc", *TINY[2:]).code == 0
    assert artifacts_of(fresh, "graph")


@pytest.mark.parametrize("call", ["open", "read", "hdf5"])
@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO, errno.ESTALE, errno.EMFILE, errno.ENFILE])
def test_f17_no_fault_of_the_disk_is_taken_for_damage(
    number: int, call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At every call that reads the file: opening it, reading it, and what HDF5 does."""
    store = Store(tmp_path / "store", warn=pytest.fail)
    header = store.publish(sample("graph"))
    path, opened = store.path("graph", header.key), builtins.open
    before = state_of(store.root)

    def fail(*arguments: object, **options: object) -> None:
        raise OSError(number, os.strerror(number))

    class Failing(io.FileIO):
        read = readinto = readall = fail  # type: ignore[assignment]

    def open_failing(name: object, *arguments: Any, **options: Any) -> Any:
        if str(name) != str(path):
            return opened(name, *arguments, **options)  # type: ignore[call-overload]
        return fail() if call == "open" else io.BufferedReader(Failing(path))

    with monkeypatch.context() as broken:
        broken.setattr(*((h5py, "File", fail) if call == "hdf5" else (builtins, "open", open_failing)))
        for reading in (store.adopt, store.find)[: 1 if call == "hdf5" else 2]:
            with pytest.raises(ResourceError, match=f"{path} cannot be read: {os.strerror(number)}"):
                reading("graph", header.key)
    assert state_of(store.root) == before
    assert store.find("graph", header.key) == header


@pytest.mark.parametrize(("failures", "code"), [(2, 0), (3, 7)])
def test_case_11_stale_handles_are_tried_three_times_when_reading(failures: int, code: int, fresh: Path) -> None:
    (graph,) = artifacts_of(fresh, "graph")
    stale = f"""
import builtins, errno, os
opened, left = builtins.open, [{failures}]
def open_stale(path, *arguments, **options):
    if str(path) == {str(graph)!r} and left[0]:
        left[0] -= 1
        raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
    return opened(path, *arguments, **options)
builtins.open = open_stale
"""
    result = run("rewire", *TINY, patch=stale)
    assert result.code == code, result
    assert ("Stale file handle" in result.err) == bool(code)
    assert payload_of(graph) and not (fresh / "quarantine").exists()


def test_f17_the_saved_state_of_a_run_that_cannot_be_read_is_not_thrown_away(full: Path) -> None:
    (fit,) = artifacts_of(full, "fit")
    for stage in ("fit", "train", "eval"):
        for path in (full / stage).iterdir():
            path.unlink()
    partial = full / "partial" / fit.name
    partial.parent.mkdir(exist_ok=True)
    partial.write_text("many hours of work")
    with mode(partial, 0):
        assert_refused(as_other("train", *TINY, "--solver", "exact", *LEARNING), partial)
    assert partial.read_text() == "many hours of work"


# --- who may write ---------------------------------------------------------------------------------------------------


@pytest.fixture
def foreign_owned(full: Path) -> Path:
    """A store of another user, whose files may be read and not written."""
    if os.getuid():
        pytest.skip("only root can give files to another user")
    for path in (full, *full.rglob("*")):
        os.chown(path, ELSEWHERE, ELSEWHERE)
        path.chmod(0o755 if path.is_dir() else 0o644)
    return full


def test_case_12_a_store_of_another_user_gives_hits_and_refuses_the_rest_before_any_work(foreign_owned: Path) -> None:
    before = state_of(foreign_owned)
    assert as_other(*COMMUTE).json["cache"] == "hit"
    assert as_other("cache", "verify", *TINY[2:]).code == 0
    edges, _ = write_graph(Path(), seed=5)
    for command in (
        (*COMMUTE, "--proximity", "inverse"),
        (*COMMUTE, "--force"),
        ("data", "import", "other", "--edges", edges, *TINY[2:]),
        ("cache", "gc", *TINY[2:]),
    ):
        result = as_other(*command)
        assert (result.code, result.out) == (7, ""), result
        assert f"the store {foreign_owned} cannot be written" in result.err
    assert state_of(foreign_owned) == before


@pytest.mark.parametrize("folder", ["commute", "locks", "latest", "graph"])
def test_case_12_one_folder_of_another_user(folder: str, foreign_owned: Path) -> None:
    """The rest of the store is writable: what needs the folder is refused at once, what does not need it works."""
    for path in (foreign_owned, *foreign_owned.rglob("*")):
        if folder not in path.parts:
            os.chown(path, os.getuid(), -1)
    miss = as_other(*COMMUTE, "--proximity", "inverse")
    if folder == "commute":
        assert (miss.code, miss.out) == (7, "")
        assert f"{foreign_owned / folder} is not writable" in miss.err
        assert not (foreign_owned / "locks" / "x").exists()
    else:
        assert miss.json["cache"] == "miss"


def test_f17_damage_in_a_store_of_another_user_is_told_and_nothing_is_lost(foreign_owned: Path) -> None:
    (path,) = artifacts_of(foreign_owned, "commute")
    path.write_bytes(path.read_bytes()[:-5])
    before = state_of(foreign_owned)
    assert as_other("cache", "verify", *TINY[2:]).code == 5
    result = as_other(*COMMUTE)
    assert result.code == 7 and "damaged cache entry ignored" in result.err
    assert state_of(foreign_owned) == before


# --- a full disk -----------------------------------------------------------------------------------------------------


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """A disk of 192 KiB."""
    disk = Path("disk").absolute()
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=192k", "tmpfs", str(disk)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("no disks can be mounted here; test_storage.py limits the size of files instead")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_case_04_on_a_full_disk_everything_ends_with_7_and_what_was_there_stays(small_disk: Path) -> None:
    store = ("--store", small_disk / "store")
    edges, labels = write_graph(Path())
    imported = run("data", "import", "tiny", "--edges", edges, "--labels", labels, *store, "--json").json
    filler = small_disk / "filler"
    with open(filler, "wb", buffering=0) as file, pytest.raises(OSError, match="No space left"):
        file.writelines(bytes(1024) for _ in range(1024))
    before = state_of(small_disk)
    for command in (
        ("commute", "--dataset", "tiny", *store),
        ("train", "--dataset", "tiny", *LEARNING, *store),
        ("data", "import", "again", "--edges", edges, *store),
        ("cache", "pack", imported["key"], "-o", small_disk / "pack.tar", *store),
    ):
        result = run(*command)
        assert (result.code, result.out) == (7, ""), result
        assert "free some space" in result.err.splitlines()[-1] and "Traceback" not in result.err
    assert state_of(small_disk) == before
    assert run("cache", "verify", *store).code == 0
    filler.unlink()
    assert run("cache", "gc", *store).code == 0
    assert payload_of(imported["artifact"]) and json.loads((small_disk / "store/datasets/tiny.json").read_text())
