"""Damaged files: never wrong numbers. The cache heals itself; a file that the user named is an error and stays."""

import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cgnn_cli.errors import CorruptError, ForeignError, ResourceError, UpstreamError
from cgnn_cli.store import artifact as files
from cgnn_cli.store import elements
from cgnn_cli.store.artifact import Artifact
from cgnn_cli.store.elements import checksum
from cgnn_cli.store.store import Store
from tests.faults.processes import COMMUTE, artifacts_of, payload_of, run
from tests.front_door import FrontDoor
from tests.store.samples import sample, write

CUTS: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "96 bytes": lambda data: data[:96],
    "half": lambda data: data[: len(data) // 2],
    "without its checksum": lambda data: data[: -files.TRAILER_LENGTH],
    "last byte": lambda data: data[:-1],
}
DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    **CUTS,
    "zeros at the end": lambda data: data[:-4096] + bytes(4096),
    "garbage in the middle": lambda data: data[:1000] + bytes(255 - byte for byte in data[1000:1200]) + data[1200:],
    "flipped bit": lambda data: flipped(data, len(data) // 3, 4),
    "text": lambda data: b"<html>404</html>\n",
    "bytes after the end": lambda data: data + b"\0",
}
FLIPS_IN_FILES, FLIPS_IN_ENTRIES = 200, 100
each_damage = pytest.mark.parametrize("damage", DAMAGE.values(), ids=list(DAMAGE))


def flipped(data: bytes, offset: int, bit: int) -> bytes:
    changed = bytearray(data)
    changed[offset] ^= 1 << bit
    return bytes(changed)


def spoil(path: Path, damage: Callable[[bytes], bytes]) -> bytes:
    """Damage a published file; returns what is in it now."""
    content = damage(path.read_bytes())
    path.chmod(0o644)
    path.write_bytes(content)
    path.chmod(0o444)
    return content


class Shelf:
    """A store with one small artifact, and the warnings it gives."""

    def __init__(self, root: Path) -> None:
        self.warnings: list[str] = []
        self.store = Store(root, warn=self.warnings.append)
        self.artifact = sample()
        self.header = self.store.publish(self.artifact)
        self.path = self.store.path("commute", self.header.key)
        self.record = self.path.with_suffix(".json")

    def find(self) -> Any:
        return self.store.find("commute", self.header.key)

    def quarantined(self) -> list[bytes]:
        return [path.read_bytes() for path in (self.store.root / "quarantine").glob("*")]


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path / "store")


# --- in the cache ----------------------------------------------------------------------------------------------------


@each_damage
def test_case_05_a_damaged_entry_goes_to_quarantine(shelf: Shelf, damage: Callable[[bytes], bytes]) -> None:
    content = spoil(shelf.path, damage)
    assert shelf.find() is None
    assert not shelf.path.exists() and not shelf.record.exists()
    assert shelf.quarantined() == [content]
    (warning,) = shelf.warnings
    assert "damaged cache entry moved to" in warning and str(shelf.path) in warning
    assert shelf.store.publish(shelf.artifact) == shelf.find()


@pytest.mark.parametrize("name", DAMAGE)
def test_damaged_entry_without_a_record_goes_to_quarantine_too_if_it_says_what_it_is(shelf: Shelf, name: str) -> None:
    content = spoil(shelf.path, DAMAGE[name])
    shelf.record.unlink()
    if name == "empty":  # nothing is in it that could be lost
        assert shelf.find() is None and shelf.quarantined() == []
        assert shelf.store.publish(shelf.artifact) == shelf.find()
    elif shelf.header.key.encode() in content:
        assert shelf.find() is None
        assert shelf.quarantined() == [content]
    else:
        with pytest.raises(ForeignError, match="is not cgnn's, and stays as it is"):
            shelf.find()
        with pytest.raises(ForeignError):
            shelf.store.publish(shelf.artifact)
        assert shelf.path.read_bytes() == content and shelf.quarantined() == []


@pytest.mark.parametrize("suffix", [".h5", ".npz"])
def test_case_06_no_flipped_bit_ever_gives_other_numbers(suffix: str, shelf: Shelf) -> None:
    """Places all over a small artifact, one bit each."""
    path = write(Path(f"sweep{suffix}"), shelf.artifact)
    whole, expected = path.read_bytes(), checksum(shelf.artifact.elements)
    outcomes = {"same": 0, "refused": 0}
    for number, offset in enumerate(np.linspace(0, len(whole) - 1, FLIPS_IN_FILES).astype(int).tolist()):
        path.write_bytes(flipped(whole, offset, number % 8))
        try:
            found = files.read(path)
        except (CorruptError, UpstreamError):
            outcomes["refused"] += 1
        else:
            assert found.header == shelf.header and checksum(found.elements) == expected, offset
            outcomes["same"] += 1
    assert sum(outcomes.values()) == FLIPS_IN_FILES and outcomes["refused"] > FLIPS_IN_FILES // 2


