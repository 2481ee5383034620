"""The artifact file: its layout, its two formats, and what the checksums cover."""

import dataclasses
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from cgnn_cli.errors import CorruptError
from cgnn_cli.keys import canonical_json
from cgnn_cli.store import artifact as files
from cgnn_cli.store.artifact import FILE_TYPES, Artifact, payload_checksum
from cgnn_cli.store.elements import checksum, flatten
from tests.store.samples import ELEMENTS, header_of, sample, write


def objects_of(file: h5py.File) -> Iterator[h5py.Group | h5py.Dataset]:
    found: list[h5py.Group | h5py.Dataset] = [file]
    file.visititems(lambda _, item: found.append(item))
    yield from found


def test_every_group_and_dataset_says_its_encoding() -> None:
    with h5py.File(write(Path("a.h5"), sample())) as file:
        encodings = {item.name: item.attrs["encoding-type"] for item in objects_of(file)}
        assert all(isinstance(item.attrs["encoding-version"], str) for item in objects_of(file))
        assert file["matrix"].attrs["shape"].tolist() == [3, 3]
    assert encodings == {
        "/": "cgnn-commute",
        "/commute": "array",
        "/matrix": "csr_matrix",
        **{f"/matrix/{part}": "array" for part in ("data", "indices", "indptr")},
        "/names": "string-array",
        "/nothing": "array",
        "/scalar": "array",
        "/weights": "dict",
        "/weights/first": "dict",
        "/weights/first/bias": "array",
        "/weights/second": "array",
    }


@pytest.mark.parametrize(("stage", "root_type"), FILE_TYPES.items())
def test_root_type_is_that_of_the_stage(stage: str, root_type: str) -> None:
    with h5py.File(write(Path("a.h5"), sample(stage))) as file:
        assert file.attrs["encoding-type"] == root_type
        assert file.attrs["encoding-version"] == str(files.PLAIN_VERSION)


def test_datasets_are_compressed_checked_and_without_times_or_variable_lengths() -> None:
    with h5py.File(write(Path("a.h5"), sample())) as file:
        for item in objects_of(file):
            if not isinstance(item, h5py.Dataset):
                continue
            assert item.dtype.kind in "biufS" and h5py.check_vlen_dtype(item.dtype) is None
            assert h5py.h5g.get_objinfo(file.id, item.name.encode()).mtime == 0
            filters = (item.compression, item.shuffle, item.fletcher32)
            assert filters == (("gzip", True, True) if item.ndim and item.size else (None, False, False))


def test_only_what_is_small_or_of_strings_is_compressed_in_chunks_of_at_most_a_mebibyte() -> None:
    elements = {"less": np.zeros((1 << 17) - 1), "names": np.full(300_000, b"names")}
    with h5py.File(write(Path("a.h5"), sample(elements={**elements, "plain": np.zeros((2, 1 << 16))}))) as file:
        assert file["less"].chunks == file["less"].shape and file["less"].compression_opts == 1
        assert file["names"].chunks == ((1 << 20) // 5,)
        assert file["plain"].chunks is None and file["plain"].id.get_storage_size() == 1 << 20


def test_equal_artifacts_have_equal_bytes() -> None:
    assert write(Path("a.h5"), sample()).read_bytes() == write(Path("b.h5"), sample()).read_bytes()


def test_file_ends_with_the_checksum_of_its_bytes() -> None:
    content = write(Path("a.h5"), sample()).read_bytes()
    body, trailer = content[: -files.TRAILER_LENGTH], content[-files.TRAILER_LENGTH :]
    assert trailer == files.TRAILER + hashlib.sha256(body).hexdigest().encode() + b"\n"


def test_npz_holds_the_same_as_the_hdf5_file() -> None:
    h5, npz = (files.read(write(Path(name), sample())) for name in ("a.h5", "a.npz"))
    assert h5.header == npz.header
    assert checksum(h5.elements) == checksum(npz.elements) == checksum(ELEMENTS)


def test_npz_is_readable_by_numpy_without_pickles() -> None:
    with np.load(write(Path("a.npz"), sample()), allow_pickle=False) as archive:
        assert set(archive.files) == {files.NPZ_HEADER, *flatten(ELEMENTS)}
        text = json.loads(archive[files.NPZ_HEADER].tobytes())
        np.testing.assert_array_equal(archive["commute"], ELEMENTS["commute"])
    assert (text["type"], text["version"]) == ("cgnn-commute", files.PLAIN_VERSION)
    assert text["header"] == json.loads(canonical_json(sample().header.to_json()))


def test_long_header_fits() -> None:
    artifact = sample(summary={"notes": ["x" * 300_000]})
    assert files.read(write(Path("a.h5"), artifact)).header == artifact.header


def test_payload_leaves_out_the_provenance_and_nothing_else() -> None:
    header = header_of()
    payload = payload_checksum(header, ELEMENTS)
    same = dataclasses.replace(header, provenance={"host": "elsewhere"}, payload="x")
    assert payload_checksum(same, ELEMENTS) == payload
    changes: dict[str, Any] = {
        "stage": "dilap",
        "key": "0" * 32,
        "algorithm": 2,
        "config": {"solver": "svd"},
        "inputs": {"graph": "1"},
        "summary": {"median": 13420.673267558648},
    }
    others = {
        payload_checksum(dataclasses.replace(header, **{name: value}), ELEMENTS) for name, value in changes.items()
    }
    assert len(others | {payload}) == len(changes) + 1
    assert set(changes) | {"provenance", "payload"} == {field.name for field in dataclasses.fields(header)}


@pytest.mark.parametrize("name", ["a.h5", "a.npz"])
def test_content_that_does_not_match_its_payload_is_refused(name: str) -> None:
    honest = sample()
    forged = Artifact(honest.header, {**ELEMENTS, "commute": ELEMENTS["commute"] + 1e-12})
    with pytest.raises(CorruptError, match="its content does not match its checksum"):
        files.read(write(Path(name), forged))


@pytest.mark.parametrize("name", ["a.h5", "a.npz"])
def test_keys_and_roles_that_could_name_other_files_are_refused(name: str) -> None:
    for artifact in (
        sample(inputs={"graph": "../../victim"}),
        sample(inputs={"../graph": "1"}),
        sample(inputs={"": "1"}),
    ):
        with pytest.raises(CorruptError, match="header cannot be read"):
            files.read(write(Path(name), artifact))
