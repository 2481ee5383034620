"""Work in threads and processes: results in order, products bit for bit as without them, and no other mechanism."""

import ast
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from cgnn_cli.numerics import masked, threads
from cgnn_cli.numerics.threads import RowBlocks, in_order, in_threads, run_in_threads, slices


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_results_come_in_order(jobs: int) -> None:
    assert list(in_threads(lambda number: 2 * number, range(20), jobs)) == [2 * number for number in range(20)]
    assert list(in_threads(lambda number: number, [], jobs)) == []


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_of_a_thread_is_raised(jobs: int) -> None:
    with pytest.raises(ZeroDivisionError):
        run_in_threads(lambda number: print(1 // (3 - number)), range(10), jobs)


def test_few_items_are_begun_before_they_are_asked_for() -> None:
    begun: list[int] = []
    results = in_threads(begun.append, range(1000), 2)
    next(results)
    results.close()
    assert len(begun) <= 3


def double(number: int) -> int:
    return 2 * number


def test_results_come_in_order_from_processes_too() -> None:
    expected = [2 * number for number in range(20)]
    assert list(in_order(double, range(20), jobs=1, work=1e12)) == expected
    assert list(in_order(double, range(20), jobs=2, work=1e12)) == expected
    assert list(in_order(lambda number: 2 * number, range(20), jobs=2, work=0)) == expected


def test_results_that_nobody_asks_for_are_dropped_silently(recwarn: pytest.WarningsRecorder) -> None:
    results = in_order(double, range(1000), jobs=2, work=1e12)
    assert next(results) == 0
    results.close()
    assert not recwarn.list


@pytest.mark.parametrize(
    ("count", "length", "expected"),
    [(0, 3, []), (3, 3, [slice(0, 3)]), (7, 3, [slice(0, 3), slice(3, 6), slice(6, 7)])],
)
def test_slices_cover_everything_once(count: int, length: int, expected: list[slice]) -> None:
    assert list(slices(count, length)) == expected


@pytest.mark.parametrize("kernels", [True, False])
@pytest.mark.parametrize("jobs", [1, 2, 7])
@pytest.mark.parametrize("cached", [10, 33, 1000])
def test_products_of_blocks_are_those_of_the_matrix(
    cached: int, jobs: int, kernels: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "WORTH_THREADS", 0)
    monkeypatch.setattr(threads, "CACHED_STATES", cached)
    monkeypatch.setattr(masked, "COMPILED", kernels and masked.COMPILED)
    generator = np.random.default_rng(3)
    matrix = csr_array(random_array((60, 100), density=0.2, rng=generator, format="csr"))
    matrix.sort_indices()
    x = generator.standard_normal((100, 4))
    for operand in (x, x[:, 0].copy(), np.asfortranarray(x)):
        found = RowBlocks(matrix, jobs) @ operand
        np.testing.assert_allclose(found, matrix.toarray() @ operand, rtol=1e-12, atol=1e-13)
        if masked.COMPILED or cached >= 100:
            np.testing.assert_array_equal(found, matrix @ operand)


@pytest.mark.parametrize("jobs", [1, 3])
def test_a_matrix_without_entries_has_products_too(jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "WORTH_THREADS", 0)
    np.testing.assert_array_equal(RowBlocks(csr_array((4, 4)), jobs) @ np.ones(4), np.zeros(4))


PACKAGE = Path(threads.__file__).parents[1]
STARTERS = {"ThreadPoolExecutor", "ProcessPoolExecutor", "Parallel", "multiprocessing", "threadpool_limits"}
COUNTS = {"set_num_threads": "stages/task.py", "cpu_count": "resources.py", "sched_getaffinity": "resources.py"}


def test_no_other_module_starts_threads_or_processes_or_counts_cores() -> None:
    found = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
            if name in STARTERS | COUNTS.keys():
                found.add((path.relative_to(PACKAGE).as_posix(), name))
    mechanism = {(path, name) for path, name in found if name in STARTERS}
    ours = ("ThreadPoolExecutor", "Parallel", "threadpool_limits")
    assert mechanism == {("numerics/threads.py", name) for name in ours}
    assert found - mechanism == {(path, name) for name, path in COUNTS.items()}
