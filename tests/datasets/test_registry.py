"""Records of datasets through the front door: when a graph is made again, and what marks a stand-in."""

import json
from pathlib import Path

import pytest

from cgnn_cli.datasets.registry import may_stand, own_name
from cgnn_cli.store.store import Store
from tests.datasets.toy_benchmark import NOT_HAD, TOY, know_less, left_behind, write_toy
from tests.front_door import FrontDoor

pytestmark = pytest.mark.usefixtures("own_data")


TINY = ("--epochs", 1, "--hidden", 2, "--split", 0)


def test_a_stand_in_marks_all_that_is_made_from_it(cgnn: FrontDoor, toy: Path, mirror: Path) -> None:
    genuine = cgnn.ok(
        "data", "show", "toy", "--mirror", mirror, "--store", "genuine", "--accept-standin", "--json"
    ).json
    assert "standin" not in genuine["summary"]
    write_toy(mirror, shift=1)
    source = ("--mirror", mirror, "--accept-standin")
    shown = cgnn.ok("data", "show", "toy", *source, "--json").json
    assert shown["summary"]["standin"] == "toy" and shown["summary"]["verified"] is None
    assert shown["warnings"] == ["made from a stand-in for toy: figures say nothing about toy itself"]
    scores = cgnn.ok("run", "--dataset", "toy", *source, *TINY)
    assert "toy+standin: accuracy" in scores.err and "warning: made from a stand-in for toy" in scores.err
    for stage in ("graph", "rewire", "dilap", "commute", "fit", "train", "eval"):
        (path,) = Path(".cgnn", stage).glob("*.json")
        assert json.loads(path.read_text())["header"]["summary"]["standin"] == "toy", stage
    result = cgnn.ok("predict", "--output", "p.csv", "--json").json
    assert result["summary"]["standin"] == "toy" and any("stand-in for toy" in line for line in result["warnings"])


def test_a_stand_in_in_the_store_is_taken_only_when_accepted(cgnn: FrontDoor, toy: Path, mirror: Path) -> None:
    write_toy(mirror, shift=1)
    made = cgnn.ok("rewire", "--dataset", "toy", "--mirror", mirror, "--accept-standin", "--json").json
    assert cgnn.ok("rewire", "--dataset", "toy", "--accept-standin", "--offline", "--json").json["key"] == made["key"]
    assert "--offline" in cgnn.fails(NOT_HAD, "rewire", "--dataset", "toy", "--offline")
    write_toy(mirror)
    real = cgnn.ok("rewire", "--dataset", "toy", "--mirror", mirror, "--json").json
    assert real["key"] != made["key"] and real["warnings"] == []


def test_a_changed_stand_in_is_read_again(cgnn: FrontDoor, toy: Path, mirror: Path) -> None:
    keys = []
    for shift in (1, 2):
        write_toy(mirror, shift=shift)
        keys.append(cgnn.ok("data", "show", "toy", "--mirror", mirror, "--accept-standin", "--json").json["key"])
    assert keys[0] != keys[1]


