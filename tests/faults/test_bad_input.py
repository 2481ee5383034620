"""Bad input and odd surroundings, case by case: a clear one-line error with its code, or it works. Never exit code 1.

The numbers are those of the list of cases that the tool promises to survive; 46 is in tests/cli/test_settings.py.
"""

import gzip
import itertools
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, save_npz

from cgnn_cli.artifact_tables import edge_columns, write_csv
from cgnn_cli.datasets.files.import_options import ImportOptions
from cgnn_cli.datasets.files.importing import import_graph
from cgnn_cli.datasets.registry import graph_step, remember
from cgnn_cli.graph import Graph
from cgnn_cli.stages.rewire import similarity_order
from cgnn_cli.store.store import Store
from cgnn_cli.workspace import Workspace
from tests.faults.processes import finish, start
from tests.front_door import FrontDoor, run_process
from tests.unprivileged import run_unprivileged

SHORT = ("--epochs", 2, "--hidden", 4)
RING = "a,b\nb,c\nc,d\nd,e\ne,f\nf,a\nb,a\n"
LABELS = "a,x\nb,x\nc,x\nd,y\ne,y\nf,y\n"


@pytest.fixture
def ring() -> None:
    Path("edges.csv").write_text(RING)
    Path("labels.csv").write_text(LABELS)


def refused(cgnn: FrontDoor, *arguments: object, code: int = 3) -> str:
    """The one-line error of an import, which leaves nothing behind."""
    before = {path for path in Path().rglob("*") if ".cgnn" not in path.parts}
    line = cgnn.fails(code, "data", "import", "mine", *arguments)
    assert {path for path in Path().rglob("*") if ".cgnn" not in path.parts} == before
    assert not list(Path(".cgnn").rglob("*.h5")) and not list(Path(".cgnn").rglob("*.tmp"))
    return line


def refused_beside(cgnn: FrontDoor, *arguments: object) -> str:
    """The one-line error of an import, which adds nothing to a store."""
    before = set(Path(".cgnn").rglob("*"))
    line = cgnn.fails(3, "data", "import", "mine", *arguments)
    assert {path for path in Path(".cgnn").rglob("*") if path.suffix != ".lock"} <= before
    return line


def features_csv(value: str) -> None:
    Path("features.csv").write_text("".join(f"{node},{value if node == 'c' else 1},2\n" for node in "abcdef"))


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "NaN"])
def test_case_31_nan_and_infinite_features(cgnn: FrontDoor, ring: None, value: str) -> None:
    features_csv(value)
    line = refused(cgnn, "--edges", "edges.csv", "--features", "features.csv")
    assert "features.csv" in line and "1 value" in line and "3" in line and "--impute zero" in line
    result = cgnn.ok("data", "import", "mine", "--edges", "edges.csv", "--features", "features.csv", "--impute", "zero")
    assert "1 value" in result.err and "0" in result.err


@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
def test_case_31_nan_and_infinite_feature_arrays(cgnn: FrontDoor, value: str) -> None:
    np.save("edges.npy", np.array([[0, 1], [1, 2], [2, 0]]))
    for features in (np.array([[1, 2], [float(value), 2], [3, float(value)]]), np.full((3, 1), float(value), "f4")):
        np.save("features.npy", features)
        line = refused(cgnn, "--edges", "edges.npy", "--features", "features.npy")
        assert f"{np.sum(~np.isfinite(features))} value(s)" in line and "first in row" in line
    save_npz("features.npz", csr_array([[0, 1.0], [float(value), 0], [0, 0]]))
    assert "first in row 1" in refused(cgnn, "--edges", "edges.npy", "--features", "features.npz")
    taken = ("--edges", "edges.npy", "--features", "features.npy", "--impute", "zero")
    assert "3 value(s)" in cgnn.ok("data", "import", "mine", *taken).err
    assert np.isfinite(float(cgnn.ok("commute", "--dataset", "mine", "--json").json["summary"]["commute"]["median"]))


def test_case_31_zero_rows_and_a_zero_anchor_are_defined(cgnn: FrontDoor, ring: None) -> None:
    np.save("zeros.npy", np.zeros((4, 3)))
    np.save("edges.npy", np.array([[0, 1], [1, 2], [2, 3]]))
    cgnn.ok("data", "import", "zeros", "--edges", "edges.npy", "--features", "zeros.npy")
    assert "4 nodes have all-zero features" in cgnn.ok("rewire", "--dataset", "zeros").err


@settings(max_examples=50, deadline=None)
@given(rows=st.lists(st.lists(st.integers(-2, 2), min_size=2, max_size=2), min_size=1, max_size=8), draw=st.randoms())
def test_case_31_equal_rows_are_ordered_by_node_and_others_follow_their_node(
    rows: list[list[int]], draw: random.Random
) -> None:
    features = np.array(rows, dtype=float)
    order, notes = similarity_order(features)
    zero = int((features == 0).all(axis=1).sum())
    assert bool(notes) == bool(zero or np.allclose(features.mean(axis=0), 0))
    place = np.argsort(order)
    for node, other in itertools.combinations(range(len(rows)), 2):
        assert rows[node] != rows[other] or place[node] < place[other]
    permuted = np.array(draw.sample(range(len(rows)), len(rows)))
    moved, _ = similarity_order(features[permuted])
    assert sorted(moved.tolist()) == list(range(len(rows)))
    if len({tuple(row) for row in similarity_classes(features)}) == len(rows):
        assert permuted[moved].tolist() == order.tolist()


