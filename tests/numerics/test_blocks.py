"""Blocks of rows cover every row once and stay below their limit."""

import itertools

import numpy as np
import pytest

from cgnn_cli.numerics.blocks import row_blocks

SIZES = np.array([5.0, 1, 1, 30, 1, 1, 1, 1, 8, 2])


@pytest.mark.parametrize("limit", [0, 1, 10, 11, 1000])
@pytest.mark.parametrize("begin", [0, 3, 9, 10])
def test_blocks_cover_the_rows_and_stay_small(limit: int, begin: int) -> None:
    blocks = row_blocks(SIZES, limit, begin)
    assert [row for start, stop in blocks for row in range(start, stop)] == list(range(begin, len(SIZES)))
    assert all(SIZES[start:stop].sum() <= limit or stop == start + 1 for start, stop in blocks)
    for (start, stop), (_, after) in itertools.pairwise(blocks):
        assert SIZES[start : stop + 1].sum() > limit and after > stop  # none could have been longer


def test_no_rows_make_no_blocks() -> None:
    assert row_blocks(np.zeros(0), 5) == []
