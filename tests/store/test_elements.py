"""Elements: every array, CSR matrix and dictionary comes back as it was, from HDF5 and from NPZ."""

import errno
import io
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.sparse import csr_array

from cgnn_cli.errors import CorruptError, ResourceError
from cgnn_cli.store import artifact as files
from cgnn_cli.store.elements import checksum, flatten, read_hdf5, unflatten, write_hdf5
from tests.store.samples import ELEMENTS, sample, write

DTYPES = ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?", ">f8", ">i4")
SHAPES = arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
NAMES = st.text("abcXYZ019._-é", min_size=1, max_size=6).filter(lambda name: name.strip("."))
LIMITS = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

numbers = st.sampled_from(DTYPES).flatmap(lambda dtype: arrays.arrays(np.dtype(dtype), SHAPES))
strings = st.lists(st.text(max_size=5).map(lambda text: text.encode("utf-8")), max_size=4).map(
    lambda texts: np.array(texts, dtype=f"S{max([1, *map(len, texts)])}")
)
dense = arrays.arrays(
    np.float64,
    arrays.array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=4),
    elements=st.sampled_from([0.0, 0.0, 1.5, -2.0]),
)
matrices = dense.map(csr_array)
leaves = numbers | strings | matrices
trees = st.dictionaries(
    NAMES, st.recursive(leaves, lambda inner: st.dictionaries(NAMES, inner, min_size=1, max_size=3), max_leaves=4)
)


def assert_same(left: dict[str, Any], right: dict[str, Any]) -> None:
    """Equal names, dtypes (but for the byte order), shapes and bits; NaN equals NaN."""
    a, b = flatten(left), flatten(right)
    assert list(a) == list(b)
    for name, array in a.items():
        assert array.dtype.newbyteorder("<") == b[name].dtype.newbyteorder("<"), name
        assert array.shape == b[name].shape, name
        np.testing.assert_array_equal(array, b[name])


@LIMITS
@given(trees)
def test_hdf5_and_npz_give_back_what_was_written(elements: dict[str, Any]) -> None:
    artifact = sample(elements=elements)
    copies = [files.read(write(Path(name), artifact)) for name in ("copy.h5", "copy.npz")]
    for copy in copies:
        assert copy.header == artifact.header
        assert_same(copy.elements, elements)


def test_types_of_elements_survive() -> None:
    copy = files.read(write(Path("copy.h5"), sample())).elements
    assert isinstance(copy["matrix"], csr_array)
    assert copy["matrix"].toarray().tolist() == np.diag([1.0, 2.0, 3.0]).tolist()
    assert [name.decode() for name in copy["names"]] == ["ä", "b", "日本"]
    assert copy["scalar"].shape == () and copy["nothing"].shape == (0, 3)
    assert set(copy["weights"]) == {"first", "second"}


def test_csr_without_entries_keeps_its_shape() -> None:
    for shape in ((0, 0), (0, 5), (3, 0), (2, 2)):
        copy = files.read(write(Path("copy.h5"), sample(elements={"m": csr_array(shape)}))).elements["m"]
        assert copy.shape == shape and copy.nnz == 0


def test_unflatten_is_the_inverse_of_flatten() -> None:
    assert_same(unflatten(flatten(ELEMENTS)), ELEMENTS)


def test_a_name_inside_an_array_is_refused() -> None:
    with pytest.raises(CorruptError, match="a/b lies inside an array"):
        unflatten({"a": np.zeros(1), "a/b": np.zeros(1)})


@pytest.mark.parametrize("array", [np.array(["text"]), np.array([None]), np.array([1j]), np.array([0], dtype="M8[s]")])
def test_other_types_are_refused_when_written(array: np.ndarray) -> None:
    with h5py.File("refused.h5", "w") as file, pytest.raises(TypeError, match="has no place in an artifact"):
        write_hdf5(file, {"x": array})


def test_elements_may_lie_below_any_group() -> None:
    with h5py.File("group.h5", "w") as file:
        write_hdf5(file.create_group("inner"), ELEMENTS)
    with h5py.File("group.h5") as file:
        assert_same(read_hdf5(file["inner"]), ELEMENTS)


# --- checksum --------------------------------------------------------------------------------------------------------


def changed(**parts: Any) -> str:
    return checksum({**ELEMENTS, **parts})


def test_checksum_changes_with_any_byte() -> None:
    array = np.arange(6, dtype=np.int32)
    seen = {checksum({"x": array})}
    for offset in range(array.nbytes):
        for bit in range(8):
            other = array.copy()
            other.view(np.uint8)[offset] ^= 1 << bit
            seen.add(checksum({"x": other}))
    assert len(seen) == 1 + 8 * array.nbytes


