"""What the MATLAB file of snap-patents becomes, and files that are not it."""

import io
import re
import struct
from pathlib import Path

import h5py
import numpy as np
import pytest
from scipy.io.matlab import MatlabObject
from scipy.sparse import csc_array

from cgnn_cli.datasets.upstream.readers import linkx_mat
from cgnn_cli.errors import DataError
from tests.datasets.upstream.readers.layouts import ADJACENCY, BITS, EDGES, LAYOUTS, YEARS, arcs, sparse


def test_matlab_files(tmp_path: Path) -> None:
    graph = LAYOUTS["linkx_mat"].load(tmp_path)
    np.testing.assert_array_equal(sparse(graph), BITS)
    halves = LAYOUTS["linkx_mat"].load(tmp_path, node_feat=csc_array(BITS / 3))
    assert halves.features is not None and halves.features.dtype == np.float64
    floats = LAYOUTS["linkx_mat"].load(tmp_path, edge_index=LAYOUTS["linkx_mat"].parts()["edge_index"].astype(float))
    assert arcs(floats) == ADJACENCY


def linkx_files(tmp_path: Path, matrices: bytes) -> dict[str, Path]:
    reader = LAYOUTS["linkx_mat"]
    files = reader.write(tmp_path, reader.parts())
    files[linkx_mat.MATRICES].write_bytes(matrices)
    return files


def test_matlab_files_of_version_7_3(tmp_path: Path) -> None:
    stream = io.BytesIO()
    with h5py.File(stream, "w", userblock_size=512) as file:
        file["edge_index"] = EDGES
    header = b"MATLAB 7.3 MAT-file".ljust(124) + struct.pack("<H", 0x0200) + b"IM"
    files = linkx_files(tmp_path, header + stream.getvalue()[len(header) :])
    with pytest.raises(DataError, match=re.escape("snap_patents.mat cannot be read as a MATLAB file")):
        linkx_mat.read(files)


def test_matlab_objects(tmp_path: Path) -> None:
    thing = MatlabObject(np.array([(1,)], dtype=[("a", object)]), "thing")
    for name in ("edge_index", "years", "num_nodes"):
        with pytest.raises(DataError, match=f"snap_patents.mat .*{name} is not a matrix of real numbers"):
            LAYOUTS["linkx_mat"].load(tmp_path, **{name: thing})


def test_a_sparse_matrix_that_points_outside(tmp_path: Path) -> None:
    reader = LAYOUTS["linkx_mat"]
    path = reader.write(tmp_path, reader.parts())[linkx_mat.MATRICES]
    features = csc_array(BITS.astype(float))
    for right, wrong in (
        (features.indices.astype("<i4"), features.indices.astype("<i4") + 10**6),
        (features.indptr.astype("<i4"), features.indptr.astype("<i4")[::-1]),
    ):
        content = path.read_bytes()
        assert right.tobytes() in content
        with pytest.raises(DataError, match=r"snap_patents\.mat cannot be read as a MATLAB file: ValueError: "):
            linkx_mat.read(linkx_files(tmp_path, content.replace(right.tobytes(), wrong.tobytes())))
        reader.write(tmp_path, reader.parts())


def test_nodes_without_a_year_are_counted(tmp_path: Path) -> None:
    years = np.array([[*YEARS[:5], np.nan]])
    splits = [{"train": [0, 1], "valid": [2, 3], "test": [4]}]
    graph = LAYOUTS["linkx_mat"].load(tmp_path, years=years, splits=splits)
    assert graph.labels is not None and graph.labels[-1] == -1
    assert graph.summary["unlabelled"] == 1
