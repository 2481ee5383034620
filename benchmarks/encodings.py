"""What encodings cost and give where a graph has no features: docs/encodings.md quotes what this prints.

    python benchmarks/encodings.py --data FOLDER [--only wiki cost] [--splits 10]

wiki: hyperlinks among 2,405 pages of 17 categories, imported with their ids permuted, split 20/20/60 ten times. Every
model and setting is compared by validation accuracy on the first splits, and the best alone is scored on test nodes.
cost: CPU seconds of 64 eigenvectors and of the head start of 32 landmarks on the arxiv graph, with their residuals.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import numpy as np
from graphs import Sources

from cgnn_cli.models.model_table import train_config
from cgnn_cli.operators import encoding

MODELS = {"sage": ("--direction", "undirected"), "dirgnn": (), "gcn": ()}
SETTINGS = ("train.dropout=0.5,0.8",)
COMMON = ("--hidden", "128", "--patience", "50")
TUNED_ON = 2  # splits
PAGES = 2405


def wiki(data: Path, splits: int, kept: Path | None) -> None:
    """A two-layer network on the Laplacian encoding, its settings chosen on validation nodes."""
    with nullcontext(kept) if kept else tempfile.TemporaryDirectory() as folder:
        _permuted_wiki(data / "wiki", Path(folder))

        def cgnn(*arguments: str) -> dict[str, object]:
            print("$ cgnn", *arguments, flush=True)
            command = [sys.executable, "-m", "cgnn_cli", *arguments, "--json", "--quiet"]
            made = subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE).stdout
            answer: dict[str, object] = json.loads(made)
            return answer

        files = ("--edges", "edges.csv", "--labels", "labels.csv", "--split-ratio", "20/20/60")
        cgnn("data", "import", "wiki", *files)
        tuned = [part for split in range(TUNED_ON) for part in ("--split", str(split))]
        varied = [part for setting in SETTINGS for part in ("--set", setting)]
        found: list[tuple[float, list[str]]] = []
        for model, options in MODELS.items():
            chosen = ["--dataset", "wiki", "--model", model, *options, *COMMON]
            swept = cgnn("sweep", *chosen, *varied, *tuned)["summary"]
            best = swept["best"]  # type: ignore[index]
            found.append((best["validation_accuracy"]["mean"], shlex.split(best["command"])[1:]))
            print(f"{best['name']}: validation {100 * found[-1][0]:.1f}", flush=True)
        _, best_of_all = max(found, key=lambda each: each[0])
        scored = cgnn(*best_of_all, *[p for split in range(splits) for p in ("--split", str(split))])
        accuracy = scored["summary"]["test_accuracy"]  # type: ignore[index]
        print(
            f"test accuracy {100 * accuracy['mean']:.1f} ± {100 * accuracy['std']:.1f} over {accuracy['runs']} splits"
        )


def _permuted_wiki(source: Path, folder: Path) -> None:
    """The files of a user, with new ids: upstream's follow the categories."""
    number = np.random.default_rng(0).permutation(PAGES)
    edges = np.loadtxt(source / "Wiki_edgelist.txt", dtype=np.int64)
    np.savetxt(folder / "edges.csv", number[edges], fmt="%d", delimiter=",")
    pages, category = np.loadtxt(source / "Wiki_category.txt", dtype=np.int64).T
    rows = np.column_stack([number[pages], category])
    np.savetxt(folder / "labels.csv", rows[np.argsort(rows[:, 0])], fmt="%d", delimiter=",")


def cost(data: Path, splits: int, kept: Path | None) -> None:
    """The edges are real; features and labels play no part."""
    with tempfile.TemporaryDirectory() as folder:
        graph = Sources(data.absolute(), Path(folder)).graph("arxiv-year")
    for name in ("laplacian", "head-start"):
        begun = time.process_time()
        told = encoding.make(graph, None, train_config("mlp", encoding=name)).summary["encoding"]
        spent = time.process_time() - begun
        about = f"{told['columns']} columns, largest residual {told['largest_residual']:.1e}"
        print(f"{name} on arxiv: {spent:.0f} CPU seconds, {about}")


PARTS: dict[str, Callable[[Path, int, Path | None], None]] = {"wiki": wiki, "cost": cost}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, default=os.environ.get("CGNN_TEST_DATA"), help="folder of datasets")
    options.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), metavar="NAME")
    options.add_argument("--folder", type=Path, help="keep the files and the store of wiki here, to go on from")
    options.add_argument("--splits", type=int, default=10, help="splits of wiki to score")
    chosen = options.parse_args()
    if chosen.data is None:
        options.error("give --data FOLDER or set CGNN_TEST_DATA")
    for name in chosen.only:
        PARTS[name](Path(chosen.data).absolute(), chosen.splits, chosen.folder)


if __name__ == "__main__":
    main()
