"""rings: a dataset whose one file lists edges and classes."""

from pathlib import Path

import numpy as np

from cgnn_cli.datasets.catalogue import BENCHMARKS, Benchmark, UpstreamFile
from cgnn_cli.datasets.upstream.readers.assembly import build_graph, checked_edges, checked_labels
from cgnn_cli.graph import Graph


def read(files: dict[str, Path]) -> Graph:
    """Rows of node, next node and class; the features of a node are its place on the ring."""
    path = files["rings.txt"]
    node, following, label = np.loadtxt(path, dtype=np.int64).T
    labels = checked_labels(label, path)
    angle = 2 * np.pi * node / len(node)
    return build_graph(checked_edges(node, following, len(labels), path), np.c_[np.cos(angle), np.sin(angle)], labels)


BENCHMARKS["rings"] = Benchmark(
    title="nodes on a ring",
    folder="rings",
    files=(UpstreamFile("rings.txt", "https://example.org/rings.txt"),),
    reader=__name__,
    protocols=("random",),
    expected={"nodes": 100, "edges": 100, "features": 2, "classes": 2, "splits": 10},
    citation="nobody, 2026",
    licence="none",
)
