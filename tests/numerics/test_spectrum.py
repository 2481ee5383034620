"""Laplacian eigenvectors against a dense solution, with repeated values, many components and little graphs."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import block_diag, csr_array, diags_array

from cgnn_cli.errors import NumericalError
from cgnn_cli.numerics import spectrum
from cgnn_cli.numerics.csr import canonical_csr
from cgnn_cli.numerics.spectrum import RESIDUAL_GOAL, Spectrum, laplacian_vectors


def path(nodes: int) -> csr_array:
    return csr_array(diags_array([np.ones(nodes - 1)], offsets=[1], shape=(nodes, nodes)))


def random_edges(nodes: int, degree: float, seed: int = 0) -> csr_array:
    """Weighted, with isolated nodes at the end."""
    rng = np.random.default_rng(seed)
    source, target = rng.integers(nodes - 3, size=(2, int(nodes * degree)))
    kept = source != target
    weight = rng.random(kept.sum()) + 0.5
    return canonical_csr(csr_array((weight, (source[kept], target[kept])), shape=(nodes, nodes)))


def textbook(edges: csr_array) -> tuple[np.ndarray, np.ndarray]:
    """M over all nodes, and all its eigenvalues but one of 1 a component and those of isolated nodes."""
    both = (edges + edges.T).toarray()
    degree = both.sum(axis=1)
    root = np.where(degree > 0, 1 / np.sqrt(np.where(degree > 0, degree, 1)), 0)
    matrix = root[:, None] * both * root
    joined = degree > 0
    values = np.linalg.eigvalsh(matrix[joined][:, joined])[::-1]
    return matrix, values[np.count_nonzero(values > 1 - 1e-9) :]


def check(edges: csr_array, count: int) -> Spectrum:
    """Eigenvalues of the textbook, vectors that are theirs, orthogonal to each other and to the trivial ones."""
    found = laplacian_vectors(edges, count)
    matrix, values = textbook(edges)
    kept = len(found.values)
    assert kept == min(count, len(values))
    np.testing.assert_allclose(found.values, values[:kept], atol=1e-7)
    vectors = found.vectors[:, :kept]
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(kept), atol=1e-10)
    defects = np.linalg.norm(matrix @ vectors - vectors * found.values, axis=0)
    assert defects.max(initial=0) <= RESIDUAL_GOAL
    assert found.residual == pytest.approx(defects.max(initial=0), abs=1e-12)
    degree = np.asarray(edges.sum(axis=0) + edges.sum(axis=1)).ravel()
    np.testing.assert_allclose(np.sqrt(degree) @ vectors, 0, atol=1e-6)
    assert not found.vectors[degree == 0].any()
    if kept:
        assert (np.abs(vectors.max(axis=0)) >= np.abs(vectors).max(axis=0) * (1 - 2e-6)).all()
    return found


@pytest.fixture
def by_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Subspace iteration on small graphs too."""
    monkeypatch.setattr(spectrum, "DENSE_NODES", 0)


@pytest.mark.parametrize("size", [1, 7, 64])
def test_dense_solutions(size: int) -> None:
    check(random_edges(90, 2.5), size)


@pytest.mark.usefixtures("by_blocks")
@pytest.mark.parametrize("degree", [0.8, 2.0, 8.0])
def test_subspace_iteration_finds_the_same(degree: float) -> None:
    found = check(random_edges(400, degree, seed=int(degree)), 24)
    assert found.products > 0


@pytest.mark.usefixtures("by_blocks")
@pytest.mark.parametrize(
    "edges",
    [
        block_diag([path(20)] * 60),  # a value with more copies than are wanted
        block_diag([path(12)] * 7 + [path(90)] * 4),
        block_diag([path(2)] * 200),  # nothing but -1
        csr_array((np.ones(300), (np.zeros(300, int), np.arange(1, 301))), shape=(301, 301)),  # a star: zeros and -1
        path(500),
    ],
    ids=["copies", "few copies", "pairs", "star", "path"],
)
def test_repeated_eigenvalues(edges: csr_array) -> None:
    check(canonical_csr(csr_array(edges)), 20)


def test_repeated_eigenvalues_have_a_basis_of_their_own() -> None:
    """Whatever rotation a solver returns, the same vectors are made of it; of equal components each has its own."""
    rng = np.random.default_rng(0)
    space, _ = np.linalg.qr(rng.standard_normal((30, 5)))
    values = np.array([0.9, 0.5, 0.5, 0.5, 0.1])
    turn = np.eye(5)
    turn[1:4, 1:4] = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    np.testing.assert_allclose(
        np.abs(spectrum._settled(values, space, 4)), np.abs(spectrum._settled(values, space @ turn, 4)), atol=1e-12
    )
    copies = laplacian_vectors(canonical_csr(csr_array(block_diag([path(5)] * 4))), 4)
    assert [int(np.count_nonzero(np.abs(column) > 1e-9)) for column in copies.vectors.T] == [5 - 1] * 4


def test_little_graphs() -> None:
    assert check(path(2), 64).vectors.shape == (2, 1)
    assert check(path(3), 64).vectors.shape == (3, 2)
    empty = laplacian_vectors(csr_array((5, 5)), 64)
    assert empty.vectors.shape == (5, 1) and not empty.vectors.any() and empty.figures()["isolated"] == 5


def test_weights_as_large_as_numbers_get_and_their_scale() -> None:
    edges = random_edges(40, 3)
    huge = csr_array((edges.data * 1e307, edges.indices, edges.indptr), shape=edges.shape)
    np.testing.assert_allclose(laplacian_vectors(huge, 8).vectors, laplacian_vectors(edges, 8).vectors, atol=1e-8)


def test_values_that_lie_close_together_at_the_end_of_a_wide_band() -> None:
    """As in any large random graph: in float32 alone each third round lost what the others had found, without end."""
    found = laplacian_vectors(random_edges(8000, 16), 64)
    assert found.residual <= RESIDUAL_GOAL and found.products < 25_000


@pytest.mark.usefixtures("by_blocks")
def test_what_does_not_converge_is_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spectrum, "MOST_ROUNDS", 1)
    with pytest.raises(NumericalError, match="residual of"):
        laplacian_vectors(random_edges(300, 3), 10)


def test_the_bits_do_not_depend_on_threads() -> None:
    code = (
        "import hashlib; from tests.numerics.test_spectrum import *;"
        "found = laplacian_vectors(random_edges(1500, 4), 24);"
        "assert found.products; print(hashlib.sha256(found.vectors.tobytes()).hexdigest())"
    )
    run = [sys.executable, "-c", code]
    environments = [{**os.environ, "OMP_NUM_THREADS": number, "OPENBLAS_NUM_THREADS": number} for number in "12"]
    root = Path(__file__).parents[2]
    first, second = (subprocess.run(run, env=each, cwd=root, check=True, stdout=-1).stdout for each in environments)
    assert first == second
