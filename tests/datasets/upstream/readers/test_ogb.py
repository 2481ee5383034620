"""What the archive of ogbn-arxiv becomes."""

from pathlib import Path

import numpy as np
import pytest

from tests.datasets.upstream.readers.layouts import LAYOUTS, WIDE


def test_ogb_features(tmp_path: Path) -> None:
    graph = LAYOUTS["ogb"].load(tmp_path)
    np.testing.assert_array_equal(graph.features, WIDE.astype(np.float32))


def test_ogb_features_in_many_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cgnn_cli.datasets.upstream.readers.assembly.BLOCK_BYTES", 2000)
    graph = LAYOUTS["ogb"].load(tmp_path)
    np.testing.assert_array_equal(graph.features, WIDE.astype(np.float32))
