"""Tables of the user's files: columns of fields with their line numbers, from text or Parquet.

Text is CSV, TSV or whitespace-separated, plain or gzipped. Empty lines and lines that start with # or % are skipped.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from cgnn_cli.datasets.fields import Lines, find_delimiter, split_columns
from cgnn_cli.datasets.text_columns import Fields, as_numbers
from cgnn_cli.datasets.text_files import COMMENT_MARKS, plain_text, read_content
from cgnn_cli.errors import DataError

PARQUET_MAGIC = re.compile(rb"PAR1(?![,;\s])")
FAST_BYTES = 1 << 20
HEADER_WORDS = frozenset(
    {"source", "target", "src", "dst", "from", "to", "head", "tail", "citing", "cited", "follower", "followee"}
    | {"sender", "receiver", "weight", "value", "count", "score", "id", "ids", "nodeid", "userid", "paperid", "idx"}
    | {"index", "node", "nodes", "vertex", "user", "page", "paper", "author", "item", "entity", "name", "key", "edge"}
    | {"label", "labels", "class", "classes", "category", "group", "topic", "type", "y", "year", "time", "timestamp"}
    | {"date", "split", "fold", "part"}
)


@dataclass(frozen=True)
class Table:
    """Columns of fields of equal length; `lines` holds the line of each row, counted from 1 (of Parquet, the row)."""

    path: Path
    columns: Sequence[Fields]
    lines: Lines
    header: list[str] | None = None
    unit: str = "line"

    @property
    def row_count(self) -> int:
        return len(self.lines)

    def where(self, row: int) -> str:
        return f"{self.path}, {self.unit} {self.lines[row]}"

    def row(self, row: int) -> list[str]:
        return [column[row] for column in self.columns]

    def with_header(self) -> "Table":
        """The same table with its first row taken as the header."""
        return replace(self, columns=[column[1:] for column in self.columns], lines=self.lines[1:], header=self.row(0))

    def numbers(self, column: int) -> np.ndarray:
        """A column as float64."""
        fields = self.columns[column]
        numbers = as_numbers(fields)
        if numbers is not None:
            return numbers
        row, field = next((row, field) for row, field in enumerate(fields) if as_numbers([field]) is None)
        raise DataError(
            f"{self.where(row)}: column {column + 1} holds {shorten(field)}, which is not a number",
            f"correct the value or leave the {self.unit} out",
        )


def shorten(text: str) -> str:
    """A field as it goes into a message: quoted, on one line and not too long."""
    return repr(text if len(text) <= 40 else text[:37] + "...")


def read_table(path: Path) -> Table:
    """Read a table; the header of a text, if any, is still the first row."""
    return parse_table(read_content(path), path)


def parse_table(content: bytes, path: Path) -> Table:
    """The table in the content of a file."""
    if PARQUET_MAGIC.match(content):
        from cgnn_cli.datasets.parquet import parquet_table

        return parquet_table(content, path)
    content = plain_text(content, path)
    table = None
    if len(content) >= FAST_BYTES:
        from cgnn_cli.datasets.fast_tables import fast_table

        table = fast_table(content, path)
    return line_table(content, path) if table is None else table


def line_table(content: bytes, path: Path) -> Table:
    """The table in a checked text, read line by line."""
    every_line = content.decode().split("\n")
    numbers = [number for number, line in enumerate(every_line) if is_row(line)]
    if not numbers:
        raise no_rows(path)
    lines = [every_line[number] for number in numbers]
    line_numbers = np.asarray(numbers, dtype=np.int64) + 1
    return Table(path, split_columns(lines, find_delimiter(lines), line_numbers, path), line_numbers)


def is_row(line: str) -> bool:
    """Whether a line is a row: neither empty nor a comment."""
    stripped = line.strip()
    return bool(stripped) and stripped[0] not in COMMENT_MARKS


def no_rows(path: Path) -> DataError:
    return DataError(f"{path} holds no rows", "empty lines and lines that start with # or % do not count")


def looks_like_header(table: Table, id_columns: Sequence[int], *, words: Sequence[int] | None = None) -> bool:
    """Whether the first row names the columns.

    It does when its fields (or those at `words`) are all well-known words, or when none of its fields is a number
    while the ids, or some other column, of all other rows are.
    """
    first = table.row(0)
    if all(_is_header_word(first[column]) for column in (range(len(first)) if words is None else words)):
        return True
    if table.row_count == 1 or any(as_numbers([field]) is not None for field in first):
        return False
    others = [column for column in range(len(first)) if column not in id_columns]
    return all(_numbers_below(table, column) for column in id_columns) or any(
        _numbers_below(table, column) for column in others
    )


def _numbers_below(table: Table, column: int) -> bool:
    """Whether a column holds numbers in all rows but the first."""
    below = table.columns[column]
    return as_numbers([below[1]]) is not None and as_numbers(below[1:]) is not None


def _is_header_word(field: str) -> bool:
    return all(word in HEADER_WORDS for word in re.split(r"[_\s-]+", field.lower()))
