"""The stages before a training in blocks of rows, with mapped arrays and 64-bit offsets: the bits stay the same."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from cgnn_cli import mapped, resources, scratch
from cgnn_cli.configs import CommuteConfig, DilapConfig, RewireConfig
from cgnn_cli.errors import ResourceError
from cgnn_cli.graph import Graph, StageData
from cgnn_cli.numerics import csr, threads
from cgnn_cli.numerics.csr import canonical_csr, chosen_rows, is_long, matrix_of, rows_of, transposed
from cgnn_cli.numerics.masked import product
from cgnn_cli.solvers.solution import Allowance
from cgnn_cli.stages.commute import commute
from cgnn_cli.stages.dilap import dilap
from cgnn_cli.stages.rewire import rewire, similarity_order
from cgnn_cli.store.elements import flatten, unflatten

NODES, EDGES = 300, 1800


def skewed_graph(kind: str = "none", *, weighted: bool = False) -> Graph:
    """Hubs, nodes without edges in or out, and self-loops."""
    generator = np.random.default_rng(3)
    source, target = generator.integers(NODES, size=EDGES), (NODES * generator.random(EDGES) ** 3).astype(int)
    adjacency = canonical_csr(csr_array((np.ones(EDGES), (source, target)), shape=(NODES, NODES)))
    adjacency.data[:] = generator.random(adjacency.nnz) + 0.1 if weighted else 1
    dense = generator.random((NODES, 16)).astype(np.float32)
    features = {"none": None, "dense": dense, "sparse": csr_array(dense * (dense > 0.8))}
    return Graph(adjacency=adjacency, features=features[kind])


@contextmanager
def in_blocks(folder: Path, *, long: bool = False) -> Iterator[None]:
    """Tiny blocks, arrays in files, columns that do not fit a cache; with `long`, more entries than 32 bits count."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(resources, "LEAST_ENTRIES", 200)
        patch.setattr(resources, "MAPPED_FROM", 1000)
        patch.setattr(scratch, "SLICE", 300)
        patch.setattr(threads, "CACHED_STATES", 100)
        patch.setattr(threads, "WORTH_THREADS", 100)
        if long:
            patch.setattr(csr, "LARGEST_INDEX", NODES + 1)
        with scratch.lying_in(folder, 1):
            yield


def arrays_of(data: StageData) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in flatten(data.to_elements()).items()}


def assert_same(found: StageData, expected: StageData, *, long: bool = False) -> None:
    """Elements and figures to the bit; offsets of rows may have twice as many bits."""
    ours, theirs = arrays_of(found), arrays_of(expected)
    assert ours.keys() == theirs.keys()
    different = {name for name in ours if ours[name] != theirs[name]}
    assert all(long and name.endswith("/indptr") for name in different), different
    assert found.summary == expected.summary


@pytest.mark.parametrize(
    ("method", "walk", "kind"),
    [
        *(("path", "directed", kind) for kind in ("none", "dense", "sparse")),
        *((method, "symmetric", "none") for method in ("path", "escape")),
        *((method, "directed", "none") for method in ("escape", "teleport", "none")),
    ],
)
def test_rewiring_and_walk_in_blocks(tmp_path: Path, kind: str, method: Any, walk: Any) -> None:
    graph, config = skewed_graph(kind, weighted=walk == "symmetric"), RewireConfig(method=method, walk=walk)
    whole = rewire(graph, config)
    forms: tuple[Any, ...] = ("incidence", "random-walk")
    walks = {form: dilap(whole, DilapConfig(form=form)) for form in forms}
    for long in (False, True):
        with in_blocks(tmp_path, long=long):
            if long and method in ("escape", "none"):  # whose components nobody finds in so many edges
                with pytest.raises(ResourceError, match="are not known"):
                    rewire(Graph(adjacency=canonical_csr(graph.adjacency)), config)
                continue
            found = rewire(graph, config)
            assert_same(found, whole, long=long)
            for form, expected in walks.items():
                made = dilap(found, DilapConfig(form=form))
                assert mapped.is_mapped(made.transition.data) and is_long(made.laplacian) == long
                assert_same(made, expected, long=long)
    assert list(tmp_path.iterdir()) == []


