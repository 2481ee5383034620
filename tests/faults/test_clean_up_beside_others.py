"""Clean-up beside imports, packs and a newer cgnn: what is about to be needed, or only a later one can read, stays."""

import dataclasses
import hashlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import h5py
import pytest

from cgnn_cli.store import artifact as files
from cgnn_cli.store.store import Store
from tests.faults.conftest import write_graph
from tests.faults.processes import COMMUTE, TINY, artifacts_of, finish, payload_of, run, start, wait_for
from tests.front_door import FrontDoor
from tests.store.samples import sample, write

STORE = ("--store", "store")
WITHOUT_LOCKS = """
import filelock
filelock.FileLock.acquire = filelock.FileLock.release = lambda lock, **options: None
"""
WAIT = """
import time
from pathlib import Path
def wait():
    Path("waiting").touch()
    while not Path("go").exists():
        time.sleep(0.01)
"""
# An import or an unpacking stops after the graph is in the store, and before its name is there.
BEFORE_THE_NAME = WAIT + (
    "from cgnn_cli.store.store import Store\n"
    "name = Store.set_dataset\n"
    "Store.set_dataset = lambda *values: (wait(), name(*values))\n"
)
# A clean-up stops when it knows what is needed, and has not removed anything yet.
BEFORE_REMOVING = WAIT + (
    "from cgnn_cli.store import garbage\n"
    "needed = garbage._needed\n"
    "garbage._needed = lambda *values: (needed(*values), wait())[0]\n"
)
ASIDE = WAIT + "from cgnn_cli.store import garbage\ngarbage.crash_point = lambda name: wait()\n"


@contextmanager
def stopped(*arguments: object, patch: str) -> Iterator[subprocess.Popen[str]]:
    """A real process that has come to where its patch stops it, and goes on in the end."""
    process = start(*arguments, patch=patch)
    wait_for(lambda: Path("waiting").exists() or process.poll() is not None)
    assert process.poll() is None, process.communicate()
    yield process
    Path("go").touch()
    result = finish(process)
    assert result.code == 0, result


@pytest.fixture
def importing(cgnn: FrontDoor) -> tuple[object, ...]:
    """The command that imports `mine` into a store where `other` was used last, so that `mine` is not kept as new."""
    edges, _ = write_graph(Path(), seed=1)
    cgnn.ok("data", "import", "other", "--edges", edges, *STORE)
    cgnn.ok("rewire", "--dataset", "other", *STORE)
    edges, labels = write_graph(Path(), seed=2)
    return ("data", "import", "mine", "--edges", edges, "--labels", labels, *STORE, "--json")


@pytest.fixture
def unpacking(importing: tuple[object, ...], cgnn: FrontDoor) -> tuple[object, ...]:
    """The command that unpacks the same graph, with a result."""
    away = (*importing[:-2], "away")
    cgnn.ok(*away)
    key = cgnn.ok("rewire", "--dataset", "mine", "--store", "away", "--json").json["key"]
    cgnn.ok("cache", "pack", key, "-o", "mine.tar", "--store", "away")
    return ("cache", "unpack", "mine.tar", *STORE)


@pytest.mark.parametrize("locks", ["", WITHOUT_LOCKS], ids=["locks", "no locks"])
@pytest.mark.parametrize("command", ["importing", "unpacking"])
def test_f19_clean_up_between_a_graph_and_its_name(
    command: str, locks: str, request: pytest.FixtureRequest, cgnn: FrontDoor
) -> None:
    arguments = request.getfixturevalue(command)
    with stopped(*arguments, patch=locks + BEFORE_THE_NAME):
        held = artifacts_of(Path("store"))
        assert len(held) >= 2
        assert run("cache", "gc", *STORE, patch=locks or "pass").code == 0
        assert artifacts_of(Path("store")) == held
    assert cgnn.ok("rewire", "--dataset", "mine", *STORE).path
    assert not list(Path("store").glob(".pin-*"))


@pytest.mark.parametrize("locks", ["", WITHOUT_LOCKS], ids=["locks", "no locks"])
def test_f19_a_graph_that_is_named_while_clean_up_goes_on_stays(
    locks: str, importing: tuple[object, ...], cgnn: FrontDoor
) -> None:
    """The graph lay there without a name; clean-up has judged it, then the import finds it and gives it its name."""
    graph = Path(cgnn.ok(*importing).json["artifact"])
    Path("store/datasets/mine.json").unlink()
    with stopped("cache", "gc", *STORE, patch=locks + BEFORE_REMOVING):
        assert cgnn.ok(*importing).json["cache"] == "hit"
    assert payload_of(graph) and cgnn.ok("rewire", "--dataset", "mine", *STORE)


@pytest.mark.parametrize("end", ["goes on", "killed"])
def test_f19_a_graph_that_is_named_while_it_is_moved_aside_comes_back(
    end: str, importing: tuple[object, ...], cgnn: FrontDoor
) -> None:
    graph = Path(cgnn.ok(*importing).json["artifact"])
    record = Path("store/datasets/mine.json").read_bytes()
    Path("store/datasets/mine.json").unlink()
    payload = payload_of(graph)
    if end == "killed":
        assert run("cache", "gc", *STORE, CGNN_CRASH_AT="graph-aside").code == -signal.SIGKILL
        (aside,) = Path("store/quarantine").iterdir()
        assert not graph.exists() and payload_of(aside) == payload, "nothing is lost"
        cgnn.ok("cache", "gc", *STORE)
        assert aside.exists()
        return
    with stopped("cache", "gc", *STORE, patch=WITHOUT_LOCKS + ASIDE):
        Path("store/datasets/mine.json").write_bytes(record)
    assert payload_of(graph) == payload and not list(Path("store/quarantine").iterdir())


