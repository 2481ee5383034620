"""What the .npz files of the heterophilous graphs become."""

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from tests.datasets.upstream.readers.layouts import BITS, LAYOUTS, NODES


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
