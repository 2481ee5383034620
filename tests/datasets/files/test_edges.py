"""Edges of the user's graph: what each kind of file becomes, and what is refused with which words."""

import gzip

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array, csr_array

from cgnn_cli.datasets.files.import_options import ImportOptions
from cgnn_cli.datasets.files.importing import import_graph
from cgnn_cli.errors import DataError, UsageError
from cgnn_cli.store.elements import checksum
from tests.datasets.files.folder import SQUARE, Folder, dense, notes


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
    assert counts == {"edge_lines": 4, "repeats": 1, "self_loops": 1, "unlabelled": 3, "comment_lines": "#" in text}


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
    folder.fails("line 1: a node id of 5000 characters, where at most 1000 are allowed", f"{big} 1\n")
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


@pytest.mark.parametrize(
    "weight", ["0", "-1", "nan", "inf", "-inf", "1e999", "1e-999", "1e308", "1e-320", "5e-324", "1.1e150", "9e-151"]
)
def test_f22_bad_weights_name_their_line(folder: Folder, weight: str) -> None:
    folder.fails(f"edges.csv, line 3: the weight '{weight}'", f"# c\n0 1 1\n1 2 {weight}\n", weight_column="3")


def test_bad_edges(folder: Folder) -> None:
    folder.fails("line 2: the weight 'x' is not a number", "0 1 1\n1 2 x\n", weight_column="3")
    folder.fails("with a decimal point", "0;1;1,5\n1;2;2,5\n", weight_column="3")
    folder.fails("line 2: the node id in column 2 is empty", "0,1\n1,\n")
    folder.fails("one column", "a\nb\n")


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
