"""Work in threads or processes: no other module starts any. Callers take their number from `resources.thread_count`.

The compiled loops of numpy and scipy leave the interpreter free, so that threads need no copies. Krylov solves spend
their time between short vector operations: two threads are no faster than one there, two processes 1.6 times.
"""

import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

import numpy as np
from scipy.sparse import csr_array
from threadpoolctl import threadpool_limits

from cgnn_cli.apart import ending_with_this_process
from cgnn_cli.numerics import csr
from cgnn_cli.numerics.blocks import row_blocks
from cgnn_cli.numerics.csr import by_rows, rows_of
from cgnn_cli.numerics.masked import add_product
from cgnn_cli.ranks import leading

WORTH_THREADS = 1_000_000  # entries of a matrix whose product with a vector takes longer than the start of threads
WORTH_PROCESSES = 50_000_000  # entries of P times solves: some 7 seconds of work, against 2 or 3 to start processes
CACHED_STATES = 3 << 19  # whose values, 12 MiB of them, a shared cache holds

Item = TypeVar("Item")
Result = TypeVar("Result")
Part = tuple[slice, slice, csr_array]  # rows, columns, and the entries there


with_one_blas_thread = threadpool_limits.wrap(limits=1, user_api="blas")  # bits that do not depend on the cores


def in_threads(function: Callable[[Item], Result], items: Iterable[Item], jobs: int) -> Generator[Result]:
    """The results for all items in their order; few are begun before they are asked for."""
    if jobs <= 1:
        yield from map(function, items)
        return
    begun: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(jobs) as pool:
        try:
            for item in items:
                begun.append(pool.submit(function, item))
                if len(begun) > jobs:
                    yield begun.popleft().result()
            while begun:
                yield begun.popleft().result()
        finally:
            for future in begun:
                future.cancel()


def run_in_threads(function: Callable[[Item], None], items: Iterable[Item], jobs: int) -> None:
    """Call a function that writes its results itself, each to a place of its own."""
    for _ in in_threads(function, items, jobs):
        pass


def in_order(function: Callable[[Item], Result], items: Iterable[Item], *, jobs: int, work: float) -> Generator[Result]:
    """The results for all items in their order, from several processes where the work is worth them.

    What is begun but not asked for is dropped silently. Ranks share out each product instead.
    """
    if jobs <= 1 or work < WORTH_PROCESSES or leading.size() > 1:
        yield from map(function, items)
        return
    from joblib import Parallel, delayed

    call = delayed(ending_with_this_process(function))
    results = Parallel(n_jobs=jobs, return_as="generator")(call(item) for item in items)
    try:
        # Not the results themselves, which would be closed outside of the block below.
        yield from (result for result in results)
    finally:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", r"\d+ tasks (have been successfully|which were still)", UserWarning)
            results.close()


def slices(count: int, length: int) -> Generator[slice]:
    """The numbers from 0 to before `count` in slices of at most `length`."""
    yield from (slice(start, min(start + length, count)) for start in range(0, count, length))


def equal_rows(matrix: csr_array, count: int) -> list[slice]:
    """The rows in so many ranges of about as many entries each."""
    shares = np.linspace(0, matrix.nnz, count + 1)[1:-1]
    ends = [0, *np.searchsorted(matrix.indptr, shares).tolist(), matrix.shape[0]]
    return [slice(start, stop) for start, stop in pairwise(ends)]


def in_reach(matrix: csr_array, rows: slice) -> list[slice]:
    """A range of rows in ranges whose entries 32 bits can count."""
    lengths = np.diff(matrix.indptr[: rows.stop + 1])
    return [slice(start, stop) for start, stop in row_blocks(lengths, csr.LARGEST_INDEX, rows.start)]


class RowBlocks:
    """A sparse matrix as blocks of rows of about as many entries each, whose products are made in threads.

    A large block is cut into blocks of columns too: the part of a vector that one reads at random stays in the cache.
    These are copies, which lie where `scratch` puts large arrays.
    The terms of a row are added in one order all the same, so the bits are those of the whole matrix.
    """

    def __init__(self, matrix: csr_array, jobs: int, *, cut: bool = True) -> None:
        self.shape, self.jobs = matrix.shape, jobs if matrix.nnz >= WORTH_THREADS else 1
        columns = list(slices(matrix.shape[1], CACHED_STATES if cut else max(matrix.shape[1], 1)))

        def cut_out(rows: slice) -> list[Part]:
            block = rows_of(matrix, rows)
            if len(columns) == 1:
                return [(rows, columns[0], block)]
            return [(rows, part, by_rows(lambda _, some, part=part: some[:, part], block)) for part in columns]

        self.blocks = [
            [part for rows in in_reach(matrix, whole) for part in cut_out(rows)]
            for whole in equal_rows(matrix, self.jobs)
        ]

    def __matmul__(self, x: np.ndarray) -> np.ndarray:
        product = np.zeros((self.shape[0], *x.shape[1:]))

        def fill(number: int) -> None:
            for rows, columns, block in self.blocks[number]:
                add_product(block, x[columns], product[rows])

        run_in_threads(fill, range(self.jobs), self.jobs)
        return product
