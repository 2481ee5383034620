"""MATLAB files: what scipy writes is read, and damage is a DataError and no crash, no hang and no lack of memory."""

import os
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from scipy.io import savemat
from scipy.sparse import csc_array

from cgnn_cli.datasets.upstream.readers import matlab
from cgnn_cli.datasets.upstream.readers.matlab import read_matlab
from cgnn_cli.errors import DataError
from tests.faults.processes import wait_for

RANDOM = np.random.default_rng(0)
SPARSE = csc_array(np.where(RANDOM.random((30, 40)) < 0.1, RANDOM.random((30, 40)), 0))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "toy.mat"


def plain(value: Any) -> np.ndarray:
    return value if isinstance(value, np.ndarray) else value.toarray()


@pytest.mark.parametrize("compressed", [False, True])
def test_dense_matrices(path: Path, compressed: bool) -> None:
    values = {
        f"{dtype}_{rows}_{columns}": RANDOM.integers(0, 100, (rows, columns)).astype(dtype)
        for dtype in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8")
        for rows, columns in ((2, 500), (1, 1), (1, 3), (3, 0))
    }
    savemat(path, {"before": "text", **values, "after": {"a": 1}}, do_compression=compressed)
    found = read_matlab(path, list(values))
    assert list(found) == list(values)
    for name, value in values.items():
        assert plain(found[name]).dtype == value.dtype
        np.testing.assert_array_equal(plain(found[name]), value)


@pytest.mark.parametrize("compressed", [False, True])
def test_sparse_matrices(path: Path, compressed: bool) -> None:
    large = csc_array((RANDOM.random(300_000) < 0.5).reshape(1000, 300) * 0.25)
    savemat(path, {"large": large, "value": SPARSE, "empty": csc_array((4, 5))}, do_compression=compressed)
    found = read_matlab(path, ["value", "empty", "large"])
    for name, expected in {"value": SPARSE, "empty": csc_array((4, 5)), "large": large}.items():
        assert isinstance(found[name], csc_array)
        np.testing.assert_array_equal(plain(found[name]), expected.toarray())


def test_files_of_big_endian_machines(path: Path) -> None:
    def element(kind: int, content: bytes) -> bytes:
        return struct.pack(">II", kind, len(content)) + content + b"\0" * (-len(content) % 8)

    body = (
        element(6, struct.pack(">II", 6, 0))
        + element(5, struct.pack(">ii", 2, 2))
        + struct.pack(">HH4s", 1, 1, b"x")
        + element(9, struct.pack(">4d", 1, 2, 3, 4))
    )
    header = b"MATLAB 5.0 MAT-file".ljust(124) + b"\1\0MI"
    path.write_bytes(header + element(14, body))
    found = plain(read_matlab(path, ["x"])["x"])
    assert found.tolist() == [[1, 3], [2, 4]]
    assert found.dtype.isnative


# Bytes whose change crashes the process of scipy 1.17, then others: types, lengths, flags, names, numbers
CRASHING = (184, 297, 313, 345)


@pytest.mark.parametrize("compressed", [False, True])
def test_damage(path: Path, compressed: bool) -> None:
    dense = np.arange(6.0).reshape(2, 3)
    savemat(path, {"dense": dense, "sparse": SPARSE[:5, :5]}, do_compression=compressed)
    whole = path.read_bytes()
    messages: list[str] = []
    places = [*CRASHING[: 0 if compressed else None], *range(120, len(whole), 90)]
    for place in places:
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x81]) + whole[place + 1 :])
        try:
            read_matlab(path, ["dense", "sparse"])
        except DataError as error:
            messages.append(error.message)
    assert len(messages) > len(places) / 4
    assert all(str(path) in message and "\n" not in message for message in messages)
    for length in range(0, len(whole), 180):
        path.write_bytes(whole[:length])
        with pytest.raises(DataError, match=str(path)):
            read_matlab(path, ["dense", "sparse"])


def test_a_reader_that_dies_or_takes_too_long(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    savemat(path, {"dense": np.arange(6.0)})
    with monkeypatch.context() as patched:
        patched.setattr(matlab, "PROGRAM", "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
        with pytest.raises(DataError, match=r"it crashes its reader \(code -11\)"):
            read_matlab(path, ["dense"])
    monkeypatch.setattr(matlab, "PROGRAM", "import signal; signal.pause()")
    monkeypatch.setattr(matlab, "LEAST_SECONDS", 0.1)
    with pytest.raises(DataError, match=r"it takes more than 0.1\S* s"):
        read_matlab(path, ["dense"])


def test_a_reader_ends_with_the_process_it_reads_for(path: Path, tmp_path: Path) -> None:
    os.mkfifo(path)  # which nobody writes to: it waits for ever
    code = (
        f"from pathlib import Path; from {matlab.__name__} import read_matlab; read_matlab(Path({str(path)!r}), ['x'])"
    )
    process = subprocess.Popen([sys.executable, "-c", code], env={**os.environ, "TMPDIR": str(tmp_path)})
    wait_for(lambda: bool(psutil.Process(process.pid).children()))
    (child,) = psutil.Process(process.pid).children()
    process.kill()
    process.wait()
    wait_for(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE)


def test_nothing_is_left_behind(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    savemat(path, {"dense": np.arange(6.0)})
    read_matlab(path, ["dense"])
    with pytest.raises(DataError, match="has no other"):
        read_matlab(path, ["dense", "other"])
    assert not list(folder.iterdir())


def packed_element(packed: bytes) -> bytes:
    return struct.pack("<II", 15, len(packed)) + packed


def test_compressed_numbers_are_verified(path: Path) -> None:
    savemat(path, {"dense": RANDOM.random((2, 3))}, do_compression=True)
    whole = path.read_bytes()
    header, packed = whole[:128], whole[136:]
    for damaged, message in (
        (packed[:-1] + bytes([packed[-1] ^ 1]), "incorrect data check"),
        (packed[:-4], "compressed data end too early"),
    ):
        path.write_bytes(header + packed_element(damaged))
        with pytest.raises(DataError, match=message):
            read_matlab(path, ["dense"])


def test_elements_cannot_ask_for_any_memory(path: Path) -> None:
    savemat(path, {"dense": np.arange(100.0)[np.newaxis]})
    whole = path.read_bytes()
    right, wrong = struct.pack("<II", 9, 800), struct.pack("<II", 9, 2**32 - 8)
    assert whole.count(right) == 1
    path.write_bytes(whole.replace(right, wrong))
    with pytest.raises(DataError, match="MemoryError"):
        read_matlab(path, ["dense"])
    body = whole[136:].replace(right, struct.pack("<II", 9, 1 << 31))
    path.write_bytes(whole[:128] + packed_element(zlib.compress(struct.pack("<II", 14, (1 << 32) - 8) + body)))
    with pytest.raises(DataError, match="MemoryError"):
        read_matlab(path, ["dense"])


def test_sizes_that_cannot_be(path: Path) -> None:
    savemat(path, {"dense": np.arange(100.0)[np.newaxis]})
    whole = path.read_bytes()
    shape = struct.pack("<ii", 1, 100)
    assert whole.count(shape) == 1
    for rows, columns in ((2, 100), (2**31 - 1, 2**31 - 1), (1, 0)):
        path.write_bytes(whole.replace(shape, struct.pack("<ii", rows, columns)))
        with pytest.raises(DataError, match="cannot be read as a MATLAB file"):
            read_matlab(path, ["dense"])
