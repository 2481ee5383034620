"""Housekeeping: what lies in a store, from its side records, and whether it is sound."""

from pathlib import Path

import pytest

from cgnn_cli.store.housekeeping import (
    DAMAGED,
    SOUND,
    artifact_files,
    dataset_names,
    list_store,
    recorded_headers,
    temporaries,
    verify,
)
from cgnn_cli.store.store import Store
from tests.store.samples import sample


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A store with a graph of two names, and what was made from it."""
    store = Store(tmp_path / "store")
    graph = store.publish(sample("graph"))
    for name in ("a", "b"):
        store.set_dataset(name, {"key": graph.key, "content": "c"})
    rewired = store.publish(sample("rewire", inputs={"graph": graph.key}))
    store.publish(sample("dilap", inputs={"rewire": rewired.key}))
    return store


def test_the_listing_has_every_artifact_with_the_names_of_its_graph(store: Store) -> None:
    listing = list_store(store)
    assert [(row["stage"], row["datasets"]) for row in listing.artifacts] == [
        (stage, ["a", "b"]) for stage in store_stages(store)
    ]
    assert [row["bytes"] for row in listing.artifacts] == [path.stat().st_size for path in artifact_files(store)]
    assert (listing.unfinished, listing.quarantined, listing.temporaries, listing.unrecorded) == (0, 0, 0, 0)
    assert [row["stage"] for row in list_store(store, ["dilap"]).artifacts] == ["dilap"]
    assert list(dataset_names(store).values()) == [["a", "b"]]


def store_stages(store: Store) -> list[str]:
    return [stage for stage, _ in recorded_headers(store)]


def test_an_artifact_whose_origin_is_lost_has_no_dataset(store: Store) -> None:
    store.path(*next(place for place in recorded_headers(store) if place[0] == "rewire")).unlink()
    listing = list_store(store)
    assert [(row["stage"], row["datasets"]) for row in listing.artifacts] == [("graph", ["a", "b"]), ("dilap", [])]


def test_only_names_that_writers_give_are_temporaries(store: Store) -> None:
    key = "a" * 32
    mine = [store.root / "graph" / f".{key}.0123456789ab.tmp", store.root / ".k.0123456789ab.cgnn.tmp"]
    others = [store.root / "graph" / name for name in (".k.0123456789ab.tmp", ".k.tmp", "k.0123456789ab.cgnn.tmp")]
    others += [store.root / f".{key}.0123456789AB.tmp"]
    for path in (*mine, *others):
        path.touch()
    assert sorted(temporaries(store)) == sorted(mine)


def test_verify_tells_sound_damaged_and_missing(store: Store) -> None:
    path = artifact_files(store)[0]
    place = path.parent.name, path.stem
    path.with_suffix(".json").unlink()
    assert verify(store, *place) == (SOUND, "") and path.with_suffix(".json").exists()
    path.chmod(0o644)
    path.write_bytes(path.read_bytes()[:-1])
    assert verify(store, *place) == (DAMAGED, "") and not path.exists()
    assert verify(store, *place) is None
