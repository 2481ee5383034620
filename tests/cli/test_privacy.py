"""Secrets in addresses are never written or said, and what is passed on does not tell where it was made."""

import dataclasses
import io
import json
import platform
import shutil
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from cgnn_cli.datasets.catalogue import BENCHMARKS
from cgnn_cli.store import artifact as files
from cgnn_cli.store.artifact import Artifact
from cgnn_cli.store.elements import flatten
from cgnn_cli.store.store import Store
from tests.datasets.toy_benchmark import TOY, write_toy
from tests.faults.conftest import LEARNING
from tests.faults.processes import artifacts_of, payload_of
from tests.front_door import FrontDoor
from tests.golden.test_store_of_0_1_0 import GOLDEN
from tests.loopback import Server, serve

USER, PASSWORD, TOKEN, HOST = "bobjones", "hunter2", "hunter3", "machine-of-bob"
SECRETS = (USER, PASSWORD, TOKEN)
COMMAND = f"cgnn eval --mirror 'https://{USER}:{PASSWORD}@h/x?sig={TOKEN}' --store /home/{USER}/store"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder that tells its user's name, on a machine that tells it too; it is the working folder."""
    folder = tmp_path / "home" / "bob jones"
    (folder / "work").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setattr(platform, "node", lambda: HOST)
    monkeypatch.chdir(folder / "work")
    return folder


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a mirror with all kinds of credentials; it has the toy graph."""
    write_toy(tmp_path / "mirror")
    monkeypatch.setitem(BENCHMARKS, "toy", TOY)
    monkeypatch.setenv("CGNN_DATA", str(tmp_path / "data"))
    with serve(tmp_path / "mirror") as server:
        yield with_secrets(server)


def with_secrets(server: Server) -> str:
    return server.url("").replace("://", f"://{USER}:{PASSWORD}@") + f"?token={TOKEN}"


def contents(path: Path) -> Iterator[bytes]:
    """All bytes of a file, and what they are when they are not packed."""
    data = path.read_bytes()
    yield data
    if path.suffix == ".h5":
        artifact = files.read(path)
        yield json.dumps(artifact.header.to_json()).encode()
        yield from (array.tobytes() for array in flatten(artifact.elements).values())
    if path.suffix == ".npz":
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            yield from (archive.read(name) for name in archive.namelist())
    if path.suffix == ".tar":
        with tarfile.open(path) as pack:
            pack.extractall(path.with_suffix(".members"), filter="data")
        yield from (part for file in path.with_suffix(".members").rglob("*.*") for part in contents(file))


def told(folder: Path, words: tuple[str, ...]) -> list[tuple[str, str]]:
    """Which files tell which of the words, in their names or in any byte."""
    paths = [folder] if folder.is_file() else [path for path in sorted(folder.rglob("*")) if path.is_file()]
    assert paths
    return [
        (str(path), word)
        for path in paths
        for word in words
        if word in path.name or any(word.encode() in content for content in contents(path))
    ]


def give(way: str, mirror: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Name a mirror in one of the four ways."""
    if way == "environment":
        monkeypatch.setenv("CGNN_MIRROR", mirror)
    if way == "file":
        Path("cgnn.toml").write_text(f"mirror = {json.dumps(mirror)}\n")
    return {"flag": ["--mirror", mirror], "set": ["--set", f"mirror={mirror}"]}.get(way, [])


def test_f07_no_secret_reaches_the_store_packs_reports_or_messages(
    cgnn: FrontDoor, home: Path, mirror: str, tmp_path: Path
) -> None:
    said = []
    store = ("--store", home / "store")
    given = ("--mirror", mirror, "--accept-standin", *store)
    said.append(cgnn.ok("eval", "--dataset", "toy", *LEARNING, *given))
    said.append(cgnn.ok("train", "--dataset", "toy", "--format", "npz", *LEARNING, *given, "--json"))
    said.append(cgnn.ok("config", "show", *given))
    said.append(cgnn.ok("config", "show", *given, "--json"))
    said.append(cgnn.ok("sweep", "--dataset", "toy", "--set", "train.lr=0.1,0.2", *LEARNING, *given))
    key = json.loads((home / "store/latest/eval.json").read_text())["key"]
    said.append(cgnn.ok("show", key, *store, "--json"))
    said.append(cgnn.ok("data", "show", "toy", *given))
    said.append(cgnn.ok("export", key, "--to", "npz", "--output", home / "scores.npz", *store))
    said.append(cgnn.ok("cache", "pack", key, "--output", home / "pack.tar", *store))
    said.append(cgnn.ok("report", "--format", "html,csv,json", "--output", home / "report", *store))
    said.append(cgnn.ok("reproduce", "datasets", "--datasets", "toy", "--output", home / "pages", *given))
    for result in said:
        assert not [word for word in SECRETS if word in result.out + result.err]
    assert "http://***@127.0.0.1" in said[2].out
    assert told(home, SECRETS) == told(tmp_path / "data", SECRETS) == []
    # In the store the origin stays; what is passed on tells nothing of it.
    assert told(home / "store", (HOST,)) and told(home / "store", ("bob jones",))
    for path in ("report", "pages", "pack.tar", "scores.npz"):
        assert told(home / path, (HOST, "bob jones", "127.0.0.1", str(tmp_path))) == []