def test_case_06_no_flipped_bit_in_a_cache_entry_survives(shelf: Shelf) -> None:
    whole = shelf.path.read_bytes()
    for number, offset in enumerate(np.linspace(0, len(whole) - 1, FLIPS_IN_ENTRIES).astype(int).tolist()):
        shelf.store.publish(shelf.artifact)
        spoil(shelf.path, lambda data, at=offset, bit=number % 8: flipped(data, at, bit))  # type: ignore[misc]
        assert shelf.find() is None, offset
    assert len(shelf.quarantined()) == FLIPS_IN_ENTRIES


@pytest.mark.parametrize("suffix", [".h5", ".npz"])
@pytest.mark.parametrize("cut", CUTS.values(), ids=list(CUTS))
def test_a_truncated_file_is_refused(suffix: str, cut: Callable[[bytes], bytes]) -> None:
    path = write(Path(f"cut{suffix}"), sample())
    path.write_bytes(cut(path.read_bytes()))
    with pytest.raises(CorruptError, match="damaged"):
        files.read(path)


def test_an_artifact_under_another_key_goes_to_quarantine(shelf: Shelf) -> None:
    other = shelf.store.publish(sample(config={"rank": 1}))
    spoil(shelf.path, lambda _: shelf.store.path("commute", other.key).read_bytes())
    assert shelf.find() is None
    assert f"holds the artifact commute {other.key}" in shelf.warnings[0]


RECORDS: dict[str, Callable[[dict[str, Any]], object]] = {
    "other numbers in its summary": lambda record: change(record, "summary", {"median": 1.0, "notes": []}),
    "another key": lambda record: change(record, "key", "0" * 32),
    "a header of another kind": lambda record: {**record, "header": {"stage": "commute"}},
    "a header that is no object": lambda record: {**record, "header": [1, 2]},
    "no header": lambda record: {name: value for name, value in record.items() if name != "header"},
    "another size": lambda record: {**record, "size": record["size"] + 1},
    "no size": lambda record: {**record, "size": None},
    "another checksum": lambda record: {**record, "file_sha256": "0" * 64},
    "a checksum that is no text": lambda record: {**record, "file_sha256": {"a": 1}},
    "a list": lambda record: [record],
    "null": lambda record: None,
}


def change(record: dict[str, Any], name: str, value: object) -> dict[str, Any]:
    return {**record, "header": {**record["header"], name: value}}


@pytest.mark.parametrize("damage", RECORDS.values(), ids=list(RECORDS))
def test_a_record_that_is_wrong_is_replaced_from_the_file(
    shelf: Shelf, damage: Callable[[dict[str, Any]], object]
) -> None:
    record = json.loads(shelf.record.read_text())
    shelf.record.write_text(json.dumps(damage(record)))
    assert shelf.find() == shelf.header
    assert shelf.warnings == [] and json.loads(shelf.record.read_text()) == record


@pytest.mark.parametrize("content", [None, b"", b"{", b"\xff\xfe\x00", b"[" * 100_000, b'{"size": NaN}'])
def test_a_record_that_is_missing_or_garbage_is_replaced(shelf: Shelf, content: bytes | None) -> None:
    record = json.loads(shelf.record.read_text())
    if content is None:
        shelf.record.unlink()
    else:
        shelf.record.write_bytes(content)
    assert shelf.find() == shelf.header
    assert shelf.warnings == [] and json.loads(shelf.record.read_text()) == record


def test_a_garbage_record_does_not_hide_the_other_artifacts(shelf: Shelf) -> None:
    other = shelf.store.publish(sample(config={"rank": 1}))
    shelf.record.write_text(json.dumps({"header": {**shelf.header.to_json(), "provenance": 5}}))
    assert shelf.store.headers("commute") == [other]


def test_a_changed_mode_is_still_a_hit_but_a_deleted_file_is_a_miss(shelf: Shelf) -> None:
    shelf.path.chmod(0o644)
    assert shelf.find() == shelf.header
    shelf.path.unlink()
    assert shelf.find() is None
    assert shelf.store.headers("commute") == [] and shelf.store.latest("commute") is None
    assert shelf.warnings == []


def test_adopting_protects_the_file_again(shelf: Shelf) -> None:
    shelf.path.chmod(0o644)
    shelf.record.unlink()
    assert shelf.find() == shelf.header
    assert stat.S_IMODE(shelf.path.stat().st_mode) == 0o444


