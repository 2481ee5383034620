"""What the .npz files of the CSR family become."""

from pathlib import Path
from typing import Any

import numpy as np

from tests.datasets.upstream.readers.layouts import BITS, LAYOUTS, NODES, arcs, sparse


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
