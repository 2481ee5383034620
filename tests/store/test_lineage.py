"""Lineage: the walk over what an artifact was made from, why keys differ, and artifacts by name."""

import shutil
from pathlib import Path

import pytest

from cgnn_cli.errors import UpstreamError
from cgnn_cli.store.artifact import Header
from cgnn_cli.store.lineage import (
    differences,
    graph_key,
    lineage_differences,
    load_graph,
    locate,
    open_artifact,
    walk,
)
from cgnn_cli.store.store import Store
from tests.store.samples import header_of, sample


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def publish_chain(store: Store, form: str = "incidence") -> dict[str, Header]:
    """A training of two splits and all before it, by role."""
    made: dict[str, Header] = {}

    def publish(role: str, inputs: tuple[str, ...] = (), **config: object) -> None:
        keys = {name: made[name].key for name in inputs}
        stage = role.partition("-")[0]
        made[role] = store.publish(sample(stage, config={"of": role, **config}, inputs=keys))

    publish("graph")
    publish("rewire", ("graph",))
    publish("dilap", ("rewire",), form=form)
    publish("commute", ("dilap", "graph"))
    publish("operators-cgnn", ("graph", "commute"))
    publish("fit-0", ("graph", "operators-cgnn"))
    publish("fit-1", ("graph", "operators-cgnn"))
    publish("train", ("commute", "fit-0", "fit-1", "graph"))
    return made


def test_the_walk_gives_everything_once_and_inputs_first(store: Store) -> None:
    made = publish_chain(store)
    train = made.pop("train")
    found = list(walk(train, store.find))
    assert dict(found) == made and len(found) == len(made)
    seen: set[str] = set()
    for _, header in found:
        assert set(header.inputs.values()) <= seen
        seen.add(header.key)
    assert list(walk(made["graph"], store.find)) == []


def test_what_is_missing_is_left_out_with_what_only_it_was_made_from(store: Store) -> None:
    made = publish_chain(store)
    store.path("dilap", made["dilap"].key).unlink()
    assert set(dict(walk(made["train"], store.find))) == set(made) - {"train", "dilap", "rewire"}


def test_a_find_that_raises_reports_what_is_missing(store: Store) -> None:
    header = header_of("dilap", inputs={"rewire": "1" * 32})

    def find(stage: str, key: str) -> Header | None:
        raise UpstreamError(f"{stage} {key} is missing")

    with pytest.raises(UpstreamError, match=r"rewire 1+ is missing"):
        list(walk(header, find))


def test_the_graph_behind_every_stage_is_found(store: Store) -> None:
    made = publish_chain(store)
    for header in made.values():
        assert graph_key(header, store.find) == made["graph"].key
        assert load_graph(store, header).header == made["graph"]
    store.path("rewire", made["rewire"].key).unlink()
    assert graph_key(made["dilap"], store.find) is None
    assert graph_key(made["commute"], store.find) == made["graph"].key
    with pytest.raises(UpstreamError, match=r"the graph that dilap .* is not in the store"):
        load_graph(store, made["dilap"])
    store.path("graph", made["graph"].key).unlink()
    with pytest.raises(UpstreamError, match=r"the graph that commute .* is not in the store"):
        load_graph(store, made["commute"])


def test_differences_are_in_all_that_goes_into_a_key() -> None:
    a = header_of(config={"solver": "svd", "rank": 5}, inputs={"graph": "a", "dilap": "b"})
    b = header_of(config={"solver": "exact"}, inputs={"graph": "a", "dilap": "c"}, summary={"other": 1})
    assert differences(a, b) == {"solver": ("svd", "exact"), "rank": (5, None), "input dilap": ("b", "c")}
    assert differences(a, a) == {}


def test_differences_are_followed_to_their_cause(store: Store) -> None:
    one, two = publish_chain(store), publish_chain(store, form="random-walk")
    rows = lineage_differences(store, one["commute"], two["commute"])
    keys = one["dilap"].key[:12], two["dilap"].key[:12]
    assert rows == [("commute", "input dilap", *keys), ("dilap", "form", "incidence", "random-walk")]
    assert lineage_differences(store, one["train"], one["train"]) == []
    assert lineage_differences(store, one["train"], two["commute"]) == []
    assert {stage for stage, *_ in lineage_differences(store, one["train"], two["train"])} == {
        "train", "fit", "operators", "commute", "dilap",
    }  # fmt: skip


def test_an_artifact_is_located_by_its_key_or_its_path(store: Store) -> None:
    header = store.publish(sample())
    path = store.path("commute", header.key)
    assert locate(store, header.key[:8]) == locate(store, str(path)) == ("commute", header.key)
    shutil.copy(path, "copy.h5")
    (store.root / "partial").mkdir()
    shutil.copy(path, store.root / "partial")
    for wrong in ("copy.h5", "missing/file.h5", "a/b/c", str(store.root / "partial" / path.name)):
        with pytest.raises(UpstreamError, match="is not an artifact in the store"):
            locate(store, wrong)
    with pytest.raises(UpstreamError, match="neither a file nor a key"):
        locate(store, "zzz")


def test_an_artifact_is_opened_by_its_key_or_any_file(store: Store) -> None:
    header = store.publish(sample())
    path = store.path("commute", header.key)
    shutil.copy(path, "copy.h5")
    for name, file in ((header.key[:8], path), (str(path), path), ("copy.h5", Path("copy.h5"))):
        found, artifact = open_artifact(store, name)
        assert (found, artifact.header) == (file, header)
    for missing in ("none.h5", "none.npz", "folder/none"):
        with pytest.raises(UpstreamError, match="there is no file"):
            open_artifact(store, missing)
    with pytest.raises(UpstreamError, match="neither a file nor a key"):
        open_artifact(store, "zzz")
    with pytest.raises(UpstreamError, match="no artifact is named"):
        open_artifact(store, "")
