"""What the disk of a store can do is tried, and nothing is left of the trial."""

import errno
import os
from pathlib import Path

import pytest

from cgnn_cli.store import probe as probing
from cgnn_cli.store.probe import existing, probe


def everything_in(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*"))


@pytest.mark.parametrize("made", [True, False])
def test_a_plain_disk_can_do_all_of_it(tmp_path: Path, made: bool) -> None:
    root = tmp_path / "deep" / "store"
    if made:
        (root / "graph").mkdir(parents=True)
    before = everything_in(tmp_path)
    found = probe(root)
    assert [each.name for each in found] == ["writing", "renaming", "locking"]
    assert all(each.works and not each.fault for each in found), found
    assert everything_in(tmp_path) == before
    assert existing(root) == (root if made else tmp_path)


def test_a_rename_that_fails_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(source: os.PathLike[str], target: os.PathLike[str]) -> None:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))

    monkeypatch.setattr(probing.os, "replace", refuse)
    found = {each.name: each for each in probe(tmp_path)}
    assert not found["renaming"].works and found["renaming"].fault == os.strerror(errno.EXDEV)
    assert not everything_in(tmp_path)


def test_a_lock_that_nobody_respects_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probing, "TRY_LOCK", "pass")
    found = {each.name: each for each in probe(tmp_path)}
    assert found["locking"].fault == "two processes hold one lock" and found["writing"].works
    monkeypatch.setattr(probing, "TRY_LOCK", "raise SystemExit(9)")
    assert "another process ended with 9" in probe(tmp_path)[-1].fault