def similarity_classes(features: np.ndarray) -> list[tuple[float]]:
    """Cosines to the mean row, as the rewiring defines them, computed row by row."""
    mean = features.mean(axis=0)
    found = []
    for row in features:
        scale = np.linalg.norm(row) * np.linalg.norm(mean)
        found.append((round(float(row @ mean / scale), 9) if scale > 0 else 0.0,))
    return found


@pytest.mark.parametrize(
    ("array", "said"),
    [
        (np.array([[0, 1], [-1, 2]]), "-1"),
        (np.array([[0.5, 1.0], [1.0, 2.0]]), "0.5"),
        (np.array([[np.nan, 1.0], [1.0, 2.0]]), "nan"),
        (np.array([[0, 2**64 - 1], [1, 2]], dtype=np.uint64), str(2**64 - 1)),
        (np.array([[0, 1], [1, 2**40]]), "0..N-1"),
        (np.array([[0, 1, 2], [1, 2, 3]]), "shape"),
        (np.array([["a", "b"]]), "type"),
    ],
)
def test_case_32_node_numbers(cgnn: FrontDoor, array: np.ndarray, said: str) -> None:
    if array.shape == (2, 3):
        array = np.hstack([array, array]).reshape(4, 3)
    np.save("edges.npy", array)
    line = refused(cgnn, "--edges", "edges.npy")
    assert "edges.npy" in line and said in line


@pytest.mark.parametrize("ids", [["-1", "0.5", str(2**70)], ["07", "7", "1e3"], ["5", "900", str(10**30)]])
def test_case_32_ids_of_text_are_kept_as_they_are_written(cgnn: FrontDoor, ids: list[str]) -> None:
    Path("edges.csv").write_text("".join(f"{one},{other}\n" for one, other in itertools.permutations(ids, 2)))
    made = cgnn.ok("data", "import", "mine", "--edges", "edges.csv", "--json").json
    cgnn.ok("export", made["artifact"], "--to", "csv", "--output", "out.csv")
    assert {line.split(",")[0] for line in Path("out.csv").read_text().splitlines()[1:]} == set(ids)
    assert cgnn.ok("data", "import", "again", "--edges", "out.csv", "--json").json["key"] == made["key"]


@pytest.mark.parametrize("text", ["a,b\n,c\n", "a,b\n" + "x" * 1001 + ",c\n"])
def test_case_32_ids_of_text_that_are_refused_name_their_line(cgnn: FrontDoor, text: str) -> None:
    Path("edges.csv").write_text(text)
    assert "edges.csv, line 2" in refused(cgnn, "--edges", "edges.csv")


def test_case_32_relabel_keeps_the_users_numbers(cgnn: FrontDoor) -> None:
    np.save("edges.npy", np.array([[10, 2**40], [2**40, 77], [77, 10]]))
    assert "--relabel" in refused(cgnn, "--edges", "edges.npy")
    cgnn.ok("data", "import", "mine", "--edges", "edges.npy", "--relabel")
    assert cgnn.ok("data", "show", "mine", "--json").json["summary"]["nodes"] == 3
    cgnn.ok("export", cgnn.ok("commute", "--dataset", "mine").path, "--to", "csv", "--output", "out.csv")
    assert {line.split(",")[0] for line in Path("out.csv").read_text().splitlines()[1:]} == {"10", "77", str(2**40)}


def test_case_33_repeats_and_order_do_not_matter(cgnn: FrontDoor, ring: None) -> None:
    key = cgnn.ok("data", "import", "one", "--edges", "edges.csv", "--json").json["key"]
    Path("shuffled.csv").write_text("f,a\nb,a\na,b\na,b\ne,f\nc,d\nb,c\nd,e\nb,c\n")
    shuffled = cgnn.ok("data", "import", "two", "--edges", "shuffled.csv", "--json").json
    assert shuffled["key"] == key and shuffled["summary"]["repeats"] == 2
    Path("loop.csv").write_text(RING + "a,a\n")
    assert cgnn.ok("data", "import", "three", "--edges", "loop.csv", "--json").json["summary"]["self_loops"] == 1


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    edges=st.lists(st.tuples(st.sampled_from("abc#"), st.sampled_from("ab7%")), min_size=1, max_size=9),
    draw=st.randoms(use_true_random=False),
)
def test_case_33_any_order_and_repeats_give_the_key_that_an_export_comes_back_with(
    tmp_path: Path, edges: list[tuple[str, str]], draw: random.Random
) -> None:
    store, keys = Store(tmp_path / "store"), set()
    for repeats in (0, 3):
        rows = edges + draw.choices(edges, k=repeats)
        draw.shuffle(rows)
        (tmp_path / "edges.csv").write_bytes(
            write_csv({"source": [a for a, _ in rows], "target": [b for _, b in rows]})
        )
        graph = import_graph(ImportOptions(tmp_path / "edges.csv"))
        assert graph.summary["repeats"] == len(rows) - len(set(edges))
        keys.add(graph_step(graph).key)
    (tmp_path / "out.csv").write_bytes(write_csv(edge_columns(graph.to_elements(), graph)))
    assert {graph_step(import_graph(ImportOptions(tmp_path / "out.csv"))).key} == keys
    assert not store.root.exists()


