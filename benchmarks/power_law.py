"""A made graph of any size as a folder of Parquet files: in-degrees by a power law, with hubs.

    python benchmarks/power_law.py FOLDER --nodes 10000000 --edges 100000000

In-degrees are drawn from a power law with exponent 2.2, of which the largest is about the square root of the number of
nodes, and scaled to the number of edges. Where an edge begins is drawn uniformly, so that out-degrees do not depend on
in-degrees. Node numbers are shuffled, no edge joins a node with itself, and a repeated one counts once when the graph
is imported. Memory is bounded by a few arrays over the nodes; the edges are drawn and written in pieces. The same seed
gives the same files.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from math import ceil
from pathlib import Path

import numpy as np

EXPONENT = 2.2
PIECE = 1 << 20  # edges that are drawn at a time
FILES = 8


def in_degrees(generator: np.random.Generator, nodes: int, edges: int) -> np.ndarray:
    """An in-degree for each node, `edges` in all: shares x of a power law, and the rest of each rounded by chance.

    x = least u^(-1/(EXPONENT - 1)) has the density x^(-EXPONENT); it is cut at sqrt(nodes), and `least` makes the sum.
    """
    drawn, most = generator.random(nodes), max(np.sqrt(nodes), 2 * edges / nodes)
    low, high = 0.0, most
    for _ in range(60):  # the sum grows with `least`
        least = (low + high) / 2
        total = np.minimum(least * (1 - drawn) ** (-1 / (EXPONENT - 1)), most).sum()
        low, high = (least, high) if total < edges else (low, least)
    shares = np.cumsum(np.minimum(least * (1 - drawn) ** (-1 / (EXPONENT - 1)), most))
    ends = np.floor(shares * (edges / shares[-1]) + generator.random()).astype(np.int64)
    ends[-1] = edges
    return np.diff(np.minimum(ends, edges), prepend=0)


def pieces(nodes: int, edges: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Sources and targets, a piece after the other."""
    generator = np.random.default_rng(seed)
    ends = np.cumsum(in_degrees(generator, nodes, edges))
    names = generator.permutation(nodes)
    for start in range(0, edges, PIECE):
        numbers = np.arange(start, min(start + PIECE, edges))
        target = np.searchsorted(ends, numbers, side="right")
        source = generator.integers(nodes - 1, size=len(numbers))
        source += source >= target
        order = generator.permutation(len(numbers))
        yield names[source[order]], names[target[order]]


def write(folder: Path, nodes: int, edges: int, *, seed: int = 0, files: int = FILES) -> None:
    """The folder of Parquet files with the columns source and target."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True)
    schema = pa.schema([("source", pa.int64()), ("target", pa.int64())])
    each = ceil(ceil(edges / PIECE) / files)
    writer = None
    for number, ends in enumerate(pieces(nodes, edges, seed)):
        if number % each == 0:
            if writer is not None:
                writer.close()
            writer = pq.ParquetWriter(folder / f"part-{number // each:03d}.parquet", schema)
        assert writer is not None
        writer.write_table(pa.table(list(ends), schema=schema))
    if writer is not None:
        writer.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path, help="a new folder")
    parser.add_argument("--nodes", type=int, default=10_000_000)
    parser.add_argument("--edges", type=int, default=100_000_000)
    parser.add_argument("--files", type=int, default=FILES)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    write(options.folder, options.nodes, options.edges, seed=options.seed, files=options.files)


if __name__ == "__main__":
    main()
