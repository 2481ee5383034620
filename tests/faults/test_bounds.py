"""Limits: what is unpacked, parsed or computed in a real process stays within the memory that it may use."""

import gzip
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cgnn_cli.resources import LEAST_SPACE, LEAST_TORCH_SPACE, SPACE_A_CORE, allowed_cores
from cgnn_cli.store import artifact as files
from cgnn_cli.store.elements import checksum
from tests.faults import processes
from tests.faults.processes import Finished, artifacts_of
from tests.faults.test_untrusted import crafted, element, npz_with
from tests.store.samples import sample, write

run = partial(processes.run, fresh=True)  # what it imports counts too
MIB = 1 << 20
LIMIT = 100 * MIB
IDLE = 200 * MIB  # what a process takes that has imported the libraries, generously
BOMB = 256 * MIB
CORES = SPACE_A_CORE * allowed_cores({})
CGROUPS = Path("/sys/fs/cgroup/memory")


NOTE_PEAK = """
import atexit, re
from functools import partial
from pathlib import Path
def note():
    Path("peak").write_text(re.search("VmHWM:\\\\s+([0-9]+) kB", Path("/proc/self/status").read_text())[1])
atexit.register(note)
"""


def measured(*arguments: object, patch: str = "") -> tuple[Finished, int]:
    """Run `cgnn` in a process of its own; how it ended, and the most memory that it had."""
    done = run(*arguments, patch=f"{NOTE_PEAK}\n{patch}")
    return done, int(Path("peak").read_text()) << 10


def space(limit: int) -> str:
    """A patch: the process may have so much address space, as with `ulimit -v`."""
    return f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({limit}, {limit}))"


def assert_refused(done: Finished, *words: str) -> None:
    """Exit 7 with one line that says what to do, and nothing left behind."""
    assert (done.code, done.out) == (7, ""), done
    assert [line for line in done.err.splitlines() if line.startswith("error: ")] == [done.err.splitlines()[-1]]
    assert "Traceback" not in done.err and "bug" not in done.err
    for word in words:
        assert word in done.err, done.err
    assert not artifacts_of(Path("s"))


