"""Archives from outside: what is read from good ones, and that bad ones are refused before they can do harm."""

import contextlib
import gzip
import io
import re
import stat
import struct
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cgnn_cli.datasets.files import archives
from cgnn_cli.datasets.files.archives import open_archive, open_gzip, open_member, read_npz
from cgnn_cli.errors import DataError

TEXT = b"0,1\n1,2\n" * 5000
ARRAYS: dict[str, np.ndarray] = {
    "edges": np.array([[0, 1], [1, 2]], order="F"),
    "mask": np.array([True, False, True]),
    "scalar": np.array(2.5),
    "empty": np.zeros((0, 3), dtype=np.float32),
    "names": np.array(["a", "é"]),
}


def zip_of(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


def npz_of(arrays: dict[str, Any]) -> bytes:
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)
    return stream.getvalue()


def save(folder: Path, content: bytes) -> Path:
    path = folder / "archive.zip"
    path.write_bytes(content)
    return path


def read_text(path: Path, name: str = "a/text.csv") -> bytes:
    with open_archive(path) as archive, open_member(archive, name, path) as stream:
        return stream.read()


def fails(message: str, call: Callable[..., object], *arguments: object) -> str:
    """Expect an error of one line that holds the message and is wrapped in no other; return its hint."""
    with pytest.raises(DataError, match=re.escape(message)) as caught:
        call(*arguments)
    assert "\n" not in caught.value.message
    assert "DataError" not in caught.value.message
    assert caught.value.hint
    return caught.value.hint


@contextlib.contextmanager
def little_memory() -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < 20 << 20
    finally:
        tracemalloc.stop()


# What is read


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_member_is_read_and_nothing_is_unpacked(tmp_path: Path, method: int) -> None:
    path = save(tmp_path, zip_of({"a/": b"", "a/text.csv": TEXT, "other": b"x"}, method))
    assert read_text(path) == TEXT
    with open_archive(path) as archive, open_member(archive, "a/text.csv", path) as stream:
        assert list(stream)[-1] == b"1,2\n"
    assert [file.name for file in tmp_path.iterdir()] == ["archive.zip"]
    fails("archive.zip has no 'b'; it holds 'a/', 'a/text.csv', 'other'", read_text, path, "b")


def test_named_arrays_are_read(tmp_path: Path) -> None:
    path = save(tmp_path, npz_of({**ARRAYS, "objects": np.array([{}, None])}))
    found = read_npz(path, list(ARRAYS))
    assert list(found) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert found[name].dtype == array.dtype
        assert np.array_equal(found[name], array)
    fails("has no array 'labels'; it holds 'edges', 'empty', 'mask'", read_npz, path, ["edges", "labels"])
    assert "pickled objects are never loaded" in fails("array 'objects' cannot be read", read_npz, path, ["objects"])


def test_long_listings_are_cut(tmp_path: Path) -> None:
    path = save(tmp_path, zip_of({f"{number:03}": b"" for number in range(50)}))
    fails("'018', '019' and 30 more", read_text, path)


@pytest.mark.realdata
def test_real_archives_are_read_as_numpy_reads_them(real_data: Path) -> None:
    paths = sorted(real_data.rglob("*.npz"))
    assert paths
    for path in paths:
        with np.load(path, allow_pickle=False) as archive:
            for name, array in read_npz(path, archive.files).items():
                assert array.dtype == archive[name].dtype
                assert array.tobytes() == archive[name].tobytes()


# What is refused