def test_case_33_an_export_comes_back_as_the_same_graph(cgnn: FrontDoor) -> None:
    rows = (
        'source,target,weight\n#a,"b, c",2\n"b, c",#a,0.1\n" x",#a,1e-3\n%,"b, c",7\n#a,"b, c",1\n"=1+1",%,1\n%,%,1\n'
    )
    Path("edges.csv").write_text(rows)
    weighted = ("--weight-column", "weight", "--json")
    made = cgnn.ok("data", "import", "one", "--edges", "edges.csv", *weighted).json
    assert (made["summary"]["nodes"], made["summary"]["edges"], made["summary"]["repeats"]) == (5, 6, 1)
    for kind in ("csv", "parquet"):
        cgnn.ok("export", made["artifact"], "--to", kind, "--output", f"out.{kind}")
        assert cgnn.ok("data", "import", kind, "--edges", f"out.{kind}", *weighted).json["key"] == made["key"]
    times = cgnn.ok("commute", "--dataset", "one").path
    cgnn.ok("export", times, "--to", "csv", "--output", "times.csv")
    back = cgnn.ok("data", "import", "back", "--edges", "times.csv", "--json").json
    assert back["summary"]["nodes"] == 5 and back["summary"]["edges"] == 5  # the self-loop has no times
    pairs = cgnn.ok("commute", "--dataset", "one", "--pairs", "times.csv").out
    Path("pairs.csv").write_text(pairs)
    assert cgnn.ok("commute", "--dataset", "one", "--pairs", "pairs.csv").out == pairs


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
        cgnn.ok("commute", "--dataset", "odd", "--solver", solver)


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
    if stage in ("train", "eval"):
        result = cgnn("data", "import", "tiny", *files, "--labels", "labels.csv")
        assert result.code == 3 and "Traceback" not in result.err
        return
    cgnn.ok("data", "import", "tiny", *files)
    for solver in ("svd", "exact", "pi-only") if stage == "commute" else ("svd",):
        options = ("--solver", solver) if stage == "commute" else ()
        assert cgnn(stage, "--dataset", "tiny", *options).code == 0


def test_case_36_rank_too_large_and_too_small(cgnn: FrontDoor) -> None:
    Path("edges.csv").write_text("a,b\nb,c\nc,a\n")
    cgnn.ok("data", "import", "three", "--edges", "edges.csv")
    result = cgnn.ok("commute", "--dataset", "three", "--rank", 5, "--json")
    assert result.json["summary"]["rank"] == 2
    assert any("2 was used" in warning for warning in result.json["warnings"])
    assert result.json["summary"]["svd_residual"] <= 1e-8
    for rank in ("0", "-3"):
        assert "--rank must be at least 1" in cgnn.fails(2, "commute", "--dataset", "three", "--rank", rank)


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


@pytest.mark.parametrize(
    ("labels", "splits", "said"),
    [
        ("a,\nb,\n", None, "no node a label"),
        (LABELS, "a,train\nd,train\nc,val\n", "test"),
        (LABELS, "a,train\nd,train\na,val\nc,val\ne,test\n", "a"),
        (LABELS, "zz,train\n", "zz"),
        (LABELS, "a,training\nb,val\n", "training"),
        ("a,x\nb,x\nc,x\nd,y\ne,y\n", "a,train\nd,train\nb,val\nc,test\nf,test\n", "f"),
    ],
)
def test_case_39_labels_and_splits(cgnn: FrontDoor, ring: None, labels: str, splits: str | None, said: str) -> None:
    Path("labels.csv").write_text(labels)
    files: tuple[object, ...] = ("--edges", "edges.csv", "--labels", "labels.csv", "--no-header")
    if splits is not None:
        Path("splits.csv").write_text(splits)
        files = (*files, "--splits", "splits.csv")
    assert said in refused(cgnn, *files)


@pytest.mark.parametrize(
    ("labels", "splits", "said"),
    [
        ("a,x\nb,x\nc,x\nd,x\n", "a,train\nb,train\nc,val\nd,test\n", "single class"),
        (LABELS, "a,train\nb,train\nc,val\nd,val\ne,test\nf,test\n", "split 0 has no train node of class y"),
    ],
)
def test_case_39_what_cannot_be_learnt(cgnn: FrontDoor, ring: None, labels: str, splits: str, said: str) -> None:
    Path("labels.csv").write_text(labels)
    Path("splits.csv").write_text(splits)
    files = ("--edges", "edges.csv", "--labels", "labels.csv", "--splits", "splits.csv", "--no-header")
    cgnn.ok("data", "import", "mine", *files)
    assert said in cgnn.fails(3, "train", "--dataset", "mine", *SHORT)
    assert not list(Path(".cgnn").glob("fit/*")) and not list(Path(".cgnn").rglob("*.tmp"))


