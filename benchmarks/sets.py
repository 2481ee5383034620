"""`cgnn hitting` and `dilap --kemeny` as whole commands on a random graph of a million edges: CPU seconds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from graphs import power_law
from ratios import Setting
from report import Line, Section, seconds, table

from cgnn_cli.numerics.csr import row_of_entries

NODES, EDGES, SETS, MEMBERS = 70_000, 1_000_000, 10, 100
QUICK = 700
METHODS = ("path", "teleport", "none")
MOST_SECONDS = 30


def sets(setting: Setting) -> Section:
    """Ten sets of a hundred nodes each, on three walks; then steps from them, and Kemeny's constant."""
    shrink = NODES // QUICK if setting.quick else 1
    with tempfile.TemporaryDirectory(dir=setting.sources.scratch) as name:
        folder = Path(name)
        nodes, edges = _write_graph(folder, NODES // shrink, EDGES // shrink, MEMBERS // shrink or 1)
        rows: list[tuple[str, ...]] = [("command", "walk", "CPU time", "of it rewire and dilap", "error")]
        worst = 0.0
        for method in METHODS[:1] if setting.quick else METHODS:
            walk = ("--dataset", "powers", "--method", method)
            made, _ = _command(folder, "dilap", *walk)
            taken, found = _command(folder, "hitting", *walk, "--to-file", "sets.csv", "--output", "steps.csv")
            largest = max(row["error"] for row in found["summary"]["sets"])
            worst = max(worst, made + taken)
            error = f"steps {largest:.0e}, first {found['summary']['first_error']:.0e}"
            rows.append(("`hitting --to-file`", method, seconds(made + taken), seconds(made), error))
            taken, found = _command(folder, "hitting", *walk, "--from-file", "sets.csv", "--output", "steps.csv")
            middle = max(row["median_relative_error"] for row in found["summary"]["sets"])
            rows.append(("`hitting --from-file`", method, seconds(taken), "", f"median {100 * middle:.1g} %"))
            taken, found = _command(folder, "dilap", *walk, "--kemeny")
            kemeny = found["summary"]["kemeny"]
            share = 100 * kemeny["error"] / kemeny["constant"]
            rows.append(("`dilap --kemeny`", method, seconds(taken), "", f"{share:.1g} %"))
    goal = f"`hitting`, {SETS} sets, 70,000 nodes, 1 million edges, three walks: at most {MOST_SECONDS} CPU seconds"
    line = Line("7a", goal, f"at most {seconds(worst)}", worst <= MOST_SECONDS)
    return Section([line], f"{nodes:,} nodes, {edges:,} edges.\n\n{table(rows)}")


def _write_graph(folder: Path, nodes: int, edges: int, members: int) -> tuple[int, int]:
    """A dataset with random features, and a file of sets; the numbers of nodes and edges."""
    graph = power_law(nodes, edges)
    np.save(folder / "edges.npy", np.stack([row_of_entries(graph.adjacency), graph.adjacency.indices], axis=1))
    np.save(folder / "features.npy", np.asarray(graph.features))
    inside = np.unique(graph.adjacency.indices)  # nodes that some other leads to
    chosen = np.random.default_rng(1).choice(inside, SETS * members, replace=False)
    rows = "".join(f"{node},set{place % SETS}\n" for place, node in enumerate(chosen))
    (folder / "sets.csv").write_text(f"node,set\n{rows}", encoding="utf-8")
    _command(folder, "data", "import", "powers", "--edges", "edges.npy", "--features", "features.npy")
    return graph.node_count, int(graph.adjacency.nnz)


def _command(folder: Path, *arguments: str) -> tuple[float, dict[str, Any]]:
    """CPU seconds of a command in a process without others, and what it prints."""
    command = [sys.executable, "-m", "cgnn_cli", *arguments, "--json", "--quiet"]
    one_core = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "CGNN_COMPUTE_THREADS": "1"}
    before = os.times()
    printed = subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True, env=one_core).stdout
    after = os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    result: dict[str, Any] = json.loads(printed)
    return spent, result
