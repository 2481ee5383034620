"""What the text files of geom-gcn become."""

from pathlib import Path

import numpy as np

from tests.datasets.upstream.readers.layouts import BITS, LABELS, LAYOUTS, sparse


def test_geom_gcn(tmp_path: Path) -> None:
    graph = LAYOUTS["geom_gcn"].load(tmp_path)
    np.testing.assert_array_equal(sparse(graph), BITS)
    assert graph.splits is not None and graph.splits.tolist() == [[1, 1, 2, 2, 3, 3], [2, 2, 1, 1, 3, 3]]


def test_geom_gcn_lines_in_any_order(tmp_path: Path) -> None:
    header, *lines = LAYOUTS["geom_gcn"].parts()["nodes"].splitlines()
    graph = LAYOUTS["geom_gcn"].load(tmp_path, nodes=b"\r\n".join([header, *reversed(lines)]))
    np.testing.assert_array_equal(sparse(graph), BITS)
    assert graph.labels is not None and graph.labels.tolist() == LABELS.tolist()