def test_case_39_a_class_whose_only_node_does_not_train(cgnn: FrontDoor, ring: None) -> None:
    """Nothing can be done about it in a published split, so it is a warning that names the class."""
    Path("labels.csv").write_text("a,x\nb,x\nc,y\nd,y\ne,z\nf,x\n")
    splits = "a,train,train\nb,val,test\nc,train,train\nd,test,val\ne,test,val\nf,val,test\n"
    Path("splits.csv").write_text(splits)
    files = ("--edges", "edges.csv", "--labels", "labels.csv", "--splits", "splits.csv", "--no-header")
    cgnn.ok("data", "import", "mine", *files)
    done = cgnn.ok("run", "--dataset", "mine", "--model", "mlp", *SHORT, "--json").json
    warned = [warning for warning in done["warnings"] if "no train node of class z" in warning]
    assert [warning[:8] for warning in warned] == ["split 0 ", "split 1 "]
    assert 0 <= done["summary"]["macro_f1"]["mean"] <= 1 and done["summary"]["test_accuracy_per_split"][0] <= 0.5
    Path("labels.csv").write_text("a,x\nb,x\nc,y\nd,y\ne,z\nf,z\n")
    cgnn.ok("data", "import", "mine", *files)
    assert "split 0 has no train node of class z" in cgnn.fails(3, "train", "--dataset", "mine", *SHORT)


def test_case_39_no_labels_and_labels_of_minus_one(cgnn: FrontDoor, ring: None) -> None:
    cgnn.ok("data", "import", "bare", "--edges", "edges.csv")
    assert "label" in cgnn.fails(3, "train", "--dataset", "bare", *SHORT)
    Path("labels.csv").write_text(LABELS.replace("a,x", "a,-1"))
    result = cgnn.ok("data", "import", "text", "--edges", "edges.csv", "--labels", "labels.csv", "--json").json
    assert result["summary"]["classes"] == 3 and any("-1 is a class" in note for note in result["warnings"])
    np.save("edges.npy", np.array([[0, 1], [1, 2], [2, 3], [3, 4], [4, 0]]))
    np.save("labels.npy", np.array([-1, 1, 1, 1, -1], dtype=">i2"))
    files = ("--edges", "edges.npy", "--labels", "labels.npy")
    summary = cgnn.ok("data", "import", "array", *files, "--json").json["summary"]
    assert (summary["classes"], summary["unlabelled"]) == (1, 2)
    np.save("labels.npy", np.full(5, -1))
    assert "no node a label" in refused_beside(cgnn, *files)
    masks = {"train_mask": [0, 1, 0, 0, 0], "val_mask": [0, 0, 1, 0, 0], "test_mask": [0, 0, 0, 0, 0]}
    arrays: dict[str, Any] = {name: np.array(mask, dtype=bool) for name, mask in masks.items()}
    np.savez("masks.npz", **arrays)
    np.save("labels.npy", np.array([-1, 1, 1, 0, -1]))
    assert "no test nodes" in refused_beside(cgnn, *files, "--splits", "masks.npz")


def test_case_39_masks_that_overlap_and_labels_that_are_no_classes(cgnn: FrontDoor) -> None:
    np.save("edges.npy", np.array([[0, 1], [1, 2], [2, 3], [3, 0]]))
    np.save("labels.npy", np.array([0, 0, 1, 1]))
    masks = {"train_mask": [1, 0, 1, 0], "val_mask": [1, 0, 0, 1], "test_mask": [0, 1, 0, 0]}
    arrays: dict[str, Any] = {name: np.array(mask, dtype=bool) for name, mask in masks.items()}
    np.savez("masks.npz", **arrays)
    files = ("--edges", "edges.npy", "--labels", "labels.npy", "--splits", "masks.npz")
    assert "split 0" in refused(cgnn, *files)
    np.save("labels.npy", np.array([0.5, 0, 1, 1]))
    assert "0.5" in refused(cgnn, *files)


