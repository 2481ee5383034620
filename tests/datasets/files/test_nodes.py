"""Features and labels of the user's graph: put in the order of its nodes, or refused."""

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array

from tests.datasets.files.folder import SQUARE, Folder, notes


def test_a_graph_without_features_has_none(folder: Folder) -> None:
    graph = folder.load("0 1\n0 2\n1 0\n")
    assert graph.features is None and graph.feature_source == "none"
    assert "no features given: a training takes an encoding of the graph" in notes(graph)


def test_csv_features_are_placed_by_id(folder: Folder) -> None:
    graph = folder.load("a b\nb c\n", features="id,f1,f2\nc,5,6\nz,7,0.5\na,1,2\nb,3,4\n")
    assert graph.ids().tolist() == ["a", "b", "c", "z"]
    assert isinstance(graph.features, np.ndarray)
    assert graph.features.tolist() == [[1, 2], [3, 4], [5, 6], [7, 0.5]]
    assert graph.features.dtype == np.float32
    fine = folder.load("a b\n", features=",0,1\na,0.1,2\nb,3,4\n")
    assert fine.features is not None
    assert fine.features.dtype == np.float64


def test_bad_csv_features(folder: Folder) -> None:
    folder.fails("has no row for 2 node(s), first 'a', 'c'", "a b\nb c\n", features="b,1\n")
    folder.fails("2 value(s) that are NaN or infinite, first in line 1, 3", "a b\n", features="a,nan\nb,1\nc,-inf\n")
    folder.fails("line 2: column 2 holds 'x'", "0 1\n", features="0,1\n1,x\n")
    folder.fails("line 3: node 'a' has a row already", "a b\n", features="a,1\nb,1\na,1\n")
    folder.fails("one column", "a b\n", features="a\nb\n")


@pytest.mark.parametrize("dtype", ["?", "u1", "i8", "f2", ">f4", "f8", "g"])
def test_feature_arrays_are_converted(folder: Folder, dtype: str) -> None:
    values = np.array([[0, 1, 1], [1, 0, 1]]).astype(dtype)
    for array in (values, np.asfortranarray(values)):
        features = folder.load("0 1\n", features=array).features
        assert isinstance(features, np.ndarray)
        assert features.dtype == np.float32
        assert features.flags.c_contiguous
        assert features.tolist() == values.tolist()


def test_bad_feature_arrays(folder: Folder) -> None:
    pair = "0 1\n"
    folder.fails("float64 cannot hold exactly", pair, features=np.array([[2**53 + 1], [0]]))
    folder.fails("type complex128", pair, features=np.array([[1j], [0]]))
    folder.fails("1 value(s) that are NaN or infinite, first in row 1", pair, features=np.array([[0], [np.inf]]))
    folder.fails("nodes x features", pair, features=np.zeros(2))
    folder.fails("no features", pair, features=np.zeros((2, 0)))
    folder.fails("has 2 rows, but the graph has 3 nodes", "0 1\n1 2\n", features=np.eye(2))
    hint = folder.fails("names a node 'a'", "a b\n", features=np.eye(2))
    assert "CSV" in hint


def test_rows_of_features_count_as_nodes(folder: Folder) -> None:
    graph = folder.load("0 1\n3 1\n", features=np.eye(5))
    assert graph.node_count == 5
    assert graph.node_ids is None
    assert np.argwhere(graph.adjacency.toarray()).tolist() == [[0, 1], [3, 1]]


def test_sparse_features_stay_sparse(folder: Folder) -> None:
    matrix = coo_array((np.array([100, 100, 1], dtype=np.int8), ([0, 0, 1], [2, 2, 0])), shape=(2, 3))
    features = folder.load("0 1\n", features=matrix).features
    assert isinstance(features, csr_array)
    assert features.toarray().tolist() == [[0, 0, 200], [1, 0, 0]]
    assert features.dtype == np.float32
    assert features.has_canonical_format
    folder.fails("first in row 1", "0 1\n", features=csr_array([[0, 1], [np.nan, 0]]))


def test_labels_have_any_names_and_may_be_missing(folder: Folder) -> None:
    graph = folder.load(
        "a b\nb c\n", labels="node,colour\nc,rot\na,blau\nd,grün\nb,\na,blau\n", splits="a,train\nc,val\nd,test\n"
    )
    assert graph.ids().tolist() == ["a", "b", "c", "d"]
    assert graph.class_labels() == ["blau", "grün", "rot"]
    assert graph.labels is not None
    assert graph.labels.tolist() == [0, -1, 2, 1]
    assert graph.summary["unlabelled"] == 1


def test_class_numbers_are_in_numeric_order(folder: Folder) -> None:
    text = "".join(f"{node},{label}\n" for node, label in enumerate([10, 9, 100] * 3))
    graph = folder.load(SQUARE, labels=text)
    assert graph.class_labels() == ["9", "10", "100"]
    assert graph.node_count == 9
    assert "48/32/20" in notes(graph)


def test_label_arrays(folder: Folder) -> None:
    graph = folder.load(SQUARE, labels=np.array([7, 7, 7, -1, 2, 2, 2], dtype=np.int8))
    assert graph.labels is not None
    assert graph.labels.tolist() == [1, 1, 1, -1, 0, 0, 0]
    assert (graph.class_labels(), graph.node_count) == (["2", "7"], 7)


def test_label_column_by_name_and_minus_one(folder: Folder) -> None:
    graph = folder.load(SQUARE, labels="id\tfeature\tlabel\n0\t1,0\t-1\n1\t1,1\t-1\n2\t1,1\t-1\n")
    assert graph.class_labels() == ["-1"]
    assert "the label -1 is a class" in notes(graph)


def test_bad_labels(folder: Folder) -> None:
    folder.fails("line 3: node '1' has another label on line 1", SQUARE, labels="1,a\n2,b\n1,b\n")
    folder.fails("line 2: node '1' has another label on line 1", SQUARE, labels="1,a\n1,\n")
    folder.fails("gives no node a label", SQUARE, labels="1,\n2,\n")
    folder.fails("3 columns", SQUARE, labels="1,a,b\n2,a,b\n")
    folder.fails("row 1: -2 is not a class number", SQUARE, labels=np.array([0, -2, 0, 0]))
    folder.fails("row 0: 0.5 is not a class number", SQUARE, labels=np.array([0.5, 1, 0, 0]))
    folder.fails("has 3 rows, but the graph has 4 nodes", SQUARE, labels=np.array([0, 0, 0]))
    folder.fails("names a node 'x'", "x y\n", labels=np.array([0, 0]))
    folder.fails("is an .npz file", SQUARE, labels={"labels": np.arange(4)})
    folder.fails("class 'b' has 1 labelled node(s)", SQUARE, labels="0,a\n1,a\n2,a\n3,b\n", per_class=2)
    folder.fails("leaves no test nodes", SQUARE, labels="0,a\n1,a\n2,b\n3,b\n")


def test_text_labels_with_array_edges(folder: Folder) -> None:
    edges = np.array([[0, 1], [1, 2], [2, 0]])
    graph = folder.load(edges, labels="4,x\n0,x\n1,x\n")
    assert graph.node_count == 5
    assert graph.labels is not None
    assert graph.labels.tolist() == [0, 0, -1, -1, 0]
    folder.fails("names a node '01'", edges, labels="01,x\n0,x\n1,x\n")
