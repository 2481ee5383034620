"""Packs are not trusted: whatever is wrong with one, nothing of it reaches the store."""

import dataclasses
import errno
import hashlib
import io
import json
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cgnn_cli.store import artifact as files
from cgnn_cli.store.artifact import Artifact
from cgnn_cli.store.disk import file_sha256
from cgnn_cli.store.pack import pack
from cgnn_cli.store.store import Store
from tests.faults.conftest import call, write_graph
from tests.front_door import FrontDoor
from tests.golden.test_store_of_0_1_0 import GOLDEN

Members = dict[str, bytes]


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Members:
    """The members of a good pack: graph, rewire, and the manifest."""
    folder = tmp_path_factory.mktemp("packing")
    edges, labels = write_graph(folder)
    store = ("--store", folder / "store", "-q")
    call("data", "import", "tiny", "--edges", edges, "--labels", labels, *store)
    call("rewire", "--dataset", "tiny", *store)
    header = Store(folder / "store").latest("rewire")
    assert header is not None
    call("cache", "pack", header.key, "--output", folder / "good.tar", *store)
    with tarfile.open(folder / "good.tar") as archive:
        return {member.name: archive.extractfile(member).read() for member in archive}  # type: ignore[union-attr]


def write_tar(members: list[tuple[tarfile.TarInfo, bytes]], path: str = "bad.tar") -> None:
    with tarfile.open(path, "w:") as archive:
        for info, content in members:
            info.size = len(content) if info.isreg() else 0
            archive.addfile(info, io.BytesIO(content))


def plain(members: Members) -> list[tuple[tarfile.TarInfo, bytes]]:
    return [(tarfile.TarInfo(name), content) for name, content in members.items()]


def with_manifest(members: Members, change: Callable[[dict[str, Any]], None]) -> Members:
    """The pack with another manifest."""
    manifest = json.loads(members["manifest.json"])
    change(manifest)
    return {**members, "manifest.json": json.dumps(manifest).encode()}