def with_attributes(**attributes: Any) -> bytes:
    """An archive in which one member declares something out of the ordinary."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/text.csv", TEXT)
        archive.writestr("b", TEXT)
        for name, value in attributes.items():
            setattr(archive.getinfo("b"), name, value)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("/etc/passwd", "its name is an absolute path"),
        ("C:/x", "its name is an absolute path"),
        ("c:x", "its name is an absolute path"),
        ("../x", "its name leads out of the archive"),
        ("a/../../x", "its name leads out of the archive"),
        ("a/..", "its name leads out of the archive"),
        ("a\\x", "its name has a backslash"),
        ("..\\x", "its name has a backslash"),
    ],
)
def test_case_29_names_that_lead_elsewhere(tmp_path: Path, name: str, reason: str) -> None:
    path = save(tmp_path, zip_of({"a/text.csv": TEXT, name: b"x"}))
    fails(f"{path}: member {name!r} is refused: {reason}", read_text, path)
    fails(f"{path}: member {name!r} is refused: {reason}", read_npz, path, [])


def test_a_name_with_a_nul(tmp_path: Path) -> None:
    path = save(tmp_path, zip_of({"a/text.csv": TEXT, "bXc": b"x"}).replace(b"bXc", b"b\0c"))
    fails("its name has a backslash or a NUL", read_text, path)


def test_names_that_only_look_dangerous(tmp_path: Path) -> None:
    path = save(tmp_path, zip_of({"a/text.csv": TEXT, "..a/b..": b"x", "ab:c": b"x", "\n": b""}))
    assert read_text(path) == TEXT


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFSOCK])
def test_case_29_links_and_special_files(tmp_path: Path, kind: int) -> None:
    path = save(tmp_path, with_attributes(external_attr=(kind | 0o777) << 16))
    fails("member 'b' is refused: it is a link or a special file", read_text, path)
    path = save(tmp_path, with_attributes(external_attr=(stat.S_IFREG | 0o777) << 16))
    assert read_text(path) == TEXT


@pytest.mark.parametrize("flag", [0x1, 0x41, 0x2000])
def test_encrypted_members(tmp_path: Path, flag: int) -> None:
    fails("member 'b' is refused: it is encrypted", read_text, save(tmp_path, with_attributes(flag_bits=flag)))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_repeated_names(tmp_path: Path) -> None:
    content = zip_of({"a/text.csv": TEXT, "a/text.csW": b"x"}).replace(b"a/text.csW", b"a/text.csv")
    fails("member 'a/text.csv' is refused: its name is there twice", read_text, save(tmp_path, content))


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compression_methods(tmp_path: Path, method: int) -> None:
    fails("is neither deflate nor none", read_text, save(tmp_path, zip_of({"a/text.csv": TEXT}, method)))


def test_declared_sizes(tmp_path: Path) -> None:
    huge = with_attributes(file_size=archives.MEMBER_LIMIT + 1, compress_size=archives.MEMBER_LIMIT)
    fails("it declares 8589934593 bytes, more than 8589934592", read_text, save(tmp_path, huge))
    dense = with_attributes(file_size=10**6, compress_size=900)
    fails("it declares 1000000 bytes, which 900 cannot unpack to", read_text, save(tmp_path, dense))


def test_what_deflate_can_reach_is_read(tmp_path: Path) -> None:
    zeros = bytes(10**7)
    assert read_text(save(tmp_path, zip_of({"a/text.csv": zeros}))) == zeros


def test_a_member_yields_no_more_than_it_declares(tmp_path: Path) -> None:
    content = zip_of({"a/text.csv": bytes(50 << 20)})
    path = save(tmp_path, redeclared(content, size=100, crc=zlib.crc32(bytes(100))))
    with little_memory():
        assert read_text(path) == bytes(100)
    path = save(tmp_path, redeclared(content, size=100, crc=zlib.crc32(bytes(50 << 20))))
    with little_memory():
        fails("member 'a/text.csv' is damaged: BadZipFile: Bad CRC-32", read_text, path)


def redeclared(content: bytes, size: int, crc: int) -> bytes:
    """An archive of one member with another size and checksum in its directory."""
    changed = bytearray(content)
    start = content.rindex(b"PK\x01\x02")
    struct.pack_into("<L", changed, start + 16, crc)
    struct.pack_into("<L", changed, start + 24, size)
    return bytes(changed)


def test_a_member_that_ends_early(tmp_path: Path) -> None:
    path = save(tmp_path, redeclared(zip_of({"a/text.csv": TEXT}), len(TEXT) + 7, zlib.crc32(TEXT)))
    fails(f"member 'a/text.csv' ends after {len(TEXT)} of {len(TEXT) + 7} bytes", read_text, path)


def test_no_archive_at_all(tmp_path: Path) -> None:
    fails("cannot be read as a zip archive: No such file", open_archive, tmp_path / "missing.zip")
    fails("cannot be read as a zip archive: Is a directory", open_archive, tmp_path)
    for content in (b"", b"PK\x03\x04", b"<html>", b"PK\x05\x06" + bytes(18)[:-1]):
        path = save(tmp_path, content)
        fails(f"{path} cannot be read as a zip archive: BadZipFile", open_archive, path)


def test_no_file_stays_open(tmp_path: Path) -> None:
    def is_open() -> bool:
        return str(path) in [file.path for file in psutil.Process().open_files()]

    path = save(tmp_path, zip_of({"a/text.csv": TEXT}))
    with open_archive(path) as archive:
        stream = open_member(archive, "a/text.csv", path)
        assert is_open()
    stream.close()
    assert not is_open()
    path = save(tmp_path, zip_of({"../x": b""}))
    with pytest.raises(DataError) as caught:
        open_archive(path)
    assert caught.tb is not None
    assert not is_open()


# Arrays that lie


def npy_of(header: str, data: bytes = b"", version: tuple[int, int] = (1, 0)) -> bytes:
    length = struct.pack("<H" if version == (1, 0) else "<I", len(header))
    return b"\x93NUMPY" + bytes(version) + length + header.encode() + data


def header_of(shape: str, descr: str = "'<f8'") -> str:
    return f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}\n"


@pytest.mark.parametrize(
    ("npy", "reason"),
    [
        (npy_of(header_of("(1000000000000,)")), "declares 8000000000000 bytes"),
        (npy_of(header_of(f"({1 << 60}, {1 << 60})")), "declares"),
        (npy_of(header_of("(100000, 100000)"), bytes(80)), "declares 80000000000 bytes"),
        (npy_of(header_of("(9,)"), bytes(80)), "declares 72 bytes for shape (9,), but 80 are there"),
        (npy_of(header_of("(-2, -5)"), bytes(80)), "for shape (-2, -5)"),
        (npy_of(header_of("(1000000000000,)", "'S0'")), "declares 1000000000000 bytes"),
        (npy_of(header_of("(10**9,)")), "cannot be read: ValueError"),
        (npy_of(header_of("(1,)", "'|O'"), b"cos\nsystem\n"), "Object arrays are not read"),
        (npy_of(header_of("(1,)", "[('a', 'O')]"), bytes(8)), "Object arrays are not read"),
        (npy_of(header_of("(1,)", "'nonsense'"), bytes(8)), "cannot be read"),
        (npy_of("(" * 2000 + "\n"), "cannot be read"),
        (npy_of("{" + " " * 20000 + "}\n"), "cannot be read"),
        (npy_of(header_of("(1,)"), bytes(8), (3, 0)), "version (3, 0) of the .npy format"),
        (npy_of(header_of("(1,)"), bytes(8), (9, 9)), "cannot be read"),
        (b"no magic", "cannot be read"),
        (b"", "cannot be read"),
    ],
)
def test_headers_are_checked_before_memory_is_set_aside(tmp_path: Path, npy: bytes, reason: str) -> None:
    path = save(tmp_path, zip_of({"x.npy": npy}))
    with little_memory():
        fails(reason, read_npz, path, ["x"])
        fails("array 'x' cannot be read", read_npz, path, ["x"])


@pytest.mark.parametrize("version", [(1, 0), (2, 0)])
def test_versions_of_the_format(tmp_path: Path, version: tuple[int, int]) -> None:
    npy = npy_of(header_of("(2,)"), np.array([1.0, 2.0]).tobytes(), version)
    assert read_npz(save(tmp_path, zip_of({"x.npy": npy})), ["x"])["x"].tolist() == [1, 2]


# Gzip


def test_gzip_streams(tmp_path: Path) -> None:
    packed = gzip.compress(TEXT)
    assert open_gzip(io.BytesIO(packed), len(TEXT), "x.gz").read() == TEXT
    assert open_gzip(io.BytesIO(gzip.compress(b"")), 0, "x.gz").read() == b""
    path = save(tmp_path, zip_of({"a.gz": packed}))
    with open_archive(path) as archive, open_member(archive, "a.gz", path) as member:
        assert b"".join(open_gzip(member, len(TEXT), "a.gz")) == TEXT


def test_gzip_streams_that_are_refused() -> None:
    def read(content: bytes, limit: int = 1 << 30) -> bytes:
        return open_gzip(io.BytesIO(content), limit, "x.gz").read()

    packed = gzip.compress(TEXT)
    fails(f"x.gz unpacks to more than {len(TEXT) - 1} bytes", read, packed, len(TEXT) - 1)
    fails("x.gz is damaged: EOFError", read, packed[:-1])
    fails("x.gz is damaged: BadGzipFile", read, packed + b"more")
    fails("x.gz is damaged", read, packed[:20] + b"\xff" * 20 + packed[40:])
    for content in (b"", b"\x1f", b"plain text"):
        fails("x.gz is not a gzip file", read, content)


def test_the_innermost_damage_is_named(tmp_path: Path) -> None:
    packed = gzip.compress(np.random.default_rng(0).bytes(3 * archives.BLOCK_BYTES))
    path = save(tmp_path, redeclared(zip_of({"a.csv.gz": packed}), len(packed), crc=1))
    fails(f"{path}: member 'a.csv.gz' is damaged: BadZipFile", read_gzipped, path)
    npy = npy_of(header_of("(2,)"), bytes(16))
    path = save(tmp_path, redeclared(zip_of({"x.npy": npy}), len(npy), crc=1))
    fails(f"{path}: member 'x.npy' is damaged: BadZipFile", read_npz, path, ["x"])


def test_a_gzip_bomb_is_told_early() -> None:
    bomb = gzip.compress(bytes(100 << 20))
    with little_memory():
        fails("unpacks to more than 1000 bytes", open_gzip(io.BytesIO(bomb), 1000, "x.gz").read)


# Damage of any kind

DAMAGED = ["edges", "names"]
GZIPPED = zip_of({"a.csv.gz": gzip.compress(TEXT, mtime=0)}, zipfile.ZIP_STORED)
PLAIN, NUMBERS = zip_of({"a/text.csv": TEXT[:800], "other": b"x"}), npz_of({name: ARRAYS[name] for name in DAMAGED})


def read_gzipped(path: Path) -> bytes:
    with open_archive(path) as archive, open_member(archive, "a.csv.gz", path) as member:
        return open_gzip(member, 1 << 20, "a.csv.gz").read()


def read_bytes_of_arrays(path: Path) -> bytes:
    return b"".join(array.tobytes() for array in read_npz(path, DAMAGED).values())


KINDS: list[tuple[bytes, Callable[[Path], bytes]]] = [
    (GZIPPED, read_gzipped),
    (PLAIN, read_text),
    (NUMBERS, read_bytes_of_arrays),
]


def right_or_refused(content: bytes, read: Callable[[Path], bytes], path: Path, expected: bytes) -> bool:
    path.write_bytes(content)
    try:
        found = read(path)
    except DataError as error:
        assert "\n" not in error.message  # noqa: PT017 - both ways out are right
        return False
    assert found == expected
    return True


@pytest.mark.parametrize("kind", range(len(KINDS)))
def test_truncated_archives_are_refused(tmp_path: Path, kind: int) -> None:
    content, read = KINDS[kind]
    path = save(tmp_path, content)
    expected = read(path)
    for length in range(len(content)):
        assert not right_or_refused(content[:length], read, path, expected)


@pytest.mark.parametrize("kind", range(len(KINDS)))
def test_flipped_bits_are_told_or_do_not_matter(tmp_path: Path, kind: int) -> None:
    content, read = KINDS[kind]
    path = save(tmp_path, content)
    expected = read(path)
    refused = 0
    for position in range(len(content)):
        changed = bytearray(content)
        changed[position] ^= 1 << position % 8
        refused += not right_or_refused(bytes(changed), read, path, expected)
    assert refused > len(content) / 4


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(kind=st.integers(0, len(KINDS) - 1), data=st.data())
def test_any_damage(tmp_path: Path, kind: int, data: st.DataObject) -> None:
    content, read = KINDS[kind]
    path = save(tmp_path, content)
    expected = read(path)
    start = data.draw(st.integers(0, len(content)))
    stop = data.draw(st.integers(start, min(start + 30, len(content))))
    changed = content[:start] + data.draw(st.binary(max_size=30)) + content[stop:]
    assert right_or_refused(changed, read, path, expected) in (True, False)
