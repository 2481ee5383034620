"""Graphs at the edge of what has a walk: no nodes, parts apart, slow walks, huge weights."""

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array, save_npz

from cgnn_cli.datasets.registry import graph_step, remember
from cgnn_cli.graph import Graph
from cgnn_cli.store.store import Store
from cgnn_cli.workspace import Workspace
from tests.faults.imports import LABELS, SHORT, refused
from tests.front_door import FrontDoor


@pytest.mark.parametrize(
    "edges",
    [
        "hub,a\nhub,b\nhub,c\nhub,d\n",
        "a,b\nb,a\nb,c\nc,b\na,c\nc,a\nx,y\ny,x\ny,z\nz,y\nx,z\nz,x\n",
        "a,b\nb,c\nc,d\nd,e\ne,f\n",
        "a,a\nb,b\n",
    ],
    ids=["star", "two cliques", "chain", "only self-loops"],
)
def test_case_34_sinks_and_parts_apart(cgnn: FrontDoor, edges: str) -> None:
    Path("edges.csv").write_text(edges)
    cgnn.ok("data", "import", "odd", "--edges", "edges.csv")
    assert cgnn.ok("rewire", "--dataset", "odd", "--json").json["summary"]["components"] == 1
    for solver in ("svd", "exact", "pi-only"):
        assert_finite(cgnn, cgnn.ok("commute", "--dataset", "odd", "--solver", solver, "--json").json["key"])


def assert_finite(cgnn: FrontDoor, key: str) -> None:
    """Times and weights are numbers, and no weight is negative."""
    cgnn.ok("export", key, "--to", "npz", "--output", f"{key}.npz")
    with np.load(f"{key}.npz") as saved:
        for name in ("commute", "weight_out", "weight_in"):
            assert np.isfinite(saved[name]).all(), name
        assert (saved["weight_out"] >= 0).all() and (saved["weight_in"] >= 0).all()


def test_case_34_isolated_nodes_get_a_prediction(cgnn: FrontDoor, ring: None) -> None:
    Path("labels.csv").write_text(LABELS + "lonely,x\nnobody,\n")
    cgnn.ok("data", "import", "mine", "--edges", "edges.csv", "--labels", "labels.csv", "--split-count", 1)
    cgnn.ok("run", "--dataset", "mine", *SHORT)
    cgnn.ok("predict", "--output", "out.csv")
    rows = [line.split(",") for line in Path("out.csv").read_text().splitlines()[1:]]
    assert {"lonely", "nobody"} <= {row[0] for row in rows}
    assert all(np.isfinite(float(row[2])) for row in rows)


def test_case_35_no_nodes(cgnn: FrontDoor) -> None:
    Path("edges.csv").write_text("source,target\n")
    refused(cgnn, "--edges", "edges.csv")
    save_npz("empty.npz", csr_array((0, 0)))
    refused(cgnn, "--edges", "empty.npz")


@pytest.mark.parametrize("edges", ["a,a\n", "a,b\n", "a,b\nb,a\n"], ids=["one node", "two nodes", "a pair"])
@pytest.mark.parametrize("stage", ["rewire", "dilap", "commute", "train", "eval"])
def test_case_35_one_and_two_nodes(cgnn: FrontDoor, edges: str, stage: str) -> None:
    Path("edges.csv").write_text(edges)
    names = sorted(set(edges.replace("\n", ",").strip(",").split(",")))
    Path("labels.csv").write_text("".join(f"{name},{name}\n" for name in names))
    files = ("--edges", "edges.csv", "--no-header")
    assert "labelled node" in refused(cgnn, *files, "--labels", "labels.csv")
    cgnn.ok("data", "import", "tiny", *files)
    if stage in ("train", "eval"):
        assert "no labels" in cgnn.fails(3, stage, "--dataset", "tiny")
        return
    for solver in ("svd", "exact", "pi-only") if stage == "commute" else ("svd",):
        options = ("--solver", solver) if stage == "commute" else ()
        made = cgnn.ok(stage, "--dataset", "tiny", *options, "--json").json["key"]
        if stage == "commute":
            assert_finite(cgnn, made)


