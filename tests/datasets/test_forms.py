"""Forms of a graph through the front door: symmetrised, with other splits, or without features."""

from pathlib import Path

import numpy as np
import pytest

from cgnn_cli.configs import GraphConfig
from tests.datasets.toy_benchmark import BAD_DATA, write_toy
from tests.front_door import FrontDoor
from tests.graphs import toy_arrays

pytestmark = pytest.mark.usefixtures("own_data")


def test_undirected_is_another_graph(cgnn: FrontDoor, toy: Path, mirror: Path) -> None:
    source = ("--mirror", mirror, "--json")
    directed = cgnn.ok("data", "show", "toy", *source).json
    undirected = cgnn.ok("data", "show", "toy", "--undirected", *source).json
    assert undirected["key"] != directed["key"]
    assert undirected["summary"]["reciprocity"] == 1 and undirected["summary"]["undirected"] is True
    pairs = {frozenset(edge) for edge in toy_arrays()["edges"].tolist()}
    assert undirected["summary"]["clean_edges"] == 2 * sum(len(pair) == 2 for pair in pairs)
    again = cgnn.ok("rewire", "--dataset", "toy", "--undirected", *source).json
    assert again["stages"][0] == {**again["stages"][0], "key": undirected["key"], "cache": "hit"}


def test_undirected_keeps_the_greater_weight(cgnn: FrontDoor) -> None:
    Path("edges.csv").write_text("a,b,2\nb,a,5\nb,c,3\n")
    cgnn.ok("data", "import", "mine", "--edges", "edges.csv", "--weight-column", 3, "-q")
    path = cgnn.ok("data", "show", "mine", "--undirected", "--json").json["artifact"]
    with np.load(_npz(cgnn, path)) as arrays:
        assert arrays["adjacency/data"].tolist() == [5, 5, 3, 3]


def _npz(cgnn: FrontDoor, path: str) -> str:
    cgnn.ok("export", path, "--to", "npz", "--output", "graph.npz")
    return "graph.npz"


@pytest.mark.parametrize(("protocol", "count", "train"), [("random", 10, 30), ("published", 2, 20), ("default", 2, 20)])
def test_protocols(cgnn: FrontDoor, toy: Path, mirror: Path, protocol: str, count: int, train: int) -> None:
    shown = cgnn.ok("data", "show", "toy", "--mirror", mirror, "--protocol", protocol, "--json").json["summary"]
    assert len(shown["splits"]) == count and shown["splits"][0]["train"] == train
    assert shown["protocol"] == ("published" if protocol == "default" else protocol)


def test_the_default_protocol_by_its_name_is_the_same_graph(cgnn: FrontDoor, toy: Path, mirror: Path) -> None:
    keys = [
        cgnn.ok("data", "show", "toy", "--mirror", mirror, "--protocol", protocol, "--json").json["key"]
        for protocol in ("default", "published", "random")
    ]
    assert keys[0] == keys[1] != keys[2]


def test_drawn_protocols_work_on_any_labelled_graph(cgnn: FrontDoor) -> None:
    shown = cgnn.ok("data", "show", "demo", "--protocol", "per-class", "--json").json["summary"]
    assert [split["val"] for split in shown["splits"]] == [500] * 10 and shown["splits"][0]["train"] == 100
    one = cgnn.ok("data", "show", "demo", "--protocol", "per-class-1020", "--json").json["summary"]
    assert len(one["splits"]) == 1
    assert "demo has no published splits" in cgnn.fails(2, "data", "show", "demo", "--protocol", "published")


def test_a_protocol_needs_labels_and_enough_of_them(cgnn: FrontDoor) -> None:
    Path("edges.csv").write_text("a,b\nb,c\n")
    cgnn.ok("data", "import", "mine", "--edges", "edges.csv", "-q")
    assert "no labels" in cgnn.fails(BAD_DATA, "rewire", "--dataset", "mine", "--protocol", "random")


def test_graph_options_do_not_go_with_an_artifact(cgnn: FrontDoor) -> None:
    graph = cgnn.ok("data", "show", "demo", "--json").json["artifact"]
    rewired = cgnn.ok("rewire", "--dataset", "demo").path
    for given, target in ((graph, "rewire"), (rewired, "dilap")):
        assert "--undirected belongs to graph" in cgnn.fails(2, target, "--input", given, "--undirected")


def test_featureless_is_the_graph_alone(cgnn: FrontDoor, toy: Path, mirror: Path) -> None:
    source = ("--mirror", mirror, "--json")
    whole = cgnn.ok("data", "show", "toy", *source).json
    bare = cgnn.ok("data", "show", "toy", "--featureless", *source).json
    assert bare["key"] != whole["key"]
    assert (bare["summary"]["features"], bare["summary"]["featureless"]) == (0, True)
    assert "features" in whole["summary"]["expected"] and "features" not in bare["summary"]["expected"]
    kept = ("nodes", "edges", "clean_edges", "classes", "splits", "reciprocity", "verified")
    assert [bare["summary"][name] for name in kept] == [whole["summary"][name] for name in kept]
    arrays = [np.load(_npz(cgnn, shown["artifact"])) for shown in (whole, bare)]
    assert set(arrays[0]) - set(arrays[1]) == {"features"}
    for name in ("labels", "splits", "adjacency/data", "adjacency/indices", "adjacency/indptr"):
        assert np.array_equal(arrays[0][name], arrays[1][name]), name
    again = cgnn.ok("rewire", "--dataset", "toy", "--featureless", *source).json
    assert again["stages"][0] == {**again["stages"][0], "key": bare["key"], "cache": "hit"}


def test_a_model_on_a_featureless_graph_takes_an_encoding(cgnn: FrontDoor) -> None:
    bare = ("--dataset", "demo", "--featureless", "--model", "mlp", "--epochs", 1, "--hidden", 4, "--split", 0)
    assert cgnn.ok("train", *bare, "--json").json["summary"]["encoding"]["name"] == "laplacian"
    assert "without any input" in cgnn.fails(2, "train", *bare, "--encoding", "none")


def test_a_graph_without_features_is_its_own_featureless_form(cgnn: FrontDoor) -> None:
    Path("edges.csv").write_text("a,b\nb,c\nc,a\n")
    cgnn.ok("data", "import", "mine", "--edges", "edges.csv", "-q")
    keys = [cgnn.ok("data", "show", "mine", *form, "--json").json["key"] for form in ((), ("--featureless",))]
    assert keys[0] == keys[1]


def test_all_forms_of_a_stand_in_travel_in_packs(cgnn: FrontDoor, toy: Path, mirror: Path) -> None:
    write_toy(mirror, shift=1)
    source = ("--dataset", "toy", "--undirected", "--protocol", "random", "--featureless", "--accept-standin")
    made = cgnn.ok("rewire", *source, "--mirror", mirror, "--json").json
    cgnn.ok("cache", "pack", made["key"], "--output", "pack.tar")
    unpacked = cgnn.ok("cache", "unpack", "pack.tar", "--store", "other", "--json").json["summary"]["datasets"]
    assert unpacked == {"toy+standin+undirected+random+featureless": "new"}
    again = cgnn.ok("rewire", *source, "--store", "other", "--offline", "--json").json
    assert (again["key"], again["cache"]) == (made["key"], "hit")


def test_only_featureless_forms_say_so_in_a_record() -> None:
    assert GraphConfig(undirected=True).to_dict() == {"undirected": True, "protocol": "default"}
    assert GraphConfig(featureless=True).to_dict()["featureless"] is True
    assert GraphConfig.from_dict({"undirected": True, "protocol": "default"}) == GraphConfig(undirected=True)
