"""What a model loses on a graph that it has not seen: docs/predict.md quotes what this prints.

    python benchmarks/halves.py --data FOLDER

The papers of cora-ml are halved at random, and each half is imported as a graph of its own, under ids of its own.
Models train on papers of the first half, and are applied to the second. Beside them stand models with the same training
and validation papers that saw both halves: with the links inside the halves alone, and with those between them too.
Accuracy is that on all papers of the second half, in %.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from cgnn_cli.artifact_tables import write_parquet
from cgnn_cli.configs import SourceConfig
from cgnn_cli.graph import Graph
from cgnn_cli.workspace import Workspace

MODELS = {
    "cgnn": (),
    "dirgnn": ("--model", "dirgnn"),
    "appnp": ("--model", "appnp", "--feature-scaling", "row"),
    "sage": ("--model", "sage", "--direction", "undirected"),
}
KINDS = ("edges", "labels", "features", "splits")


def write(folder: Path, data: Path) -> None:
    """Tables of the first half, the same under other ids, the second half, both with their own links, and all links."""
    space = Workspace(folder / "store", SourceConfig(mirror=str(data)))
    graph: Graph = space.runner.data(space.step("graph", "cora-ml"))
    rng = np.random.default_rng(0)
    nodes = rng.permutation(graph.node_count)
    first, second = nodes[: len(nodes) // 2], nodes[len(nodes) // 2 :]
    drawn, inside = rng.random(len(first)), np.zeros(graph.node_count, dtype=bool)
    inside[first] = True
    part = np.full(graph.node_count, "test", dtype=object)
    part[first] = np.where(drawn < 0.6, "train", np.where(drawn < 0.9, "val", ""))
    own_test = np.where(inside & (part == ""), "test", part)
    ids = np.array([f"{'a' if own else 'b'}{node}" for node, own in enumerate(inside)], dtype=object)
    others = np.array([f"other{len(ids) - node}" for node in range(len(ids))], dtype=object)
    links = np.stack(csr_array(graph.adjacency).nonzero(), axis=1)
    within = links[inside[links[:, 0]] == inside[links[:, 1]]]
    of_first = inside[within[:, 0]]
    _write_tables(folder, "first", graph, first, ids, within[of_first], own_test)
    _write_tables(folder, "again", graph, first, others, within[of_first], own_test)
    _write_tables(folder, "second", graph, second, ids, within[~of_first], part)
    _write_tables(folder, "both", graph, nodes, ids, within, part)
    _write_tables(folder, "all", graph, nodes, ids, links, part)


def _write_tables(
    folder: Path, name: str, graph: Graph, members: np.ndarray, ids: np.ndarray, edges: np.ndarray, part: np.ndarray
) -> None:
    assert graph.labels is not None
    names, used = np.array(graph.class_labels(), dtype=object), members[part[members] != ""]
    values = csr_array(graph.features)[members].toarray().T
    tables = {
        "edges": {"source": ids[edges[:, 0]], "target": ids[edges[:, 1]]},
        "labels": {"id": ids[members], "label": names[graph.labels[members]]},
        "features": {"id": ids[members], **{f"word{place}": value for place, value in enumerate(values)}},
        "splits": {"id": ids[used], "part": part[used]},
    }
    for kind, columns in tables.items():
        (folder / f"{name}-{kind}.parquet").write_bytes(write_parquet(columns))


def words(name: str) -> list[str]:
    """How one of the graphs is imported; the second half has no need of splits."""
    kinds = KINDS[: -1 if name == "second" else None]
    return ["data", "import", name, *(word for kind in kinds for word in (f"--{kind}", f"{name}-{kind}.parquet"))]


def _cgnn(folder: Path, *arguments: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "cgnn_cli", *arguments, "--json", "--quiet"]
    found: dict[str, Any] = json.loads(subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE).stdout)
    return found


def measured(folder: Path, options: tuple[str, ...]) -> tuple[float, float, float]:
    """Accuracy on the second half: a model of the first, one with the links inside both halves, one with all links."""
    key = _cgnn(folder, "train", "--dataset", "first", *options)["key"]
    applied = _cgnn(folder, "predict", "--run", key, "--dataset", "second")["summary"]["accuracy"]
    seen = [_cgnn(folder, "eval", "--dataset", name, *options)["summary"] for name in ("both", "all")]
    return applied, *(summary["test_accuracy"]["mean"] for summary in seen)  # type: ignore[return-value]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of downloaded datasets")
    data = parser.parse_args().data.absolute()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, data)
        for graph in ("first", "second", "both", "all"):
            _cgnn(folder, *words(graph))
        print(
            "| model | of the first half, applied | saw both halves | and the links between them |\n|---|---|---|---|"
        )
        for model, options in MODELS.items():
            cells = " | ".join(f"{100 * value:.1f}" for value in measured(folder, options))
            print(f"| `{' '.join(options) or '--model ' + model}` | {cells} |", flush=True)


if __name__ == "__main__":
    main()
