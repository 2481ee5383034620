"""The benchmark graphs themselves: their known figures, and the memory that reading the large ones takes."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from cgnn_cli.datasets.graph_statistics import graph_statistics
from cgnn_cli.datasets.upstream.readers import csr_npz, geom_gcn, heterophilous
from tests.conftest import MakeStandIn

pytestmark = pytest.mark.realdata
GIB = 1 << 30

# Edges in the file, then those of the graph without self-loops
FIGURES = {
    "chameleon": (2277, 36101, 36051, 2325, 5, 0.234, 0.260, 794, 2, 0),
    "squirrel": (5201, 217073, 216933, 2089, 5, 0.223, 0.171, 2154, 3, 0),
    "chameleon_filtered": (890, 13584, 13534, 2325, 5, 0.245, 0.692, 794, 2, 0),
    "squirrel_filtered": (2223, 65718, 65578, 2089, 5, 0.216, 0.567, 2154, 3, 0),
    "cora_ml": (2995, 8416, 8416, 2879, 7, 0.792, 0.061, 124, 349, 0),
    "citeseer": (3312, 4715, 4591, 3703, 6, 0.739, 0.024, 10, 1429, 48),
    "amazon_photo": (7650, 143663, 143662, 745, 8, 0.831, 0.342, 6105, 198, 115),
    "film": (7600, 33391, 29926, 932, 5, 0.216, 0.218, 3807, 643, 0),
    "texas": (183, 325, 309, 1703, 5, 0.061, 0.194, 7, 78, 0),
    "wisconsin": (251, 515, 499, 1703, 5, 0.170, 0.196, 14, 85, 0),
    "cornell": (183, 298, 295, 1703, 5, 0.122, 0.122, 5, 88, 0),
    "cora": (2708, 5429, 5429, 1433, 7, 0.814, 0.056, 13, 1143, 0),
}
DENSITIES = {"chameleon": 0.0055, "squirrel": 0.0086, "citeseer": 0.0086}
SPLITS = {
    "chameleon": {"train": 1092, "val": 729, "test": 456},
    "squirrel": {"train": 2496, "val": 1664, "test": 1041},
    "film": {"train": 3648, "val": 2432, "test": 1520},
    "texas": {"train": 87, "val": 59, "test": 37},
    "wisconsin": {"train": 120, "val": 80, "test": 51},
    "cornell": {"train": 87, "val": 59, "test": 37},
}
READERS = {
    **dict.fromkeys(["chameleon", "squirrel", "film", "texas", "wisconsin", "cornell"], geom_gcn.read),
    **dict.fromkeys(["chameleon_filtered", "squirrel_filtered"], heterophilous.read),
    **dict.fromkeys(["cora_ml", "citeseer", "amazon_photo", "cora"], csr_npz.read),
}


def described(figures: dict[str, Any], nodes: int, edge_lines: int) -> tuple[Any, ...]:
    """The figures in the order of the table above."""
    names = ["clean_edges", "features", "classes", "homophily", "reciprocity", "largest_component", "sinks", "isolated"]
    values = [figures[name] for name in names]
    rounded = [round(value, 3) if isinstance(value, float) else value for value in values]
    return (nodes, edge_lines, *rounded)


@pytest.mark.parametrize("name", FIGURES)
def test_known_figures(real_data: Path, name: str) -> None:
    graph = READERS[name]({path.name: path for path in (real_data / name).iterdir()})
    figures = graph_statistics(graph)
    assert described(figures, graph.node_count, graph.summary["edge_lines"]) == FIGURES[name]
    assert graph.summary["unlabelled"] == 0
    assert graph.summary["repeats"] == (3372 if name == "film" else 0)
    assert figures["sparse_features"]
    if name in DENSITIES:
        assert round(figures["feature_density"], 4) == DENSITIES[name]
    if READERS[name] is csr_npz.read:
        assert graph.splits is None
    else:
        assert graph.split_count == 10
        assert graph.splits is not None and (graph.splits != 0).all()
    if name in SPLITS:
        assert figures["splits"][0] == SPLITS[name]


def test_features_of_cora_are_not_changed(real_data: Path) -> None:
    path = real_data / "cora_ml" / "cora_ml.npz"
    features = csr_npz.read({path.name: path}).features
    assert features is not None and not isinstance(features, np.ndarray)
    np.testing.assert_allclose(np.sqrt(features.multiply(features).sum(axis=1)), 1, atol=1e-5)


def test_cornell_is_the_graph_that_its_splits_are_of(real_data: Path) -> None:
    """Upstream's own folder has the nodes of texas: labels, features and pairs agree with the file of the masks."""
    graph = geom_gcn.read({path.name: path for path in (real_data / "cornell").iterdir()})
    with np.load(real_data / "cornell" / "cornell_yandex.npz") as arrays:
        assert isinstance(graph.features, csr_array) and graph.labels is not None
        np.testing.assert_array_equal(graph.features.toarray(), arrays["node_features"])
        np.testing.assert_array_equal(graph.labels, arrays["node_labels"])
        pairs = {frozenset(pair) for pair in arrays["edges"].tolist()}
    assert {frozenset(pair) for pair in np.argwhere(graph.edges.toarray()).tolist()} == pairs