@pytest.mark.parametrize("dtype", ["i1", "u2", ">i4", "f2", ">f8", "?"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_case_40_types_that_convert_without_loss(cgnn: FrontDoor, dtype: str, order: str) -> None:
    np.save("edges.npy", np.array([[0, 1], [1, 2], [2, 0]], dtype=">i8"))
    features = np.asarray([[1, 0], [0, 1], [1, 1]])
    np.save("features.npy", np.asarray(features.astype(dtype), order="F" if order == "F" else "C"))
    key = cgnn.ok("data", "import", "odd", "--edges", "edges.npy", "--features", "features.npy", "--json").json["key"]
    np.save("plain.npy", features.astype("f4"))
    same = cgnn.ok("data", "import", "plain", "--edges", "edges.npy", "--features", "plain.npy", "--json").json["key"]
    assert key == same


@pytest.mark.parametrize(
    "array", [np.ones((2, 2)), np.ones((3, 2), dtype=complex), np.full((3, 1), 2**60 + 1), np.ones(3)]
)
def test_case_40_what_does_not_fit(cgnn: FrontDoor, array: np.ndarray) -> None:
    np.save("edges.npy", np.array([[0, 1], [1, 2], [2, 0]]))
    np.save("features.npy", array)
    assert "features.npy" in refused(cgnn, "--edges", "edges.npy", "--features", "features.npy")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n\n",
        b"# only a comment\n",
        b"a\nb\n",
        b"a,b\nc\n",
        b"a,b\nc,\xff\n",
        "a,b\n".encode("utf-16"),
        b"a,b\n,c\n",
    ],
)
def test_case_41_bad_text(cgnn: FrontDoor, content: bytes) -> None:
    Path("edges.csv").write_bytes(content)
    assert "edges.csv" in refused(cgnn, "--edges", "edges.csv")


def test_case_41_files_that_are_not_there_or_folders(cgnn: FrontDoor) -> None:
    Path("folder").mkdir()
    for name in ("missing.csv", "folder"):
        assert name in refused(cgnn, "--edges", name)


@pytest.mark.parametrize(
    "content",
    [
        b"a,b\nb,c\nc,a\n",
        b"\xef\xbb\xbfsource,target\r\na,b\r\n\r\nb,c\r\nc,a",
        b"# title\n\n a\tb \n b\tc\nc\ta\n   \n",
        b'from;to\ra;"b"\r"b";c\r"c" ; "a"\r',
        gzip.compress(b"% title\na b\nb  c\nc a", mtime=0),
    ],
    ids=["plain", "mark and line ends", "tabs and spaces", "quotes and semicolons", "gzip"],
)
def test_case_41_text_of_any_form_is_the_same_graph_and_comes_back(cgnn: FrontDoor, content: bytes) -> None:
    Path("edges.csv").write_bytes(content)
    made = cgnn.ok("data", "import", "mine", "--edges", "edges.csv", "--json").json
    Path("plain.csv").write_text("b,c\nc,a\na,b\n")
    assert cgnn.ok("data", "import", "plain", "--edges", "plain.csv", "--json").json["key"] == made["key"]
    cgnn.ok("export", made["artifact"], "--to", "csv", "--output", "out.csv")
    assert cgnn.ok("data", "import", "back", "--edges", "out.csv", "--json").json["key"] == made["key"]


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"a,b\n\n# c,d\nd,e,f\n", 4),
        (b"a,b\r\n\r\nc,\xff\r\n", 3),
        (b'a,b\n\n"c,d\n', 3),
        (b"# x\na,b\n\0,c\n", 3),
    ],
)
def test_case_41_the_message_names_the_line(cgnn: FrontDoor, content: bytes, line: int) -> None:
    Path("edges.csv").write_bytes(content)
    assert f"edges.csv, line {line}: " in refused(cgnn, "--edges", "edges.csv")


SIGNED = "source,target\n#a,#b\n#b,c\nc,#a\n"


def test_f02_rows_that_start_with_a_sign_are_kept_and_come_back(cgnn: FrontDoor) -> None:
    Path("edges.csv").write_text(SIGNED)
    Path("labels.csv").write_text("id,label\n#a,%x\n#b,%x\nc,%x\n%d,y\n%e,y\n")
    Path("splits.csv").write_text("id,s\n#a,train\n#b,val\nc,test\n%d,train\n")
    files = ("--labels", "labels.csv", "--splits", "splits.csv", "--json")
    made = cgnn.ok("data", "import", "mine", "--edges", "edges.csv", *files).json
    figures = made["summary"]
    assert (figures["nodes"], figures["edges"], figures["unlabelled"], figures["comment_lines"]) == (5, 3, 0, 0)
    assert sum("start with # or % are rows" in note for note in made["warnings"]) == 3
    cgnn.ok("export", made["artifact"], "--to", "csv", "--output", "out.csv")
    assert cgnn.ok("data", "import", "back", "--edges", "out.csv", *files).json["key"] == made["key"]
    Path("pairs.csv").write_text("#a,%d\n#b,c\n")
    line = cgnn.fails(3, "commute", "--dataset", "mine", "--pairs", "pairs.csv")
    assert "pairs.csv holds no rows" in line or "may be a row" in line
    Path("pairs.csv").write_text('"#a",%d\n#b,c\n')
    pairs = cgnn.ok("commute", "--dataset", "mine", "--pairs", "pairs.csv").out
    assert pairs.splitlines()[1].startswith('"#a","%d",') and pairs.count("\n") == 3


