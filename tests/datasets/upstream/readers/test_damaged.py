"""Files that are damaged, wrong or hostile: always a DataError that names the file, and nothing in them is run."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csc_array

from cgnn_cli.errors import DataError
from tests.datasets.upstream.readers.layouts import BITS, EDGES, INDEX_SPLITS, LABELS, LAYOUTS, MASKS, WIDE, YEARS, csv

NAN_BITS = np.where(BITS == 1, np.nan, 0.0)
FAR = np.array([[0, 1], [1, 600]])
PARTS = ("train", "val", "test")
SEVEN_ROWS = {"attr_shape": np.array([7, 4]), "attr_indptr": np.array([0, 1, 1, 1, 1, 1, 1, 2])}
NO_FEATURES = {
    "attr_shape": np.array([6, 0]),
    "attr_data": np.zeros(0),
    "attr_indices": np.zeros(0, dtype=np.int32),
    "attr_indptr": np.zeros(7, dtype=np.int32),
}
NODE_LINES = LAYOUTS["geom_gcn"].parts()["nodes"].splitlines()
LIST_LINES = LAYOUTS["geom_gcn_lists"].parts()["nodes"].splitlines()
ALL_MASKS = LAYOUTS["geom_gcn_masks"].parts()["splits"]
SAMPLES = {"linkx_mat": 2}  # few, because each takes a process; tests of that reader have more


def masks(train: Any, val: Any, test: Any, name: str = "mask") -> dict[str, Any]:
    return {f"{part}_{name}": mask for part, mask in zip(PARTS, (train, val, test), strict=True)}


def node_lines(place: int, line: bytes, lines: list[bytes] = NODE_LINES) -> bytes:
    """The file of nodes with another line in one place."""
    return b"\n".join([*lines[:place], line, *lines[place + 1 :]])


def index_splits(**parts: Any) -> list[dict[str, Any]]:
    return [INDEX_SPLITS[0] | parts]


SPLIT_CHANGES = {
    "has node 6": index_splits(test=[4, 6]),
    "has node -1": index_splits(test=[4, -1]),
    "has node 0 more than once": index_splits(test=[0, 5]),
    "has node 5 more than once": index_splits(test=[5, 5]),
    "no val nodes": index_splits(valid=[]),
    "cannot be read as a file of splits": b"\x93NUMPY",
}

CHANGES: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "geom_gcn": [
        ("cannot be read as numbers", {"edges": b"node_id\tnode_id\n0\tx\n"}),
        ("cannot be read as numbers", {"edges": b"node_id\tnode_id\n0\t1.5\n"}),
        ("cannot be read as numbers", {"edges": b"node_id\tnode_id\n0\t1\n2\n"}),
        ("cannot be read as numbers", {"edges": b"node_id\tnode_id\n0\t\n"}),
        ("cannot be read as numbers", {"edges": b"node_id\tnode_id\n0\t99999999999999999999\n"}),
        ("cannot be read as numbers", {"edges": b"node_id\tnode_id\n"}),
        ("cannot be read as numbers", {"edges": b"node_id\tnode_id\n\xff\0\t1\n"}),
        ("has 3 columns, not 2", {"edges": b"node_id\tnode_id\n0\t1\t2\n"}),
        ("has an edge of node 6, but its nodes are 0..5", {"edges": b"node_id\tnode_id\n0\t6\n"}),
        ("has an edge of node -1", {"edges": b"node_id\tnode_id\n0\t-1\n"}),
        ("does not begin with the header", {"edges": b"0\t1\n1\t2\n"}),
        ("is empty", {"edges": b""}),
        ("does not begin with the header", {"nodes": b"\n".join(NODE_LINES[1:])}),
        ("does not have a line for each", {"nodes": NODE_LINES[0]}),
        ("does not have a line for each of nodes 0..5", {"nodes": node_lines(2, b"0\t0,0,0,0\t1")}),
        ("does not have a line for each of nodes 0..5", {"nodes": node_lines(2, b"7\t0,0,0,0\t1")}),
        ("line 3: not a node", {"nodes": node_lines(2, b"1\t0,0,0\t1")}),
        ("line 3: not a node", {"nodes": node_lines(2, b"1\t0,0,0,2\t1")}),
        ("line 3: not a node", {"nodes": node_lines(2, b"1\t0,0,nan,0\t1")}),
        ("line 3: not a node", {"nodes": node_lines(2, b"1\t0,0,0,0\t1.0")}),
        ("line 3: not a node", {"nodes": node_lines(2, b"1\t0,0,0,0")}),
        ("line 2: not a node", {"nodes": node_lines(1, b"\xff\xfe")}),
        ("has labels from 0 to 77", {"nodes": node_lines(2, b"1\t0,0,0,0\t77")}),
        ("has no array", {"splits": [{"train_mask": MASKS[0]}]}),
        ("other values than true and false", {"splits": [masks(MASKS[0] * 2, *MASKS[1:])]}),
        ("in another part", {"splits": [masks(MASKS[0], MASKS[0], MASKS[2])]}),
        ("has no test nodes", {"splits": [masks(MASKS[0], MASKS[1], MASKS[2] * 0)]}),
        ("the graph has 6 nodes", {"splits": [masks(*MASKS[:, :5])]}),
    ],
    "geom_gcn_lists": [
        ("line 3: not a node, features from 0 to 3, a label", {"nodes": node_lines(2, b"1\t4\t1", LIST_LINES)}),
        ("line 3: not a node", {"nodes": node_lines(2, b"1\t0,99999999999999999999\t1", LIST_LINES)}),
        ("line 3: not a node", {"nodes": node_lines(2, b"1\t0,-1\t1", LIST_LINES)}),
        ("line 3: not a node", {"nodes": node_lines(2, b"1\t0,\t1", LIST_LINES)}),
        ("line 3: not a node", {"nodes": node_lines(2, b"1\t\t1", LIST_LINES)}),
        ("line 3: not a node", {"nodes": node_lines(2, b"1\t0,1", LIST_LINES)}),
        ("line 2: not a node, as many 0/1", {"nodes": node_lines(0, b"node_id\tfeature\tlabel", LIST_LINES)}),
        ("line 2: not a node", {"nodes": node_lines(0, b"node_id\tfeature(feature_amount:9\tlabel", LIST_LINES)}),
        ("does not have a line for each", {"nodes": LIST_LINES[0]}),
        ("does not have a line for each of nodes 0..5", {"nodes": node_lines(2, b"7\t1\t1", LIST_LINES)}),
    ],
    "geom_gcn_masks": [
        ("has splits of other labels", {"splits": ALL_MASKS | {"node_labels": LABELS[::-1]}}),
        ("has splits of other labels", {"splits": ALL_MASKS | {"node_labels": LABELS[:5]}}),
        ("has no array 'node_labels'", {"splits": ALL_MASKS | {"node_labels": None}}),
        ("has no array 'val_masks'", {"splits": ALL_MASKS | {"val_masks": None}}),
        ("has no test nodes", {"splits": ALL_MASKS | {"test_masks": ALL_MASKS["test_masks"] * 0}}),
    ],
    "csr_npz": [
        ("has no array 'labels'", {"labels": None}),
        ("has no array 'adj_indptr'", {"adj_indptr": None}),
        ("has no array 'attr_data'", {"attr_data": None}),
        ("labels of type float64", {"labels": LABELS.astype(float)}),
        ("labels of type <U", {"labels": LABELS.astype(str)}),
        ("shape (6, 1)", {"labels": LABELS[:, np.newaxis]}),
        ("labels from -2 to 2", {"labels": np.where(LABELS == 0, -2, LABELS)}),
        ("labels from -1 to -1", {"labels": np.full(6, -1)}),
        ("labels from 0 to 1000000000", {"labels": LABELS * 500_000_000}),
        ("for 5 labels", {"labels": LABELS[:5]}),
        ("damaged sparse matrix", {"adj_indices": np.array([1, 2, 0, 3, 6, 4])}),
        ("damaged sparse matrix", {"adj_indices": np.array([1, 2, 0, 3, -1, 4])}),
        ("damaged sparse matrix", {"adj_indices": np.array([1, 2, 0])}),
        ("damaged sparse matrix", {"adj_indptr": np.array([0, 1, 2, 3, 4, 9, 6])}),
        ("damaged sparse matrix", {"adj_indptr": np.array([0, 1, 2, 3, 4, 5, 60])}),
        ("damaged sparse matrix", {"adj_indptr": np.array([0, 5, 2, 3, 4, 5, 6])}),
        ("damaged sparse matrix", {"adj_indptr": np.array([0, 6])}),
        ("damaged sparse matrix", {"adj_indices": np.zeros((2, 3), dtype=int)}),
        ("damaged sparse matrix", {"adj_shape": np.array([2**40, 2**40])}),
        ("damaged sparse matrix", {"adj_shape": np.array([-6, 6])}),
        ("damaged sparse matrix", {"attr_indices": np.array([4, 0])}),
        ("are not integers", {"adj_indices": np.array([1, 2, 0, 3, 5, 4.0])}),
        ("are not integers", {"adj_shape": np.array([6, 6, 6])}),
        ("are not integers", {"adj_shape": np.array(6)}),
        ("adjacency of type float32 and shape (6, 7)", {"adj_shape": np.array([6, 7])}),
        ("adjacency of type <U1", {"adj_data": np.array(list("abcdef"))}),
        ("holds no edges", {"adj_data": np.zeros(6)}),
        ("features that are NaN", {"attr_data": np.array([np.nan, 1])}),
        ("features that are NaN", {"attr_data": np.array([1, np.inf], dtype=np.float32)}),
        ("features of type complex128", {"attr_data": np.array([1j, 1])}),
        ("shape (6, 0)", NO_FEATURES),
        ("shape (7, 4) for 6 nodes", SEVEN_ROWS),
        ("cannot be read", {"labels": np.array([{}], dtype=object)}),
    ],
    "heterophilous": [
        ("has no array 'edges'", {"edges": None}),
        ("has no array 'val_masks'", {"val_masks": None}),
        ("edges of shape (2, 6)", {"edges": EDGES.T}),
        ("edges of shape (6,)", {"edges": EDGES[:, 0]}),
        ("holds no edges", {"edges": EDGES[:0]}),
        ("node numbers of type float64", {"edges": EDGES.astype(float)}),
        ("has an edge of node 600", {"edges": FAR}),
        ("has an edge of node 18446744073709551615", {"edges": np.array([[0, 2**64 - 1]], dtype=np.uint64)}),
        ("labels of type float64", {"node_labels": LABELS.astype(float)}),
        ("features that are NaN", {"node_features": NAN_BITS}),
        ("features of type <U", {"node_features": BITS.astype(str)}),
        ("shape (5, 4) for 6 nodes", {"node_features": BITS[:5]}),
        ("shape (6,) for 6 nodes", {"node_features": BITS[:, 0]}),
        ("float64 cannot hold exactly", {"node_features": BITS * (2**53 + 1)}),
        ("other values than true and false", {"train_masks": MASKS[:1] * 3}),
        ("different numbers of splits", {"train_masks": MASKS[:1]}),
        ("without a label", {"node_labels": np.where(LABELS == 0, -1, LABELS)}),
    ],
    "ogb": [
        ("has no 'arxiv/raw/edge.csv.gz'", {"edge": None}),
        ("edge.csv.gz is not a gzip file", {"edge": b"RAW0,1\n"}),
        ("edge.csv.gz cannot be read as numbers", {"edge": b"0,1\n1,x\n"}),
        ("edge.csv.gz cannot be read as numbers", {"edge": b""}),
        ("edge.csv.gz has 3 columns, not 2", {"edge": b"0,1,2\n"}),
        ("has an edge of node 600", {"edge": csv(FAR)}),
        ("node-feat.csv.gz has 127 columns, not 128", {"node-feat": csv(WIDE[:, :127], "%.3f")}),
        ("node-feat.csv.gz has 129 columns, not 128", {"node-feat": csv(np.hstack([WIDE, WIDE[:, :1]]), "%.3f")}),
        ("node-feat.csv.gz has 5 rows, but the graph has 6 nodes", {"node-feat": csv(WIDE[:5], "%.3f")}),
        ("node-feat.csv.gz has more than 6 rows", {"node-feat": csv(np.vstack([WIDE, WIDE]), "%.3f")}),
        ("features that are NaN", {"node-feat": csv(np.where(WIDE > 1.9, np.nan, WIDE), "%.3f")}),
        ("features that are NaN", {"node-feat": csv(np.where(WIDE > 1.9, np.inf, WIDE), "%.3f")}),
        ("node-feat.csv.gz cannot be read as numbers", {"node-feat": csv(WIDE, "%.3f").replace(b"-2.000", b"")}),
        ("node_year.csv.gz cannot be read as numbers", {"node_year": b"2000.5\n"}),
        ("has 5 years, but states [6] nodes", {"node_year": csv(YEARS[:5])}),
        ("has 6 years, but states [6, 6] nodes", {"num-node-list": b"6\n6\n"}),
        ("has 6 years, but states [10000000000000] nodes", {"num-node-list": b"10000000000000\n"}),
        *((message, {"splits": splits}) for message, splits in SPLIT_CHANGES.items()),
    ],
    "linkx_mat": [
        ("has no edge_index", {"edge_index": None}),
        ("has no years", {"years": None}),
        ("edge_index of shape (6, 2), not 2 x edges", {"edge_index": EDGES}),
        ("has an edge of node 600", {"edge_index": FAR.T}),
        ("has an edge of node -1", {"edge_index": np.array([[0.0], [-1.0]])}),
        ("node numbers of type float64", {"edge_index": EDGES.T + 0.5}),
        ("node numbers of type float64", {"edge_index": EDGES.T * np.nan}),
        ("edge_index is not a matrix of real numbers", {"edge_index": EDGES.T * 1j}),
        ("edge_index is not a matrix of real numbers", {"edge_index": "text"}),
        ("edge_index is not a matrix of real numbers", {"edge_index": {"a": 1}}),
        ("edge_index is not a matrix of real numbers", {"edge_index": np.array([[{}, 1]], dtype=object)}),
        ("edge_index is a sparse matrix", {"edge_index": csc_array(EDGES.T)}),
        ("node_feat is not a sparse matrix", {"node_feat": BITS}),
        ("features that are NaN", {"node_feat": csc_array(NAN_BITS)}),
        ("node_feat is not a matrix of real numbers", {"node_feat": csc_array(BITS * 1j)}),
        ("shape (5, 4) for 6 nodes", {"node_feat": csc_array(BITS[:5].astype(float))}),
        ("years that are not whole numbers", {"years": YEARS + 0.5}),
        ("years that are not whole numbers", {"years": YEARS * np.inf}),
        ("years that are not whole numbers", {"years": YEARS * np.nan}),
        ("has 5 years, but states [6] nodes", {"years": YEARS[:5]}),
        ("has 6 years, but states [7] nodes", {"num_nodes": 7}),
        ("num_nodes is not a matrix of real numbers", {"num_nodes": "6"}),
        *((message, {"splits": splits}) for message, splits in SPLIT_CHANGES.items()),
    ],
}


@pytest.mark.parametrize(
    ("layout", "message", "change"),
    [
        pytest.param(layout, message, change, id=f"{layout}-{number}-{'-'.join(change)}")
        for layout, changes in CHANGES.items()
        for number, (message, change) in enumerate(changes)
    ],
)
def test_wrong_content(tmp_path: Path, layout: str, message: str, change: dict[str, Any]) -> None:
    with pytest.raises(DataError, match=re.escape(message)) as caught:
        LAYOUTS[layout].load(tmp_path, **change)
    assert str(tmp_path) in caught.value.message
    assert "\n" not in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize("layout", LAYOUTS)
def test_files_cut_short_swapped_or_missing(tmp_path: Path, layout: str) -> None:
    reader = LAYOUTS[layout]
    files = reader.write(tmp_path, reader.parts())
    for path in files.values():
        whole = path.read_bytes()
        texts = path.suffix == ".txt"
        for damaged in (b"", b"\0" * 1000, b"text", b"<html>not found</html>", b"PK\x03\x04", b"MATLAB 5.0 MAT-file"):
            path.write_bytes(damaged)
            expect_error(files, layout, path)
        for length in np.linspace(1, len(whole) - 2 - 10 * texts, SAMPLES.get(layout, 15)).astype(int):
            path.write_bytes(whole[:length])
            if not (texts and whole[:length].endswith(b"\n")):
                expect_error(files, layout, path, may_read=texts)
        path.unlink()
        expect_error(files, layout, path)
        path.write_bytes(whole)
    reader.read(files)


def expect_error(files: dict[str, Path], layout: str, path: Path, *, may_read: bool = False) -> None:
    """Reading fails with a DataError that names the file; text that was cut may still be readable."""
    message = None
    try:
        LAYOUTS[layout].read(files)
    except DataError as error:
        message = error.message
    assert may_read or (message is not None and str(path) in message)


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if not name.startswith("geom_gcn")])
def test_flipped_bytes(tmp_path: Path, layout: str) -> None:
    reader = LAYOUTS[layout]
    files = reader.write(tmp_path, reader.parts())
    path = next(iter(files.values()))
    whole = path.read_bytes()
    for place in np.random.default_rng(0).choice(len(whole), SAMPLES.get(layout, 150), replace=False):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x41]) + whole[place + 1 :])
        expect_error(files, layout, path, may_read=True)


# Pickles


@pytest.mark.parametrize(
    ("layout", "names"),
    [
        ("csr_npz", ["labels", "adj_data", "adj_indices", "adj_indptr", "adj_shape", "attr_data", "attr_matrix"]),
        ("heterophilous", ["node_features", "node_labels", "edges", "train_masks"]),
        ("linkx_mat", ["splits"]),
        ("ogb", ["splits"]),
    ],
)
def test_case_27_a_pickle_is_not_run(tmp_path: Path, layout: str, names: list[str]) -> None:
    class Payload:
        def __reduce__(self) -> Any:
            return (Path.touch, (tmp_path / "owned",))

    payload: Any = np.array([Payload()], dtype=object)
    for name in names:
        change = {name: payload} | ({"attr_data": None} if name == "attr_matrix" else {})
        with pytest.raises(DataError) as caught:
            LAYOUTS[layout].load(tmp_path, **change)
        assert str(tmp_path) in caught.value.message
    assert not (tmp_path / "owned").exists()


def test_case_27_a_pickle_in_a_mask_file_or_beside_what_is_read(tmp_path: Path) -> None:
    class Payload:
        def __reduce__(self) -> Any:
            return (Path.touch, (tmp_path / "owned",))

    payload = np.array([Payload()], dtype=object)
    with pytest.raises(DataError):
        LAYOUTS["geom_gcn"].load(tmp_path, splits=[masks(payload, *MASKS[1:])])
    LAYOUTS["csr_npz"].load(tmp_path, node_names=payload)
    LAYOUTS["heterophilous"].load(tmp_path, more=payload)
    assert not (tmp_path / "owned").exists()