SOLVED: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("path", "incidence", {}),
    ("path", "random-walk", {"proximity": "inverse", "solver": "pi-only"}),
    ("escape", "random-walk", {"rank": 3}),
    ("none", "incidence", {"rank": 3, "scale": "row-mean"}),
    ("path", "incidence", {"solver": "series", "proximity": "ratio", "scale": "median"}),
    ("escape", "incidence", {"solver": "series", "steps": 4, "proximity": "affinity"}),
    ("teleport", "incidence", {"solver": "series", "tolerance": 0.05, "verify": 4}),
    ("none", "incidence", {"solver": "series"}),
    ("path", "incidence", {"solver": "sketch", "probes": 2, "proximity": "neighbours"}),
)


@pytest.mark.parametrize(("method", "form", "options"), SOLVED)
def test_commute_times_in_blocks(tmp_path: Path, method: Any, form: Any, options: dict[str, Any]) -> None:
    graph, config = skewed_graph(), CommuteConfig(**options)
    walk = dilap(rewire(graph, RewireConfig(method=method)), DilapConfig(form=form))
    whole = commute(graph, walk, config, Allowance(1 << 28, 1))
    for long in (False, True):
        again = Graph(adjacency=graph.adjacency)
        with in_blocks(tmp_path, long=long):
            if long:
                walk = replace(
                    walk, **{name: canonical_csr(getattr(walk, name)) for name in ("transition", "laplacian")}
                )
            found = commute(again, walk, config, Allowance(1 << 20, 2))
            assert mapped.is_mapped(found.commute) and mapped.is_mapped(found.source)
        assert_same(found, whole)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("columns", [1, 2, 7, 128])
def test_the_order_of_nodes_by_features_is_that_of_one_piece(tmp_path: Path, sparse: bool, columns: int) -> None:
    generator = np.random.default_rng(columns)
    dense = generator.standard_normal((1000, columns)).astype(np.float32)
    dense *= generator.random(dense.shape) < 0.3
    features = csr_array(dense) if sparse else dense
    whole = similarity_order(features)
    with in_blocks(tmp_path):
        found = similarity_order(features)
    np.testing.assert_array_equal(found[0], whole[0])
    assert found[1] == whole[1]


def long_matrix(count: int = 40) -> tuple[csr_array, csr_array]:
    """A matrix, and the same with offsets of 64 bits beside columns of 32."""
    generator = np.random.default_rng(count)
    matrix = canonical_csr(csr_array(generator.random((count, count)) * (generator.random((count, count)) < 0.2)))
    long = matrix_of(matrix.data, matrix.indices, matrix.indptr, count)
    long.indptr = long.indptr.astype(np.int64)
    return matrix, long


def test_matrices_with_long_offsets_keep_them_in_an_artifact(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix, long = long_matrix()
    monkeypatch.setattr(csr, "LARGEST_INDEX", 100)
    (found,) = unflatten(flatten({"matrix": long})).values()
    assert is_long(found) and found.shape == matrix.shape
    np.testing.assert_array_equal(found.indptr, matrix.indptr)
    (plain,) = unflatten(flatten({"matrix": matrix})).values()
    assert not is_long(plain)


def test_rows_and_products_of_matrices_with_long_offsets() -> None:
    matrix, long = long_matrix()
    assert not is_long(rows_of(long, slice(5, 20)))
    rows = np.array([7, 3, 3, 39, 0])
    np.testing.assert_array_equal(chosen_rows(long, rows).toarray(), matrix.toarray()[rows])
    block = rows_of(matrix, slice(10, 30))
    np.testing.assert_array_equal(product(block, long).toarray(), product(block, matrix).toarray())


def test_a_transpose_in_blocks_of_a_matrix_that_is_not_square(tmp_path: Path) -> None:
    wide = csr_array(long_matrix()[0][:15])
    with in_blocks(tmp_path):
        resources.LEAST_ENTRIES = 10
        found = transposed(wide)
    np.testing.assert_array_equal(found.toarray(), wide.toarray().T)
    assert found.has_canonical_format and found.indices.dtype == np.int32
