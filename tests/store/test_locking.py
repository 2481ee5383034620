"""Locks: one works, the others wait, and where locks do not work all go on."""

from pathlib import Path

import pytest
from filelock import FileLock

from cgnn_cli.errors import BusyError
from cgnn_cli.store.locking import claim_lock, hold_lock

LOCK = Path("locks/fit-a.lock")


def refuse(lock: FileLock, **options: object) -> None:
    raise OSError(95, "Operation not supported")


def test_a_free_lock_is_held_and_tells_its_owner() -> None:
    with hold_lock(LOCK, "computing", 0, pytest.fail):
        assert ":" in LOCK.with_suffix(".owner").read_text()
        with claim_lock(LOCK) as free:
            assert not free
    with claim_lock(LOCK) as free:
        assert free
    assert LOCK.exists(), "it was there before it was claimed"


def test_a_lock_that_stays_held_is_an_error_that_names_who_holds_it() -> None:
    said: list[str] = []
    with hold_lock(LOCK, "computing", 0, pytest.fail):
        owner = LOCK.with_suffix(".owner").read_text()
        with (
            pytest.raises(BusyError, match=f"{owner} has been computing"),
            hold_lock(LOCK, "computing", 0, said.append),
        ):
            pytest.fail("it is held")
    assert said == [f"waiting for {owner}, which is computing"]


def test_a_claim_leaves_no_lock_file_behind() -> None:
    with claim_lock(LOCK) as free:
        assert free and LOCK.exists()
    assert not LOCK.exists()


def test_without_locks_work_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FileLock, "acquire", refuse)
    said: list[str] = []
    with hold_lock(LOCK, "computing", 0, said.append):
        assert "no locks in locks" in said[0]
    with claim_lock(LOCK) as free:
        assert free