def test_f02_what_is_skipped_is_counted_and_said(cgnn: FrontDoor) -> None:
    Path("edges.csv").write_text("# made by x\n% 3 3\n" + SIGNED)
    made = cgnn.ok("data", "import", "mine", "--edges", "edges.csv", "--json").json
    assert made["summary"]["comment_lines"] == 2 and made["summary"]["edges"] == 3
    assert any("2 comment line(s) skipped, the first is line 1" in note for note in made["warnings"])
    Path("edges.csv").write_text("# made by x\nsource,target\na,b\n #b,c\nc,a\n")
    made = cgnn.ok("data", "import", "mine", "--edges", "edges.csv", "--comment", "#", "--json").json
    assert (made["summary"]["comment_lines"], made["summary"]["edges"]) == (2, 2)
    Path("edges.csv").write_text("#a,b\nb,c\nc,b\n")
    line = cgnn.fails(3, "data", "import", "mine", "--edges", "edges.csv")
    assert "edges.csv, line 1" in line and "--comment none" in line
    counts = []
    for sign in ("none", "#"):
        made = cgnn.ok("data", "import", "mine", "--edges", "edges.csv", "--comment", sign, "--json").json
        counts.append(made["summary"]["nodes"])
    assert counts == [3, 2]
    for sign in ("##", "", " ", ",", '"'):
        cgnn.fails(2, "data", "import", "mine", "--edges", "edges.csv", "--comment", sign)


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


UNREADABLE = {
    "missing": "No such file",
    "folder": "Is a directory",
    "/proc/self/mem": "Input/output error",
    "locked": "Permission denied",
}


def reading(name: str) -> dict[tuple[str, ...], int]:
    """Commands that read a file, one for each option that takes one, and the exit code when it cannot be read."""
    edges = ("data", "import", "mine", "--edges")
    labelled = (*edges, "edges.csv", "--labels")
    commands = [(*edges, name), (*edges, "edges.csv", "--features", name), (*labelled, name)]
    commands += [(*labelled, "labels.csv", "--splits", name), ("commute", "--dataset", "demo", "--pairs", name)]
    artifacts = [("rewire", "--input", name), ("cache", "unpack", name)]
    configurations = [("rewire", "--dataset", "demo", "--config", name), ("sweep", name, "--dataset", "demo")]
    refused = 4 if name in ("missing", "folder") else 7
    return dict.fromkeys(commands, 3) | dict.fromkeys(artifacts, refused) | dict.fromkeys(configurations, 2)


@pytest.mark.parametrize("name", ["missing", "folder", "/proc/self/mem"])
def test_f25_files_that_cannot_be_read_have_their_documented_code(cgnn: FrontDoor, ring: None, name: str) -> None:
    Path("folder").mkdir()
    for command, code in reading(name).items():
        assert name in cgnn.fails(code, *command)


def test_f25_files_without_permission_have_their_documented_code(ring: None) -> None:
    Path("locked").write_text(RING)
    Path("locked").chmod(0)
    commands = reading("locked")
    for (command, code), found in zip(commands.items(), run_unprivileged(*commands), strict=True):
        assert found.code == code and not found.out, (command, found)
        (line,) = (line for line in found.err.splitlines() if line.startswith("error: "))
        assert "locked" in line and "Permission denied" in line


@pytest.mark.parametrize(("rate", "shown"), [("1e9", "1e+09"), ("1e12", "1e+12")])
def test_case_42_a_loss_that_explodes(cgnn: FrontDoor, rate: str, shown: str) -> None:
    line = cgnn.fails(8, "train", "--dataset", "demo", "--split", 0, "--lr", rate, "--epochs", 50)
    assert "epoch" in line and shown in line and "smaller --lr" in line
    assert not list(Path(".cgnn").glob("train/*")) and not list(Path(".cgnn").rglob("*.tmp"))


def test_case_42_no_improvement_stops_early_and_keeps_the_best_epoch(cgnn: FrontDoor) -> None:
    options = ("--dataset", "demo", "--split", 0, "--model", "linear", "--lr", 1e-12, "--epochs", 40, "--patience", 2)
    (fit,) = (row for row in cgnn.ok("train", *options, "--json").json["stages"] if row["stage"] == "fit")
    summary = cgnn.ok("show", fit["key"], "--json").json["header"]["summary"]
    assert summary["epochs"] < 40 and summary["epochs"] == summary["best_epoch"] + 3


@pytest.mark.parametrize("device", ["cuda", "cuda:7"])
def test_case_43_cuda_asked_but_absent(cgnn: FrontDoor, monkeypatch: pytest.MonkeyPatch, device: str) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    line = cgnn.fails(2, "train", "--dataset", "demo", "--device", device, *SHORT)
    assert "--device cpu" in line
    train = ("train", "--dataset", "demo", "--split", 0, *SHORT, "--json")
    cgnn.ok(*train)
    assert cgnn.ok(*train, "--device", device).json["cache"] == "hit"  # what is there needs no device


def computed() -> set[str]:
    """The stages of which the store has something; the graph of the demo is made to see how many splits it has."""
    return {path.parent.name for path in Path(".cgnn").rglob("*.h5")} - {"graph"}


