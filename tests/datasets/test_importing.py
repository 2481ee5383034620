"""Import of the user's own files: what each kind of file becomes, and what is refused with which words."""

import gzip
import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array, csr_array, save_npz

from cgnn_cli.datasets.importing import ImportOptions, import_graph
from cgnn_cli.datasets.structural import structural_features
from cgnn_cli.errors import DataError, UsageError
from cgnn_cli.export import write_parquet
from cgnn_cli.graph import Graph
from cgnn_cli.store.elements import checksum

SQUARE = "0 1\n1 2\n2 3\n3 0\n"


class Folder:
    """Writes the files of a test and imports them."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def save(self, name: str, content: Any) -> Path:
        path = self.path / name
        if isinstance(content, np.ndarray):
            np.save(path, content, allow_pickle=True)
        elif isinstance(content, str | bytes):
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        elif isinstance(content, dict):
            np.savez(path, **content)
        else:
            save_npz(path, content)
        return path

    def load(
        self, edges: Any, *, features: Any = None, labels: Any = None, splits: Any = None, **options: Any
    ) -> Graph:
        given = {"edges": edges, "features": features, "labels": labels, "splits": splits}
        paths: dict[str, Any] = {
            role: self.save(role + suffix_of(content), content)
            for role, content in given.items()
            if content is not None
        }
        return import_graph(ImportOptions(**paths, **options))

    def fails(self, message: str, edges: Any, error: type[DataError | UsageError] = DataError, **files: Any) -> str:
        """Expect an error of one line that holds the message; return its hint."""
        with pytest.raises(error, match=re.escape(message)) as caught:
            self.load(edges, **files)
        assert "\n" not in caught.value.message
        return caught.value.hint


def suffix_of(content: Any) -> str:
    if isinstance(content, np.ndarray):
        return ".npy"
    return ".csv" if isinstance(content, str | bytes) else ".npz"


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def dense(graph: Graph) -> list[list[float]]:
    return graph.adjacency.toarray().tolist()


def notes(graph: Graph) -> str:
    return "\n".join(graph.summary["notes"])


# Edges


@pytest.mark.parametrize(
    "text",
    [
        "0 1\n1 2\n0 1\n2 2\n",
        "source,target\n0,1\n1,2\n0,1\n2,2",
        "\ufeff# c\n0\t1\r\n1\t2\r\n2\t2\r\n0\t1",
    ],
)
def test_plain_edges(folder: Folder, text: str) -> None:
    graph = folder.load(text)
    assert dense(graph) == [[0, 1, 0], [0, 0, 1], [0, 0, 1]]
    assert graph.node_ids is None
    counts = {name: value for name, value in graph.summary.items() if name != "notes"}
    assert counts == {"edge_lines": 4, "repeats": 1, "self_loops": 1, "unlabelled": 3}


def test_gzip_is_told_by_its_content(folder: Folder) -> None:
    assert dense(folder.load(gzip.compress(SQUARE.encode()))) == dense(folder.load(SQUARE))


def test_ids_are_opaque_and_in_byte_order(folder: Folder) -> None:
    graph = folder.load('é,"b, c"\n007,é\nZ,7\n')
    assert graph.ids().tolist() == ["007", "7", "Z", "b, c", "é"]
    assert graph.node_ids is not None
    assert graph.node_ids.dtype.kind == "S"
    assert np.argwhere(graph.adjacency.toarray()).tolist() == [[0, 4], [2, 1], [4, 3]]


def test_whole_numbers_are_in_numeric_order(folder: Folder) -> None:
    assert folder.load("100 20\n20 3\n").ids().tolist() == ["3", "20", "100"]
    big = "9" * 5000
    assert "at most 1000" in folder.fails("line 1: a node id of 5000 characters", f"{big} 1\n")
    assert folder.load("99999999999999999999 5\n").ids().tolist() == ["5", "99999999999999999999"]


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), edges=st.lists(st.tuples(st.sampled_from("abcde"), st.sampled_from("abcde")), min_size=1))
def test_the_order_of_lines_and_repeats_do_not_matter(
    folder: Folder, data: st.DataObject, edges: list[tuple[str, str]]
) -> None:
    other = data.draw(st.permutations(edges + data.draw(st.lists(st.sampled_from(edges), max_size=4))))
    first, second = (folder.load("\n".join(map(" ".join, lines)), header=False) for lines in (edges, other))
    assert checksum(first.to_elements()) == checksum(second.to_elements())


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), weights=st.lists(st.floats(1e-9, 1e9), min_size=2, max_size=9))
def test_summed_weights_do_not_depend_on_the_order(folder: Folder, data: st.DataObject, weights: list[float]) -> None:
    other = data.draw(st.permutations(weights))
    first, second = (
        folder.load("\n".join(f"0 1 {weight!r}" for weight in order), weight_column="3") for order in (weights, other)
    )
    assert checksum(first.to_elements()) == checksum(second.to_elements())
    assert first.adjacency.data == pytest.approx([sum(weights)])


def test_weights_are_summed_only_when_asked_for(folder: Folder) -> None:
    text = "from,to,cost\n0,1,2\n0,1,0.5\n1,0,3\n"
    weighted = folder.load(text, weight_column="cost")
    assert dense(weighted) == [[0, 2.5], [3, 0]]
    assert "ignored" not in notes(weighted)
    plain = folder.load(text)
    assert dense(plain) == [[0, 1], [1, 0]]
    assert "column 3 (cost) is ignored; name it with --weight-column" in notes(plain)


def test_columns_by_name_number_and_known_name(folder: Folder) -> None:
    text = "w,a,b\n5,0,1\n6,1,2\n"
    chain = [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    assert dense(folder.load(text, source_column="a", target_column="b")) == chain
    assert dense(folder.load(text, source_column="2", target_column="3")) == chain
    assert dense(folder.load(text.replace("a", "Source").replace("b", "target"))) == chain
    assert dense(folder.load(text, source_column="b", target_column="a")) == np.transpose(chain).tolist()


def test_columns_that_do_not_exist(folder: Folder) -> None:
    text = "id,id,w\n1,2,3\n"
    assert "1 (id), 2 (id), 3 (w)" in folder.fails(
        "no such column", text, UsageError, source_column="x", target_column="w"
    )
    folder.fails("2 columns of that name", text, UsageError, source_column="id")
    folder.fails("--weight-column 4", text, UsageError, weight_column="4")
    folder.fails("--weight-column 0", text, UsageError, weight_column="0")
    folder.fails("both column 2", text, UsageError, source_column="2")
    folder.fails("a column is named", text, UsageError, source_column="w", header=False)


def test_header_is_noted_and_can_be_forced(folder: Folder) -> None:
    assert "the first row is the header ('source', 'target')" in notes(folder.load("source,target\na,b\n"))
    assert "no header; line 1 is data" in notes(folder.load("a,b\nb,c\n"))
    assert folder.load("source,target\na,b\n", header=False).ids().tolist() == ["a", "b", "source", "target"]
    assert folder.load("a,b\nb,c\n", header=True).ids().tolist() == ["b", "c"]
    assert "--no-header" in folder.fails("a header and no rows", "source,target\n")


@pytest.mark.parametrize("weight", ["0", "-1", "nan", "inf", "1e999", "1e-999"])
def test_bad_weights_name_their_line(folder: Folder, weight: str) -> None:
    folder.fails(f"edges.csv, line 3: the weight '{weight}'", f"# c\n0 1 1\n1 2 {weight}\n", weight_column="3")


def test_bad_edges(folder: Folder) -> None:
    folder.fails("line 2: column 3 holds 'x'", "0 1 1\n1 2 x\n", weight_column="3")
    folder.fails("summed weights", "0 1 1e308\n0 1 1e308\n", weight_column="3")
    folder.fails("line 2: the node id in column 2 is empty", "0,1\n1,\n")
    folder.fails("one column", "a\nb\n")


# Edges in arrays


@pytest.mark.parametrize("dtype", ["i1", "u8", ">i4", "f4"])
def test_edge_arrays(folder: Folder, dtype: str) -> None:
    edges = np.array([[0, 1], [1, 2], [2, 0], [0, 1]], dtype=dtype)
    cycle = [[0, 1, 0], [0, 0, 1], [1, 0, 0]]
    for array in (edges, edges.T, np.asfortranarray(edges)):
        graph = folder.load(array)
        assert dense(graph) == cycle
        assert graph.summary["repeats"] == 1


def test_edge_array_with_weights_and_two_by_two(folder: Folder) -> None:
    assert dense(folder.load(np.array([[0, 1, 0.5], [1, 0, 2]]), weight_column="3")) == [[0, 0.5], [2, 0]]
    graph = folder.load(np.array([[0, 1], [1, 2]]))
    assert graph.node_count == 3
    assert "the rows are the edges" in notes(graph)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.array([[0, -1], [1, 2], [2, 3]]), "row 0: -1 is not a node number"),
        (np.array([[0, 1], [1, 2.5], [2, 3]]), "row 1: 2.5 is not a node number"),
        (np.array([[0, 1], [1, np.nan], [2, 3]]), "row 1: nan is not"),
        (np.array([[0, 1], [1, 2**63], [2, 3]], dtype=np.uint64), "row 1: 9223372036854775808 is not"),
        (np.array([[0, 2**62], [1, 2], [2, 3]]), "are not 0..N-1"),
        (np.array([[0, 1, 1], [1, 2, 1], [0, 0, 0]]), "not an array of edges"),
        (np.zeros((0, 2), dtype=int), "not an array of edges"),
        (np.arange(4), "not an array of edges"),
        (np.array([[0, 1j]]), "type complex128"),
        (np.array([["a", "b"]]), "type <U1"),
        (np.array([[0, {}]], dtype=object), "cannot be read as a .npy array"),
    ],
)
def test_bad_edge_arrays(folder: Folder, array: np.ndarray, message: str) -> None:
    hint = folder.fails(message, array)
    assert hint
    if array.dtype == object:
        assert "pickled objects are never loaded" in hint


def test_sparse_matrices(folder: Folder) -> None:
    matrix = coo_array(([2.0, 3.0, 0.0, 1.0], ([0, 0, 1, 3], [1, 1, 2, 0])), shape=(5, 5))
    graph = folder.load(matrix)
    assert np.argwhere(graph.adjacency.toarray()).tolist() == [[0, 1], [3, 0]]
    assert not graph.is_weighted
    assert (graph.node_count, graph.summary["edge_lines"], graph.summary["repeats"]) == (5, 3, 1)
    assert "--weight-column data" in notes(graph)
    weighted = folder.load(matrix.tocsc(), weight_column="data")
    assert weighted.adjacency.data.tolist() == [5.0, 1.0]
    assert "--weight-column" not in notes(weighted)


def test_bad_sparse_matrices(folder: Folder) -> None:
    folder.fails("not square", csr_array((2, 3)))
    folder.fails("holds no edges", csr_array((2, 2)))
    folder.fails("entry 0: the weight -1.0", csr_array([[0, -1], [0, 0]]), weight_column="data")
    folder.fails("type complex128", csr_array([[0, 1j], [0, 0]]))
    assert "save_npz" in folder.fails("cannot be read as a scipy sparse matrix", {"edges": np.arange(3)})
    wild = csr_array(np.eye(3))
    wild.indices = np.array([0, 10**6, 2], dtype=np.int32)
    folder.fails("cannot be read as a scipy sparse matrix", wild)
    folder.fails("--source-column", csr_array(np.eye(3)), UsageError, source_column="1")
    folder.fails("--weight-column 3", csr_array(np.eye(3)), UsageError, weight_column="3")
    folder.fails("--weight-column data", np.eye(2, dtype=int), UsageError, weight_column="data")


def test_a_numpy_name_on_something_else(folder: Folder) -> None:
    with pytest.raises(DataError, match="in spite of its name"):
        import_graph(ImportOptions(folder.save("edges.npy", SQUARE)))


def test_a_pickle_is_not_run(folder: Folder, tmp_path: Path) -> None:
    class Payload:
        def __reduce__(self) -> Any:
            return (Path.touch, (tmp_path / "owned",))

    payload = np.array([Payload()], dtype=object)
    files = {"data": payload, "indices": payload, "indptr": payload, "shape": payload, "format": payload}
    masks = {f"{part}_mask": payload for part in ("train", "val", "test")}
    for attack in (
        {"edges": payload},
        {"edges": files},
        {"features": payload},
        {"features": files},
        {"labels": payload},
    ):
        with pytest.raises(DataError):
            folder.load(**{"edges": SQUARE, **attack})
    folder.fails("cannot be read as an .npz file", SQUARE, labels="0,a\n1,a\n2,b\n", splits=masks)
    assert not (tmp_path / "owned").exists()


# Features


def test_structural_features_stand_in(folder: Folder) -> None:
    graph = folder.load("0 1\n0 2\n1 0\n")
    np.testing.assert_array_equal(graph.features, structural_features(graph.adjacency))
    assert "no features given: structural ones are used (log_in_degree," in notes(graph)


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


# Labels


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


# Splits

TWO_CLASSES = "".join(f"{node},{'ab'[node % 2]}\n" for node in range(40))


def test_split_options(folder: Folder) -> None:
    assert folder.load(SQUARE).splits is None
    ratio = folder.load(SQUARE, labels=TWO_CLASSES, split_ratio="50/25/25", split_count=2, split_seed=3)
    assert ratio.splits is not None
    assert [np.bincount(split).tolist() for split in ratio.splits] == [[0, 20, 10, 10]] * 2
    per_class = folder.load(SQUARE, labels=TWO_CLASSES, per_class=3, val=14)
    assert per_class.splits is not None
    assert [np.bincount(split).tolist() for split in per_class.splits] == [[0, 6, 14, 20]] * 10
    rare = folder.load(SQUARE, labels="0,a\n1,a\n2,a\n3,b\n")
    assert rare.splits is not None
    assert (rare.splits[:, 3] == 1).all()
    folder.fails("leaves 34 labelled node(s), too few for --val 500", SQUARE, labels=TWO_CLASSES, per_class=3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"split_ratio": "1/1/1", "per_class": 3}, "--split-ratio and --per-class contradict"),
        ({"splits": Path("s"), "per_class": 3}, "--splits and --per-class contradict"),
        ({"val": 3}, "--val goes with --per-class"),
        ({"split_ratio": "1/1"}, "three positive numbers"),
        ({"per_class": 0}, "--per-class must be at least 1"),
        ({"per_class": 1, "val": 0}, "--val must be at least 1"),
        ({"split_count": 0}, "--split-count must be at least 1"),
        ({"split_seed": -1}, "--split-seed must be between"),
        ({"split_seed": 2**32}, "--split-seed must be between"),
        ({"labels": None, "per_class": 3}, "--per-class needs labels"),
        ({"labels": None, "splits": Path("s")}, "--splits needs labels"),
    ],
)
def test_split_options_that_contradict(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        ImportOptions(Path("edges"), **{"labels": Path("labels"), **options})


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


# Anything at all


def bytes_of_array(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def bytes_of_matrix(matrix: csr_array) -> bytes:
    stream = io.BytesIO()
    save_npz(stream, matrix)
    return stream.getvalue()


SEEDS = [
    write_parquet({"id": ["0", "1", "2", "3"], "label": ["a", "a", "a", None]}),
    write_parquet({"source": [0, 1, 2, 3], "target": [1, 2, 3, 0]}),
    SQUARE.encode(),
    b"id,label\n0,a\n1,a\n2,a\n3,b\n",
    gzip.compress(SQUARE.encode(), mtime=0),
    bytes_of_array(np.array([[0, 1], [1, 2], [2, 3], [3, 0]])),
    bytes_of_array(np.array([0, 0, 0, -1])),
    bytes_of_matrix(csr_array(np.eye(4))),
]


@st.composite
def file_contents(draw: st.DrawFn) -> bytes:
    """Random bytes, random text of a table, or a good file with some bytes changed or cut."""
    kind = draw(st.sampled_from(["bytes", "text", "magic", "damaged"]))
    if kind == "bytes":
        return draw(st.binary(max_size=200))
    if kind == "text":
        return draw(st.text('01259abe,;\t "\n\r#%.-_é\x0b\x1c\u2028', max_size=60)).encode()
    if kind == "magic":
        return draw(st.sampled_from([b"\x93NUMPY\x01\x00", b"PK\x03\x04", b"\x1f\x8b\x08", b"PAR1\x15"])) + draw(
            st.binary(max_size=100)
        )
    content = bytearray(draw(st.sampled_from(SEEDS)))
    for _ in range(draw(st.integers(1, 4))):
        content[draw(st.integers(0, len(content) - 1))] = draw(st.integers(0, 255))
    return bytes(content[: draw(st.integers(1, len(content)))]) if draw(st.booleans()) else bytes(content)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(role=st.sampled_from(["edges", "features", "labels", "splits"]), content=file_contents())
def test_any_content_gives_a_graph_or_a_data_error(folder: Folder, role: str, content: bytes) -> None:
    files: dict[str, Any] = {"edges": SQUARE, "labels": "0,a\n1,a\n2,a\n"} if role == "splits" else {"edges": SQUARE}
    try:
        graph = folder.load(**{**files, role: content})
    except DataError as error:
        assert "\n" not in error.message  # noqa: PT017 - both ways out are right
        return
    assert graph.node_count > 0