def test_too_little_memory_is_not_taken_for_damage(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    def give_up(group: object) -> None:
        raise MemoryError

    shelf.record.unlink()
    monkeypatch.setattr(elements, "read_hdf5", give_up)
    with pytest.raises(ResourceError, match="not enough memory"):
        shelf.find()
    assert shelf.path.exists() and shelf.quarantined() == []


def test_a_good_file_that_took_the_place_of_a_damaged_one_is_not_moved(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process repairs the entry just after this one has read the damage."""
    spoil(shelf.path, DAMAGE["half"])
    read = files.read

    def read_too_early(path: Path) -> Artifact:
        try:
            return read(path)
        except CorruptError:
            monkeypatch.setattr(files, "read", read)
            Store(shelf.store.root).publish(shelf.artifact)
            raise

    monkeypatch.setattr(files, "read", read_too_early)
    shelf.find()
    assert shelf.find() == shelf.header and shelf.quarantined() == []


def test_quarantine_that_cannot_be_made_does_not_stop_the_work(shelf: Shelf) -> None:
    (shelf.store.root / "quarantine").write_text("a file where the folder should be")
    spoil(shelf.path, DAMAGE["half"])
    assert shelf.find() is None
    assert "damaged cache entry ignored" in shelf.warnings[0]
    assert shelf.store.publish(shelf.artifact) == shelf.find()


# --- through the command line ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["half", "flipped bit"])
def test_case_05_commute_recomputes_a_damaged_entry(name: str, full: Path, payloads: dict[str, str]) -> None:
    (path,) = artifacts_of(full, "commute")
    content = spoil(path, DAMAGE[name])
    result = run(*COMMUTE)
    values = result.json
    assert values["cache"] == "miss" and values["artifact"] == str(path)
    assert payload_of(path) == payloads["commute"]
    (kept,) = (full / "quarantine").iterdir()
    assert kept.read_bytes() == content
    assert f"warning: damaged cache entry moved to {kept}" in result.err
    assert [str(kept) in warning for warning in values["warnings"]] == [True]


@pytest.mark.parametrize("stage", ["graph", "rewire", "dilap"])
def test_a_damaged_input_is_noticed_before_it_is_used(
    stage: str, upstream: Path, payloads: dict[str, str], cgnn: FrontDoor
) -> None:
    (path,) = artifacts_of(upstream, stage)
    spoil(path, DAMAGE["flipped bit"])
    if stage == "rewire":
        artifacts_of(upstream, "dilap")[0].unlink()
    if stage == "graph":  # an imported graph cannot be made again
        assert "cgnn data import tiny" in cgnn.fails(4, *COMMUTE)
        assert artifacts_of(upstream, "commute") == []
        return
    result = cgnn.ok(*COMMUTE)
    assert payload_of(result.json["artifact"]) == payloads["commute"]
    assert "damaged cache entry moved to" in result.err
    assert payload_of(path) == payloads[stage]


@each_damage
def test_case_05_a_damaged_file_that_the_user_named_is_an_error_and_stays(
    damage: Callable[[bytes], bytes], full: Path, cgnn: FrontDoor
) -> None:
    mine = Path("mine.h5")
    mine.write_bytes(damage(artifacts_of(full, "dilap")[0].read_bytes()))
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    assert cgnn.fails(5, "commute", "--input", mine, "--store", "store").startswith("error: mine.h5 is")
    assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before


def test_a_damaged_file_that_the_user_named_ends_a_real_process_with_5(full: Path) -> None:
    mine = Path("mine.h5")
    mine.write_bytes(DAMAGE["flipped bit"](artifacts_of(full, "dilap")[0].read_bytes()))
    result = run("commute", "--input", mine, "--store", "store")
    assert (result.code, result.out) == (5, "")
    assert result.err.startswith("error: mine.h5 is damaged") and result.err.count("\n") == 1


@pytest.mark.parametrize("damage", [DAMAGE["half"], DAMAGE["garbage in the middle"]], ids=["half", "garbage"])
def test_a_damaged_npz_file_that_the_user_named_is_an_error_and_stays(
    damage: Callable[[bytes], bytes], full: Path, cgnn: FrontDoor
) -> None:
    written = Path(cgnn.ok("dilap", "--dataset", "tiny", "--store", full, "--format", "npz").path)
    mine = Path("mine.npz")
    mine.write_bytes(damage(written.read_bytes()))
    content = mine.read_bytes()
    assert "mine.npz" in cgnn.fails(5, "commute", "--input", mine, "--store", full)
    assert mine.read_bytes() == content


def test_a_damaged_file_is_not_shown_or_exported(full: Path, cgnn: FrontDoor) -> None:
    (path,) = artifacts_of(full, "commute")
    content = spoil(path, DAMAGE["flipped bit"])
    assert str(path) in cgnn.fails(5, "show", path)
    assert str(path) in cgnn.fails(5, "export", path, "--to", "csv", "--output", "out.csv")
    assert path.read_bytes() == content and not Path("out.csv").exists()


# How often the tests of this file damage an artifact or its record, at least; documents quote it.
CORRUPTIONS = 2 * FLIPS_IN_FILES + FLIPS_IN_ENTRIES + 3 * len(DAMAGE) + 2 * len(CUTS) + len(RECORDS)
