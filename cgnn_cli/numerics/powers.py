"""Chosen entries of the powers of a sparse matrix S, by blocks of rows: X_t = X_(t-1) S, of which only they are kept.

A row of a power depends on no other row, so neither the blocks nor who computes them changes a single bit.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, fields, replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from cgnn_cli import scratch
from cgnn_cli.errors import StoppedEarly
from cgnn_cli.numerics.blocks import row_blocks
from cgnn_cli.numerics.csr import blocks_of_rows, chosen_rows, ones_on, row_of_entries, rows_of, sums_over_ways
from cgnn_cli.numerics.distributed import Held, WholeMatrix
from cgnn_cli.numerics.masked import Pattern, add_rank_one, product, product_on, values_on
from cgnn_cli.numerics.threads import in_threads, slices
from cgnn_cli.numerics.walk import Walk
from cgnn_cli.ranks import leading
from cgnn_cli.watch import Snapshot, Watch

LEAST_HUB = 1_000_000  # multiplications through one state below which it is never treated as a hub
HUB_GAIN = 4  # how many times cheaper a rank-one update must be to take its place
DENSE_GAIN = 20  # multiplications with a dense block in the time of one between sparse matrices
SPARSE_BLOCK, DENSE_BLOCK = 1 << 26, 1 << 23  # bytes of a block, even where there is memory for more
CLEARED = 96  # bytes for each state that a sparse block has at least: its kernels clear a few arrays over all states
DENSE_ROWS = 64  # but a dense block has so many rows, if there is memory for them
# Bytes of working arrays: for a sparse entry, for an entry of a dense block, for a wanted entry, for a state.
ENTRY, DENSE, WANTED, STATE = 12, 24, 96, 32
PARALLEL_WORK = 1_000_000  # multiplications between sparse matrices that are worth the start of threads
KEPT, SENT = 3, 4  # lines of a block, and arrays that another rank needs for it


@dataclass(frozen=True)
class Plan:
    """How the powers up to `steps` are made for the wanted rows; the same for any memory and number of threads."""

    rows: np.ndarray  # the rows of S that anything is wanted of
    steps: int
    earlier: int  # the power that is kept beside the last one and the sum of all
    dense_from: int  # the first power that is made in dense blocks
    hubs: np.ndarray  # middle states of S^2 that are added as rank-one updates
    row_bytes: np.ndarray
    sparse_flops: int
    dense_flops: int

    @property
    def flops(self) -> int:
        return self.sparse_flops + self.dense_flops

    @property
    def work(self) -> float:
        """The cost in multiplications between sparse matrices."""
        return self.sparse_flops + self.dense_flops / DENSE_GAIN

    def constants(self) -> dict[str, int]:
        """What is the same for every block of rows."""
        return {item.name: value for item in fields(self) if isinstance(value := getattr(self, item.name), int)}

    def part(self, start: int, stop: int) -> Plan:
        """The plan of one block of rows."""
        return replace(self, rows=self.rows[start:stop], row_bytes=self.row_bytes[start:stop])


def make_plan(matrix: csr_array, rows: np.ndarray, entries: np.ndarray, steps: int, earlier: int) -> Plan:
    """The cheapest way to at most `entries` entries of each row, and its cost; an upper bound beyond two steps."""
    size, lengths = matrix.shape[0], np.diff(matrix.indptr).astype(np.float64)
    held, flops, dense_flops, dense_from, hubs = lengths[rows], 0.0, 0, steps + 1, np.zeros(0, np.int64)
    walks = lengths
    for power in range(2, steps + 1):
        # Walks of `power` steps bound the multiplications of a row; no row needs more than all entries of S.
        walks = np.minimum(sums_over_ways(matrix, walks), matrix.nnz)
        needed = walks[rows]
        if steps > 2 and matrix.nnz * len(rows) < DENSE_GAIN * needed.sum():
            dense_from = power
            dense_flops = int(matrix.nnz) * len(rows) * (steps + 1 - power)
            break
        if power == steps == 2:
            hubs, saved, spent = _hubs(matrix, rows, entries, lengths)
            flops += spent - saved
        flops += needed.sum()
        held = np.minimum(needed, size)
    sparse_bytes = ENTRY * (2 * lengths[rows] + (held if steps <= 2 else 3 * held))
    dense_bytes = DENSE * size if dense_from <= steps else 0
    row_bytes = np.maximum(sparse_bytes, dense_bytes) + WANTED * entries
    return Plan(rows, steps, earlier, dense_from, hubs, row_bytes, int(flops), dense_flops)


def _hubs(
    matrix: csr_array, rows: np.ndarray, entries: np.ndarray, lengths: np.ndarray
) -> tuple[np.ndarray, float, float]:
    """Middle states that cost less as rank-one updates of the wanted entries, and what is saved and spent on them."""
    totals, reached = np.zeros((2, matrix.shape[0], 2))
    totals[rows, 0], totals[rows, 1] = 1, entries
    for block in blocks_of_rows(matrix):
        reached += ones_on(rows_of(matrix, block)).T @ totals[block]
    work, touched = reached[:, 0] * lengths, reached[:, 1]
    hubs = np.flatnonzero(work > np.maximum(LEAST_HUB, HUB_GAIN * touched))
    return hubs, float(work[hubs].sum()), float(touched[hubs].sum())


def kept_entries(walk: Walk, plan: Plan, wanted: Pattern, *, memory: int, jobs: int, watch: Watch) -> np.ndarray:
    """Three lines over the wanted entries: the sum of S^0 to S^K, S^K, and the earlier power.

    `memory` bounds the working arrays of all blocks that are made at a time, down to one row for each thread.
    """
    jobs, size = jobs if plan.work >= PARALLEL_WORK else 1, leading.size()
    snapshot = watch.resume()
    if snapshot is None or "entries" not in snapshot.elements:  # 0.1.0 saved them otherwise
        # The values of an entry lie side by side, as entries are looked up at random.
        kept, begin, number = scratch.zeros((wanted.entries, KEPT)), 0, 0
    else:
        kept = scratch.zeros((wanted.entries, KEPT))
        kept[...] = snapshot.elements["entries"]
        begin, number = int(snapshot.values["row"]), int(snapshot.values["epoch"])
    dense = plan.dense_from <= plan.steps
    useful = max(DENSE_BLOCK, DENSE_ROWS * DENSE * walk.size) if dense else max(SPARSE_BLOCK, CLEARED * walk.size)
    blocks = row_blocks(plan.row_bytes, min(memory // (jobs * size) - STATE * walk.size, useful), begin)
    tasks = ((plan.part(start, stop), wanted.rows(start, stop)) for start, stop in blocks)
    with closing(_all_entries(walk.sparse, walk.transposed if dense else None, tasks, jobs)) as results:
        for (start, stop), found in zip(blocks, results, strict=True):
            kept[wanted.indptr[start] : wanted.indptr[stop]] = found.T
            number += 1
            watch.progress(stop, len(plan.rows), f"rows of {plan.steps} steps")
            stopped = watch.stop_requested() and stop < len(plan.rows)
            if stopped or watch.snapshot_due():
                watch.save(Snapshot({"entries": kept}, {"epoch": number, "row": stop, "unit": "block"}))
            if stopped:
                raise StoppedEarly(f"stopped after {stop} of {len(plan.rows)} rows of the series; the state is saved")
    return kept.T


def _all_entries(
    matrix: csr_array, transposed: csr_array | None, tasks: Iterator[tuple[Plan, Pattern]], jobs: int
) -> Generator[np.ndarray]:
    """The three lines for all blocks in their order, from threads here and in the other ranks."""

    def entries(task: tuple[Plan, Pattern]) -> np.ndarray:
        return _block_entries(matrix, transposed, *task)

    if (group := leading.GROUP) is None:
        yield from in_threads(entries, tasks, jobs)
        return
    held = [WholeMatrix(group, each) for each in (matrix, transposed) if each is not None]
    values = {"matrices": [each.number for each in held], "jobs": jobs}
    while batch := list(islice(tasks, jobs * group.size)):
        own, *others = (batch[rank :: group.size] for rank in range(group.size))
        mine, theirs = group.call(
            f"{__name__}:entries_in_rank",
            partial(list[np.ndarray], in_threads(entries, own, jobs)),
            {**values, "plan": batch[0][0].constants()},
            parts=[[array for task in tasks for array in _sent(*task)] for tasks in others],
        )
        found = [mine, *([lines.T for lines in each] for each in theirs)]
        yield from (found[place % group.size][place // group.size] for place in range(len(batch)))


def _sent(plan: Plan, wanted: Pattern) -> list[np.ndarray]:
    """What another rank must know of a block."""
    return [plan.rows, plan.hubs, wanted.indptr, wanted.indices]


def entries_in_rank(held: Held, values: dict[str, Any], arrays: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
    """In a rank: the three lines for some blocks of rows, each transposed, as they lie in memory."""
    matrix, transposed, *_ = (*(held[number] for number in values["matrices"]), None)

    def entries(part: slice) -> np.ndarray:
        rows, hubs, *pattern = arrays[part]
        plan = Plan(rows=rows, hubs=hubs, row_bytes=np.zeros(0), **values["plan"])
        return _block_entries(matrix, transposed, plan, Pattern(*pattern)).T

    return list(in_threads(entries, slices(len(arrays), SENT), values["jobs"]))


def _block_entries(matrix: csr_array, transposed: csr_array | None, plan: Plan, wanted: Pattern) -> np.ndarray:
    """The three lines for one block of rows."""
    kept = np.zeros((wanted.entries, KEPT)).T
    line = np.repeat(np.arange(len(plan.rows)), np.diff(wanted.indptr))
    block: csr_array | np.ndarray = matrix
    for power in range(plan.steps + 1):
        if power == 0:
            values = (wanted.indices == plan.rows[line]).astype(float)
        elif power >= plan.dense_from:
            assert transposed is not None
            if isinstance(block, csr_array):
                columns = np.zeros((block.shape[1], block.shape[0]))
                columns[block.indices, row_of_entries(block)] = block.data
                block = columns
            block = transposed @ block
            values = block[wanted.indices, line]
        elif power == 2 and len(plan.hubs):
            values = _square_with_hubs(block, matrix, plan.hubs, wanted)
        elif power == plan.steps >= 2:
            values = product_on(wanted, block, matrix)
        else:
            block = chosen_rows(matrix, plan.rows) if power == 1 else product(block, matrix)
            values = values_on(wanted, block)
        kept[0] += values
        if power == plan.steps:
            kept[1] = values
        if power == plan.earlier:
            kept[2] = values
    return kept


def _square_with_hubs(block: csr_array, matrix: csr_array, hubs: np.ndarray, wanted: Pattern) -> np.ndarray:
    """The wanted entries of block @ matrix, with the hubs in the middle added as rank-one updates."""
    is_hub = np.isin(block.indices, hubs)
    rows = row_of_entries(block)
    rest = csr_array((block.data[~is_hub], (rows[~is_hub], block.indices[~is_hub])), shape=block.shape)
    values = product_on(wanted, rest, matrix)
    leaving = np.zeros(matrix.shape[0])
    for hub in np.unique(block.indices[is_hub]):
        entries = slice(matrix.indptr[hub], matrix.indptr[hub + 1])
        leaving[matrix.indices[entries]] = matrix.data[entries]
        arriving = block.indices == hub
        add_rank_one(values, wanted, rows[arriving], block.data[arriving], leaving)
        leaving[matrix.indices[entries]] = 0
    return values
