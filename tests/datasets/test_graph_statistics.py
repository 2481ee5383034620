"""Figures of small graphs counted by hand, and of real ones against published tables."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array, save_npz

from cgnn_cli.datasets.files.importing import ImportOptions, import_graph
from cgnn_cli.datasets.graph_statistics import graph_statistics
from cgnn_cli.graph import Graph


def small_graph() -> Graph:
    """0 <-> 1 -> 2, 3 -> 3, and 4 alone; 2 has no label."""
    dense = np.zeros((5, 5))
    dense[[0, 1, 1, 3], [1, 0, 2, 3]] = [1, 1, 2, 1]
    return Graph(
        adjacency=csr_array(dense),
        features=csr_array(np.eye(5)[:, :4]),
        labels=np.array([0, 0, -1, 1, 1]),
        class_names=np.array([b"x", b"y"]),
        splits=np.array([[1, 2, 0, 3, 3]], dtype=np.uint8),
        summary={"repeats": 3},
    )


def test_a_small_graph_by_hand() -> None:
    assert graph_statistics(small_graph()) == {
        "nodes": 5,
        "edges": 4,
        "clean_edges": 3,
        "repeats": 3,
        "self_loops": 1,
        "sinks": 3,
        "sources": 2,
        "isolated": 2,
        "reciprocity": 2 / 3,
        "components": 4,
        "largest_component": 2,
        "homophily": 1.0,
        "features": 4,
        "feature_density": 0.2,
        "sparse_features": True,
        "classes": 2,
        "class_sizes": {"x": 2, "y": 2},
        "test_twins": 0.0,
        "unlabelled": 1,
        "splits": [{"train": 1, "val": 1, "test": 2}],
    }


def test_a_bare_graph() -> None:
    figures = graph_statistics(Graph(adjacency=csr_array((3, 3))))
    expected = {"edges": 0, "reciprocity": 0.0, "homophily": None, "features": 0, "feature_density": None}
    assert {name: figures[name] for name in expected} == expected
    assert (figures["classes"], figures["class_sizes"], figures["unlabelled"], figures["splits"]) == (0, {}, 3, [])


def test_dense_features_count_their_zeros() -> None:
    figures = graph_statistics(Graph(adjacency=csr_array(np.eye(2)), features=np.array([[1.0, 0], [0, 0]])))
    assert (figures["feature_density"], figures["sparse_features"]) == (0.25, False)


def test_figures_are_plain_values() -> None:
    assert json.loads(json.dumps(graph_statistics(small_graph())))["nodes"] == 5


@pytest.mark.realdata
def test_chameleon_from_its_text_files(real_data: Path) -> None:
    folder = real_data / "chameleon"
    options = ImportOptions(
        folder / "out1_graph_edges.txt",
        labels=folder / "out1_node_feature_label.txt",
        splits=folder / "chameleon_split_0.6_0.2_0.npz",
    )
    figures = graph_statistics(import_graph(options))
    expected = {"nodes": 2277, "edges": 36101, "clean_edges": 36051, "sinks": 2, "isolated": 0}
    expected |= {"largest_component": 794, "classes": 5, "repeats": 0, "unlabelled": 0}
    assert {name: figures[name] for name in expected} == expected
    assert (round(figures["reciprocity"], 3), round(figures["homophily"], 3)) == (0.260, 0.234)
    assert figures["splits"] == [{"train": 1092, "val": 729, "test": 456}]


@pytest.mark.realdata
def test_citeseer_from_arrays(real_data: Path, tmp_path: Path) -> None:
    arrays = np.load(real_data / "citeseer" / "citeseer.npz", allow_pickle=False)
    for name in ("adj", "attr"):
        parts = tuple(arrays[f"{name}_{part}"] for part in ("data", "indices", "indptr"))
        save_npz(tmp_path / f"{name}.npz", csr_array(parts, shape=tuple(arrays[f"{name}_shape"])))
    np.save(tmp_path / "labels.npy", arrays["labels"])
    options = ImportOptions(
        tmp_path / "adj.npz", features=tmp_path / "attr.npz", labels=tmp_path / "labels.npy", per_class=20
    )
    figures = graph_statistics(import_graph(options))
    expected = {"nodes": 3312, "edges": 4715, "clean_edges": 4591, "self_loops": 124, "sinks": 1429, "isolated": 48}
    expected |= {"largest_component": 10, "features": 3703, "sparse_features": True, "classes": 6}
    assert {name: figures[name] for name in expected} == expected
    assert list(figures["class_sizes"].values()) == [249, 596, 701, 508, 668, 590]
    assert (round(figures["reciprocity"], 3), round(figures["homophily"], 3)) == (0.024, 0.739)
    assert figures["splits"] == [{"train": 120, "val": 500, "test": 2692}] * 10
