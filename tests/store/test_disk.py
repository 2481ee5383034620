"""Files on disk: whole or not at all, and nothing left under other names."""

from pathlib import Path

import pytest

from cgnn_cli.store.disk import file_sha256, identity, read_json, temporary_beside, write_atomically, write_json
from cgnn_cli.store.housekeeping import TEMPORARY


def test_write_atomically_replaces_the_whole_file_or_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    target = Path("file.json")
    write_atomically(target, b"old")
    write_atomically(target, b"new")
    assert target.read_bytes() == b"new"

    def fail(source: object, destination: object) -> None:
        raise OSError("no")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="no"):
        write_atomically(target, b"newer")
    assert [path.name for path in Path().iterdir()] == ["file.json"] and target.read_bytes() == b"new"


def test_a_temporary_has_a_name_that_clean_up_knows_and_goes_in_the_end() -> None:
    with temporary_beside(Path("key.h5")) as temporary:
        assert TEMPORARY.fullmatch(temporary.name)
        temporary.touch()
    assert not list(Path().iterdir())


def test_json_comes_back_and_what_is_damaged_is_empty() -> None:
    write_json(Path("a/b.json"), {"x": [1, "ä"]})
    assert read_json(Path("a/b.json")) == {"x": [1, "ä"]}
    for content in (b"", b"[]", b"{", b"[" * 9999):
        Path("a/b.json").write_bytes(content)
        assert read_json(Path("a/b.json")) == {}
    assert read_json(Path("missing.json")) == {}


def test_a_file_is_told_from_another_under_its_name() -> None:
    assert identity(Path("file")) is None
    write_atomically(Path("file"), b"one")
    first, digest = identity(Path("file")), file_sha256(Path("file"))
    write_atomically(Path("file"), b"two")
    assert identity(Path("file")) != first and file_sha256(Path("file")) != digest