def test_roman_empire(stand_in: MakeStandIn) -> None:
    graph = heterophilous.read(stand_in("roman-empire"))
    figures = graph_statistics(graph)
    found = [figures[name] for name in ("nodes", "edges", "clean_edges", "features", "classes", "isolated")]
    assert found == [22662, 32927, 32927, 300, 18, 0]
    assert round(figures["homophily"], 3) == 0.047
    assert isinstance(graph.features, np.ndarray)
    assert figures["splits"] == [{"train": 11331, "val": 5665, "test": 5666}] * 10


PROGRAM = """
import json, resource, sys
from importlib import import_module
from pathlib import Path
from cgnn_cli.datasets.graph_statistics import graph_statistics
files = {name: Path(path) for name, path in json.loads(sys.argv[2]).items()}
graph = import_module("cgnn_cli.datasets.upstream.readers." + sys.argv[1]).read(files)
status = Path("/proc/self/status")  # ru_maxrss has the peak of the process that started this one, too
if status.exists():
    own = next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM"))
else:
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
peak = max(own, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
figures = graph_statistics(graph) if sys.argv[3:] else {}
figures |= {"nodes": graph.node_count, "stored": graph.adjacency.nnz, "edge_lines": graph.summary.get("edge_lines")}
print(json.dumps([peak * (1 if sys.platform == "darwin" else 1024), str(graph.features.dtype), figures]))
"""


def read_apart(reader: str, files: dict[str, Path], *more: str) -> tuple[int, str, dict[str, Any]]:
    """The peak memory of the processes that read a graph, the type of its features, and its figures."""
    paths = json.dumps({name: str(path) for name, path in files.items()})
    command = [sys.executable, "-c", PROGRAM, reader, paths, *more]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    peak, kind, figures = json.loads(done.stdout)
    return peak, kind, figures


def test_arxiv_and_the_memory_for_it(stand_in: MakeStandIn) -> None:
    peak, kind, figures = read_apart("ogb", stand_in("arxiv"), "with figures")
    found = described(figures, figures["nodes"], figures["edge_lines"])
    assert found == (169343, 1166243, 1166243, 128, 5, 0.222, 0.014, 23164, 17440, 0)
    assert figures["class_sizes"] == {
        "before 2014": 31971,
        "2014-2015": 21189,
        "2016-2017": 37781,
        "2018": 29799,
        "2019 or later": 48603,
    }
    assert figures["splits"] == [{"train": 84671, "val": 42335, "test": 42337}] * 5
    assert not figures["sparse_features"] and kind == "float32"
    assert figures["stored"] == 1166243 and peak < 1.5 * GIB


@pytest.mark.slow
def test_memory_for_snap_patents(stand_in: MakeStandIn) -> None:
    peak, _, figures = read_apart("linkx_mat", stand_in("snap-patents"))
    assert (figures["nodes"], figures["stored"]) == (2923922, 14180033)
    assert peak < 6 * GIB