def test_checksum_changes_with_dtype_shape_name_place_and_header() -> None:
    zeros = np.zeros(4, dtype=np.int32)
    variants = [
        checksum({"x": zeros}),
        checksum({"x": zeros.astype(np.uint32)}),
        checksum({"x": zeros.astype(np.float32)}),
        checksum({"x": zeros.astype(np.int64)[:2]}),
        checksum({"x": zeros.reshape(2, 2)}),
        checksum({"x": zeros.reshape(4, 1)}),
        checksum({"y": zeros}),
        checksum({"g": {"x": zeros}}),
        checksum({"x": zeros, "y": zeros}),
        checksum({"x": zeros}, header="{}"),
        checksum({"x": zeros[0]}),
        checksum({"x": zeros[:1]}),
        checksum({"x": zeros[:0]}),
        checksum({"x": zeros[:0].reshape(0, 3)}),
        checksum({}),
    ]
    assert len(set(variants)) == len(variants)


def test_checksum_changes_with_the_shape_of_a_matrix_and_the_place_of_its_entries() -> None:
    values = [csr_array(([1.0], ([0], [0])), shape=shape) for shape in ((2, 2), (2, 3), (3, 2))]
    values.append(csr_array(([1.0], ([0], [1])), shape=(2, 2)))
    values.append(csr_array(([1.0], ([1], [0])), shape=(2, 2)))
    assert len({checksum({"m": value}) for value in values}) == len(values)


@LIMITS
@given(numbers)
def test_checksum_does_not_depend_on_memory_order_or_byte_order(array: np.ndarray) -> None:
    expected = checksum({"x": array})
    assert checksum({"x": np.asfortranarray(array).reshape(array.shape)}) == expected
    assert checksum({"x": array.astype(array.dtype.newbyteorder(">"))}) == expected
    doubled = np.repeat(array[..., np.newaxis], 2, axis=-1)
    assert checksum({"x": doubled[..., 0]}) == expected


def test_checksum_does_not_depend_on_the_order_of_names() -> None:
    assert checksum(dict(reversed(ELEMENTS.items()))) == changed()


# --- large arrays ----------------------------------------------------------------------------------------------------


def is_a_map(array: Any) -> bool:
    return isinstance(array, np.memmap) or (getattr(array, "base", None) is not None and is_a_map(array.base))


def test_large_arrays_are_mapped_and_equal_to_those_that_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    read = sample()
    monkeypatch.setattr("cgnn_cli.store.elements.MAPPED_FROM", 16)
    mapped = files.read(write(Path("mapped.h5"), read))
    assert mapped.header == read.header
    assert_same(mapped.elements, ELEMENTS)
    flat = flatten(mapped.elements, pack=False)
    of_the_file = {path: array for path, array in flat.items() if not path.endswith("/shape")}
    large = {path for path, array in of_the_file.items() if array.nbytes >= 16 and array.dtype.kind in "biuf"}
    assert large and large == {path for path, array in of_the_file.items() if is_a_map(array)}
    with h5py.File("mapped.h5") as file:  # as any reader of HDF5 sees them
        assert_same(read_hdf5(file), ELEMENTS)


def test_what_is_done_to_a_mapped_array_stays_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cgnn_cli.store.elements.MAPPED_FROM", 16)
    path = write(Path("mapped.h5"), sample(elements={"x": np.arange(100.0)}))
    array = files.read(path).elements["x"]
    assert is_a_map(array) and array.ctypes.data % 4096 == 0
    array[:] = 0
    assert (files.read(path).elements["x"] == np.arange(100.0)).all()


def test_mapped_arrays_take_no_memory_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(Path("large.h5"), sample(elements={"x": np.zeros(1 << 16)}))
    monkeypatch.setattr("cgnn_cli.resources.allowed_memory", lambda: 1 << 16)
    with pytest.raises(ResourceError, match="may be used"):
        files.read(path)
    monkeypatch.setattr("cgnn_cli.store.elements.MAPPED_FROM", 1 << 19)
    files.read(write(Path("mapped.h5"), sample(elements={"x": np.zeros(1 << 16)})))


@pytest.mark.parametrize("place", ["write", "flush", "seek"])
def test_a_disk_that_fails_is_an_error_and_nothing_worse(place: str) -> None:
    class Full(io.BytesIO):
        """A file that takes 3,000 bytes."""

        def write(self, data: Any) -> int:
            if self.tell() + len(data) > 3000:
                raise OSError(errno.ENOSPC, "No space left on device")
            return super().write(data)

    class Broken(io.BytesIO):
        def flush(self) -> None:
            raise OSError(errno.EIO, "Input/output error")

    class Pipe(io.BytesIO):
        def seek(self, place: int, whence: int = 0) -> int:
            raise OSError(errno.ESPIPE, "Illegal seek")

    file = {"write": Full, "flush": Broken, "seek": Pipe}[place]()
    with pytest.raises(OSError, match=r"No space|Input/output|Illegal seek"):
        files.write_h5_to(file, sample())
