"""Forms of a graph through the front door: symmetrised, or with other splits."""

from pathlib import Path

import numpy as np
import pytest

from tests.datasets.toy_benchmark import BAD_DATA
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
