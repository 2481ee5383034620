"""A graph in which 4 % of the nodes are fraud, as data and as files: what tests of imbalance share."""

from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from cgnn_cli.graph import Graph
from cgnn_cli.numerics.csr import canonical_csr

NODES, FRAUDS = 1000, 40


def rare_graph() -> Graph:
    """Features that tell fraud in the mean but not for sure; edges at random; two splits of 48/32/20."""
    rng = np.random.default_rng(4)
    labels = np.zeros(NODES, dtype=np.int64)
    labels[rng.permutation(NODES)[:FRAUDS]] = 1
    features = rng.standard_normal((NODES, 3)) + 1.3 * labels[:, None]
    ends = rng.integers(NODES, size=(2, 3 * NODES))
    adjacency = canonical_csr(csr_array((np.ones(3 * NODES), tuple(ends)), shape=(NODES, NODES)))
    adjacency.data[:] = 1
    splits = np.zeros((2, NODES), dtype=np.uint8)
    for row in splits:
        for members in (np.flatnonzero(labels == 0), np.flatnonzero(labels == 1)):  # each part has its share of fraud
            first, second = int(0.48 * len(members)), int(0.8 * len(members))
            row[rng.permutation(members)] = np.repeat([1, 2, 3], [first, second - first, len(members) - second])
    return Graph(
        adjacency=adjacency,
        features=features.astype(np.float32),
        labels=labels,
        class_names=np.array([b"ok", b"fraud"]),
        splits=splits,
    )


def write_rare(folder: Path) -> list[str]:
    """The graph as files in a folder, and the options that import them."""
    graph = rare_graph()
    assert graph.labels is not None and graph.splits is not None and isinstance(graph.features, np.ndarray)
    entries = graph.adjacency.tocoo()
    rows = zip(entries.row.tolist(), entries.col.tolist(), strict=True)
    (folder / "edges.csv").write_text("source,target\n" + "".join(f"a{i},a{j}\n" for i, j in rows if i != j))
    names = graph.class_labels()
    (folder / "labels.csv").write_text(
        "id,label\n" + "".join(f"a{node},{names[label]}\n" for node, label in enumerate(graph.labels.tolist()))
    )
    (folder / "features.csv").write_text(
        "id,f,g,h\n"
        + "".join(f"a{node},{','.join(map(str, row))}\n" for node, row in enumerate(graph.features.tolist()))
    )
    parts = ("", "train", "val", "test")
    (folder / "splits.csv").write_text(
        "id,split\n" + "".join(f"a{node},{parts[part]}\n" for node, part in enumerate(graph.splits[0].tolist()))
    )
    files = {kind: str(folder / f"{kind}.csv") for kind in ("edges", "labels", "features", "splits")}
    return [word for kind, path in files.items() for word in (f"--{kind}", path)]
