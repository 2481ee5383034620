"""Tables of the user's files, from text or Parquet: columns of fields, their header, and the lines that errors name."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cgnn_cli.datasets.files.columns import Column, is_number
from cgnn_cli.datasets.files.delimited import Comments, Lines, split_text
from cgnn_cli.datasets.files.places import Places
from cgnn_cli.datasets.files.text_files import plain_text
from cgnn_cli.datasets.wording import shorten
from cgnn_cli.errors import DataError, DoubtError, UsageError
from cgnn_cli.watch import Watch

if TYPE_CHECKING:
    from cgnn_cli.datasets.files.queried import Queries

PARQUET_MAGIC = re.compile(rb"PAR1(?![,;\s])")
NODE_NUMBER = re.compile(r"0|[1-9][0-9]{0,17}")
LONGEST_NAME = 1000
IDS_HINT = "give a CSV file whose first column is the node id"


@dataclass
class Reading:
    """How text files are read, and what is said of it meanwhile.

    `header` says whether the first row is one; None: it is detected. `comment` is the sign of comments, where one was
    asked for. `comment_lines` counts what was skipped, and `dropped` the rows that `drop_invalid` left out. `tell`
    hears how far it is. `queries` are those that stand in the place of files.
    """

    header: bool | None = None
    comment: str | None = None
    notes: list[str] = field(default_factory=list)
    comment_lines: int = 0
    drop_invalid: bool = False
    dropped: int = 0
    warnings: list[str] = field(default_factory=list)
    tell: Callable[[int, int, str], None] = Watch().progress
    queries: "Queries | None" = None


@dataclass(frozen=True)
class Parts:
    """The text files of a folder, as long as it is not known whether the first row of each is its header.

    whole: the table with all rows, where the table at hand lacks those first rows that are like that of the `first`
    file; odd: a file whose first row is another, with that row.
    """

    whole: "Table"
    first: Path
    odd: tuple[Path, list[str]] | None = None

    def check_headers(self, header: Sequence[str]) -> None:
        if self.odd is not None:
            path, row = self.odd
            shown, titles = (", ".join(map(shorten, fields[:4])) for fields in (row, header))
            message = f"{path} begins with the row {shown}, and {self.first} with the header {titles}"
            raise DataError(message, "give every file the same header, or none and --no-header")


@dataclass(frozen=True)
class Table:
    """Columns of fields of equal length; `lines` holds the line of each row, counted from 1 (of Parquet, the row)."""

    path: Path
    columns: Sequence[Column]
    lines: Lines
    header: list[str] | None = None
    unit: str = "line"
    parts: Parts | None = None

    @property
    def row_count(self) -> int:
        return len(self.lines)

    def where(self, row: int) -> str:
        return f"{self.path}, {self.unit} {self.lines[row]}"

    def row(self, row: int) -> list[str]:
        return [column[row] for column in self.columns]

    def title(self, column: int) -> str:
        """A column as it goes into a message."""
        return str(column + 1) if self.header is None else f"{column + 1} ({self.header[column]})"

    def name(self, column: int) -> str:
        """A column as it is called where nobody counts: by its title, if it has one."""
        return (self.header[column] if self.header else "") or f"column {column + 1}"

    def listing(self, columns: Sequence[int] | None = None) -> str:
        """Some columns, or all, by number and title; the first ten of them."""
        shown = list(range(len(self.columns)) if columns is None else columns)
        more = f" and {len(shown) - 10} more" if len(shown) > 10 else ""
        return ", ".join(map(self.title, shown[:10])) + more

    def with_header(self) -> "Table":
        """The same table with its first row taken as the header."""
        header = [title.strip() for title in self.row(0)]
        columns = [column[1:] for column in self.columns]
        return replace(self, columns=columns, lines=self.lines[1:], header=header, parts=None)

    def take_header(self, header: bool | None, reading: Reading) -> "Table":
        """The table, with its first row taken as the header where it is one; a note says which.

        The columns of Parquet have names already.
        """
        notes = reading.notes
        if self.header is not None:
            return self
        if not header:
            notes.append(f"{self.path}: no header; line {self.lines[0]} is data")
            return self if self.parts is None else self.parts.whole
        if self.parts is not None:
            self.parts.check_headers(self.row(0))
        if self.row_count == 1:
            raise DataError(f"{self.path} holds a header and no rows", "if its only row is data, use --no-header")
        titles = ", ".join(map(shorten, self.row(0)[:4])) + (", ..." if len(self.columns) > 4 else "")
        notes.append(f"{self.path}: the first row is the header ({titles})")
        return self.with_header()

    def find_column(self, asked: str | None, flag: str, default: int) -> int:
        """The position of the column asked for with the flag; without one, the default."""
        if asked is None:
            return default
        number = column_number(asked)
        titles = [] if self.header is None else self.header
        found = [column for column, title in enumerate(titles) if title == asked] if number is None else [number]
        if len(found) > 1:
            hint = "give a column number"
            raise UsageError(f"{flag} {asked}: {self.path} has {len(found)} columns of that name", hint)
        if not found or found[0] >= len(self.columns):
            raise UsageError(f"{flag} {asked}: {self.path} has no such column", f"its columns are {self.listing()}")
        return found[0]

    def numbers(self, column: int) -> np.ndarray:
        """A column as float64."""
        fields = self.columns[column]
        numbers = fields.numbers()
        if numbers is not None:
            return numbers
        row, field = next((row, field) for row, field in enumerate(fields) if not is_number(field))
        hint = f"correct the value, leave the {self.unit} out, or name the columns to take with --feature-columns"
        raise DataError(f"{self.where(row)}: column {column + 1} holds {shorten(field)}, which is not a number", hint)

    def check_exact(self, column: int, what: str) -> None:
        """A column of names does not hold floating-point numbers, which have no text of their own."""
        kind = self.columns[column].float_type
        if kind:
            hint = "store them as integers or strings"
            raise DataError(f"{self.path}: column {self.title(column)} has the type {kind}, which {what} cannot", hint)

    def keep(self, rows: np.ndarray) -> "Table":
        """The table with the rows of a mask."""
        lines = self.lines.keep(rows) if isinstance(self.lines, Places) else np.array(self.lines)[rows]
        return replace(self, columns=[column.keep(rows) for column in self.columns], lines=lines)

    def check_single_rows(self, positions: np.ndarray, ids: int = 0) -> None:
        """No node has two rows; `positions` holds the node of each, from the column `ids`."""
        if np.bincount(positions).max(initial=0) > 1:
            first = np.unique(positions, return_index=True)[1]
            row = int(np.setdiff1d(np.arange(len(positions)), first)[0])
            name = shorten(self.columns[ids][row])
            raise DataError(f"{self.where(row)}: node {name} has a row already", "keep one row a node")


def parse_table(content: bytes, path: Path, reading: Reading) -> Table:
    """The table in the content of a file; the header of a text, if any, is still the first row."""
    if PARQUET_MAGIC.match(content):
        from cgnn_cli.datasets.files.parquet import parquet_table

        return parquet_table(content, path)
    columns, lines, comments = split_text(plain_text(content, path), path, reading.comment)
    table = Table(path, columns, lines)
    note_comments(table, path, comments, len(comments.lines), reading)
    return table


def note_comments(table: Table, path: Path, comments: Comments, count: int, reading: Reading) -> None:
    """Say which lines were skipped; a comment is refused where it is likely to be the first row.

    path: the file that the comments are of; count: how many there are, in all files of a folder.
    """
    reading.comment_lines += count
    if count:
        said = f"{table.path}: {count} comment line(s) skipped, the first is line {comments.lines[0]}"
        said += "" if path == table.path else f" of {path.name}"
        if comments.row:
            line, fields = comments.lines[-1], ", ".join(map(shorten, comments.row[:4]))
            said += f"; line {line} ({fields}) has as many fields as a row: quote its first field if it is one"
            if _is_likely_row(table, comments.row):
                sign = comments.row[0][0]
                message = f"{path}, line {line}: it starts with {sign}, but may be a row: {fields}"
                hint = f"--comment none takes it as a row, --comment '{sign}' as a comment like all such lines"
                raise DoubtError(message, hint, [{"comment": "none"}, {"comment": sign}])
        reading.notes.append(said)
    if comments.rows:
        said = f"{comments.rows} row(s) that start with # or % are rows, since comments stand before the first row"
        reading.notes.append(f"{table.path}: {said} (--comment leaves them out)")


def _is_likely_row(table: Table, fields: Sequence[str]) -> bool:
    """Whether the fields of a comment, which are as many as those of a row, are of the kind that the rows have.

    They are where the sign belongs to the first field and other ids start with it, or another field is found below.
    """
    import pyarrow.compute as pc

    if not fields[0][1:2].strip():
        return False
    arrays, sign = [column.array for column in table.columns], fields[0][0]
    found = (
        pc.any(pc.equal(array, name)).as_py()
        for name, own in zip(fields[1:], arrays[1:], strict=True)
        for array in (arrays[0], own)
        if name
    )
    return any(found) or any(pc.any(pc.starts_with(array, sign)).as_py() for array in arrays)


def column_number(column: str | None) -> int | None:
    """The position of a column that is given by its number; None where it is not."""
    return int(column) - 1 if column is not None and NODE_NUMBER.fullmatch(column) and column != "0" else None