def test_case_37_a_walk_that_mixes_too_slowly(cgnn: FrontDoor, monkeypatch: pytest.MonkeyPatch) -> None:
    count = 3000
    forward = [(node, node + 1, 1.0) for node in range(count - 1)]
    backward = [(node + 1, node, 1.3) for node in range(count - 1)]
    np.save("chain.npy", np.array(forward + backward))
    cgnn.ok("data", "import", "chain", "--edges", "chain.npy", "--weight-column", 3)
    line = cgnn.fails(8, "dilap", "--dataset", "chain", "--method", "none")
    assert "Perron vector" in line and "--method escape or teleport" in line
    assert not list(Path(".cgnn/dilap").glob("*.h5"))


def test_case_37_a_long_two_way_path_has_its_exact_vector(cgnn: FrontDoor) -> None:
    count = 100_000
    ends = np.arange(count - 1)
    np.save("path.npy", np.concatenate([np.stack([ends, ends + 1], 1), np.stack([ends + 1, ends], 1)]))
    cgnn.ok("data", "import", "path", "--edges", "path.npy")
    summary = cgnn.ok("dilap", "--dataset", "path", "--method", "none", "--json").json["summary"]
    assert summary["perron_residual"] <= 1e-10
    assert summary["perron_minimum"] == pytest.approx(1 / (2 * (count - 1)))


def test_case_38_weights_of_huge_and_negative_times_are_finite(cgnn: FrontDoor) -> None:
    made = cgnn.ok("commute", "--dataset", "demo", "--solver", "exact", "--json").json
    cgnn.ok("export", made["key"], "--to", "npz", "--output", "exact.npz")
    with np.load("exact.npz") as saved:
        assert saved["commute"].max() > 1e4
        assert np.isfinite(saved["weight_out"]).all() and saved["weight_out"].max() == 1
    summary = cgnn.ok("commute", "--dataset", "demo", "--form", "random-walk", "--json").json["summary"]
    assert summary["negative_commute"] > 0 and summary["effective_neighbours_out"]["mean"] >= 1


@pytest.mark.parametrize("weight", ["1e308", "1e-320", "-1", "inf", "nan", "0", "1e999"])
def test_f22_weights_that_no_sum_can_take_are_refused(cgnn: FrontDoor, weight: str) -> None:
    Path("edges.csv").write_text(f"a,b,1\nb,c,{weight}\nb,a,{weight}\nc,a,1\n")
    line = refused(cgnn, "--edges", "edges.csv", "--weight-column", 3)
    assert "edges.csv, line 2" in line and weight in line and "between 1e-150 and 1e+150" in line


def test_f22_weights_at_the_bounds_are_walked(cgnn: FrontDoor) -> None:
    Path("edges.csv").write_text("a,b,1e150\nb,c,1e150\nb,a,1e-150\nc,a,1e-150\na,c,1e150\n")
    cgnn.ok("data", "import", "mine", "--edges", "edges.csv", "--weight-column", 3)
    for walk in ("directed", "symmetric"):
        cgnn.ok("rewire", "--dataset", "mine", "--walk", walk)


def test_f22_a_graph_of_an_older_import_is_refused_with_the_reason(cgnn: FrontDoor) -> None:
    adjacency = csr_array(np.array([[0, 1e308, 1e308], [1, 0, 0], [1, 0, 0]]))
    store = Store(Path(".cgnn").absolute())
    step = graph_step(Graph(adjacency=adjacency, features=np.eye(3)))
    Workspace(store).obtain(step)
    remember(store, "old", step, {}, {})
    assert "sum to more than a float64 holds" in cgnn.fails(3, "commute", "--dataset", "old")
