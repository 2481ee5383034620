"""Blocks of rows, so that a product of sparse matrices is never held as a whole."""

import numpy as np


def row_blocks(sizes: np.ndarray, limit: float, begin: int = 0) -> list[tuple[int, int]]:
    """Ranges of rows from `begin` on whose sizes add up to the limit at most, or of one row."""
    before = np.concatenate([[0], np.cumsum(sizes)])
    blocks = []
    while begin < len(sizes):
        stop = max(int(np.searchsorted(before, before[begin] + limit, side="right")) - 1, begin + 1)
        blocks.append((begin, stop))
        begin = stop
    return blocks
