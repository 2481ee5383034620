"""The store: publishing, finding, the newest artifact, keys by their beginning, names of datasets."""

import dataclasses
import json
import os
import shutil
import stat
from pathlib import Path
from typing import Any

import pytest

from cgnn_cli.errors import UpstreamError
from cgnn_cli.store import artifact as files
from cgnn_cli.store.artifact import Artifact, Header
from cgnn_cli.store.disk import file_sha256
from cgnn_cli.store.elements import checksum
from cgnn_cli.store.store import Store
from tests.faults.processes import run
from tests.front_door import FrontDoor
from tests.store.samples import ELEMENTS, sample


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """An empty store that must not have to repair anything."""

    def refuse(message: str) -> None:
        raise AssertionError(message)

    return Store(tmp_path / "store", warn=refuse)


def publish(store: Store, **parts: Any) -> Header:
    return store.publish(sample(**parts))


def test_what_is_published_is_found_and_loaded(store: Store) -> None:
    header = publish(store)
    assert store.find("commute", header.key) == header
    loaded = store.load("commute", header.key)
    assert loaded.header == header and checksum(loaded.elements) == checksum(ELEMENTS)


def test_the_file_is_read_only_and_has_a_side_record(store: Store) -> None:
    path = store.path("commute", publish(store).key)
    assert stat.S_IMODE(path.stat().st_mode) == 0o444
    record = json.loads(path.with_suffix(".json").read_text())
    assert record["size"] == path.stat().st_size
    assert record["file_sha256"] == file_sha256(path)
    assert record["header"] == files.read(path).header.to_json()
    assert sorted(other.suffix for other in path.parent.iterdir()) == [".h5", ".json"]


def test_what_is_not_there_is_not_found(store: Store) -> None:
    header = publish(store)
    assert store.find("commute", "0" * 32) is None
    assert store.find("dilap", header.key) is None
    assert Store(Path("elsewhere")).find("commute", header.key) is None


def test_a_key_or_stage_that_is_a_path_is_never_followed(store: Store) -> None:
    victim = store.root.parent / "victim.h5"
    store.root.joinpath("commute").mkdir(parents=True)
    victim.write_bytes(b"not an artifact")
    assert store.find("commute", "../../victim") is None
    assert store.find("../..", "victim") is None
    assert victim.read_bytes() == b"not an artifact"


def test_publishing_again_replaces_the_provenance_but_not_the_payload(store: Store) -> None:
    first, second = publish(store), publish(store, started="2026-02-02T00:00:00")
    assert first.payload == second.payload and first != second
    assert store.find("commute", first.key) == second


def test_a_payload_is_filled_in_by_publishing_not_by_the_caller(store: Store) -> None:
    artifact = sample()
    lying = dataclasses.replace(artifact.header, payload="0" * 64)
    assert store.publish(Artifact(lying, artifact.elements)) == artifact.header


def test_case_18_a_copied_and_touched_store_has_all_the_same_hits(store: Store) -> None:
    headers = [publish(store, stage="dilap"), publish(store), publish(store, config={"solver": "svd"})]
    store.set_dataset("mine", {"key": headers[0].key, "content": "c"})
    store.remember_latest("commute", headers[1].key)
    copy = dataclasses.replace(store, root=store.root.with_name("copy"))
    shutil.copytree(store.root, copy.root)
    for path in copy.root.rglob("*"):
        os.utime(path, (0, 0))
    for header in headers:
        assert copy.find(header.stage, header.key) == header
    assert copy.latest("commute") == headers[1] and copy.dataset("mine") == store.dataset("mine")


SKEWED = """
import datetime, time
now = time.time
time.time = lambda: now() + {days} * 86400
class Skewed(datetime.datetime):
    @classmethod
    def now(cls, zone=None):
        return super().now(zone) + datetime.timedelta(days={days})
datetime.datetime = Skewed
"""


