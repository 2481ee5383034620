"""Labels and splits that are missing, overlap, or have one class."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.faults.imports import LABELS, SHORT, refused, refused_beside
from tests.front_door import FrontDoor


@pytest.mark.parametrize(
    ("labels", "splits", "said"),
    [
        ("a,\nb,\n", None, "no node a label"),
        (LABELS, "a,train\nd,train\nc,val\n", "split 0 has no test nodes"),
        (LABELS, "a,train\nd,train\na,val\nc,val\ne,test\n", "line 3: node 'a' has a row already"),
        (LABELS, "zz,train\n", "line 1: 'zz' is no node of the graph"),
        (LABELS, "a,training\nb,val\n", "'training' is no part of a split"),
        ("a,x\nb,x\nc,x\nd,y\ne,y\n", "a,train\nd,train\nb,val\nc,test\nf,test\n", "split 0 uses 1 node(s) without"),
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
    assert "split 0 has node 0 in val and in another part" in refused(cgnn, *files)
    np.save("labels.npy", np.array([0.5, 0, 1, 1]))
    assert "0.5" in refused(cgnn, *files)
