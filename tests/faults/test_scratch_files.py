"""Arrays that lie in files while a stage works: a full disk, a kill, and how little memory is enough with them."""

import signal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.faults.processes import payload_of, run

# Arrays and blocks are large from a few kilobytes on.
SMALL = """
from cgnn_cli import resources
resources.MAPPED_FROM, resources.BLOCK_ENTRIES = 4096, 500
"""
KILLED = """
import os, signal
from cgnn_cli import mapped
from cgnn_cli.stages import dilap
def killed(walk, start):
    assert mapped.is_mapped(walk.sparse.data)
    os.kill(os.getpid(), signal.SIGKILL)
dilap.perron_vector = killed
"""
FULL = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (2000, resource.RLIM_INFINITY))"
DEMO = ("dilap", "--dataset", "demo", "--store", "store", "--json")


def files_in(store: Path) -> set[Path]:
    """All files but the locks."""
    return {path for path in store.rglob("*") if path.is_file() and path.parent.name != "locks"}


@pytest.fixture
def rewired() -> set[Path]:
    """A store with the rewired demo graph, and its files."""
    assert run("rewire", *DEMO[1:]).code == 0
    return files_in(Path("store"))


def test_case_04_a_disk_without_room_for_arrays_ends_with_7(rewired: set[Path]) -> None:
    result = run(*DEMO, patch=SMALL + FULL)
    assert (result.code, result.out) == (7, "")
    error = result.err.splitlines()[-1]
    assert error.startswith("error: no room for ") and "of a temporary file in" in error and "--store" in error
    assert "Traceback" not in result.err and files_in(Path("store")) == rewired


def test_nothing_is_left_of_arrays_after_a_kill(rewired: set[Path]) -> None:
    assert run(*DEMO, patch=SMALL + KILLED).code == -signal.SIGKILL
    assert files_in(Path("store")) == rewired
    plain = payload_of(run(*DEMO).json["artifact"])
    assert payload_of(run(*DEMO, "--force", patch=SMALL).json["artifact"]) == plain


NODES, EDGES, SPARE = 40_000, 800_000, 100 << 20
LIMITED = f"""
import resource, numpy, scipy.sparse.csgraph, scipy.sparse.linalg, h5py, joblib, psutil
import cgnn_cli.stages.dilap, cgnn_cli.stages.commute, cgnn_cli.solvers.svd
from cgnn_cli import resources
held = next(line for line in open("/proc/self/status") if line.startswith("VmData"))
limit = 1024 * int(held.split()[1]) + {SPARE}
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
"""
IN_FILES = "resources.MAPPED_FROM, resources.BLOCK_ENTRIES = 1 << 19, 1 << 15\n"
MAPPED_INPUT = "import cgnn_cli.store.elements as elements\nelements.MAPPED_FROM = 1 << 19\n"


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux alone limits what is private")
def test_a_walk_in_blocks_takes_less_memory_than_its_matrices() -> None:
    """By the limit of the kernel, which counts no pages of files: the same limit is too little without blocks."""
    generator = np.random.default_rng(0)
    ends = [generator.integers(NODES, size=EDGES) for _ in range(2)]
    pq.write_table(pa.table(ends, names=["source", "target"]), "edges.parquet")
    where = ("--store", "store", "--json")
    assert run("data", "import", "made", "--edges", "edges.parquet", *where, patch=MAPPED_INPUT).code == 0
    assert run("rewire", "--dataset", "made", *where, patch=MAPPED_INPUT).code == 0
    made = ("--dataset", "made", "--memory-limit", "4G", *where)
    refused = run("dilap", *made, patch=MAPPED_INPUT + LIMITED, fresh=True)
    assert refused.code == 7 and "not enough memory" in refused.err
    done = run("dilap", *made, patch=MAPPED_INPUT + LIMITED + IN_FILES, fresh=True)
    assert done.code == 0, done.err
