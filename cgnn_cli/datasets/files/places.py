"""Where the rows of a folder's files are, as errors say it: `17 of part-2.csv`."""

from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path
from typing import overload

import numpy as np


class Places(Sequence[str]):
    """The place of each row of several files, which come in blocks of rows.

    blocks: for each block its file, and the line of each of its rows.
    """

    def __init__(
        self, blocks: Sequence[tuple[Path, range | np.ndarray]], rows: range | np.ndarray | None = None
    ) -> None:
        self._blocks = blocks
        self._starts = np.cumsum([0, *(len(lines) for _, lines in blocks)]).tolist()
        self._rows = range(self._starts[-1]) if rows is None else rows

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice) -> "Places": ...
    def __getitem__(self, row: int | slice) -> "str | Places":
        if isinstance(row, slice):
            return Places(self._blocks, self._rows[row])
        place = int(self._rows[row])
        block = bisect_right(self._starts, place) - 1
        file, lines = self._blocks[block]
        return f"{lines[place - self._starts[block]]} of {file.name}"

    def keep(self, rows: np.ndarray) -> "Places":
        """Those of the rows of a mask."""
        return Places(self._blocks, np.asarray(self._rows)[rows])
