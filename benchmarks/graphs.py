"""The graphs of the benchmark: real ones from a folder, stand-ins made by that folder's own script, and random ones."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from cgnn_cli.graph import Dilap, Graph
from cgnn_cli.numerics.csr import canonical_csr, row_of_entries, without_self_loops
from cgnn_cli.numerics.transition import transition_matrix
from cgnn_cli.numerics.walk import Walk
from cgnn_cli.stages.dilap import dilap
from cgnn_cli.stages.rewire import rewire

CITATIONS = 7  # edges a node
QUICK_EDGES = 900
GNUTELLA = Path("gnutella/p2p-Gnutella31.txt")
MADE = {"arxiv-year": "arxiv", "snap-patents": "snap-patents"}


@dataclass(frozen=True)
class Case:
    """A graph with its walk, and its edges as pairs of states: what every solver takes."""

    name: str
    graph: Graph
    dilap: Dilap

    @cached_property
    def walk(self) -> Walk:
        return self.dilap.walk()

    @cached_property
    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        edges = self.graph.edges
        return row_of_entries(edges).astype(np.int64), edges.indices.astype(np.int64)

    @property
    def system(self) -> tuple[Walk, np.ndarray, np.ndarray, np.ndarray]:
        return self.walk, self.dilap.perron, *self.pairs


@dataclass(frozen=True)
class Undirected:
    """A connected undirected graph without self-loops; its pairs are its edges, each once."""

    name: str
    adjacency: csr_array

    @cached_property
    def walk(self) -> Walk:
        return Walk(transition_matrix(self.adjacency))

    @property
    def system(self) -> tuple[Walk, np.ndarray, np.ndarray, np.ndarray]:
        degree = np.diff(self.adjacency.indptr)
        rows, columns = row_of_entries(self.adjacency).astype(np.int64), self.adjacency.indices.astype(np.int64)
        once = rows < columns
        return self.walk, degree / degree.sum(), rows[once], columns[once]


@dataclass(frozen=True)
class Sources:
    """Where graphs come from: a folder of datasets, and one for what is made on the way. Without data, random ones."""

    data: Path | None
    scratch: Path

    def graph(self, name: str) -> Graph:
        if self.data is None:
            return citations(QUICK_EDGES, seed=sum(map(ord, name)))
        from cgnn_cli.api import SourceConfig, load_dataset

        mirror = str(self.mirror(name))
        return load_dataset(name, None, SourceConfig(data=self.store_of(name), mirror=mirror, accept_standin=True))

    def case(self, name: str) -> Case:
        graph = self.graph(name)
        return Case(name, graph, dilap(rewire(graph)))

    def undirected(self, name: str) -> Undirected:
        if name == "gnutella" and self.data is not None:
            arcs = np.loadtxt(self.data / GNUTELLA, dtype=np.int64)
            count = int(arcs[0, 0])
            adjacency = csr_array((np.ones(len(arcs) - 1), (arcs[1:, 0], arcs[1:, 1])), shape=(count, count))
        else:
            adjacency = self.graph(name).edges
        both = without_self_loops(canonical_csr(((adjacency + adjacency.T) > 0).astype(np.float64)))
        _, component = connected_components(both, directed=False)
        nodes = np.flatnonzero(component == np.bincount(component).argmax())
        return Undirected(name, canonical_csr(both[nodes][:, nodes]))

    def mirror(self, name: str) -> Path:
        """The folder that holds a dataset's files; what is not among the real data is made once."""
        assert self.data is not None
        if name not in MADE:
            return self.data
        folder = self.scratch / "stand-ins"
        if not (folder / MADE[name].replace("-", "_")).is_dir():
            subprocess.run([sys.executable, self.data / "standins.py", MADE[name], folder], check=True)
        return folder

    def store_of(self, name: str) -> str:
        return str(self.scratch / "downloads" / name)


def citations(edges: int, seed: int = 0) -> Graph:
    """A random graph like one of citations: every node cites a few earlier ones, early ones most; random features."""
    generator = np.random.default_rng(seed)
    count = max(edges // CITATIONS, 3)
    source = generator.integers(1, count, edges)
    target = (source * generator.random(edges) ** 2).astype(np.int64)
    adjacency = canonical_csr(csr_array((np.ones(edges), (source, target)), shape=(count, count)))
    adjacency.data[:] = 1
    return Graph(adjacency=without_self_loops(adjacency), features=generator.standard_normal((count, 8)))


def power_law(nodes: int, edges: int, seed: int = 0) -> Graph:
    """A random directed graph whose in- and out-degrees follow power laws, apart; random features."""
    generator = np.random.default_rng(seed)
    share = np.arange(1, nodes + 1) ** -0.8
    share /= share.sum()
    order = generator.permutation(nodes)  # who leads to many is not who many lead to
    drawn = [generator.choice(nodes, 5 * edges // 4, p=share) for _ in range(2)]
    pairs = generator.permutation(np.unique(order[drawn[0]] * nodes + drawn[1]))[:edges]
    source, target = np.divmod(pairs, nodes)
    adjacency = canonical_csr(csr_array((np.ones(len(pairs)), (source, target)), shape=(nodes, nodes)))
    return Graph(adjacency=without_self_loops(adjacency), features=generator.standard_normal((nodes, 8)))
