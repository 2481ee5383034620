"""What each of upstream's formats becomes."""

from pathlib import Path

import numpy as np
import pytest

from tests.datasets.upstream.readers.layouts import ADJACENCY, LABELS, LAYOUTS, arcs

COUNTS = {"edge_lines": 6, "repeats": 1, "self_loops": 1, "unlabelled": 0, "notes": []}
YEAR_NAMES = ["before 2001", "2001", "2002", "2003", "2004 or later"]
PUBLISHED = [[1, 1, 2, 2, 3, 3], [3, 0, 0, 2, 1, 1]]


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
