"""Elements: what an artifact is made of, and how elements lie in HDF5 and NPZ files.

An element is a numpy array, a scipy CSR matrix, or a dictionary of elements. Strings are bytes: arrays of fixed width,
or of objects where these have very different lengths. In HDF5 they follow anndata's on-disk
specification (`encoding-type` and `encoding-version` on every group and dataset); in NPZ the same datasets lie flat
under their paths. docs/artifact-format.md specifies both.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from cgnn_cli.errors import CorruptError
from cgnn_cli.resources import check_reading

if TYPE_CHECKING:
    import h5py

Elements = dict[str, Any]
Flat = dict[str, np.ndarray]

ARRAY = ("array", "0.2.0")
STRINGS = ("string-array", "0.2.0")
CSR = ("csr_matrix", "0.1.0")
DICT = ("dict", "0.1.0")
PACKED = ("cgnn-strings", "0.1.0")
CSR_PARTS = ("data", "indices", "indptr")
PACKED_PARTS = ("bytes", "offsets")
LONG_STRING = 256
ARRAY_MEMORY = 2  # a byte of an element takes about so many while the element is read and verified
CHUNK_BYTES = 1 << 20
PAGE = 4096  # where arrays begin that are mapped
# Bytes of an array that is written as it is, and mapped rather than read. To compress one takes more time than most
# stages: on arxiv 20 ns a byte by gzip, 8 by LZF, 0.8 as it is, for files of 128, 161 and 241 MB.
MAPPED_FROM = 1 << 20


def is_csr(element: Any) -> bool:
    """Whether an element is a CSR matrix, told without importing scipy."""
    return getattr(element, "format", None) == "csr"


def is_packed(element: Any) -> bool:
    """Whether an element is an array of strings, each of which takes its own length."""
    strings = isinstance(element, np.ndarray) and element.dtype.kind == "O" and element.ndim == 1
    return strings and all(isinstance(string, bytes) for string in element[:1])


def flatten(elements: Mapping[str, Any], prefix: str = "", *, pack: bool = True) -> Flat:
    """Elements as named arrays in sorted order; a CSR matrix becomes data, indices, indptr and shape.

    Strings of their own length become bytes and offsets, unless `pack` says otherwise.
    """
    flat: Flat = {}
    for name in sorted(elements):
        element, path = elements[name], prefix + name
        if isinstance(element, Mapping):
            flat.update(flatten(element, path + "/", pack=pack))
        elif pack and is_packed(element):
            flat.update({f"{path}/{part}": array for part, array in _pack(element).items()})
        elif is_csr(element):
            for part in CSR_PARTS:
                flat[f"{path}/{part}"] = getattr(element, part)
            flat[f"{path}/shape"] = np.asarray(element.shape, dtype=np.int64)
        else:
            flat[path] = np.asarray(element)
    return flat


def unflatten(flat: Mapping[str, np.ndarray]) -> Elements:
    """The inverse of `flatten`: groups with data, indices, indptr and shape are CSR matrices."""
    elements: Elements = {}
    for path, array in flat.items():
        *groups, name = path.split("/")
        place = elements
        for group in groups:
            place = place.setdefault(group, {})
            if not isinstance(place, dict):
                raise CorruptError(f"element {path} lies inside an array")
        place[name] = array
    return {name: _collect(element) for name, element in elements.items()}


def _collect(element: Any) -> Any:
    if not isinstance(element, dict):
        return element
    if set(element) == {*CSR_PARTS, "shape"}:
        from scipy.sparse import csr_array

        data, indices, indptr = parts = tuple(element[part] for part in CSR_PARTS)
        if indices.dtype == np.int32 and indptr.dtype == np.int64:  # of more than 2^31 entries
            from cgnn_cli.numerics.csr import matrix_of

            return matrix_of(data, indices, indptr, int(element["shape"][1]))
        return csr_array(parts, shape=tuple(int(n) for n in element["shape"]))
    if set(element) == set(PACKED_PARTS):
        return _unpack(*(element[part] for part in PACKED_PARTS))
    return {name: _collect(part) for name, part in element.items()}


def _pack(strings: np.ndarray) -> Flat:
    """The bytes of all strings behind each other, and where each of them begins, and the last one ends."""
    lengths = np.fromiter(map(len, strings), dtype=np.int64, count=len(strings))
    joined = np.frombuffer(b"".join(strings.tolist()), dtype=np.uint8)
    return {"bytes": joined, "offsets": np.concatenate([[0], np.cumsum(lengths)])}


def _unpack(joined: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    if joined.dtype != np.uint8 or offsets.dtype.kind != "i" or joined.ndim != 1 or offsets.ndim != 1:
        raise CorruptError("strings are not bytes and offsets")
    if not len(offsets) or offsets[0] != 0 or offsets[-1] != len(joined) or (np.diff(offsets) < 0).any():
        raise CorruptError("the offsets of strings do not fit their bytes")
    content = joined.tobytes()
    return np.array([content[start:stop] for start, stop in pairwise(offsets.tolist())], dtype=object)


def _padded(strings: np.ndarray) -> tuple[str, Iterator[np.ndarray]]:
    """The type that strings have as an array of fixed width, and this array in pieces."""
    width = max(map(len, strings), default=1) or 1
    rows = max(1, CHUNK_BYTES // width)
    pieces = (strings[start : start + rows] for start in range(0, len(strings), rows))
    return f"|S{width}", (piece.astype(f"S{width}") for piece in pieces)


def check_npy(stream: IO[bytes], size: int) -> int:
    """How many entries an array has, by the header of its .npy file of `size` bytes, which it must fill.

    Else numpy would set aside memory for it in vain.
    """
    version = np.lib.format.read_magic(stream)
    if version > (2, 0):
        raise ValueError(f"version {version} of the .npy format")
    read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read_header(stream)
    if dtype.hasobject:
        raise ValueError("Object arrays are not read")
    count = math.prod(shape)
    declared, there = count * max(dtype.itemsize, 1), size - stream.tell()
    if declared != there or min(shape, default=0) < 0:
        raise ValueError(f"its header declares {declared} bytes for shape {shape}, but {there} are there")
    return count


def checksum(elements: Mapping[str, Any], *, header: str = "") -> str:
    """sha256 over the names, types, shapes and bytes of all elements in sorted order.

    All strings count as if they were of fixed width: how they lie in a file changes nothing.
    """
    digest = hashlib.sha256(header.encode())
    for path, array in sorted(flatten(elements, pack=False).items()):
        if is_packed(array):
            kind, pieces = _padded(array)
        else:
            little = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False)
            kind, pieces = little.dtype.str, iter([little])
        digest.update(f"\n{path} {kind} {array.shape}\n".encode())
        for piece in pieces:
            digest.update(piece.reshape(-1).view(np.uint8).data if piece.size else b"")
    return digest.hexdigest()


def write_hdf5(group: h5py.Group, elements: Mapping[str, Any]) -> None:
    """Write elements below an open HDF5 group."""
    for name in sorted(elements):
        element = elements[name]
        if isinstance(element, Mapping):
            write_hdf5(_encoded_group(group, name, DICT), element)
        elif is_csr(element):
            matrix = _encoded_group(group, name, CSR)
            matrix.attrs["shape"] = np.asarray(element.shape, dtype=np.int64)
            for part in CSR_PARTS:
                _write_array(matrix, part, getattr(element, part))
        elif is_packed(element):
            strings = _encoded_group(group, name, PACKED)
            for part, array in _pack(element).items():
                _write_array(strings, part, array)
        else:
            _write_array(group, name, np.asarray(element))


def _encoded_group(parent: h5py.Group, name: str, encoding: tuple[str, str]) -> h5py.Group:
    group = parent.create_group(name)
    group.attrs["encoding-type"], group.attrs["encoding-version"] = encoding
    return group


def _write_array(group: h5py.Group, name: str, array: np.ndarray) -> None:
    import h5py

    encoding, dtype = ARRAY, array.dtype
    if dtype.kind == "S":
        encoding, dtype = STRINGS, h5py.string_dtype("utf-8", max(dtype.itemsize, 1))
        array = array.astype(dtype)
    elif dtype.kind not in "biuf":
        raise TypeError(f"element {name}: dtype {dtype} has no place in an artifact")
    storage: dict[str, Any] = {}
    if array.ndim and array.size and not is_large(array):
        rows = max(1, min(len(array), CHUNK_BYTES // max(1, array.nbytes // len(array))))
        storage = {"chunks": (rows, *array.shape[1:]), "compression": "gzip", "compression_opts": 1}
        storage |= {"shuffle": True, "fletcher32": True}
    dataset = group.create_dataset(name, data=array, dtype=dtype, track_times=False, **storage)
    dataset.attrs["encoding-type"], dataset.attrs["encoding-version"] = encoding


def read_hdf5(group: h5py.Group) -> Elements:
    """Read the elements below an open HDF5 group; refuses what the format does not have, and more than fits."""
    flat = dict(_find_flat(group, ""))
    check_reading(
        group.file.filename, ARRAY_MEMORY * sum(array.nbytes for array in flat.values() if not _lies_plainly(array))
    )
    return unflatten(
        {path: array if isinstance(array, np.ndarray) else _read_array(array) for path, array in flat.items()}
    )


def _find_flat(group: h5py.Group, prefix: str) -> Iterator[tuple[str, np.ndarray | h5py.Dataset]]:
    """The datasets below a group, none of which has been read yet, and the shapes of matrices."""
    import h5py

    for name in sorted(group):
        path = prefix + name
        if not isinstance(group.get(name, getlink=True), h5py.HardLink):
            raise CorruptError(f"element {path} is a link, which an artifact never holds")
        element = group[name]
        encoding = (element.attrs.get("encoding-type"), element.attrs.get("encoding-version"))
        if isinstance(element, h5py.Group) and encoding in (DICT, CSR, PACKED):
            yield from _find_flat(element, path + "/")
            if encoding == CSR:
                yield f"{path}/shape", np.asarray(element.attrs["shape"], dtype=np.int64)
        elif isinstance(element, h5py.Dataset) and encoding in (ARRAY, STRINGS):
            _check_dataset(element, path)
            yield path, element
        else:
            raise CorruptError(f"element {path} has the unknown encoding {encoding}")


def _check_dataset(dataset: h5py.Dataset, path: str) -> None:
    if dataset.is_virtual or dataset.external or dataset.dtype.kind not in "biufS":
        raise CorruptError(f"element {path} is stored in a way that an artifact never uses")
    stored = dataset.id.get_storage_size()
    # gzip cannot shrink more than about a thousandfold, so a larger ratio is a bomb or a damaged header.
    if dataset.nbytes > 1032 * max(stored, 1) + CHUNK_BYTES:
        raise CorruptError(f"element {path} declares {dataset.nbytes} bytes but stores {stored}")


def is_large(array: np.ndarray | h5py.Dataset) -> bool:
    """Whether an array is written as it is: it takes its bytes on the disk, and none of the memory of who reads it."""
    return array.nbytes >= MAPPED_FROM and array.dtype.kind in "biuf"


def _lies_plainly(array: np.ndarray | h5py.Dataset) -> bool:
    """Whether an array can be mapped: it is large, and its bytes are in the file as they are in memory."""
    return not isinstance(array, np.ndarray) and is_large(array) and array.chunks is None and array.dtype.isnative


def _read_array(dataset: h5py.Dataset) -> np.ndarray:
    if _lies_plainly(dataset):
        # A page that somebody writes to becomes a copy, as if the array had been read.
        place = {"offset": dataset.id.get_offset(), "shape": dataset.shape}
        return np.asarray(np.memmap(dataset.file.filename, dtype=dataset.dtype, mode="c", **place))
    width = dataset.dtype.itemsize
    if dataset.dtype.kind == "S" and width >= LONG_STRING and dataset.ndim == 1:
        return _read_long_strings(dataset, width)
    array = np.asarray(dataset[()])
    return array.astype(f"S{width}") if dataset.dtype.kind == "S" else array


def _read_long_strings(dataset: h5py.Dataset, width: int) -> np.ndarray:
    """An array of fixed width, as 0.1.0 wrote also ids of very different lengths, in pieces of it."""
    strings, rows = np.empty(len(dataset), dtype=object), max(1, CHUNK_BYTES // width)
    for start in range(0, len(strings), rows):
        strings[start : start + rows] = dataset[start : start + rows].astype(f"S{width}").tolist()
    longest = max(map(len, strings), default=0)
    return strings if longest == width else strings.astype(f"S{width}")
