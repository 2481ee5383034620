"""Values of arrays: features that are not numbers or all zero, odd types and shapes."""

import itertools
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, save_npz

from cgnn_cli.stages.rewire import similarity_order
from tests.faults.imports import refused
from tests.front_door import FrontDoor


def features_csv(value: str) -> None:
    Path("features.csv").write_text("".join(f"{node},{value if node == 'c' else 1},2\n" for node in "abcdef"))


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "NaN"])
def test_case_31_nan_and_infinite_features(cgnn: FrontDoor, ring: None, value: str) -> None:
    features_csv(value)
    line = refused(cgnn, "--edges", "edges.csv", "--features", "features.csv")
    assert "features.csv" in line and "1 value" in line and "3" in line and "--impute zero" in line
    result = cgnn.ok("data", "import", "mine", "--edges", "edges.csv", "--features", "features.csv", "--impute", "zero")
    assert "1 value(s) that were NaN or infinite are set to 0" in result.err
    cgnn.ok("export", Path(result.path).stem, "--to", "npz", "--output", "graph.npz")
    with np.load("graph.npz") as saved:
        assert saved["features"].tolist() == [[1, 2], [1, 2], [0, 2], [1, 2], [1, 2], [1, 2]]


@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
def test_case_31_nan_and_infinite_feature_arrays(cgnn: FrontDoor, value: str) -> None:
    np.save("edges.npy", np.array([[0, 1], [1, 2], [2, 0]]))
    for features in (np.array([[1, 2], [float(value), 2], [3, float(value)]]), np.full((3, 1), float(value), "f4")):
        np.save("features.npy", features)
        line = refused(cgnn, "--edges", "edges.npy", "--features", "features.npy")
        assert f"{np.sum(~np.isfinite(features))} value(s)" in line and "first in row" in line
    save_npz("features.npz", csr_array([[0, 1.0], [float(value), 0], [0, 0]]))
    assert "first in row 1" in refused(cgnn, "--edges", "edges.npy", "--features", "features.npz")
    taken = ("--edges", "edges.npy", "--features", "features.npy", "--impute", "zero")
    assert "3 value(s)" in cgnn.ok("data", "import", "mine", *taken).err
    assert np.isfinite(float(cgnn.ok("commute", "--dataset", "mine", "--json").json["summary"]["commute"]["median"]))


def test_case_31_zero_rows_and_a_zero_anchor_are_defined(cgnn: FrontDoor, ring: None) -> None:
    np.save("zeros.npy", np.zeros((4, 3)))
    np.save("edges.npy", np.array([[0, 1], [1, 2], [2, 3]]))
    cgnn.ok("data", "import", "zeros", "--edges", "edges.npy", "--features", "zeros.npy")
    assert "4 nodes have all-zero features" in cgnn.ok("rewire", "--dataset", "zeros").err
    made = cgnn.ok("commute", "--dataset", "zeros", "--solver", "exact", "--json").json["key"]
    cgnn.ok("export", made, "--to", "npz", "--output", "times.npz")
    with np.load("times.npz") as saved:
        assert all(np.isfinite(saved[name]).all() for name in ("commute", "weight_out", "weight_in"))


@settings(max_examples=50, deadline=None)
@given(rows=st.lists(st.lists(st.integers(-2, 2), min_size=2, max_size=2), min_size=1, max_size=8), draw=st.randoms())
def test_case_31_equal_rows_are_ordered_by_node_and_others_follow_their_node(
    rows: list[list[int]], draw: random.Random
) -> None:
    features = np.array(rows, dtype=float)
    order, notes = similarity_order(features)
    zero = int((features == 0).all(axis=1).sum())
    assert bool(notes) == bool(zero or np.allclose(features.mean(axis=0), 0))
    place = np.argsort(order)
    for node, other in itertools.combinations(range(len(rows)), 2):
        assert rows[node] != rows[other] or place[node] < place[other]
    permuted = np.array(draw.sample(range(len(rows)), len(rows)))
    moved, _ = similarity_order(features[permuted])
    assert sorted(moved.tolist()) == list(range(len(rows)))
    if len({tuple(row) for row in similarity_classes(features)}) == len(rows):
        assert permuted[moved].tolist() == order.tolist()


def similarity_classes(features: np.ndarray) -> list[tuple[float]]:
    """Cosines to the mean row, as the rewiring defines them, computed row by row."""
    mean = features.mean(axis=0)
    found = []
    for row in features:
        scale = np.linalg.norm(row) * np.linalg.norm(mean)
        found.append((round(float(row @ mean / scale), 9) if scale > 0 else 0.0,))
    return found


@pytest.mark.parametrize("dtype", ["i1", "u2", ">i4", "f2", ">f8", "?"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_case_40_types_that_convert_without_loss(cgnn: FrontDoor, dtype: str, order: str) -> None:
    np.save("edges.npy", np.array([[0, 1], [1, 2], [2, 0]], dtype=">i8"))
    features = np.asarray([[1, 0], [0, 1], [1, 1]])
    np.save("features.npy", np.asarray(features.astype(dtype), order="F" if order == "F" else "C"))
    key = cgnn.ok("data", "import", "odd", "--edges", "edges.npy", "--features", "features.npy", "--json").json["key"]
    np.save("plain.npy", features.astype("f4"))
    same = cgnn.ok("data", "import", "plain", "--edges", "edges.npy", "--features", "plain.npy", "--json").json["key"]
    assert key == same


@pytest.mark.parametrize(
    ("array", "said"),
    [
        (np.ones((2, 2)), "has 2 rows, but the graph has 3 nodes"),
        (np.ones((3, 2), dtype=complex), "type complex128"),
        (np.full((3, 1), 2**60 + 1), "cannot hold exactly"),
        (np.ones(3), "shape (3,)"),
    ],
)
def test_case_40_what_does_not_fit(cgnn: FrontDoor, array: np.ndarray, said: str) -> None:
    np.save("edges.npy", np.array([[0, 1], [1, 2], [2, 0]]))
    np.save("features.npy", array)
    line = refused(cgnn, "--edges", "edges.npy", "--features", "features.npy")
    assert "features.npy" in line and said in line
