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
from scipy.sparse import csr_array, save_npz

from cgnn_cli.configs import SourceConfig
from cgnn_cli.graph import Graph
from cgnn_cli.store.store import Store
from cgnn_cli.sweeps import set_words
from cgnn_cli.workspace import Workspace

MODELS = ("mlp", "gcn", "appnp", "sage", "dirgnn", "cgnn")
EPOCHS = ("--epochs", "60")
TUNING = ("--trials", "12", "--set", "train.encoding=none")  # a choice that other graphs can take


def write(folder: Path, data: Path) -> None:
    """Files of the first half, of the second, of both with their own links, and of all links.

    Ids are the numbers of a half's papers in an order of its own, so that a paper has another one in each graph.
    """
    space = Workspace(Store(folder.absolute() / "store"), SourceConfig(mirror=str(data)))
    graph: Graph = space.runner.data(space.step("graph", "cora-ml"))
    rng = np.random.default_rng(0)
    nodes = rng.permutation(graph.node_count)
    first, second = nodes[: len(nodes) // 2], nodes[len(nodes) // 2 :]
    part = np.full(graph.node_count, "test", dtype=object)
    drawn = rng.random(len(first))
    part[first] = np.where(drawn < 0.6, "train", np.where(drawn < 0.9, "val", ""))
    inside = np.zeros(graph.node_count, dtype=bool)
    inside[first] = True
    links = np.stack(csr_array(graph.adjacency).nonzero(), axis=1)
    within = links[inside[links[:, 0]] == inside[links[:, 1]]]
    of_first = inside[within[:, 0]]
    own_test = np.where(inside & (part == ""), "test", part)
    _write_files(folder, "first", graph, first, within[of_first], own_test)
    _write_files(folder, "second", graph, second, within[~of_first], part)
    _write_files(folder, "both", graph, nodes, within, part)
    _write_files(folder, "all", graph, nodes, links, part)


def _write_files(
    folder: Path, name: str, graph: Graph, members: np.ndarray, links: np.ndarray, part: np.ndarray
) -> None:
    assert graph.labels is not None
    ids = np.full(graph.node_count, -1)
    ids[members] = np.arange(len(members))
    names = graph.class_labels()
    edges = "".join(f"{source},{target}\n" for source, target in ids[links].tolist())
    labels = "".join(f"{place},{names[graph.labels[node]]}\n" for place, node in enumerate(members))
    splits = "".join(f"{place},{part[node]}\n" for place, node in enumerate(members) if part[node])
    for kind, text in (("edges", edges), ("labels", labels), ("splits", splits)):
        (folder / f"{name}-{kind}.csv").write_text(text)
    save_npz(folder / f"{name}-features.npz", csr_array(graph.features)[members])


def words(name: str) -> list[str]:
    """How one of the graphs is imported; the second half has no need of splits."""
    given = ["data", "import", name, "--edges", f"{name}-edges.csv", "--labels", f"{name}-labels.csv"]
    splits = [] if name == "second" else ["--splits", f"{name}-splits.csv"]
    return [*given, "--features", f"{name}-features.npz", *splits]


def _cgnn(folder: Path, *arguments: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "cgnn_cli", *arguments, "--json", "--quiet"]
    found: dict[str, Any] = json.loads(subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE).stdout)
    return found


def measured(folder: Path, options: tuple[str, ...]) -> tuple[float, float, float]:
    """Accuracy on the second half: a model of the first, one with the links inside both halves, one with all links."""
    key = _cgnn(folder, "train", "--dataset", "first", *options)["key"]
    applied = _cgnn(folder, "predict", "--run", key, "--dataset", "second")["summary"]["accuracy"]
    seen = [_cgnn(folder, "eval", "--dataset", name, *options)["summary"] for name in ("both", "all")]
    return applied, *(summary["test_accuracy"]["mean"] for summary in seen)


def chosen(folder: Path) -> tuple[str, ...]:
    """What `cgnn tune` chooses for the first half, as the settings of any other graph."""
    best = _cgnn(folder, "tune", "--dataset", "first", *TUNING)["summary"]["best"]
    print(f"chosen: {best['model']}, {best['settings']}", file=sys.stderr, flush=True)
    return tuple(set_words({"train.model": best["model"], **best["settings"]}))


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
        rows = [("--model", model, *EPOCHS) for model in MODELS]
        for title, options in [*((" ".join(row), row) for row in rows), (f"tune {' '.join(TUNING)}", chosen(folder))]:
            cells = " | ".join(f"{100 * value:.1f}" for value in measured(folder, options))
            print(f"| `{title}` | {cells} |", flush=True)


if __name__ == "__main__":
    main()