@pytest.mark.parametrize("way", ["flag", "environment", "file", "set"])
def test_f07_no_secret_is_said_whichever_way_it_was_given(
    way: str, cgnn: FrontDoor, mirror: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = give(way, mirror, monkeypatch)
    said = cgnn.ok("config", "show", *given)
    assert not [word for word in SECRETS if word in said.out + said.err]
    path = cgnn.ok("rewire", "--dataset", "toy", "--accept-standin", *given).path
    command = files.read(Path(path)).header.provenance["command"]
    assert ("***" in command) == (way in ("flag", "set"))
    assert told(Path(".cgnn"), SECRETS) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("data", "fetch", "toy", "--retries", 0, "--mirror", f"http://{USER}:{PASSWORD}@127.0.0.1:1/?t={TOKEN}"),
        ("data", "fetch", "toy", "--mirror", f"http://{USER}:{PASSWORD}@127.0.0.1:port/?t={TOKEN}"),
        ("data", "fetch", "toy", "--mirror", f"http://{USER}:{PASSWORD}@[::1/?t={TOKEN}"),
        ("data", "fetch", "toy", "--mirror", f"htps://{USER}:{PASSWORD}@h/?t={TOKEN}"),
        ("data", "fetch", "toy", "--mirror", f"{USER}:{PASSWORD}@h/?t={TOKEN}"),
        ("data", "list", f"https://{USER}:{PASSWORD}@h/?t={TOKEN}"),
        ("config", "show", "--set", f"mirorr=https://{USER}:{PASSWORD}@h/?t={TOKEN}"),
        ("config", "show", "--set", f"train.lr=https://{USER}:{PASSWORD}@h/?t={TOKEN}"),
        ("data", "import", "x", "--edges", f"https://{USER}:{PASSWORD}@h/?t={TOKEN}"),
    ],
)
@pytest.mark.parametrize("debug", [(), ("--debug",)])
def test_f07_no_secret_is_in_an_error_or_its_traceback(
    arguments: tuple[object, ...], debug: tuple[str, ...], cgnn: FrontDoor, mirror: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CGNN_DEBUG", raising=False)
    result = cgnn(*debug, *arguments)
    assert result.code in (2, 3, 9), result
    assert ("Traceback" in result.err) == bool(debug)
    assert not [word for word in SECRETS if word in result.out + result.err]


@pytest.fixture
def old(home: Path) -> Store:
    """A store of 0.1.0 whose records hold secrets and places."""
    there, store = Store(GOLDEN / "store"), Store(home / "store")
    shutil.copytree(there.root / "datasets", store.root / "datasets")
    for path in artifacts_of(there.root):
        artifact = files.read(path)
        provenance = {**artifact.header.provenance, "command": COMMAND, "host": HOST}
        store.publish(Artifact(dataclasses.replace(artifact.header, provenance=provenance), artifact.elements))
    return store


def test_f07_what_0_1_0_recorded_is_redacted_when_it_is_shown_reported_or_exported(cgnn: FrontDoor, old: Store) -> None:
    assert told(old.root, SECRETS)
    path = artifacts_of(old.root, "eval")[0]
    shown = cgnn.ok("show", path, "--store", old.root, "--json")
    assert not [word for word in (PASSWORD, TOKEN) if word in shown.out]
    assert shown.json["header"]["provenance"]["command"].startswith("cgnn eval --mirror 'https://***@h/x?sig=***'")
    assert PASSWORD not in cgnn.ok("show", path, "--store", old.root).out
    cgnn.ok("report", "--format", "csv,json", "--output", "report", "--store", old.root)
    cgnn.ok("export", path, "--to", "npz", "--output", "scores.npz", "--store", old.root)
    assert told(Path("report"), (*SECRETS, HOST)) == told(Path("scores.npz"), (*SECRETS, HOST)) == []
    cgnn.ok("report", "--with-origin", "--format", "json", "--output", "all", "--store", old.root)
    assert told(Path("all"), (PASSWORD, TOKEN)) == []
    assert f"/home/{USER}/store" in Path("all/report.json").read_text()


def test_f07_packs_are_redacted_equal_and_whole(cgnn: FrontDoor, old: Store) -> None:
    key = artifacts_of(old.root, "eval")[0].stem
    for name in ("first.tar", "second.tar"):
        cgnn.ok("cache", "pack", key, "--output", name, "--store", old.root)
    assert Path("first.tar").read_bytes() == Path("second.tar").read_bytes()
    assert told(Path("first.tar"), (*SECRETS, HOST, "/home")) == []
    cgnn.ok("cache", "unpack", "first.tar", "--store", "there")
    cgnn.ok("cache", "verify", "--store", "there")
    payloads = [{path.stem: payload_of(path) for path in artifacts_of(root)} for root in (old.root, Path("there"))]
    assert payloads[0] == payloads[1]
    cgnn.ok("cache", "pack", key, "--output", "third.tar", "--store", "there")
    assert Path("third.tar").read_bytes() == Path("first.tar").read_bytes()
    cgnn.ok("cache", "pack", key, "--with-origin", "--output", "origin.tar", "--store", old.root)
    assert told(Path("origin.tar"), (PASSWORD, TOKEN)) == []
    assert told(Path("origin.tar"), (HOST,)) and told(Path("origin.tar"), (f"/home/{USER}",))


def test_f07_a_packed_dataset_names_its_files_and_no_folder(cgnn: FrontDoor, home: Path) -> None:
    edges = home / "my edges.csv"
    edges.write_text("source,target\na,b\nb,c\nc,a\n")
    cgnn.ok("data", "import", "mine", "--edges", edges)
    key = artifacts_of(Path(".cgnn"), "graph")[0].stem
    cgnn.ok("cache", "pack", key, "--output", "pack.tar")
    assert told(Path("pack.tar"), ("bob jones", str(home.parent), HOST)) == []
    cgnn.ok("cache", "unpack", "pack.tar", "--store", "there")
    record = Store(Path("there")).dataset("mine")
    assert record["source"] == {"edges": "my edges.csv"}
    assert record["summary"]["notes"][0].startswith("my edges.csv: the first row is the header")
