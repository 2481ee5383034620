"""Rows that cannot be used: an error that names them, or left out and counted where the user asked for that."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from cgnn_cli.datasets.files.delimited import Lines
from cgnn_cli.datasets.files.tables import LONGEST_NAME, Reading, Table
from cgnn_cli.errors import DataError

NAMED_ROWS = 5


@dataclass
class Faults:
    """What is wrong with the rows of a file; each kind has a name, a mask of the rows, and a reason for each row."""

    path: Path
    lines: Lines
    unit: str = "line"
    kinds: list[tuple[str, np.ndarray, Callable[[int], str]]] = field(default_factory=list)

    @classmethod
    def of(cls, table: Table) -> "Faults":
        return cls(table.path, table.lines, table.unit)

    def add(self, name: str, rows: np.ndarray, reason: Callable[[int], str]) -> None:
        if rows.any():
            self.kinds.append((name, rows, reason))

    def add_ids(self, table: Table, *columns: int) -> None:
        """Node ids are text or whole numbers, not empty and not too long."""
        for column in columns:
            table.check_exact(column, "node ids")
            shortest, longest = table.columns[column].lengths
            if not shortest:
                empty = table.columns[column].sizes() == 0
                self.add("without a node id", empty, lambda _, n=column: f"the node id in column {n + 1} is empty")  # type: ignore[misc]
            if longest > LONGEST_NAME:
                sizes = table.columns[column].sizes()
                self.add(
                    "with too long an id",
                    sizes > LONGEST_NAME,
                    lambda row, sizes=sizes: (
                        f"a node id of {sizes[row]} characters, where at most {LONGEST_NAME} are allowed"
                    ),  # type: ignore[misc]
                )

    def settle(self, reading: Reading) -> np.ndarray | None:
        """The mask of the rows that stay; None where all do."""
        if not self.kinds:
            return None
        bad = np.logical_or.reduce([rows for _, rows, _ in self.kinds])
        if not reading.drop_invalid:
            raise self._error(np.flatnonzero(bad))
        if bad.all():
            raise DataError(f"{self.path}: all {len(bad)} rows are invalid", "check the columns")
        by_name: dict[str, np.ndarray] = {}
        for name, rows, _ in self.kinds:
            by_name[name] = by_name.get(name, False) | rows
        told = ", ".join(f"{rows.sum():,} {name}" for name, rows in by_name.items())
        places = self._places(np.flatnonzero(bad))
        note = f"{self.path}: {bad.sum():,} row(s) dropped: {told} ({places})"
        if note not in reading.notes:  # a table of nodes may be read twice
            reading.notes.append(note)
            reading.dropped += int(bad.sum())
        return ~bad

    def _error(self, bad: np.ndarray) -> DataError:
        row = int(bad[0])
        reason = next(reason(row) for _, rows, reason in self.kinds if rows[row])
        message = f"{self.path}, {self.unit} {self.lines[row]}: {reason}"
        if len(bad) > 1:
            message += f"; {len(bad) - 1:,} more row(s) cannot be used either: {self._places(bad[1:])}"
        return DataError(message, "correct them, or leave such rows out with --drop-invalid")

    def _places(self, rows: np.ndarray) -> str:
        shown = ", ".join(str(self.lines[row]) for row in rows[:NAMED_ROWS])
        return f"{self.unit} {shown}" + (", ..." if len(rows) > NAMED_ROWS else "")
