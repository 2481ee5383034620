"""The only module that unpickles: what published split files hold is read, and nothing that a file names is run."""

import io
import pickle
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cgnn_cli.datasets.upstream import restricted_pickle
from cgnn_cli.datasets.upstream.restricted_pickle import PARTS, read_split_arrays
from cgnn_cli.errors import DataError

SPLIT = {"train": np.array([3, 0]), "valid": np.array([1]), "test": np.array([2])}


def npy(content: bytes, shape: tuple[int, ...] = (1,), dtype: str = "|O") -> bytes:
    """A .npy file of objects with any content after its header."""
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": dtype, "fortran_order": False, "shape": shape})
    return stream.getvalue() + content


def objects(*items: Any) -> np.ndarray:
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


def read(path: Path, content: bytes) -> list[dict[str, np.ndarray]]:
    path.write_bytes(content)
    return read_split_arrays(path)


def refused(path: Path, content: bytes) -> str:
    with pytest.raises(DataError) as caught:
        read(path, content)
    assert str(path) in caught.value.message
    assert "\n" not in caught.value.message and caught.value.hint
    return caught.value.message


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "splits.npy"


# What is read


@pytest.mark.parametrize("dtype", ["i1", "u2", ">i4", "i8", "u8"])
def test_files_that_numpy_saves(path: Path, dtype: str) -> None:
    split = {part: nodes.astype(dtype) for part, nodes in SPLIT.items()}
    np.save(path, objects(split, split), allow_pickle=True)
    for loaded in read_split_arrays(path):
        assert {part: loaded[part].tolist() for part in PARTS} == {"train": [3, 0], "valid": [1], "test": [2]}
        assert {nodes.dtype for nodes in loaded.values()} == {np.dtype(np.int64)}


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("form", [np.asarray, list, np.ndarray.tolist])
def test_all_protocols_and_forms(path: Path, protocol: int, form: Callable[[np.ndarray], Any]) -> None:
    split = {part: form(nodes) for part, nodes in SPLIT.items()}
    (loaded,) = read(path, npy(pickle.dumps(objects(split), protocol=protocol)))
    assert {part: loaded[part].tolist() for part in PARTS} == {"train": [3, 0], "valid": [1], "test": [2]}


def test_names_of_older_and_newer_numpy(path: Path) -> None:
    content = pickle.dumps(objects(SPLIT), protocol=3)
    old, new = b"numpy.core.", b"numpy._core."
    assert new in content or old in content
    for name in (old, new):
        (loaded,) = read(path, npy(content.replace(new, old).replace(old, name)))
        assert loaded["train"].tolist() == [3, 0]


@pytest.mark.realdata
def test_the_published_file(real_data: Path) -> None:
    folder = real_data / "arxiv"
    plain = np.load(folder / "arxiv-year-splits.npz", allow_pickle=False)
    loaded = read_split_arrays(folder / "arxiv-year-splits.npy")
    assert len(loaded) == 5
    for number, split in enumerate(loaded):
        for part in PARTS:
            np.testing.assert_array_equal(np.sort(split[part]), plain[f"{part}_{number}"])


# What is refused: nothing of it may run


def call(module: str, name: str, *arguments: Any) -> bytes:
    """A pickle that calls a function by its name."""
    body = pickle.dumps(arguments, protocol=2)[2:-1]
    return b"\x80\x02" + f"c{module}\n{name}\n".encode() + body + b"R."