def text_bomb() -> Path:
    """A small .gz of much text: members of gzip behind each other are one text."""
    block = gzip.compress(b"0,1\n" * (4 * MIB), compresslevel=1)
    Path("bomb.csv.gz").write_bytes(block * (BOMB // (16 * MIB)))
    return Path("bomb.csv.gz")


def matrix_bomb() -> Path:
    """A sparse matrix with very many entries of zero at one place."""
    count = BOMB // 12
    parts = {"data": np.zeros(count), "indices": np.zeros(count, dtype=np.int32), "indptr": np.array([0, count])}
    np.savez_compressed("matrix.npz", format=np.bytes_("csr"), shape=np.array([1, 1]), **parts)  # type: ignore[arg-type]
    return Path("matrix.npz")


def parquet_bomb() -> Path:
    """Very many equal numbers, which Parquet keeps as one number and a count."""
    zeros = pa.array(np.zeros(BOMB // 16, dtype=np.int64))
    pq.write_table(pa.table({"source": zeros, "target": zeros}), "bomb.parquet")
    return Path("bomb.parquet")


def long_text_bomb() -> Path:
    """One long text at very many rows."""
    codes = pa.array(np.zeros(BOMB >> 16, dtype=np.int32))
    column = pa.DictionaryArray.from_arrays(codes, ["x" * (1 << 16)])
    pq.write_table(pa.table({"source": column, "target": column}), "long.parquet")
    return Path("long.parquet")


# The import is not thought over before it begins: the limit is kept while files are read.
BLIND = "from cgnn_cli.datasets.files import importing; importing.import_memory = lambda *given: 0"
BOMBS = (text_bomb, matrix_bomb, parquet_bomb, long_text_bomb)


@pytest.mark.parametrize("bomb", BOMBS, ids=[bomb.__name__ for bomb in BOMBS])
def test_f08_an_import_unpacks_no_more_than_fits(bomb: Callable[[], Path]) -> None:
    arguments = ("data", "import", "b", "--edges", bomb(), "--store", "s", "--memory-limit", LIMIT)
    done, peak = measured(*arguments, patch=BLIND)
    assert_refused(done, "reading ", "of memory, and 100.0 MiB may be used", "--memory-limit")
    assert peak < IDLE + LIMIT


def test_f08_an_endless_file_is_not_read_for_ever() -> None:
    done, peak = measured("data", "import", "b", "--edges", "/dev/zero", "--store", "s", "--memory-limit", LIMIT)
    assert_refused(done, "reading /dev/zero needs more than")
    assert peak < IDLE + 2 * LIMIT


def test_case_28_an_artifact_unpacks_no_more_than_fits() -> None:
    """Files that hold what they declare, within what gzip can do."""
    with np.load(npz_with({}), allow_pickle=False) as honest:
        np.savez_compressed("bomb.npz", **{**honest, "perron": np.zeros(BOMB // 8)})
    for path in (Path("bomb.npz"), _hdf5_bomb()):
        assert path.stat().st_size < BOMB >> 7
        done, peak = measured("show", path, "--memory-limit", LIMIT)
        assert_refused(done, f"reading {path} needs about 512.0 MiB of memory, and 100.0 MiB may be used")
        assert peak < IDLE


def _hdf5_bomb() -> Path:
    def fill(file: h5py.File) -> None:
        file.create_dataset("bomb", data=np.zeros(BOMB // 8), chunks=(MIB // 8,), compression="gzip")
        element(file, "bomb")

    return crafted(write(Path("honest.h5"), sample("dilap")), fill).rename("bomb.h5")


def test_case_28_a_terabyte_in_an_npz_header_is_damage() -> None:
    path = npz_with({"perron": np.zeros(4)})
    content = path.read_bytes().replace(b"'shape': (4,), }" + b" " * 15, b"'shape': (137438953472,), }    ")
    path.write_bytes(content)
    done, peak = measured("show", path, patch=space(LEAST_SPACE + CORES + 256 * MIB))
    assert (done.code, peak < IDLE) == (5, True), done


@pytest.mark.parametrize("allowed", [400_000 << 10, 700_000 << 10])
@pytest.mark.parametrize("command", [("data", "import", "b", "--edges", "e.csv"), ("train", "--dataset", "demo")])
def test_f24_too_little_address_space_is_told_before_a_library_aborts(command: tuple[str, ...], allowed: int) -> None:
    Path("e.csv").write_text("a,b\nb,a\n")
    done = run(*command, "--store", "s", patch=space(allowed))
    assert_refused(done, "of address space", "ulimit -v")


def test_f24_models_need_more_address_space_than_other_commands() -> None:
    short = space(LEAST_TORCH_SPACE + CORES - 1)
    done = run("train", "--dataset", "demo", "--solver", "pi-only", "--split", 0, "--store", "store", patch=short)
    assert_refused(done, "the libraries of models need", "ulimit -v")
    assert run("--help", patch=space(400_000 << 10)).code == 0


def test_f24_the_least_that_is_documented_is_enough() -> None:
    tiny = ("--epochs", 1, "--hidden", 2, "--split", 0, "--solver", "pi-only", "--threads", 1)
    limit = space(LEAST_TORCH_SPACE + CORES)
    done = run("train", "--dataset", "demo", *tiny, "--store", "store", patch=limit)
    assert done.code == 0, done


GREEDY = """
import numpy
from cgnn_cli.stages import train
def fit(*anything, **more):
    return numpy.ones(1 << 46)
train.fit = fit
"""


def test_f24_a_training_that_runs_out_of_memory_is_named() -> None:
    """An allocation that fails in truth."""
    command = ("train", "--dataset", "demo", "--solver", "pi-only", "--split", 3, "--split", 4)
    done = run(*command, "--store", "store", patch=GREEDY)
    assert_refused(done, "not enough memory for fit of split 3", "--hidden")


def test_case_17_a_process_with_little_memory_refuses_early() -> None:
    """`ulimit -v` counts where nothing is asked for: an import that could not fit does not begin."""
    Path("big.csv").write_bytes(b"0,1\n" * (25 * MIB))
    limit = space(LEAST_SPACE + CORES)
    for patch, said in (("", "the import needs about"), (BLIND, "reading big.csv needs about 600.0 MiB of memory")):
        done, peak = measured("data", "import", "b", "--edges", "big.csv", "--store", "s", patch=f"{limit}\n{patch}")
        assert_refused(done, said)
        assert peak < IDLE + 100 * MIB


def test_case_17_export_refuses_early(full: Path) -> None:
    (times,) = artifacts_of(full, "commute")
    done = run("export", times, "--to", "csv", "--output", "o.csv", "--store", full, "--memory-limit", "1K")
    assert_refused(done, f"reading {times} needs about", "--memory-limit")
    assert not Path("o.csv").exists()


@pytest.fixture
def group() -> Iterator[Path]:
    """A control group of our own with 256 MiB."""
    place = CGROUPS / f"cgnn-test-{os.getpid()}"
    try:
        place.mkdir()
        (place / "memory.limit_in_bytes").write_text(str(256 * MIB))
    except OSError as error:
        pytest.skip(f"no control group of memory can be made here: {error}")
    yield place
    place.rmdir()


def test_case_17_in_a_control_group(group: Path) -> None:
    """The group's limit counts where nothing is asked for; the kernel has no reason to kill anything."""
    Path("big.csv").write_bytes(b"0,1\n" * (11 * MIB))
    enter = f"open('{group}/cgroup.procs', 'w').write('0')"
    done, peak = measured("data", "import", "b", "--edges", "big.csv", "--store", "s", patch=enter)
    assert_refused(done, "the import needs about", "256.0 MiB may be used")
    assert peak < 256 * MIB
    Path("small.csv").write_text("a,b\nb,a\n")
    done, _ = measured("data", "import", "b", "--edges", "small.csv", "--store", "store", patch=enter)
    assert done.code == 0, done


NODES = 150_000


def test_f21_one_long_id_costs_its_own_length() -> None:
    """Padded to the longest, the ids alone would take 150 MB, and four times as much as text."""
    ids = [f"n{number}" for number in range(NODES)]
    ids[7] = "x" * 1000
    Path("edges.csv").write_text("".join(f"{one},{ids[7 * place % NODES]}\n" for place, one in enumerate(ids)))
    done, peak = measured("data", "import", "long", "--edges", "edges.csv", "--store", "store", "-q")
    assert done.code == 0 and peak < IDLE + 90 * MIB, (done, peak >> 20)
    path = Path(done.out.strip())
    assert path.stat().st_size < 30 * NODES
    done, peak = measured("export", path, "--to", "csv", "--output", "o.csv", "--store", "store")
    assert done.code == 0 and peak < IDLE + 90 * MIB, (done, peak >> 20)
    assert sorted(Path("o.csv").read_text().splitlines()[1:]) == sorted(
        f"{line},1.0" for line in Path("edges.csv").read_text().splitlines()
    )


def test_f21_strings_of_any_layout_have_one_checksum() -> None:
    """Of 0.1.0's arrays of fixed width too: a graph has the key that it had."""
    names = [b"a", "é".encode(), b"", b"x" * 5000]
    fixed, packed = np.array(names), np.array(names, dtype=object)
    assert fixed.dtype == "S5000" and checksum({"ids": fixed}) == checksum({"ids": packed})
    assert files.format_version({"ids": fixed}) == 1 and files.format_version({"ids": packed}) == 2
