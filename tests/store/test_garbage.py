"""Garbage: what the newest results need stays, what is in use too, the rest goes. tests/cli/test_cache.py has more."""

import contextlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from filelock import FileLock

from cgnn_cli.errors import ResourceError
from cgnn_cli.store import artifact as files
from cgnn_cli.store import garbage
from cgnn_cli.store.artifact import Header
from cgnn_cli.store.garbage import STALE_LOCK, collect_garbage
from cgnn_cli.store.locking import claim_lock
from cgnn_cli.store.store import Store
from tests.store.samples import sample


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A store with the graph of the dataset `mine`."""
    store = Store(tmp_path / "store")
    graph = publish(store, "graph")
    store.set_dataset("mine", {"key": graph.key, "content": "c"})
    return store


def publish(store: Store, stage: str, days: float = 0, name: str = "", **inputs: Header) -> Header:
    """An artifact of so many days ago."""
    keys = {role.replace("_", "-"): header.key for role, header in inputs.items()}
    started = (datetime.now(UTC) - timedelta(days=days)).isoformat()
    return store.publish(sample(stage, config={"name": name}, inputs=keys, started=started))


def graph_in(store: Store) -> Header:
    header = store.find("graph", store.dataset("mine")["key"])
    assert header is not None
    return header


def present(store: Store) -> set[str]:
    return {header.key for stage in files.FILE_TYPES for header in store.headers(stage)}


def publish_two(store: Store) -> tuple[Header, Header]:
    """An old commute artifact, and the newest, which is what the next command takes."""
    graph = graph_in(store)
    return publish(store, "commute", 9, "old", graph=graph), publish(store, "commute", 8, "new", graph=graph)


def test_the_newest_of_a_result_stays_with_all_it_was_made_from(store: Store) -> None:
    graph = graph_in(store)
    rewired = publish(store, "rewire", 7, graph=graph)
    walk = publish(store, "dilap", 6, rewire=rewired)
    unused = publish(store, "dilap", 6.5, "unused", rewire=rewired)
    old = publish(store, "commute", 5, "old", graph=graph, dilap=unused)
    new = publish(store, "commute", 4, "new", graph=graph, dilap=walk)
    collected = collect_garbage(store)
    assert present(store) == {header.key for header in (graph, rewired, walk, new)}
    assert [piece.guard for piece, _ in collected.removed] == [("commute", old.key), ("dilap", unused.key)]
    assert collected.kept == 4 and collected.freed > 0


def test_results_of_a_graph_without_a_name_go(store: Store) -> None:
    nameless = publish(store, "graph", 3, "other")
    result = publish(store, "commute", 2, graph=nameless)
    newest = publish(store, "commute", 1, graph=graph_in(store))
    store.remember_latest("graph", graph_in(store).key)
    collect_garbage(store)
    assert not {nameless.key, result.key} & present(store) and newest.key in present(store)


def test_what_is_young_stays_as_long_as_asked(store: Store) -> None:
    old, new = publish_two(store)
    collect_garbage(store, keep_days=9.5)
    assert {old.key, new.key} <= present(store)
    collect_garbage(store, keep_days=8.5)
    assert old.key not in present(store) and new.key in present(store)


def test_fits_that_no_training_has_collected_stay_for_a_day(store: Store) -> None:
    graph = graph_in(store)
    fits = [publish(store, "fit", days, str(days), graph=graph) for days in (0.1, 0.5, 2)]
    publish(store, "train", 1, "old", graph=graph, fit_0=fits[1])
    publish(store, "train", 0, "new", graph=graph)
    store.remember_latest("fit", publish(store, "fit", 3, "latest", graph=graph).key)
    collect_garbage(store)
    assert [fit.key in present(store) for fit in fits] == [True, False, False]


def test_an_artifact_of_a_newer_format_is_not_judged(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as later:
        later.setattr(files, "FORMAT_VERSION", files.FORMAT_VERSION + 1)
        later.setattr(files, "format_version", lambda elements: files.FORMAT_VERSION)
        newer = publish(store, "rewire", 9)
    path = store.path("rewire", newer.key)
    path.with_suffix(".json").unlink()
    collect_garbage(store)
    assert path.exists()


def test_a_dry_run_tells_the_same_and_changes_nothing(store: Store) -> None:
    old, _ = publish_two(store)
    (store.root / "locks").mkdir()
    before = sorted(store.root.rglob("*"))
    told = collect_garbage(store, dry_run=True)
    assert sorted(store.root.rglob("*")) == before
    assert [(piece.what, piece.guard) for piece, _ in told.removed] == [("artifact", ("commute", old.key))]
    assert collect_garbage(store) == told


def test_what_another_process_works_on_stays(store: Store) -> None:
    old, _ = publish_two(store)
    store.lock_path("commute", old.key).parent.mkdir()
    with FileLock(store.lock_path("commute", old.key)):
        collected = collect_garbage(store)
        assert [piece.what for piece in collected.in_use] == ["artifact", STALE_LOCK] and not collected.removed
    assert old.key in present(store)


def test_what_was_asked_for_meanwhile_stays(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    old, _ = publish_two(store)

    @contextlib.contextmanager
    def ask_then_claim(path: Path) -> Iterator[bool]:
        store.remember_latest("commute", old.key)
        with claim_lock(path) as free:
            yield free

    monkeypatch.setattr(garbage, "claim_lock", ask_then_claim)
    collect_garbage(store)
    assert old.key in present(store)


def test_what_was_made_anew_meanwhile_stays(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    old, _ = publish_two(store)

    @contextlib.contextmanager
    def make_then_claim(path: Path) -> Iterator[bool]:
        store.publish(store.load("commute", old.key))
        with claim_lock(path) as free:
            yield free

    monkeypatch.setattr(garbage, "claim_lock", make_then_claim)
    collect_garbage(store)
    assert old.key in present(store)


def test_what_cannot_be_removed_is_an_error(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    publish_two(store)

    def refuse(path: Path, missing_ok: bool = False) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.raises(ResourceError, match="cannot remove"):
        collect_garbage(store)
