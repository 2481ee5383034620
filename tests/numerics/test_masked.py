"""Masked products against dense ones, by scipy's private kernels and by its public operators."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import _sparsetools, csr_array

from cgnn_cli.numerics import masked
from cgnn_cli.numerics.masked import Pattern, add_rank_one, product, values_on
from tests.graphs import sparse


def pattern_of(chosen: np.ndarray) -> Pattern:
    """The pattern of the true entries."""
    matrix = csr_array(chosen)
    return Pattern(matrix.indptr, matrix.indices)


def random_sparse(generator: np.random.Generator, shape: tuple[int, int], density: float) -> csr_array:
    return sparse(generator.random(shape) * (generator.random(shape) < density))


def test_the_compiled_kernels_are_used_with_this_scipy() -> None:
    assert masked.COMPILED


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
        patch.setattr(masked, "COMPILED", compiled)
        found = values_on(pattern_of(chosen), product(left, right))
    np.testing.assert_allclose(found, (left.toarray() @ right.toarray())[chosen], rtol=1e-14)


def test_both_ways_give_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(0)
    matrix = random_sparse(generator, (200, 200), 0.1)
    pattern = pattern_of(generator.random((200, 200)) < 0.2)
    compiled = values_on(pattern, product(matrix, matrix))
    monkeypatch.setattr(masked, "COMPILED", False)
    assert np.array_equal(values_on(pattern, product(matrix, matrix)), compiled)


@pytest.mark.parametrize("name", ["csr_matmat", "csr_elmul_csr"])
def test_a_missing_kernel_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(_sparsetools, name)
    assert not masked._kernels_work()


def test_a_kernel_with_other_arguments_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    original = _sparsetools.csr_matmat
    monkeypatch.setattr(_sparsetools, "csr_matmat", lambda flag, *arguments: original(*arguments))
    assert not masked._kernels_work()


def test_a_kernel_with_another_result_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def other(*arguments: np.ndarray) -> None:
        for array in arguments[-3:]:
            array[:] = 0

    monkeypatch.setattr(_sparsetools, "csr_elmul_csr", other)
    assert not masked._kernels_work()


def test_wide_integers_in_the_pattern_do_no_harm() -> None:
    matrix = random_sparse(np.random.default_rng(1), (20, 20), 0.3)
    narrow = pattern_of(matrix.toarray() > 0.5)
    wide = Pattern(narrow.indptr.astype(np.int64), narrow.indices.astype(np.int64))
    assert np.array_equal(values_on(wide, matrix), values_on(narrow, matrix))


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