ATTACKS: dict[str, Callable[[str], bytes]] = {
    "os.system": lambda mark: call("os", "system", f"touch {mark}"),
    "posix.system": lambda mark: call("posix", "system", f"touch {mark}"),
    "eval": lambda mark: call("builtins", "eval", f"open({mark!r}, 'w')"),
    "exec": lambda mark: call("builtins", "exec", f"open({mark!r}, 'w')"),
    "python 2's names": lambda mark: call("__builtin__", "eval", f"open({mark!r}, 'w')"),
    "open": lambda mark: call("builtins", "open", mark, "w"),
    "io.open": lambda mark: call("io", "open", mark, "w"),
    "subprocess": lambda mark: call("subprocess", "check_call", ["touch", mark]),
    "getattr": lambda mark: call("builtins", "getattr", "", "__class__"),
    "copyreg": lambda mark: call("copyreg", "_reconstructor", int, object, None),
    "extension": lambda mark: call("copyreg", "add_extension", "os", "system", 1),
    "numpy.load": lambda mark: call("numpy", "load", mark + ".npy", None, True),
    "numpy.save": lambda mark: call("numpy", "save", mark, 1),
    "numpy.memmap": lambda mark: call("numpy", "memmap", mark, "uint8", "w+", 0, 10),
    "runstring": lambda mark: call("numpy.testing._private.utils", "runstring", f"open({mark!r}, 'w')", {}),
    "dotted name": lambda mark: call("numpy", "ndarray.tofile", mark),
    "dotted module": lambda mark: call("numpy.core.multiarray", "os.system", f"touch {mark}"),
    "pickle.loads": lambda mark: call("pickle", "loads", call("os", "system", f"touch {mark}")),
    "torch": lambda mark: call("torch.storage", "_load_from_bytes", call("os", "system", f"touch {mark}")),
    "torch tensor": lambda mark: call("torch._utils", "_rebuild_tensor_v2", 1, 2, 3),
    "codec": lambda mark: call("_codecs", "decode", b"", "zip"),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_case_27_nothing_that_a_pickle_names_is_run(path: Path, tmp_path: Path, attack: str) -> None:
    mark = tmp_path / "owned"
    payload = ATTACKS[attack](str(mark))
    assert "is not admitted" in refused(path, npy(payload))
    inside = pickle.dumps(objects(SPLIT), protocol=2)[:-1] + b"0" + payload[2:]
    assert "is not admitted" in refused(path, npy(inside))
    assert list(tmp_path.iterdir()) == [path]


def test_the_attacks_would_work_elsewhere(tmp_path: Path) -> None:
    mark = tmp_path / "owned"
    pickle.loads(ATTACKS["os.system"](str(mark)))
    assert mark.exists()


@pytest.mark.parametrize("depth", range(3))
def test_a_payload_at_any_depth(path: Path, tmp_path: Path, depth: int) -> None:
    class Payload:
        def __reduce__(self) -> Any:
            return (Path.touch, (tmp_path / "owned",))

    split = [Payload(), {**SPLIT, "test": Payload()}, {**SPLIT, "test": objects(Payload())}][depth]
    np.save(path, objects(split), allow_pickle=True)
    assert "is not admitted" in refused(path, path.read_bytes())
    assert not (tmp_path / "owned").exists()


def test_instructions_that_name_through_other_ways(path: Path) -> None:
    for payload in (b"Pid\n.", b"\x8c\x02idQ.", b"(ios\nsystem\n.", b"\x82\x01.", b"\x97."):
        refused(path, npy(b"\x80\x04" + payload))


@pytest.mark.parametrize("name", ["numpy\ndtype", "numpy\nndarray", "_codecs\nencode", "numpy.core.multiarray\nscalar"])
def test_state_of_what_is_admitted_does_not_last(path: Path, name: str) -> None:
    before = dict(restricted_pickle.ADMITTED)
    for state in ({"name": 1}, (None, {"name": 1}), (None, {"__call__": 1, "__class__": 1})):
        body = pickle.dumps(state, protocol=2)[2:-1]
        refused(path, npy(b"\x80\x02c" + name.encode() + b"\n" + body + b"b."))
    assert before == restricted_pickle.ADMITTED
    (loaded,) = read(path, npy(pickle.dumps(objects(SPLIT), protocol=2)))
    assert loaded["train"].tolist() == [3, 0]


def array_pickle(shape: Any, code: str, content: Any, fields: Any = None) -> bytes:
    """The pickle of an array, written by hand: reconstruct, then set the state."""
    dtype = (
        b"cnumpy\ndtype\n"
        + pickle.dumps((code, False, True), protocol=2)[2:-1]
        + b"R"
        + pickle.dumps((3, "<", None, fields and ("a",), fields, -1, -1, 0), protocol=2)[2:-1]
        + b"b"
    )
    parts = [pickle.dumps(part, protocol=3)[2:-1] for part in (1, shape)]
    tail = [pickle.dumps(part, protocol=3)[2:-1] for part in (False, content)]
    state = b"(" + b"".join(parts) + dtype + b"".join(tail) + b"t"
    return b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85C\x01b\x87R" + state + b"b"


def split_pickle(train: bytes) -> bytes:
    """An array of one split, whose train part is given as instructions."""
    rest = b"X\x05\0\0\0valid](K\x01eX\x04\0\0\0test](K\x02e"
    outer = array_pickle((1,), "O8", "HERE")
    marker = pickle.dumps("HERE", protocol=3)[2:-1]
    return b"\x80\x03" + outer.replace(marker, b"](}(X\x05\0\0\0train" + train + rest + b"ue") + b"."


def test_arrays_written_by_hand(path: Path) -> None:
    (loaded,) = read(path, npy(split_pickle(array_pickle((2,), "i8", struct.pack("<2q", 5, 7)))))
    assert loaded["train"].tolist() == [5, 7]


@pytest.mark.parametrize(
    "train",
    [
        array_pickle((10**12,), "i8", b"\0" * 8),
        array_pickle((1, 1), "i8", b"\0" * 8),
        array_pickle((-1,), "i8", b"\0" * 8),
        array_pickle((1,), "i8", b"\0" * 7),
        array_pickle((1,), "O8", b"\0" * 8),
        array_pickle((1,), "O8", [[1]]),
        array_pickle((1,), "f8", b"\0" * 8),
        array_pickle((1,), "V8", b"\0" * 8, {"a": ("O", 0)}),
        array_pickle((1,), "i8", b"\0" * 8, {"a": ("O", 0)}),
        array_pickle((1,), "i8", "text"),
        b"](G?\xf0\0\0\0\0\0\0e",
        b"](\x88e",
        b"](]e",
        b"](Ne",
        b"](\x8a\x09\0\0\0\0\0\0\0\0\1e",
        b"N",
        b"K\x01",
        b"}",
    ],
)
def test_other_values_than_integers(path: Path, train: bytes) -> None:
    refused(path, npy(split_pickle(train)))


def test_pickled_objects_inside_a_scalar(path: Path, tmp_path: Path) -> None:
    payload = ATTACKS["os.system"](str(tmp_path / "owned"))
    dtype = b"cnumpy\ndtype\nX\x02\0\0\0O8\x89\x88\x87R"
    scalar = b"cnumpy.core.multiarray\nscalar\n" + dtype + b"B" + struct.pack("<I", len(payload)) + payload + b"\x86R"
    assert "objects where integers" in refused(path, npy(split_pickle(b"](" + scalar + b"e")))
    assert not (tmp_path / "owned").exists()


def test_memory_that_a_few_bytes_ask_for(path: Path) -> None:
    huge = struct.pack("<Q", 1 << 50)
    for payload in (b"]r\xff\xff\xff\x3f0", b"\x8e" + huge, b"\x96" + huge, b"\x8d" + huge, b"\x95" + huge):
        refused(path, npy(b"\x80\x05" + payload + b"."))


def test_a_list_that_is_used_again_and_again(path: Path) -> None:
    nodes = list(range(1000))
    split = {"train": nodes, "valid": nodes, "test": nodes}
    assert "more entries than bytes" in refused(path, npy(pickle.dumps(objects(*[split] * 9), protocol=3), (9,)))


@pytest.mark.parametrize(
    "split", [{}, {"train": [1], "test": [2]}, {**SPLIT, "more": [1]}, {1: 2}, [1], "text", None, SPLIT["train"]]
)
def test_other_objects_than_splits(path: Path, split: Any) -> None:
    refused(path, npy(pickle.dumps(objects(split), protocol=3)))


def test_headers(path: Path) -> None:
    content = pickle.dumps(objects(SPLIT), protocol=3)
    read(path, npy(content))
    for shape, dtype in (((2,), "|O"), ((), "|O"), ((1, 1), "|O"), ((0,), "|O"), ((10**9,), "|O"), ((1,), "<i8")):
        refused(path, npy(content, shape, dtype))
    refused(path, content)
    refused(path, b"")
    refused(path, npy(pickle.dumps([SPLIT])))


def test_files_cut_short_or_damaged(path: Path) -> None:
    whole = npy(pickle.dumps(objects(SPLIT), protocol=4))
    for length in range(0, len(whole), 7):
        refused(path, whole[:length])
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x15]) + whole[place + 1 :])
        try:
            assert len(read_split_arrays(path)) == 1
        except DataError:
            continue


def test_a_file_that_is_too_large_or_missing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match=str(path)):
        read_split_arrays(path)
    monkeypatch.setattr(restricted_pickle, "LARGEST_FILE", 100)
    assert "too many" in refused(path, npy(pickle.dumps(objects(SPLIT))))
