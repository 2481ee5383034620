"""What each of upstream's formats becomes."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csc_array, csr_array

from cgnn_cli.datasets.readers.years import year_classes
from cgnn_cli.graph import Graph
from tests.datasets.readers.upstream import BITS, LABELS, LAYOUTS, NODES, WIDE, YEARS

ADJACENCY = [[0, 1], [1, 2], [2, 0], [3, 3], [4, 5]]
COUNTS = {"edge_lines": 6, "repeats": 1, "self_loops": 1, "unlabelled": 0, "notes": []}
YEAR_NAMES = ["before 2001", "2001", "2002", "2003", "2004 or later"]
PUBLISHED = [[1, 1, 2, 2, 3, 3], [3, 0, 0, 2, 1, 1]]


def arcs(graph: Graph) -> list[list[int]]:
    assert graph.adjacency.data.tolist() == [1.0] * graph.adjacency.nnz
    return np.argwhere(graph.adjacency.toarray()).tolist()


def sparse(graph: Graph) -> np.ndarray:
    """The features of a graph, which are sparse."""
    assert isinstance(graph.features, csr_array)
    assert graph.features.has_canonical_format
    assert (graph.features.indices.dtype, graph.features.indptr.dtype) == (np.int32, np.int32)
    return graph.features.toarray()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_format(tmp_path: Path, layout: str) -> None:
    graph = LAYOUTS[layout].load(tmp_path)
    assert arcs(graph) == ADJACENCY
    assert graph.summary == (COUNTS if layout != "csr_npz" else {**COUNTS, "edge_lines": 5, "repeats": 0})
    assert graph.node_ids is None
    assert graph.labels is not None and graph.labels.dtype == np.int64
    assert graph.features is not None and graph.features.dtype == np.float32
    if layout in ("ogb", "linkx_mat"):
        assert graph.class_labels() == YEAR_NAMES
        assert graph.labels.tolist() == [0, 1, 2, 3, 4, 4]
        assert graph.splits is not None and graph.splits.tolist() == PUBLISHED
    else:
        assert graph.class_labels() == ["0", "1", "2"]
        assert graph.labels.tolist() == LABELS.tolist()


def test_geom_gcn(tmp_path: Path) -> None:
    graph = LAYOUTS["geom_gcn"].load(tmp_path)
    np.testing.assert_array_equal(sparse(graph), BITS)
    assert graph.splits is not None and graph.splits.tolist() == [[1, 1, 2, 2, 3, 3], [2, 2, 1, 1, 3, 3]]


def test_geom_gcn_lines_in_any_order(tmp_path: Path) -> None:
    header, *lines = LAYOUTS["geom_gcn"].parts()["nodes"].splitlines()
    graph = LAYOUTS["geom_gcn"].load(tmp_path, nodes=b"\r\n".join([header, *reversed(lines)]))
    np.testing.assert_array_equal(sparse(graph), BITS)
    assert graph.labels is not None and graph.labels.tolist() == LABELS.tolist()


def test_csr_features_stay_as_they_are(tmp_path: Path) -> None:
    graph = LAYOUTS["csr_npz"].load(tmp_path)
    expected = np.zeros((NODES, 4))
    expected[0, 3], expected[5, 0] = 0.5, 2
    np.testing.assert_array_equal(sparse(graph), expected)
    assert graph.splits is None


def test_csr_repeats_count_once(tmp_path: Path) -> None:
    graph = LAYOUTS["csr_npz"].load(
        tmp_path, adj_indices=np.array([1, 1, 0, 3, 5, 5]), adj_indptr=np.array([0, 2, 2, 3, 4, 6, 6])
    )
    assert arcs(graph) == [[0, 1], [2, 0], [3, 3], [4, 5]]
    assert (graph.summary["edge_lines"], graph.summary["repeats"]) == (5, 1)


def test_dense_features_in_a_csr_file(tmp_path: Path) -> None:
    none: dict[str, Any] = dict.fromkeys(["attr_data", "attr_indices", "attr_indptr", "attr_shape"])
    graph = LAYOUTS["csr_npz"].load(tmp_path, attr_matrix=BITS + 0.5, **none)
    assert isinstance(graph.features, np.ndarray)
    np.testing.assert_array_equal(graph.features, BITS + 0.5)


@pytest.mark.parametrize(("filled", "is_sparse"), [(11, True), (12, False)])
def test_heterophilous_features_are_sparse_below_a_tenth(tmp_path: Path, filled: int, is_sparse: bool) -> None:
    features = np.zeros((NODES, 20), dtype=np.float32)
    features.flat[:filled] = 1
    graph = LAYOUTS["heterophilous"].load(tmp_path, node_features=features)
    assert isinstance(graph.features, csr_array) == is_sparse


def test_heterophilous_masks(tmp_path: Path) -> None:
    graph = LAYOUTS["heterophilous"].load(tmp_path)
    assert graph.splits is not None and graph.splits.tolist() == [[1, 1, 2, 2, 3, 3]] * 3


def test_precise_features_stay_precise(tmp_path: Path) -> None:
    graph = LAYOUTS["heterophilous"].load(tmp_path, node_features=BITS + 0.1)
    assert graph.features is not None and graph.features.dtype == np.float64


def test_ogb_features(tmp_path: Path) -> None:
    graph = LAYOUTS["ogb"].load(tmp_path)
    np.testing.assert_array_equal(graph.features, WIDE.astype(np.float32))


def test_ogb_features_in_many_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cgnn_cli.datasets.readers.number_files.BLOCK_BYTES", 2000)
    graph = LAYOUTS["ogb"].load(tmp_path)
    np.testing.assert_array_equal(graph.features, WIDE.astype(np.float32))


def test_matlab_files(tmp_path: Path) -> None:
    graph = LAYOUTS["linkx_mat"].load(tmp_path)
    np.testing.assert_array_equal(sparse(graph), BITS)
    halves = LAYOUTS["linkx_mat"].load(tmp_path, node_feat=csc_array(BITS / 3))
    assert halves.features is not None and halves.features.dtype == np.float64
    floats = LAYOUTS["linkx_mat"].load(tmp_path, edge_index=LAYOUTS["linkx_mat"].parts()["edge_index"].astype(float))
    assert arcs(floats) == ADJACENCY


# Years


def test_classes_of_years_are_half_open() -> None:
    years = np.repeat([2010, 2013, 2014, 2015, 2016, 2017, 2018, 2019, 2020], [10, 9, 6, 6, 11, 11, 18, 20, 9])
    labels, names = year_classes(years, Path("years"))
    assert names == ["before 2014", "2014-2015", "2016-2017", "2018", "2019 or later"]
    assert np.bincount(labels).tolist() == [19, 12, 22, 18, 29]
    assert {int(year): int(label) for year, label in zip(years, labels, strict=True)} == {
        2010: 0,
        2013: 0,
        2014: 1,
        2015: 1,
        2016: 2,
        2017: 2,
        2018: 3,
        2019: 4,
        2020: 4,
    }


def test_bounds_between_years_and_unknown_years() -> None:
    labels, names = year_classes(np.array([*YEARS[:4], np.nan]), Path("years"))
    assert labels.tolist() == [0, 1, 3, 4, -1]
    assert names == ["before 2001", "2001", "no year", "2002", "2003 or later"]


def test_nodes_without_a_year_are_counted(tmp_path: Path) -> None:
    years = np.array([[*YEARS[:5], np.nan]])
    splits = [{"train": [0, 1], "valid": [2, 3], "test": [4]}]
    graph = LAYOUTS["linkx_mat"].load(tmp_path, years=years, splits=splits)
    assert graph.labels is not None and graph.labels[-1] == -1
    assert graph.summary["unlabelled"] == 1
