"""Different ids of edges and a number for each row: by cgnn's table of Arrow, by polars and by duckdb.

    python benchmarks/id_tables.py [--edges N] [--rounds N]

A Parquet file holds two columns like user_0012345, a tenth as many ids as rows. Each side reads it in a process of its
own with one thread, in turns, and ends with the different ids in the order of nodes and a code for every row, all of
them the same, which is checked. CPU time, and the peak of what is in memory and in no file; the median of the rounds.
duckdb keeps its tables in a file, and may hold a quarter of a GiB.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np

Codes = tuple[list[np.ndarray], int]
DEGREE, BATCH = 10, 1 << 20


def write(path: Path, edges: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    generator = np.random.default_rng(0)
    schema = pa.schema([("source", pa.string()), ("target", pa.string())])
    with pq.ParquetWriter(path, schema) as file:
        for start in range(0, edges, BATCH):
            numbers = (edges // DEGREE * generator.random((2, min(BATCH, edges - start))) ** 3).astype(np.int64)
            names = [pa.array([f"user_{node:09d}" for node in ends.tolist()]) for ends in numbers]
            file.write_table(pa.table(names, schema=schema))


def arrow(path: Path, folder: Path) -> Codes:
    from cgnn_cli import mapped
    from cgnn_cli.datasets.files.ids import encode, in_order, places
    from cgnn_cli.datasets.files.parquet import read_column

    names, codes = encode([mapped.spooled(read_column(path, name)) for name in ("source", "target")])
    rank = places(names, in_order(names)).astype(np.int32)
    return [rank[column] for column in codes], len(names)


def polars(path: Path, folder: Path) -> Codes:
    import polars as pl

    rows = pl.scan_parquet(path)
    ids = pl.concat([rows.select(id=pl.col(name)) for name in ("source", "target")]).unique().sort("id")
    names = ids.collect(engine="streaming").with_row_index("code").with_columns(pl.col("code").cast(pl.Int32))
    codes = []
    for name in ("source", "target"):
        joined = rows.select(id=pl.col(name)).join(names.lazy(), on="id", how="left", maintain_order="left")
        codes.append(joined.select("code").collect(engine="streaming")["code"].to_numpy())
    return codes, len(names)


def duckdb(path: Path, folder: Path) -> Codes:
    import duckdb as database

    with database.connect(str(folder / "ids.db")) as query:
        query.execute("set threads = 1; set memory_limit = '256MB'")
        query.execute(f"create table ends as select row_number() over () r, source, target from '{path}'")
        query.execute(
            "create table ids as select id, (row_number() over (order by id) - 1)::int code from "
            "(select distinct id from (select source id from ends union all select target from ends))"
        )
        codes = []
        for name in ("source", "target"):
            found = query.sql(f"select code from ends join ids on id = {name} order by r")
            codes.append(np.concatenate([part.column(0).to_numpy() for part in found.to_arrow_reader(BATCH)]))
        (count,) = query.execute("select count(*) from ids").fetchone() or (0,)
    return codes, count


SIDES: dict[str, Callable[[Path, Path], Codes]] = {"arrow": arrow, "polars": polars, "duckdb": duckdb}


def held() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith("RssAnon"))


def work(side: str, path: Path) -> None:
    """One side, in this process: what it took, and a digest of what it found."""
    peak, done = 0, threading.Event()

    def look() -> None:
        nonlocal peak
        while not done.wait(0.02):
            peak = max(peak, held())

    watch = threading.Thread(target=look)
    watch.start()
    begun = time.process_time()
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        codes, count = SIDES[side](path, Path(folder))
    seconds = time.process_time() - begun
    done.set()
    watch.join()
    digest = hashlib.sha256(b"".join(np.ascontiguousarray(part, np.int32).tobytes() for part in codes)).hexdigest()
    print(json.dumps({"seconds": seconds, "peak": peak, "count": count, "digest": digest}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edges", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--work", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(options.work[0], Path(options.work[1]))
        return
    sides = [side for side in SIDES if side == "arrow" or find_spec(side)]
    taken: dict[str, list[dict[str, float]]] = {side: [] for side in sides}
    environment = {**os.environ, "POLARS_MAX_THREADS": "1", "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "edges.parquet"
        write(path, options.edges)
        for _ in range(options.rounds):
            for side in sides:
                command = [sys.executable, __file__, "--work", side, str(path)]
                done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
                taken[side].append(json.loads(done.stdout))
    found = {(each["count"], each["digest"]) for rounds in taken.values() for each in rounds}
    if len(found) > 1:
        sys.exit("the sides found different ids")
    for side, rounds in taken.items():
        seconds, peak = (statistics.median(each[name] for each in rounds) for name in ("seconds", "peak"))
        print(f"{side:<8} {seconds:6.1f} s of CPU   {peak / 2**30:5.2f} GiB of its own")
    for side in set(SIDES) - set(sides):
        print(f"{side:<8} not installed")


if __name__ == "__main__":
    main()