@pytest.mark.parametrize("days", [-9000, 9000])
def test_case_18_a_copied_store_on_a_machine_whose_clock_is_wrong(days: int, cgnn: FrontDoor) -> None:
    command = ("commute", "--dataset", "demo", "--solver", "pi-only", "--json", "--store")
    key = cgnn.ok(*command, "store").json["key"]
    shutil.copytree("store", "copy", copy_function=shutil.copyfile)
    for path in Path("copy").rglob("*"):
        os.utime(path, (1e9, 1e9))
    made = run(*command, "copy", patch=SKEWED.format(days=days), fresh=True).json
    assert made["key"] == key and {stage["cache"] for stage in made["stages"]} == {"hit"}
    assert run("cache", "verify", "--store", "copy", patch=SKEWED.format(days=days), fresh=True).code == 0
    assert run("cache", "gc", "--store", "copy", patch=SKEWED.format(days=days), fresh=True).code == 0
    assert cgnn.ok(*command, "copy").json["cache"] == "hit"


def test_the_newest_is_the_last_made_or_asked_for(store: Store) -> None:
    assert store.latest("commute") is None
    old = publish(store, config={"rank": 1}, started="2026-01-01T00:00:00")
    new = publish(store, config={"rank": 2}, started="2026-01-02T00:00:00")
    assert store.latest("commute") == new and store.headers("commute") == [old, new]
    store.remember_latest("commute", old.key)
    assert store.latest("commute") == old
    store.remember_latest("commute", "0" * 32)  # not here: a file elsewhere was used
    assert store.latest("commute") == old
    assert store.latest("dilap") is None


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"key": 5}', b'{"key": "unknown"}'])
def test_a_damaged_note_of_the_newest_falls_back_to_the_last_made(store: Store, content: bytes) -> None:
    publish(store, config={"rank": 1}, started="2026-01-01T00:00:00")
    new = publish(store, config={"rank": 2}, started="2026-01-02T00:00:00")
    store.remember_latest("commute", new.key)
    (store.root / "latest" / "commute.json").write_bytes(content)
    assert store.latest("commute") == new


def test_a_key_is_resolved_from_its_beginning(store: Store) -> None:
    headers = [publish(store, config={"rank": rank}) for rank in range(17)]
    for header in headers[:3]:
        assert store.resolve(header.key) == ("commute", header.key)
        assert store.resolve(header.key[:12]) == ("commute", header.key)
    beginnings = [header.key[0] for header in headers]
    shared = next(letter for letter in beginnings if beginnings.count(letter) > 1)  # 17 keys, 16 letters
    with pytest.raises(UpstreamError, match="ambiguous"):
        store.resolve(shared)


@pytest.mark.parametrize("name", ["", "0000", "*", "../commute", "x y", "."])
def test_what_names_no_key_is_an_upstream_error(store: Store, name: str) -> None:
    publish(store)
    with pytest.raises(UpstreamError, match="neither a file nor a key"):
        store.resolve(name)


def test_datasets_are_remembered_by_name(store: Store) -> None:
    assert store.dataset("mine") == {} and store.dataset_names() == []
    record = {"key": "k", "content": "c", "source": {"edges": "ä.csv"}, "summary": {}}
    store.set_dataset("mine", record)
    store.set_dataset("also", record)
    assert store.dataset("mine") == record
    assert store.dataset_names() == ["also", "mine"]


@pytest.mark.parametrize(
    "content", [b"", b"\xff\xfe", b"[1]", b"{}", b'{"key": "k"}', b'{"key": 1, "content": 2}', b"[" * 9999]
)
def test_a_damaged_record_of_a_dataset_counts_as_unknown(store: Store, content: bytes) -> None:
    store.set_dataset("mine", {"key": "k", "content": "c"})
    (store.root / "datasets" / "mine.json").write_bytes(content)
    assert store.dataset("mine") == {}


def test_a_demo_record_that_is_damaged_is_made_again(cgnn: FrontDoor) -> None:
    first = cgnn.ok("rewire", "--dataset", "demo", "--store", "store").path
    Path("store/datasets/demo.json").write_bytes(b"{}")
    again = cgnn.ok("rewire", "--dataset", "demo", "--store", "store", "--json").json
    assert (again["artifact"], again["cache"]) == (first, "hit")


def test_the_same_stage_in_two_stores_has_the_same_key_and_payload(cgnn: FrontDoor) -> None:
    paths = [cgnn.ok("dilap", "--dataset", "demo", "--store", name).path for name in ("one", "two")]
    one, two = (files.read(Path(path)).header for path in paths)
    assert paths[0] != paths[1]
    assert (one.key, one.payload) == (two.key, two.payload)
    assert one.provenance["started"] != two.provenance["started"]
    assert "--store one" in one.provenance["command"] and "--store two" in two.provenance["command"]
