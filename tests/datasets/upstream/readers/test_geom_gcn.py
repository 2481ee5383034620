"""What the text files of geom-gcn become."""

from pathlib import Path

import numpy as np

from tests.datasets.upstream.readers.layouts import BITS, LABELS, LAYOUTS, LISTED, sparse


def test_geom_gcn(tmp_path: Path) -> None:
    graph = LAYOUTS["geom_gcn"].load(tmp_path)
    np.testing.assert_array_equal(sparse(graph), BITS)
    assert graph.splits is not None and graph.splits.tolist() == [[1, 1, 2, 2, 3, 3], [2, 2, 1, 1, 3, 3]]


def test_geom_gcn_lines_in_any_order(tmp_path: Path) -> None:
    header, *lines = LAYOUTS["geom_gcn"].parts()["nodes"].splitlines()
    graph = LAYOUTS["geom_gcn"].load(tmp_path, nodes=b"\r\n".join([header, *reversed(lines)]))
    np.testing.assert_array_equal(sparse(graph), BITS)
    assert graph.labels is not None and graph.labels.tolist() == LABELS.tolist()


def test_geom_gcn_lists_of_features(tmp_path: Path) -> None:
    graph = LAYOUTS["geom_gcn_lists"].load(tmp_path)
    np.testing.assert_array_equal(sparse(graph), LISTED)  # a column that a list repeats is 1 all the same
    assert graph.splits is not None and graph.splits.tolist() == [[1, 1, 2, 2, 3, 3], [2, 2, 1, 1, 3, 3]]


def test_geom_gcn_has_a_column_for_each_feature_that_the_header_allows(tmp_path: Path) -> None:
    nodes = LAYOUTS["geom_gcn_lists"].parts()["nodes"].replace(b"amount:3", b"amount:900")
    assert sparse(LAYOUTS["geom_gcn_lists"].load(tmp_path, nodes=nodes)).shape == (6, 901)


def test_geom_gcn_with_all_masks_in_one_file(tmp_path: Path) -> None:
    graph = LAYOUTS["geom_gcn_masks"].load(tmp_path)
    np.testing.assert_array_equal(sparse(graph), BITS)
    assert graph.splits is not None and graph.splits.tolist() == [[1, 1, 2, 2, 3, 3]] * 2
