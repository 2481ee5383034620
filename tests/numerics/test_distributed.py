"""Products over two ranks: the bits of one process."""

import gc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from cgnn_cli.numerics import powers
from cgnn_cli.numerics.distributed import DistributedRows, WholeMatrix, factor, multiply
from cgnn_cli.numerics.fundamental import fundamental, times_from
from cgnn_cli.numerics.lowrank import truncated_svd
from cgnn_cli.numerics.powers import kept_entries
from cgnn_cli.numerics.series import _Pairs, plan_series
from cgnn_cli.numerics.threads import RowBlocks
from cgnn_cli.numerics.walk import Walk
from cgnn_cli.ranks import leading
from cgnn_cli.ranks.leading import Group
from cgnn_cli.ranks.link import SMALL_BYTES
from cgnn_cli.watch import Watch
from tests.graphs import all_pairs
from tests.numerics.test_krylov import family_walk, stationary
from tests.ranked import two_ranks


@pytest.fixture(scope="module")
def both() -> Iterator[Group]:
    with two_ranks() as found:
        yield found


@pytest.fixture
def group(both: Group, monkeypatch: pytest.MonkeyPatch) -> Group:
    """Two ranks, of which this process leads."""
    monkeypatch.setattr(leading, "GROUP", both)
    return both


def matrix_of(rows: int, columns: int, kind: str = "f8", seed: int = 0) -> csr_array:
    drawn = random_array((rows, columns), density=0.2, rng=np.random.default_rng(seed), format="csr")
    return csr_array(drawn, dtype=kind)


@pytest.mark.parametrize("kind", ["f4", "f8", "longdouble"])
@pytest.mark.parametrize("shape", [(40,), (40, 3), (40, 1)])
def test_a_product_has_the_bits_of_one_process(group: Group, shape: tuple[int, ...], kind: str) -> None:
    matrix = matrix_of(30, 40, "f4" if kind == "f4" else "f8")
    x = np.random.default_rng(1).standard_normal(shape).astype(kind)
    found, expected = multiply(matrix, x), matrix @ x
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(multiply(matrix, np.asfortranarray(x)), expected)


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_there_may_be_fewer_rows_than_ranks(group: Group, rows: int) -> None:
    matrix, x = matrix_of(rows, 9), np.arange(9.0)
    np.testing.assert_array_equal(multiply(matrix, x), matrix @ x)


def test_what_is_large_is_broadcast(group: Group) -> None:
    x = np.random.default_rng(1).standard_normal((500, 9))
    assert x.nbytes > SMALL_BYTES
    matrix = matrix_of(500, 500)
    np.testing.assert_array_equal(multiply(matrix, x), matrix @ x)


def test_rows_are_shared_out_once_and_forgotten_with_the_matrix(group: Group) -> None:
    matrix, x = matrix_of(20, 20), np.ones(20)
    shared = factor(matrix)
    assert isinstance(shared, DistributedRows) and factor(matrix) is shared
    assert shared.own.shape[0] < 20
    number = shared.number
    del matrix, shared
    gc.collect()
    assert multiply(matrix_of(3, 20), x).shape == (3,)  # with which the other rank hears of it
    with pytest.raises(RuntimeError, match=r"KeyError: .* \(on rank 1\)"):
        group.call("cgnn_cli.numerics.distributed:product_with_rows", lambda: None, {"number": number}, [x])
    assert multiply(matrix_of(3, 20), x).shape == (3,)


def test_a_whole_matrix_is_held_by_every_rank(group: Group) -> None:
    matrix, x = matrix_of(20, 20), np.arange(20.0)
    whole = WholeMatrix(group, matrix)
    _, ((there,),) = group.call(
        "cgnn_cli.numerics.distributed:product_with_rows", lambda: None, {"number": whole.number}, [x]
    )
    np.testing.assert_array_equal(there, matrix @ x)


def test_without_ranks_the_matrix_itself_multiplies() -> None:
    matrix = matrix_of(4, 4)
    assert factor(matrix) is matrix
    assert isinstance(factor(matrix, 2), RowBlocks)


@pytest.mark.parametrize("symmetric", [True, False])
def test_singular_vectors_have_the_bits_of_one_process(
    both: Group, symmetric: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    matrix = matrix_of(120, 120)
    matrix = csr_array(matrix @ matrix.T) if symmetric else matrix
    expected = truncated_svd(matrix, 4, 0, symmetric=symmetric, jobs=2)
    monkeypatch.setattr(leading, "GROUP", both)
    found = truncated_svd(matrix, 4, 0, symmetric=symmetric, jobs=2)
    for part in ("left", "singular", "right"):
        np.testing.assert_array_equal(getattr(found, part), getattr(expected, part))


def test_times_from_sets_have_the_bits_of_one_process(both: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    walk = family_walk("random", 8)
    perron, starts = stationary(walk), [np.array([0]), np.array([1, 3])]
    found = []
    for group in (None, both):
        monkeypatch.setattr(leading, "GROUP", group)
        found.append(times_from(walk, perron, starts, fundamental(walk, perron, 2)))
    np.testing.assert_array_equal(found[1].steps, found[0].steps)
    np.testing.assert_array_equal(found[1].error, found[0].error)


@pytest.mark.parametrize("steps", [2, 3, 6])
@pytest.mark.parametrize("jobs", [1, 2])
def test_blocks_of_powers_are_made_by_both_ranks(
    both: Group, steps: int, jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(powers, "PARALLEL_WORK", 0)
    monkeypatch.setattr(powers, "LEAST_HUB", 10)
    walk = family_walk("hubs", 24)
    expected = powers_of(walk, steps, jobs)
    asked: list[str] = []

    def noted(function: str, *rest: Any, **more: Any) -> Any:
        asked.append(function)
        return Group.call(both, function, *rest, **more)

    monkeypatch.setattr(both, "call", noted)
    monkeypatch.setattr(leading, "GROUP", both)
    np.testing.assert_array_equal(powers_of(walk, steps, jobs), expected)
    assert sum("entries_in_rank" in function for function in asked) > 1


def powers_of(walk: Walk, steps: int, jobs: int) -> np.ndarray:
    """The kept entries of the powers, in blocks of a few rows."""
    source, target = all_pairs(walk.size)
    plan = plan_series(walk, steps, source, target)
    wanted = _Pairs.of(plan.rows, walk.size, source, target).wanted
    return kept_entries(walk, plan, wanted, memory=10_000, jobs=jobs, watch=Watch())