def test_f19_pins_of_processes_that_were_killed_go_after_a_day(importing: tuple[object, ...], cgnn: FrontDoor) -> None:
    assert run(*importing, CGNN_CRASH_AT="recorded").code == -signal.SIGKILL
    (pin,) = Path("store").glob(".pin-*")
    cgnn.ok("cache", "gc", *STORE)
    assert pin.exists() and len(artifacts_of(Path("store"), "graph")) == 2
    long_ago = time.time() - 90_000
    os.utime(pin, (long_ago, long_ago))
    cgnn.ok("cache", "gc", *STORE)
    assert not pin.exists() and len(artifacts_of(Path("store"), "graph")) == 1


# --- a newer cgnn ----------------------------------------------------------------------------------------------------


NEWER = files.FORMAT_VERSION + 1


def make_newer(path: Path) -> bytes:
    """Raise the format of a published artifact, as a later cgnn would have written it; its record too."""
    artifact = files.read(path)
    path.unlink()
    with pytest.MonkeyPatch.context() as later:
        later.setattr(files, "FORMAT_VERSION", NEWER)
        later.setattr(files, "format_version", lambda elements: NEWER)
        header = Store(path.parents[1]).publish(artifact)
    assert header.key == path.stem
    return path.read_bytes()


@pytest.mark.parametrize("record", ["its record", "no record"])
def test_case_19_artifacts_of_a_newer_format_are_left_alone(record: str, full: Path, cgnn: FrontDoor) -> None:
    newer = {path: make_newer(path) for stage in ("graph", "commute") for path in artifacts_of(full, stage)}
    for path in newer:
        side = path.with_suffix(".json")
        if record == "no record":
            side.unlink()
    (commute,) = artifacts_of(full, "commute")
    verified = cgnn.ok("cache", "verify", "--store", full, "--json").json
    assert [row["stage"] for row in verified["summary"]["verified"] if not row["sound"]] == ["graph", "commute"]
    newer_notes = [
        note
        for note in verified["warnings"]
        if f"in artifact format {NEWER}, this cgnn reads up to {NEWER - 1}" in note
    ]
    assert len(newer_notes) == 2
    cgnn.ok("cache", "gc", "--quarantine", "--store", full)
    for options in ((), ("--force",)):
        error = cgnn.fails(4, *COMMUTE, *options)
        assert f"was written in artifact format {NEWER}, this cgnn reads up to {NEWER - 1} (upgrade cgnn" in error
    assert f"artifact format {NEWER}" in cgnn.fails(4, "show", commute.stem, "--store", full)
    assert f"artifact format {NEWER}" in cgnn.fails(4, "train", "--input", commute, "--store", full)
    assert {path: path.read_bytes() for path in newer} == newer
    assert not (full / "quarantine").exists()


def test_f18_verify_of_an_older_cgnn_leaves_a_newer_format_alone(fresh: Path, cgnn: FrontDoor) -> None:
    (graph,) = artifacts_of(fresh, "graph")
    content = make_newer(graph)
    assert "upgrade cgnn" in cgnn.ok("cache", "verify", *TINY[2:], "--json").json["warnings"][0]
    assert "upgrade cgnn" in cgnn.fails(4, "rewire", *TINY)
    assert graph.read_bytes() == content


def test_case_19_the_saved_state_of_a_newer_format_is_not_replaced(full: Path, cgnn: FrontDoor) -> None:
    (fit,) = artifacts_of(full, "fit")
    for stage in ("fit", "train", "eval"):
        shutil.rmtree(full / stage)
    partial = full / "partial" / fit.name
    partial.parent.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as later:
        later.setattr(files, "FORMAT_VERSION", NEWER)
        later.setattr(files, "format_version", lambda elements: NEWER)
        saved = sample("partial")
        write(partial, dataclasses.replace(saved, header=dataclasses.replace(saved.header, key=fit.stem)))
    content = partial.read_bytes()
    command = ("train", *TINY, "--solver", "exact", "--epochs", 1, "--hidden", 2, "--split", 0)
    assert f"artifact format {NEWER}" in cgnn.fails(4, *command)
    assert partial.read_bytes() == content
    cgnn.ok(*command, "--restart")


def test_a_type_that_came_later_is_left_alone(full: Path, cgnn: FrontDoor) -> None:
    (path,) = artifacts_of(full, "commute")
    path.unlink()
    with h5py.File(path, "w") as file:
        file.attrs["encoding-type"], file.attrs["header"] = "cgnn-commute-2", path.stem
    digest = hashlib.sha256(path.read_bytes()).hexdigest().encode()
    path.write_bytes(path.read_bytes() + files.TRAILER + digest + b"\n")
    content = path.read_bytes()
    cgnn.ok("cache", "gc", *TINY[2:])
    cgnn.fails(4, *COMMUTE)
    assert path.read_bytes() == content