def test_a_stand_in_with_the_content_of_an_imported_graph_has_its_own_key(
    cgnn: FrontDoor, toy: Path, mirror: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = cgnn.ok("data", "show", "toy", "--mirror", mirror, "--json").json["key"]
    know_less(monkeypatch, sha256=True, content=True, expected={**TOY.expected, "edges": 195})
    standin = cgnn.ok("data", "show", "toy", "--mirror", mirror, "--accept-standin", "--store", "b", "--json").json
    assert standin["summary"]["standin"] == "toy" and standin["key"] != real


def test_a_dry_run_reads_and_writes_nothing_new(cgnn: FrontDoor, toy: Path, mirror: Path, tmp_path: Path) -> None:
    rows = cgnn.ok("rewire", "--dataset", "toy", "--mirror", mirror, "--undirected", "--dry-run", "--json").json
    assert [row["cache"] for row in rows["stages"]] == ["miss", "miss"]
    assert left_behind(tmp_path) == []


def test_forms_and_stand_ins_travel_in_packs(cgnn: FrontDoor, toy: Path, mirror: Path) -> None:
    write_toy(mirror, shift=1)
    source = ("--dataset", "toy", "--undirected", "--accept-standin")
    made = cgnn.ok("rewire", *source, "--mirror", mirror, "--json").json
    cgnn.ok("cache", "pack", made["key"], "--output", "pack.tar")
    unpacked = cgnn.ok("cache", "unpack", "pack.tar", "--store", "other", "--json").json["summary"]["datasets"]
    assert unpacked == {"toy+standin+undirected": "new"}
    there = ("--store", "other", "--offline", "--json")
    again = cgnn.ok("rewire", *source, *there).json
    assert (again["key"], again["cache"]) == (made["key"], "hit")
    assert "--offline" in cgnn.fails(NOT_HAD, "rewire", *source[:-1], *there[:-1])


def test_the_graph_itself_is_kept_when_only_a_form_was_asked_for(cgnn: FrontDoor, toy: Path, mirror: Path) -> None:
    cgnn.ok("data", "show", "toy", "--undirected", "--mirror", mirror)
    assert cgnn.ok("rewire", "--dataset", "toy", "--offline", "--json").json["stages"][0]["cache"] == "hit"
    cgnn.ok("rewire", "--dataset", "toy", "--undirected", "--protocol", "random", "--offline")


def test_names_of_imports_are_told_from_those_of_our_own() -> None:
    names = ("mine", "mine@2", "mine@1+undirected", "demo", "demo+undirected", "cora-ml+standin")
    assert [own_name(name) for name in names] == ["mine"] * 3 + [None] * 3


@pytest.mark.parametrize("name", ["made-mutual-circles", "texas"])
def test_an_imported_graph_keeps_its_name_where_a_later_cgnn_has_a_dataset_of_that_name(
    cgnn: FrontDoor, name: str
) -> None:
    Path("edges.csv").write_text("a,b\nb,c\nc,a\na,d\nd,b\n")
    key = cgnn.ok("data", "import", "mine", "--edges", "edges.csv", "--json").json["key"]
    store = Store(Path(".cgnn").absolute())
    store.set_dataset(name, store.dataset("mine"))  # as a cgnn left it for which the name was free
    shown = cgnn.ok("data", "show", name, "--json").json
    assert shown["key"] == key and shown["summary"]["nodes"] == 4 and not shown["summary"]["expected"]
    (listed,) = (row for row in cgnn.ok("data", "list", "--json").json["summary"]["datasets"] if row["name"] == name)
    assert listed["title"] == "imported" and listed["nodes"] == 4
    assert cgnn.ok("rewire", "--dataset", name, "--undirected", "--json").code == 0
    assert "is a dataset of cgnn's own (choose another name)" in cgnn.fails(
        2, "data", "import", name, "--edges", "e.csv"
    )
    cgnn.ok("data", "rename", name, "free")
    assert cgnn.ok("data", "show", "free", "--json").json["key"] == key
    assert "is a dataset of cgnn's own" in cgnn.fails(2, "data", "rm", name)


def test_datasets_in_python(toy: Path, mirror: Path) -> None:
    from cgnn_cli import api

    source = api.SourceConfig(mirror=str(mirror))
    graph = api.load_dataset("toy", source=source)
    assert (graph.adjacency.nnz, graph.split_count, graph.summary["verified"]) == (194, 2, "checksum and content")
    other = api.load_dataset("toy", api.GraphConfig(undirected=True, protocol="random"), source)
    assert (other.adjacency != other.adjacency.T).nnz == 0 and other.split_count == 10
    with pytest.raises(api.CgnnError, match="unknown dataset"):
        api.load_dataset("nothing")


def test_another_file_in_place_of_one_without_checksum_is_read_again(
    cgnn: FrontDoor, toy: Path, mirror: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    know_less(monkeypatch, sha256=True, content=True)
    keys = []
    for shift in (0, 1):
        write_toy(mirror, shift=shift)
        keys.append(cgnn.ok("data", "show", "toy", "--mirror", mirror, "--json").json["key"])
    assert keys[0] != keys[1]


def test_a_graph_says_where_its_features_come_from(cgnn: FrontDoor) -> None:
    Path("edges.csv").write_text("a,b\nb,c\nc,a\n")
    Path("x.csv").write_text("a,1,0\nb,0,1\nc,1,1\n")
    cgnn.ok("data", "import", "with", "--edges", "edges.csv", "--features", "x.csv")
    for name, source in (("with", "own"), ("demo", "own")):
        key = cgnn.ok("data", "show", name, "--json").json["key"]
        shown = json.loads((Path(".cgnn/graph") / f"{key}.json").read_text())
        assert shown["header"]["summary"]["feature_source"] == source


def test_a_graph_from_elsewhere_takes_no_name_of_cgnn() -> None:
    imported = {"source": {"edges": "edges.csv"}}
    assert may_stand("mine", imported) and not any(may_stand(name, imported) for name in ("demo", "texas", "texas+x"))
    assert may_stand("texas", {"source": {"benchmark": "texas"}})
