"""Import of the user's own files as a whole: splits that are drawn, and anything at all."""

import gzip
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, save_npz

from cgnn_cli.artifact_tables import write_parquet
from cgnn_cli.errors import DataError
from tests.datasets.files.folder import SQUARE, Folder

TWO_CLASSES = "".join(f"{node},{'ab'[node % 2]}\n" for node in range(40))


def test_split_options(folder: Folder) -> None:
    assert folder.load(SQUARE).splits is None
    ratio = folder.load(SQUARE, labels=TWO_CLASSES, split_ratio="50/25/25", split_count=2, split_seed=3)
    assert ratio.splits is not None
    assert [np.bincount(split).tolist() for split in ratio.splits] == [[0, 20, 10, 10]] * 2
    per_class = folder.load(SQUARE, labels=TWO_CLASSES, per_class=3, val=14)
    assert per_class.splits is not None
    assert [np.bincount(split).tolist() for split in per_class.splits] == [[0, 6, 14, 20]] * 10
    rare = folder.load(SQUARE, labels="0,a\n1,a\n2,a\n3,b\n")
    assert rare.splits is not None
    assert (rare.splits[:, 3] == 1).all()
    folder.fails("leaves 34 labelled node(s), too few for --val 500", SQUARE, labels=TWO_CLASSES, per_class=3)


def test_a_pickle_is_not_run(folder: Folder, tmp_path: Path) -> None:
    class Payload:
        def __reduce__(self) -> Any:
            return (Path.touch, (tmp_path / "owned",))

    payload = np.array([Payload()], dtype=object)
    files = {"data": payload, "indices": payload, "indptr": payload, "shape": payload, "format": payload}
    masks = {f"{part}_mask": payload for part in ("train", "val", "test")}
    for attack in (
        {"edges": payload},
        {"edges": files},
        {"features": payload},
        {"features": files},
        {"labels": payload},
    ):
        with pytest.raises(DataError):
            folder.load(**{"edges": SQUARE, **attack})
    folder.fails("Object arrays are not read", SQUARE, labels="0,a\n1,a\n2,b\n", splits=masks)
    assert not (tmp_path / "owned").exists()


def bytes_of_array(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def bytes_of_matrix(matrix: csr_array) -> bytes:
    stream = io.BytesIO()
    save_npz(stream, matrix)
    return stream.getvalue()


INPUTS = 300
SEEDS = [
    write_parquet({"id": ["0", "1", "2", "3"], "label": ["a", "a", "a", None]}),
    write_parquet({"source": [0, 1, 2, 3], "target": [1, 2, 3, 0]}),
    SQUARE.encode(),
    b"id,label\n0,a\n1,a\n2,a\n3,b\n",
    gzip.compress(SQUARE.encode(), mtime=0),
    bytes_of_array(np.array([[0, 1], [1, 2], [2, 3], [3, 0]])),
    bytes_of_array(np.array([0, 0, 0, -1])),
    bytes_of_matrix(csr_array(np.eye(4))),
]


@st.composite
def file_contents(draw: st.DrawFn) -> bytes:
    """Random bytes, random text of a table, or a good file with some bytes changed or cut."""
    kind = draw(st.sampled_from(["bytes", "text", "magic", "damaged"]))
    if kind == "bytes":
        return draw(st.binary(max_size=200))
    if kind == "text":
        return draw(st.text('01259abe,;\t "\n\r#%.-_é\x0b\x1c\u2028', max_size=60)).encode()
    if kind == "magic":
        return draw(st.sampled_from([b"\x93NUMPY\x01\x00", b"PK\x03\x04", b"\x1f\x8b\x08", b"PAR1\x15"])) + draw(
            st.binary(max_size=100)
        )
    content = bytearray(draw(st.sampled_from(SEEDS)))
    for _ in range(draw(st.integers(1, 4))):
        content[draw(st.integers(0, len(content) - 1))] = draw(st.integers(0, 255))
    return bytes(content[: draw(st.integers(1, len(content)))]) if draw(st.booleans()) else bytes(content)


@settings(max_examples=INPUTS, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(role=st.sampled_from(["edges", "features", "labels", "splits"]), content=file_contents())
def test_case_41_any_content_gives_a_graph_or_a_data_error(folder: Folder, role: str, content: bytes) -> None:
    files: dict[str, Any] = {"edges": SQUARE, "labels": "0,a\n1,a\n2,a\n"} if role == "splits" else {"edges": SQUARE}
    try:
        graph = folder.load(**{**files, role: content})
    except DataError as error:
        assert "\n" not in error.message  # noqa: PT017 - both ways out are right
        return
    assert graph.node_count > 0
