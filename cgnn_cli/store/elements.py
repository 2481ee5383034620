"""Elements: what an artifact is made of, and how elements lie in HDF5 and NPZ files.

An element is a numpy array, a scipy CSR matrix, or a dictionary of elements. In HDF5 they follow anndata's on-disk
specification (`encoding-type` and `encoding-version` on every group and dataset); in NPZ the same datasets lie flat
under their paths. docs/artifact-format.md specifies both.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from cgnn_cli.errors import CorruptError

if TYPE_CHECKING:
    import h5py

Elements = dict[str, Any]
Flat = dict[str, np.ndarray]

ARRAY = ("array", "0.2.0")
STRINGS = ("string-array", "0.2.0")
CSR = ("csr_matrix", "0.1.0")
DICT = ("dict", "0.1.0")
CSR_PARTS = ("data", "indices", "indptr")
CHUNK_BYTES = 1 << 20


def is_csr(element: Any) -> bool:
    """Whether an element is a CSR matrix, told without importing scipy."""
    return getattr(element, "format", None) == "csr"


def flatten(elements: Mapping[str, Any], prefix: str = "") -> Flat:
    """Elements as named arrays in sorted order; a CSR matrix becomes data, indices, indptr and shape."""
    flat: Flat = {}
    for name in sorted(elements):
        element, path = elements[name], prefix + name
        if isinstance(element, Mapping):
            flat.update(flatten(element, path + "/"))
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

        parts = tuple(element[part] for part in CSR_PARTS)
        return csr_array(parts, shape=tuple(int(n) for n in element["shape"]))
    return {name: _collect(part) for name, part in element.items()}


def checksum(elements: Mapping[str, Any], *, header: str = "") -> str:
    """sha256 over the names, types, shapes and bytes of all elements in sorted order."""
    digest = hashlib.sha256(header.encode())
    for path, array in sorted(flatten(elements).items()):
        little = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False)
        digest.update(f"\n{path} {little.dtype.str} {array.shape}\n".encode())
        digest.update(little.reshape(-1).view(np.uint8).data if little.size else b"")
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
    if array.ndim and array.size:
        rows = max(1, min(len(array), CHUNK_BYTES // max(1, array.nbytes // len(array))))
        storage = {"chunks": (rows, *array.shape[1:]), "compression": "gzip", "shuffle": True, "fletcher32": True}
    dataset = group.create_dataset(name, data=array, dtype=dtype, track_times=False, **storage)
    dataset.attrs["encoding-type"], dataset.attrs["encoding-version"] = encoding


def read_hdf5(group: h5py.Group) -> Elements:
    """Read the elements below an open HDF5 group; refuses what the format does not have."""
    return unflatten(dict(_read_flat(group, "")))


def _read_flat(group: h5py.Group, prefix: str) -> Iterator[tuple[str, np.ndarray]]:
    import h5py

    for name in sorted(group):
        path = prefix + name
        if not isinstance(group.get(name, getlink=True), h5py.HardLink):
            raise CorruptError(f"element {path} is a link, which an artifact never holds")
        element = group[name]
        encoding = (element.attrs.get("encoding-type"), element.attrs.get("encoding-version"))
        if isinstance(element, h5py.Group) and encoding in (DICT, CSR):
            yield from _read_flat(element, path + "/")
            if encoding == CSR:
                yield f"{path}/shape", np.asarray(element.attrs["shape"], dtype=np.int64)
        elif isinstance(element, h5py.Dataset) and encoding in (ARRAY, STRINGS):
            yield path, _read_array(element, path)
        else:
            raise CorruptError(f"element {path} has the unknown encoding {encoding}")


def _read_array(dataset: h5py.Dataset, path: str) -> np.ndarray:
    if dataset.is_virtual or dataset.external or dataset.dtype.kind not in "biufS":
        raise CorruptError(f"element {path} is stored in a way that an artifact never uses")
    stored = dataset.id.get_storage_size()
    # gzip cannot shrink more than about a thousandfold, so a larger ratio is a bomb or a damaged header.
    if dataset.nbytes > 1032 * max(stored, 1) + CHUNK_BYTES:
        raise CorruptError(f"element {path} declares {dataset.nbytes} bytes but stores {stored}")
    array = np.asarray(dataset[()])
    return array.astype(f"S{dataset.dtype.itemsize}") if dataset.dtype.kind == "S" else array
