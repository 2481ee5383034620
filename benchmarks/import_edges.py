"""Time and memory of `cgnn data import` for a large edge file with string ids.

    python benchmarks/import_edges.py [--edges N] [--parquet] [--hubs-together]

The file is made in a temporary folder: lines like user_0012345,user_0000007, a tenth as many nodes as edges, and
degrees with a heavy tail. Those with many edges out have few in, unless --hubs-together makes them the same nodes. The
exit code is 1 if the import takes more than 90 s or 3 GiB; both limits are for 10 million edges, on one machine.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

SECONDS, GIBIBYTES = 90.0, 3.0
BLOCK = 1_000_000


def heavy_tail(generator: np.random.Generator, size: int, nodes: int) -> np.ndarray:
    """Node numbers; the share of node i falls like i^(-2/3)."""
    return (nodes * generator.random(size) ** 3).astype(np.int64)


def draw_edges(count: int, nodes: int, hubs_together: bool) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(0)
    source, target = heavy_tail(generator, count, nodes), heavy_tail(generator, count, nodes)
    return source, target if hubs_together else generator.permutation(nodes)[target]


def write_file(path: Path, source: np.ndarray, target: np.ndarray) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = [[f"user_{node:07d}" for node in ends.tolist()] for ends in (source, target)]
    if path.suffix == ".parquet":
        pq.write_table(pa.table({"source": names[0], "target": names[1]}), path)
        return
    with path.open("w") as file:
        file.write("source,target\n")
        for start in range(0, len(source), BLOCK):
            rows = zip(names[0][start : start + BLOCK], names[1][start : start + BLOCK], strict=True)
            file.writelines(f"{a},{b}\n" for a, b in rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--edges", type=int, default=10_000_000, help="lines of the file")
    parser.add_argument("--parquet", action="store_true", help="a Parquet file instead of CSV")
    parser.add_argument("--hubs-together", action="store_true", help="many edges out and many in: the same nodes")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / ("edges.parquet" if options.parquet else "edges.csv")
        write_file(path, *draw_edges(options.edges, max(options.edges // 10, 2), options.hubs_together))
        print(f"{path.name}: {options.edges:,} edges, {path.stat().st_size / 2**20:,.0f} MiB", flush=True)
        started = time.perf_counter()
        command = [sys.executable, "-m", "cgnn_cli", "data", "import", "large", "--edges", str(path)]
        subprocess.run(command, cwd=folder, check=True)
        seconds = time.perf_counter() - started
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    peak = usage.ru_maxrss / 2**20
    print(f"{seconds:.1f} s ({usage.ru_utime + usage.ru_stime:.1f} s of CPU)")
    print(f"{options.edges / seconds:,.0f} edges per second, peak memory {peak:.2f} GiB")
    return int(seconds > SECONDS or peak > GIBIBYTES)


if __name__ == "__main__":
    sys.exit(main())
