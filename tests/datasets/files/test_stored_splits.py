"""Splits that the user gives: masks, or a column a split."""

from typing import Any

import numpy as np

from tests.datasets.files.folder import SQUARE, Folder


def test_stored_splits(folder: Folder) -> None:
    labels = "a,x\nb,x\nc,y\nd,\n"
    text = folder.load("a b\nc d\n", labels=labels, splits="id,s0,s1\nc,TEST,train\na,train,val\nb,valid,test\n")
    assert text.splits is not None
    assert text.splits.tolist() == [[1, 2, 3, 0], [2, 3, 1, 0]]
    masks = {f"{part}_mask": np.eye(4, dtype=bool)[row] for row, part in enumerate(("train", "val", "test"))}
    arrays = folder.load("0 1\n2 3\n", labels="0,x\n1,x\n2,y\n", splits=masks)
    assert arrays.splits is not None
    assert arrays.splits.tolist() == [[1, 2, 3, 0]]


def test_bad_stored_splits(folder: Folder) -> None:
    labels = "a,x\nb,x\nc,y\nd,\n"
    files: dict[str, Any] = {"edges": "a b\nc d\n", "labels": labels}
    folder.fails("line 2: 'tset' is no part of a split", **files, splits="a,train\nb,tset\nc,val\n", header=False)
    folder.fails("line 2: 'q' is no node of the graph", **files, splits="a,train\nq,test\n")
    folder.fails("line 2: node 'a' has a row already", **files, splits="a,train\na,test\n")
    folder.fails("split 0 has no test nodes", **files, splits="a,train\nb,val\n")
    folder.fails(
        "split 0 uses 1 node(s) without a label, first 'd'", **files, splits="a,train\nb,val\nc,test\nd,test\n"
    )
    folder.fails("one column", **files, splits="a\nb\n", header=False)
    folder.fails("is a .npy file", **files, splits=np.arange(4))
    folder.fails("the nodes have ids of their own", **files, splits={"train_mask": np.ones(4)})
    folder.fails("no train_mask", SQUARE, labels="0,a\n1,a\n2,a\n", splits={"masks": np.ones(4)})