@pytest.mark.parametrize(
    ("code", "said", "arguments"),
    [
        (2, "has no CUDA", ("train", "--device", "cuda")),
        (2, "has no CUDA", ("eval", "--device", "cuda:1", "--jobs", 2)),
        (2, "has no CUDA", ("run", "--device", "cuda")),
        (2, "has no CUDA", ("predict", "--device", "cuda", "--output", "x.csv")),
        (2, "has no CUDA", ("sweep", "--device", "cuda", "--set", "train.layers=1,2")),
        (2, "tensorboard", ("train", "--tensorboard")),
        (2, "splits 0 to 4", ("train", "--split", 5)),
        (2, "splits 0 to 4", ("sweep", "--split", 5, "--set", "train.layers=1,2")),
        (2, "nix/x.toml", ("sweep", "--record", "nix/x.toml", "--set", "train.layers=1,2")),
        (2, "broken.toml", ("sweep", "--record", "broken.toml", "--set", "train.layers=1,2")),
        (2, "nix/x.csv", ("predict", "--output", "nix/x.csv")),
        (2, "nix/x.npz", ("predict", "--output", "x.csv", "--embeddings", "nix/x.npz")),
        (2, "nix/x.svg", ("explain", "0", "--figure", "nix/x.svg")),
        (2, ".svg or .png", ("explain", "0", "--figure", "x.pdf")),
        (3, "no node 'nix'", ("explain", "nix")),
        (3, "nix.csv", ("commute", "--pairs", "nix.csv")),
        (3, "'nix' is no node", ("commute", "--pairs", "pairs.csv")),
        (2, "--batch-norm", ("train", "--model", "cgnn", "--batch-nodes", 10, "--batch-norm")),
        (2, "--scale median", ("commute", "--proximity", "inverse", "--scale", "median")),
    ],
)
def test_f29_refusals_that_need_no_computing_come_first(
    cgnn: FrontDoor, monkeypatch: pytest.MonkeyPatch, code: int, said: str, arguments: tuple[object, ...]
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setattr("cgnn_cli.execution.snapshots.find_spec", lambda name: None)
    Path("broken.toml").write_text("[")
    Path("pairs.csv").write_text("0,1\nnix,2\n")
    assert said in cgnn.fails(code, *arguments, "--dataset", "demo")
    assert computed() == set()


def test_case_43_cuda_out_of_memory(cgnn: FrontDoor, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    def exhausted(*arguments: object) -> None:
        raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")

    monkeypatch.setattr("cgnn_cli.stages.train.run_epoch", exhausted)
    assert "smaller --hidden" in cgnn.fails(7, "train", "--dataset", "demo", *SHORT)


@pytest.mark.parametrize("threads", [1, 2])
def test_case_44_two_fresh_processes_give_the_same_bits(threads: int) -> None:
    payloads = set()
    for store in ("first", "second"):
        options = ("--dataset", "demo", "--split", 0, "--epochs", 5, "--threads", threads, "--deterministic")
        result = run_process("train", *options, "--store", store, "--json", "--quiet")
        assert result.returncode == 0, result
        record = Path(json.loads(result.stdout)["artifact"]).with_suffix(".json")
        payloads.add(json.loads(record.read_text())["header"]["payload"])
    assert len(payloads) == 1


ODD_NAMES = ["with space", "ünïcödé-目录", "new\nline", "quote'\"$HOME", "-dash"]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_case_45_odd_folder_names(name: str) -> None:
    folder = Path(name).absolute()
    folder.mkdir()
    (folder / "edges.csv").write_text(RING)
    for arguments in (("data", "import", "mine", "--edges", folder / "edges.csv"), ("commute", "--dataset", "mine")):
        command = [sys.executable, "-m", "cgnn_cli", *map(str, arguments), "--store", str(folder / "store")]
        result = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
        assert result.returncode == 0, result


@pytest.mark.parametrize(
    "environment",
    [
        {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"HOME": ""},
        {"HOME": "/nonexistent", "XDG_CACHE_HOME": "/nonexistent"},
        {"COLUMNS": "1"},
        {"TERM": "dumb"},
        {"CGNN_STORE": "~nobody-of-that-name/store"},
    ],
)
def test_case_45_odd_environments(environment: dict[str, str]) -> None:
    Path("kanten.csv").write_text("ä,ö\nö,ü\nü,ä\n", encoding="utf-8")
    arguments = ("data", "import", "mine", "--edges", "kanten.csv")
    result = finish(start(*arguments, environment=environment, fresh=True))
    expected = {0, 2} if "CGNN_STORE" in environment else {0}
    assert result.code in expected, result
    assert "Traceback" not in result.err


def test_case_45_no_home_at_all() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "HOME"}
    command = [sys.executable, "-m", "cgnn_cli", "rewire", "--dataset", "demo"]
    assert subprocess.run(command, env=environment, capture_output=True, check=False).returncode == 0


def test_case_45_a_strict_umask_and_a_closed_stderr() -> None:
    script = f'umask 077; "{sys.executable}" -m cgnn_cli rewire --dataset demo 2>&-'
    result = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result
    assert Path(result.stdout.strip()).exists()
    failing = subprocess.run(["bash", "-c", script.replace("demo", "nothing")], capture_output=True, check=False)
    assert failing.returncode == 2


def test_case_45_a_working_folder_that_is_gone() -> None:
    script = f'mkdir gone && cd gone && rmdir ../gone && "{sys.executable}" -m cgnn_cli rewire --dataset demo'
    result = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert result.returncode == 2 and "Traceback" not in result.stderr, result
    elsewhere = subprocess.run(["bash", "-c", f"{script} --store {os.getcwd()}/kept"], capture_output=True, check=False)
    assert elsewhere.returncode == 0, elsewhere


@pytest.fixture
def latin(ring: None) -> str:
    """A name that is not UTF-8, as Python takes it from the command line; there is a file of edges of that name."""
    name = os.fsdecode(b"k\xe4nten")
    try:
        Path("edges.csv").rename(f"{name}.csv")
    except OSError:
        pytest.skip("this disk takes only UTF-8")
    return name


def test_f15_files_and_stores_with_names_that_are_not_utf8(cgnn: FrontDoor, latin: str) -> None:
    store = ("--store", latin)
    files = ("--edges", f"{latin}.csv", "--labels", "labels.csv", "--split-ratio", "1/1/1")
    made = cgnn.ok("data", "import", "mine", *files, *store, "--json")
    assert made.json["artifact"].startswith(str(Path(latin).absolute())) and r"k\xe4nten.csv" in made.err
    train = ("run", "--dataset", "mine", *SHORT, "--split", 0, *store, "--json")
    assert (cgnn.ok(*train).json["cache"], cgnn.ok(*train).json["cache"]) == ("miss", "hit")
    key = cgnn.ok("commute", "--dataset", "mine", *store, "--json").json["key"]
    header = cgnn.ok("show", key, *store, "--json").json["header"]
    assert r"--store 'k\xe4nten'" in header["provenance"]["command"]
    assert r"k\xe4nten" in cgnn.ok("show", key, *store).out
    cgnn.ok("explain", "a", *store, "--figure", f"{latin}.svg")
    cgnn.ok("export", key, "--to", "parquet", "--output", f"{latin}.parquet", *store, "--json")
    cgnn.ok("cache", "pack", key, "--output", f"{latin}.tar", *store, "--json")
    cgnn.ok("cache", "unpack", f"{latin}.tar", "--store", f"{latin}2")
    cgnn.ok("cache", "verify", *store)
    report = ("report", "--output", latin, "--title", latin, "--format", "html,md,tex,csv,json", *store, "--json")
    assert r"k\xe4nten" not in cgnn.ok(*report).out
    assert json.loads(Path(latin, "report.json").read_text())
    sweep = ("sweep", "--dataset", "mine", "--set", "train.hidden=2,3", "--epochs", 1, "--split", 0, *store)
    cgnn.ok(*sweep, "--record", f"{latin}.toml", "--json")
    cgnn.ok("train", "--dataset", "mine", "--preset", f"{latin}.toml", "--split", 0, *store, "--json")


def test_f15_names_that_are_not_utf8_in_errors(cgnn: FrontDoor, latin: str) -> None:
    missing = f"no{latin}"
    for code, arguments in (
        (3, ("data", "import", "mine", "--edges", missing)),
        (2, ("data", "import", missing, "--edges", f"{latin}.csv")),
        (2, ("rewire", "--dataset", missing)),
        (2, ("config", "show", "--config", missing)),
        (2, ("train", "--dataset", "demo", "--preset", f"{missing}.toml")),
        (4, ("show", missing)),
        (4, ("commute", "--input", missing)),
        (2, (missing,)),
        (2, ("rewire", f"--{missing}")),
        (2, ("train", "--dataset", "demo", "--set", f"train.lr={missing}")),
    ):
        assert "nok\\" in (line := cgnn.fails(code, *arguments)) and line.isascii()


def test_f15_standard_output_has_the_bytes_of_a_name(latin: str) -> None:
    command = [sys.executable, "-m", "cgnn_cli", "rewire", "--dataset", "demo", "--store", latin]
    result = subprocess.run(command, capture_output=True, check=False)
    assert result.returncode == 0 and Path(os.fsdecode(result.stdout.rstrip(b"\n"))).exists()


def test_case_45_markup_in_names(cgnn: FrontDoor, ring: None) -> None:
    Path("edges.csv").rename("[red]edges.csv")
    said = cgnn.ok("data", "import", "mine", "--edges", "[red]edges.csv", "--store", "[/red]").err
    assert "[red]edges.csv: no header" in said
    assert "[/nix]" in cgnn.fails(2, "rewire", "--dataset", "[/nix]")


def test_case_45_very_long_paths(cgnn: FrontDoor) -> None:
    deep = Path(*["a-rather-long-folder-name-number-" + str(n) for n in range(30)])
    cgnn.ok("rewire", "--dataset", "demo", "--store", deep)
    assert cgnn("rewire", "--dataset", "demo", "--store", "x" * 5000).code in (2, 7)
