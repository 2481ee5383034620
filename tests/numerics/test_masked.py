"""Masked products against dense ones, by the compiled loops and by scipy's operators."""

import shutil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from cgnn_cli.numerics import masked
from cgnn_cli.numerics.masked import (
    Pattern,
    add_product,
    add_rank_one,
    gathered_differences,
    product,
    product_on,
    values_on,
)
from tests.graphs import sparse


def pattern_of(chosen: np.ndarray) -> Pattern:
    """The pattern of the true entries."""
    matrix = csr_array(chosen)
    return Pattern(matrix.indptr, matrix.indices)


def random_sparse(generator: np.random.Generator, shape: tuple[int, int], density: float) -> csr_array:
    return sparse(generator.random(shape) * (generator.random(shape) < density))


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no compiler")
def test_the_loops_were_compiled() -> None:
    assert masked.COMPILED, "install again: pip install -e ."


@pytest.mark.parametrize("compiled", [True, False])
@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    rows=st.integers(1, 8),
    size=st.integers(1, 12),
    density=st.floats(0, 1),
    wanted=st.floats(0, 1),
)
def test_wanted_entries_of_a_product(
    compiled: bool, seed: int, rows: int, size: int, density: float, wanted: float
) -> None:
    generator = np.random.default_rng(seed)
    left, right = random_sparse(generator, (rows, size), density), random_sparse(generator, (size, size), density)
    chosen = generator.random((rows, size)) < wanted
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(masked, "COMPILED", compiled and masked.COMPILED)
        found = [values_on(pattern_of(chosen), product(left, right)), product_on(pattern_of(chosen), left, right)]
    np.testing.assert_allclose(found, [(left.toarray() @ right.toarray())[chosen]] * 2, rtol=1e-14)


def test_both_ways_give_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(0)
    matrix = random_sparse(generator, (200, 200), 0.1)
    matrix.data -= 0.5
    cancelling = csr_array(np.tile([1.0, -1.0], (200, 100)))
    pattern = pattern_of(generator.random((200, 200)) < 0.2)
    compiled = [made for right in (matrix, cancelling) for made in everything(pattern, matrix, right)]
    monkeypatch.setattr(masked, "COMPILED", False)
    by_scipy = [made for right in (matrix, cancelling) for made in everything(pattern, matrix, right)]
    assert all(map(np.array_equal, compiled, by_scipy))


@pytest.mark.parametrize("integer", [np.int32, np.int64])
def test_differences_are_gathered(integer: type, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(3)
    diagonal, kept = generator.standard_normal((9, 3)).T, generator.standard_normal((40, 3)).T
    places = generator.integers(0, 40, 25)
    ends: np.ndarray = generator.integers(0, 9, 25).astype(integer)
    compiled = gathered_differences(diagonal, kept, places, ends)
    monkeypatch.setattr(masked, "COMPILED", False)
    assert np.array_equal(compiled, gathered_differences(diagonal, kept, places, ends))
    assert np.array_equal(compiled, diagonal[:, ends] - kept[:, places])


def everything(pattern: Pattern, left: csr_array, right: csr_array) -> list[np.ndarray]:
    """A product as it is stored, and its values on a pattern in both ways."""
    whole = product(left, right)
    on_pattern = [values_on(pattern, whole), product_on(pattern, left, right)]
    return [whole.indptr, whole.indices, whole.data, *on_pattern]


@pytest.mark.parametrize("shape", [(), (3,)])
def test_a_product_is_added_term_by_term(shape: tuple[int, ...]) -> None:
    generator = np.random.default_rng(5)
    matrix, x = random_sparse(generator, (30, 20), 0.3), generator.standard_normal((20, *shape))
    total = np.zeros((30, *shape))
    for columns in (slice(0, 7), slice(7, 20)):
        add_product(matrix[:, columns], x[columns], total)
    if masked.COMPILED:  # the parts of a row are added to what is there, as if they were one
        np.testing.assert_array_equal(total, matrix @ x)
    np.testing.assert_allclose(total, matrix.toarray() @ x, rtol=1e-12, atol=1e-14)


def test_wide_integers_in_the_pattern_do_no_harm() -> None:
    matrix = random_sparse(np.random.default_rng(1), (20, 20), 0.3)
    narrow = pattern_of(matrix.toarray() > 0.5)
    wide = Pattern(narrow.indptr.astype(np.int64), narrow.indices.astype(np.int64))
    assert np.array_equal(values_on(wide, matrix), values_on(narrow, matrix))
    assert np.array_equal(product_on(wide, matrix, matrix), product_on(narrow, matrix, matrix))


def test_rows_of_a_pattern() -> None:
    chosen = np.random.default_rng(2).random((9, 5)) < 0.5
    part = pattern_of(chosen).rows(3, 7)
    expected = pattern_of(chosen[3:7])
    assert np.array_equal(part.indptr, expected.indptr)
    assert np.array_equal(part.indices, expected.indices)


def test_a_rank_one_update_touches_only_its_rows() -> None:
    generator = np.random.default_rng(3)
    chosen = generator.random((6, 8)) < 0.6
    column, row = generator.random(2), generator.random(8)
    values = np.zeros(int(chosen.sum()))
    add_rank_one(values, pattern_of(chosen), np.array([1, 4]), column, row)
    expected = np.zeros((6, 8))
    expected[[1, 4]] = np.outer(column, row)
    np.testing.assert_array_equal(values, expected[chosen])