def described(members: Members) -> Members:
    """The pack with a manifest that fits its members."""

    def describe(manifest: dict[str, Any]) -> None:
        manifest["artifacts"] = [
            {"name": name, "size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            for name, content in members.items()
            if name != "manifest.json"
        ]

    return with_manifest(members, describe)


def name_of(members: Members, stage: str) -> str:
    return next(name for name in members if name.startswith(stage))


def refused(cgnn: FrontDoor, code: int = 5) -> str:
    """Unpacking fails in one line, and leaves nothing behind."""
    said = cgnn.fails(code, "cache", "unpack", "bad.tar", "--store", "there")
    assert "bad.tar" in said
    assert [path.name for path in Path().iterdir()] == ["bad.tar"]
    return said


def test_a_pack_has_the_bytes_that_0_1_0_wrote(tmp_path: Path) -> None:
    """So each version reads the packs of the other."""
    store = Store(Path(shutil.copytree(GOLDEN / "store", tmp_path / "store")))
    header = store.latest("eval")
    assert header is not None
    pack(store, [("eval", header.key)], Path("golden.tar"), with_origin=True)
    assert file_sha256(Path("golden.tar")) == "212d6c5de4e620edc5ef1d0b05286eb6e6696dd86646aa3c25c9dd01fe1c4c63"


def test_a_full_disk_of_temporary_files_is_named(
    cgnn: FrontDoor, packed: Members, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = cgnn.ok("rewire", "--dataset", "demo", "--store", "packing", "--json").json["key"]

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files, "write_h5_to", full)
    message = cgnn.fails(7, "cache", "pack", key, "--output", "out.tar", "--store", "packing")
    assert "temporary files" in message and "TMPDIR" in message and not Path("out.tar").exists()


def test_the_good_pack_is_good(cgnn: FrontDoor, packed: Members) -> None:
    write_tar(plain(described(packed)))
    rows = cgnn.ok("cache", "unpack", "bad.tar", "--json").json["summary"]["artifacts"]
    assert [row["stage"] for row in rows] == ["graph", "rewire"]
    assert not list(Path(".cgnn").rglob("*.tmp"))
    assert all(path.stat().st_mode & 0o777 == 0o444 for path in Path(".cgnn").rglob("*.h5"))


@pytest.mark.parametrize(
    "name",
    [
        "../escape.h5",
        "graph/../../escape.h5",
        "/absolute.h5",
        "graph/../rewire/0123456789abcdef0123456789abcdef.h5",
        "graph/0123456789abcdef0123456789abcdef.json",
        "graph/0123456789ABCDEF0123456789ABCDEF.h5",
        "graph/short.h5",
        "partial/0123456789abcdef0123456789abcdef.h5",
        "datasets/demo.json",
        "./manifest.json",
        "graph/0123456789abcdef0123456789abcdef.h5\n",
        "graph\\0123456789abcdef0123456789abcdef.h5",
    ],
)
def test_case_29_members_with_other_names_are_refused(cgnn: FrontDoor, packed: Members, name: str) -> None:
    write_tar(plain(described({**packed, name: packed[name_of(packed, "graph")]})))
    refused(cgnn)
    assert not Path("../escape.h5").exists() and not Path("/absolute.h5").exists()


@pytest.mark.parametrize(
    "kind",
    [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE,
     tarfile.CONTTYPE, tarfile.GNUTYPE_SPARSE],
)  # fmt: skip
def test_case_29_members_that_are_not_plain_files_are_refused(cgnn: FrontDoor, packed: Members, kind: bytes) -> None:
    members = plain(packed)
    for info, _ in members:
        if info.name.startswith("graph"):
            info.type, info.linkname = kind, "/etc/passwd"
    write_tar(members)
    refused(cgnn)


def test_case_29_a_link_over_a_folder_is_not_followed(cgnn: FrontDoor, packed: Members, tmp_path: Path) -> None:
    link = tarfile.TarInfo("graph")
    link.type, link.linkname = tarfile.SYMTYPE, str(tmp_path)
    write_tar([(link, b""), *plain(packed)])
    refused(cgnn)


def test_wrong_content_is_refused(cgnn: FrontDoor, packed: Members) -> None:
    name = name_of(packed, "rewire")
    content = bytearray(packed[name])
    content[len(content) // 2] ^= 1
    write_tar(plain({**packed, name: bytes(content)}))
    assert "does not match its checksum" in refused(cgnn)
    write_tar(plain(described({**packed, name: bytes(content)})))
    assert "damaged" in refused(cgnn)
    write_tar(plain(described({**packed, name: bytes(content[: len(content) // 2])})))
    refused(cgnn)
    write_tar(plain(described({**packed, name: b""})))
    refused(cgnn)


def test_a_member_of_another_size_than_the_manifest_says(cgnn: FrontDoor, packed: Members) -> None:
    name = name_of(packed, "rewire")
    write_tar(plain({**packed, name: packed[name] + b"\0" * 100_000}))
    assert "its manifest says" in refused(cgnn)


def test_an_artifact_under_the_key_of_another_is_refused(cgnn: FrontDoor, packed: Members) -> None:
    name = name_of(packed, "rewire")
    other = f"rewire/{'e' * 32}.h5"
    moved = {**{key: value for key, value in packed.items() if key != name}, other: packed[name]}
    write_tar(plain(described(moved)))
    assert "under the name" in refused(cgnn)


@pytest.mark.parametrize("stage", ["graph", "rewire"])
def test_forged_content_under_a_true_key_is_refused(cgnn: FrontDoor, packed: Members, stage: str) -> None:
    """Valid checksums, but a configuration (or, for a graph, a content) that has another key."""
    name = name_of(packed, stage)
    Path("true.h5").write_bytes(packed[name])
    artifact = files.read(Path("true.h5"))
    if stage == "graph":
        elements = {**artifact.elements, "labels": 1 - artifact.elements["labels"]}
        forged = Artifact(artifact.header, elements)
    else:
        header = dataclasses.replace(artifact.header, config={"method": "none", "walk": "symmetric"})
        forged = Artifact(header, artifact.elements)
    files.write_h5(Path("forged.h5"), files.sealed(forged))
    content = Path("forged.h5").read_bytes()
    Path("true.h5").unlink()
    Path("forged.h5").unlink()
    write_tar(plain(described({**packed, name: content})))
    assert "belongs to another key" in refused(cgnn)


def test_an_artifact_of_a_newer_format_asks_for_an_upgrade(
    cgnn: FrontDoor, packed: Members, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tar(plain(packed))
    monkeypatch.setattr(files, "FORMAT_VERSION", 0)
    assert "upgrade" in refused(cgnn, 4)


@pytest.mark.parametrize("cut", [0, 1, 100, 511, 512, 600, 0.3, 0.5, 0.9, -600, -1])
def test_a_truncated_pack_is_refused(cgnn: FrontDoor, packed: Members, cut: float) -> None:
    write_tar(plain(packed))
    content = Path("bad.tar").read_bytes().rstrip(b"\0")
    Path("bad.tar").write_bytes(content[: int(cut * len(content)) if isinstance(cut, float) else cut])
    refused(cgnn)


def test_damage_anywhere_is_found_or_harmless(cgnn: FrontDoor, packed: Members) -> None:
    write_tar(plain(packed))
    content = Path("bad.tar").read_bytes()
    for place in range(0, len(content), max(1, len(content) // 60)):
        Path("bad.tar").write_bytes(content[:place] + bytes([content[place] ^ 0x15]) + content[place + 1 :])
        result = cgnn("cache", "unpack", "bad.tar", "--store", "there")
        assert result.code in (0, 4, 5), (place, result)
        if result.code == 0:
            cgnn.ok("cache", "verify", "--store", "there")
        else:
            assert not Path("there").exists(), place
        shutil.rmtree("there", ignore_errors=True)


@pytest.mark.parametrize("content", [b"", b"not a tar file", b"\0" * 2048, b"\x1f\x8b" + b"\0" * 1000])
def test_files_that_are_no_packs(cgnn: FrontDoor, content: bytes) -> None:
    Path("bad.tar").write_bytes(content)
    refused(cgnn)


def test_a_compressed_pack_is_not_opened(cgnn: FrontDoor, packed: Members) -> None:
    import gzip

    write_tar(plain(packed))
    Path("bad.tar").write_bytes(gzip.compress(Path("bad.tar").read_bytes()))
    refused(cgnn)


def test_a_pack_that_is_not_there(cgnn: FrontDoor) -> None:
    cgnn.fails(4, "cache", "unpack", "missing.tar")
    Path("folder").mkdir()
    cgnn.fails(4, "cache", "unpack", "folder")


def test_a_repeated_member_is_refused(cgnn: FrontDoor, packed: Members) -> None:
    write_tar([*plain(packed), *plain({name_of(packed, "graph"): b"other"})])
    assert "twice" in refused(cgnn)


def test_members_and_manifest_must_agree(cgnn: FrontDoor, packed: Members) -> None:
    write_tar(plain({name: content for name, content in packed.items() if not name.startswith("graph")}))
    assert "manifest says" in refused(cgnn)
    write_tar(plain({name: content for name, content in packed.items() if name != "manifest.json"}))
    assert "its end is missing" in refused(cgnn)
    write_tar(plain(with_manifest(packed, lambda manifest: manifest["artifacts"].pop())))
    refused(cgnn)


def changes(**values: Any) -> Callable[[dict[str, Any]], None]:
    return lambda manifest: manifest.update(values)


RECORD = {"content": "c", "key": "k", "source": {}, "summary": {}}


@pytest.mark.parametrize(
    "change",
    [
        changes(format="zip"),
        changes(version="1"),
        changes(version=0),
        changes(artifacts=None),
        changes(artifacts=[1]),
        changes(wanted=3),
        changes(datasets=[]),
        changes(datasets={"x": {}}),
        changes(datasets={"x": None}),
        changes(datasets={"x": {**RECORD, "source": "s"}}),
        changes(datasets={"x": {**RECORD, "summary": {"notes": 3}}}),
        changes(datasets={"x": {**RECORD, "summary": {"notes": [3]}}}),
        changes(datasets={"x": {**RECORD, "summary": {"repeats": "many"}}}),
        changes(datasets={"x": RECORD}),
        changes(datasets={"../up": RECORD}),
        changes(datasets={"": RECORD}),
        changes(datasets={"a/b": RECORD}),
    ],
)
def test_a_wrong_manifest_is_refused(
    cgnn: FrontDoor, packed: Members, change: Callable[[dict[str, Any]], None]
) -> None:
    write_tar(plain(with_manifest(packed, change)))
    refused(cgnn)


def test_a_manifest_that_is_no_json_object(cgnn: FrontDoor, packed: Members) -> None:
    for content in (b"", b"[]", b"{", b"\xff\xfe", b"[" * 100_000):
        write_tar(plain({**packed, "manifest.json": content}))
        refused(cgnn)


def test_a_pack_of_a_newer_version(cgnn: FrontDoor, packed: Members) -> None:
    write_tar(plain(with_manifest(packed, changes(version=2))))
    assert "upgrade" in refused(cgnn, 4)


def test_a_dataset_name_for_a_graph_with_another_content(cgnn: FrontDoor, packed: Members) -> None:
    def forge(manifest: dict[str, Any]) -> None:
        manifest["datasets"]["tiny"]["content"] = "0" * 64

    write_tar(plain(with_manifest(packed, forge)))
    assert "dataset tiny" in refused(cgnn)


def test_a_huge_manifest_is_not_read(cgnn: FrontDoor, packed: Members, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cgnn_cli.store.pack.MANIFEST_MOST_BYTES", 10)
    write_tar(plain(packed))
    refused(cgnn)


def test_unpacking_on_a_full_disk_leaves_nothing(
    cgnn: FrontDoor, packed: Members, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path) -> None:
        raise OSError(28, "No space left on device")

    write_tar(plain(packed))
    monkeypatch.setattr("cgnn_cli.store.store.sync", full)
    assert "no room" in cgnn.fails(7, "cache", "unpack", "bad.tar", "--store", "there")
    assert not Path("there").exists()


def test_a_damaged_artifact_of_the_store_is_replaced(cgnn: FrontDoor, packed: Members) -> None:
    write_tar(plain(packed))
    cgnn.ok("cache", "unpack", "bad.tar")
    path = next(Path(".cgnn/rewire").glob("*.h5"))
    path.chmod(0o644)
    path.write_bytes(b"nothing")
    rows = cgnn.ok("cache", "unpack", "bad.tar", "--json").json["summary"]["artifacts"]
    assert [row["cache"] for row in rows] == ["hit", "new"]
    cgnn.ok("cache", "verify")
