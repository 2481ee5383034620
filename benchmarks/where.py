"""Run `cgnn reproduce where` on the benchmark graphs, the made ones, and two graphs that are imported as a user's own.

    python benchmarks/where.py --data FOLDER --store STORE [--max-minutes 120] [--jobs 2] [--output docs/results/where]

FOLDER holds the files of the benchmark graphs, and two folders beside them, whose tables are written as CSV first:

    wiki               Wiki_edgelist.txt and Wiki_category.txt: hyperlinks among pages of Wikipedia (OpenNE). Its ids
                       follow the classes, so they are permuted; ten splits of 20/20/60.
    drosophila_larva   G_edgelist.txt and meta_data.csv: synapses in the brain of a fly larva (bilateral-connectome);
                       the class is class1, and `unk` stands for none; ten splits of 48/32/20.

What is in the store is not computed again, so the same command goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from cgnn_cli.paper.experiment_table import WHERE

SEED = 0
LARGE = ("chameleon", "squirrel", "am-photo")  # they come last, so that a run that is cut short has the others
Rows = Iterable[Iterable[object]]


def wiki(folder: Path) -> tuple[Rows, Rows]:
    """Edges and labels with permuted ids."""
    edges = np.loadtxt(folder / "Wiki_edgelist.txt", dtype=np.int64)
    labels = np.loadtxt(folder / "Wiki_category.txt", dtype=np.int64)
    ids = np.random.default_rng(SEED).permutation(len(labels))
    named = sorted((f"page{ids[node]}", f"category{label}") for node, label in labels)
    return ([f"page{ids[node]}" for node in edge] for edge in edges), named


def drosophila_larva(folder: Path) -> tuple[Rows, Rows]:
    """Edges with their number of synapses, and labels of the neurons whose class is known."""
    with (folder / "meta_data.csv").open(encoding="utf-8", newline="") as table:
        neurons = [(row[""], row["class1"]) for row in csv.DictReader(table)]
    edges = (line.split() for line in (folder / "G_edgelist.txt").read_text(encoding="utf-8").splitlines())
    return edges, [row for row in neurons if row[1] != "unk"]


OWN = {
    "wiki": (wiki, "wiki", ("source", "target"), "20/20/60"),
    "drosophila-larva": (drosophila_larva, "drosophila_larva", ("source", "target", "weight"), "48/32/20"),
}


def prepare(name: str, data: Path, scratch: Path) -> list[str]:
    """Write the tables of a graph, and give the command that imports it."""
    read, folder, columns, ratio = OWN[name]
    edges, labels = read(data / folder)
    paths = scratch / f"{name}-edges.csv", scratch / f"{name}-labels.csv"
    for path, head, rows in zip(paths, (columns, ("node", "label")), (edges, labels), strict=True):
        with path.open("w", encoding="utf-8", newline="") as table:
            csv.writer(table, lineterminator="\n").writerows([head, *rows])
    weighted = ["--weight-column", "weight"] if "weight" in columns else []
    return [
        "data",
        "import",
        name,
        "--edges",
        str(paths[0]),
        "--labels",
        str(paths[1]),
        "--split-ratio",
        ratio,
        *weighted,
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of datasets, as a mirror has it")
    parser.add_argument("--store", type=Path, default=Path(".cgnn"), help="folder of cached artifacts")
    parser.add_argument("--max-minutes", type=float)
    parser.add_argument("--splits", type=int)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--output", type=Path, default=Path("docs/results/where"))
    options = parser.parse_args()

    cgnn, store = [sys.executable, "-m", "cgnn_cli"], ["--store", str(options.store)]
    with tempfile.TemporaryDirectory() as scratch:
        for name in OWN:
            subprocess.run([*cgnn, *prepare(name, options.data, Path(scratch)), *store], check=True)
    small = [name for name in WHERE if name not in LARGE]
    asked = ["--datasets", ",".join([*small, *OWN, *LARGE]), "--jobs", str(options.jobs), "--threads", "1"]
    limits = {"--max-minutes": options.max_minutes, "--splits": options.splits}
    asked += [part for option, value in limits.items() if value is not None for part in (option, str(value))]
    source = ["--mirror", str(options.data), "--output", str(options.output), "--quiet"]
    command = [*cgnn, "reproduce", "where", *asked, *source, *store]
    os.execv(command[0], command)  # it hears signals itself


if __name__ == "__main__":
    main()
