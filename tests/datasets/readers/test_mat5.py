"""MATLAB files: what scipy writes is read as scipy reads it, and damage is a DataError and no crash."""

import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.io import loadmat, savemat
from scipy.sparse import csc_array

from cgnn_cli.datasets.readers.mat5 import read_mat
from cgnn_cli.errors import DataError

RANDOM = np.random.default_rng(0)
SPARSE = csc_array(np.where(RANDOM.random((30, 40)) < 0.1, RANDOM.random((30, 40)), 0))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "toy.mat"


def plain(value: Any) -> np.ndarray:
    return value if isinstance(value, np.ndarray) else value.toarray()


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"])
@pytest.mark.parametrize("shape", [(2, 500), (1, 1), (1, 3), (3, 0)])
def test_dense_matrices(path: Path, compressed: bool, dtype: str, shape: tuple[int, int]) -> None:
    value = RANDOM.integers(0, 100, shape).astype(dtype)
    savemat(path, {"before": "text", "value": value, "after": {"a": 1}}, do_compression=compressed)
    found = read_mat(path, ["value"])
    assert list(found) == ["value"]
    assert plain(found["value"]).dtype == value.dtype
    np.testing.assert_array_equal(plain(found["value"]), loadmat(path)["value"])


@pytest.mark.parametrize("compressed", [False, True])
def test_sparse_matrices(path: Path, compressed: bool) -> None:
    large = csc_array((RANDOM.random(300_000) < 0.5).reshape(1000, 300) * 0.25)
    savemat(path, {"large": large, "value": SPARSE, "empty": csc_array((4, 5))}, do_compression=compressed)
    found = read_mat(path, ["value", "empty", "large"])
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
    found = plain(read_mat(path, ["x"])["x"])
    assert found.tolist() == [[1, 3], [2, 4]]
    assert found.dtype.isnative


@pytest.mark.parametrize("compressed", [False, True])
def test_any_damage(path: Path, compressed: bool) -> None:
    dense = np.arange(6.0).reshape(2, 3)
    savemat(path, {"dense": dense, "sparse": SPARSE[:5, :5]}, do_compression=compressed)
    whole = path.read_bytes()
    errors = 0
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x81]) + whole[place + 1 :])
        try:
            read_mat(path, ["dense", "sparse"])
        except DataError:
            errors += 1
    assert errors > len(whole) / 4
    for length in range(0, len(whole), 3):
        path.write_bytes(whole[:length])
        with pytest.raises(DataError, match=str(path)):
            read_mat(path, ["dense", "sparse"])


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
            read_mat(path, ["dense"])


def test_compressed_elements_cannot_ask_for_any_memory(path: Path) -> None:
    savemat(path, {"dense": np.arange(100.0)[np.newaxis]})
    whole = path.read_bytes()
    body = whole[136:].replace(struct.pack("<II", 9, 800), struct.pack("<II", 9, 1 << 31))
    path.write_bytes(whole[:128] + packed_element(zlib.compress(struct.pack("<II", 14, (1 << 32) - 8) + body)))
    with pytest.raises(DataError, match="longer than the one that holds it"):
        read_mat(path, ["dense"])


def test_sizes_that_cannot_be(path: Path) -> None:
    savemat(path, {"dense": np.arange(100.0)[np.newaxis]})
    whole = path.read_bytes()
    right, wrong = struct.pack("<II", 9, 800), struct.pack("<II", 9, 2**32 - 8)
    assert whole.count(right) == 1
    path.write_bytes(whole.replace(right, wrong))
    with pytest.raises(DataError, match="longer than the one that holds it"):
        read_mat(path, ["dense"])
    shape = struct.pack("<ii", 1, 100)
    assert whole.count(shape) == 1
    for rows, columns in ((-1, 100), (2, 100), (2**31 - 1, 2**31 - 1), (1, 0)):
        path.write_bytes(whole.replace(shape, struct.pack("<ii", rows, columns)))
        with pytest.raises(DataError, match="cannot be read as a MATLAB file"):
            read_mat(path, ["dense"])
