"""Text tables: CSV, TSV or whitespace-separated, plain or gzipped, as columns of strings with their line numbers.

Fields lose surrounding whitespace and CSV double quotes, and are otherwise kept as they are. A quoted field ends on
its own line. Empty lines and lines that start with # or % are skipped.
"""

import csv
import gzip
import re
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from cgnn_cli.errors import DataError

GZIP_MAGIC = b"\x1f\x8b"
UTF8_MARK = b"\xef\xbb\xbf"
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
COMMENT_MARKS = "#%"
DELIMITERS = ("\t", ",", ";")
SAMPLE_LINES = 100
HEADER_WORDS = frozenset(
    {"source", "target", "src", "dst", "from", "to", "head", "tail", "citing", "cited", "follower", "followee"}
    | {"sender", "receiver", "weight", "value", "count", "score", "id", "ids", "nodeid", "userid", "paperid", "idx"}
    | {"index", "node", "nodes", "vertex", "user", "page", "paper", "author", "item", "entity", "name", "key", "edge"}
    | {"label", "labels", "class", "classes", "category", "group", "topic", "type", "y", "year", "time", "timestamp"}
    | {"date", "split", "fold", "part"}
)


@dataclass(frozen=True)
class Table:
    """Columns of strings of equal length; `lines` holds the line number of each row, counted from 1."""

    path: Path
    columns: list[list[str]]
    lines: np.ndarray
    header: list[str] | None = None

    @property
    def row_count(self) -> int:
        return len(self.lines)

    def where(self, row: int) -> str:
        return f"{self.path}, line {self.lines[row]}"

    def row(self, row: int) -> list[str]:
        return [column[row] for column in self.columns]

    def with_header(self) -> "Table":
        """The same table with its first row taken as the header."""
        return replace(self, columns=[column[1:] for column in self.columns], lines=self.lines[1:], header=self.row(0))

    def numbers(self, column: int) -> np.ndarray:
        """A column as float64."""
        fields = self.columns[column]
        if all_numbers(fields):
            return np.fromiter(map(float, fields), dtype=np.float64, count=len(fields))
        row = next(row for row, field in enumerate(fields) if not all_numbers([field]))
        raise DataError(
            f"{self.where(row)}: column {column + 1} holds {shorten(fields[row])}, which is not a number",
            "correct the value or leave the line out",
        )


def shorten(text: str) -> str:
    """A field as it goes into a message: quoted, on one line and not too long."""
    return repr(text if len(text) <= 40 else text[:37] + "...")


def all_numbers(fields: Sequence[str]) -> bool:
    """Whether every field is a number; Python's 1_000 is not."""
    try:
        for _ in map(float, fields):
            pass
    except ValueError:
        return False
    return "_" not in "".join(fields)


def read_table(path: Path) -> Table:
    """Read a text table; its header, if any, is still the first row."""
    return parse_table(read_content(path), path)


def read_content(path: Path) -> bytes:
    """The bytes of a user's file, which must not be empty."""
    try:
        content = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DataError(f"{path} cannot be read: {reason}", "check the path and its permissions") from error
    if not content:
        raise DataError(f"{path} is empty (0 bytes)", "check how the file was made or copied")
    return content


def parse_table(content: bytes, path: Path) -> Table:
    """The table in the content of a file."""
    text = _decode(_gunzip(content, path), path)
    every_line = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    stripped = map(str.strip, every_line)
    numbers = [number for number, line in enumerate(stripped) if line and line[0] not in COMMENT_MARKS]
    if not numbers:
        raise DataError(f"{path} holds no rows", "empty lines and lines that start with # or % do not count")
    lines = [every_line[number] for number in numbers]
    delimiter = _find_delimiter(lines)
    line_numbers = np.asarray(numbers, dtype=np.int64) + 1
    return Table(path, _split_columns(lines, delimiter, line_numbers, path), line_numbers)


def looks_like_header(table: Table, id_columns: Sequence[int], *, words: Sequence[int] | None = None) -> bool:
    """Whether the first row names the columns.

    It does when its fields (or those at `words`) are all well-known words, or when none of its fields is a number
    while the ids of all other rows are.
    """
    first = table.row(0)
    if all(_is_header_word(first[column]) for column in (range(len(first)) if words is None else words)):
        return True
    if table.row_count == 1 or any(all_numbers([field]) for field in first):
        return False
    return all(all_numbers(table.columns[column][1:]) for column in id_columns)


def _is_header_word(field: str) -> bool:
    return all(word in HEADER_WORDS for word in re.split(r"[_\s-]+", field.lower()))


def _gunzip(content: bytes, path: Path) -> bytes:
    if not content.startswith(GZIP_MAGIC):
        return content
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path} is a damaged gzip file: {error}", "fetch or compress it again") from error


def _decode(content: bytes, path: Path) -> str:
    hint = "convert it first, for example: iconv -f LATIN1 -t UTF-8 OLD > NEW"
    if content.startswith(UTF16_MARKS):
        raise DataError(f"{path} is UTF-16 text, but only UTF-8 is read", hint.replace("LATIN1", "UTF-16"))
    try:
        text = content.removeprefix(UTF8_MARK).decode("utf-8")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise DataError(
            f"{path}, line {line}: the file is not UTF-8 text, which is the only encoding read", hint
        ) from None
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise DataError(f"{path}, line {line}: a NUL byte; the file is not UTF-8 text", "give text, .npy or .npz")
    return text


def _find_delimiter(lines: list[str]) -> str | None:
    """The first of tab, comma and semicolon that most lines hold; else None, which is whitespace."""
    sample = lines[:SAMPLE_LINES]
    for delimiter in DELIMITERS:
        if 2 * sum(delimiter in line for line in sample) > len(sample):
            return delimiter
    return None


def _split_columns(lines: list[str], delimiter: str | None, numbers: np.ndarray, path: Path) -> list[list[str]]:
    joined = (delimiter or " ").join(lines)
    if '"' in joined:
        rows = _split_quoted(lines, delimiter, numbers, path)
        _check_widths([len(row) for row in rows], numbers, path)
        return [list(map(str.strip, column)) for column in zip(*rows, strict=True)]
    counts = [len(line.split(delimiter)) for line in lines]
    width = _check_widths(counts, numbers, path)
    fields = list(map(str.strip, joined.split(delimiter)))
    return [fields[column::width] for column in range(width)]


def _split_quoted(lines: list[str], delimiter: str | None, numbers: np.ndarray, path: Path) -> list[list[str]]:
    """Rows of lines that may hold quotes: all at once, or line by line to find the one that is wrong."""
    if delimiter is None:
        lines, delimiter = [re.sub(r"\s", " ", line).strip() for line in lines], " "
    else:
        lines = [re.sub(f'" +(?={delimiter}|$)', '"', line) for line in lines]
    try:
        rows = list(csv.reader(lines, delimiter=delimiter, skipinitialspace=True, strict=True))
    except csv.Error:
        rows = []
    if len(rows) == len(lines):
        return rows
    return [_split_line(line, delimiter, f"{path}, line {number}") for line, number in zip(lines, numbers, strict=True)]


def _split_line(line: str, delimiter: str, where: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter, skipinitialspace=True, strict=True))
    except csv.Error as error:
        hint = 'a quoted field ends on its line, and a quote inside it is doubled ("")'
        raise DataError(f"{where}: the double quotes do not match ({error})", hint) from error


def _check_widths(counts: list[int], numbers: np.ndarray, path: Path) -> int:
    """The number of fields, which must be the same on every line."""
    tally = Counter(counts)
    width = tally.most_common(1)[0][0]
    if len(tally) > 1:
        row = next(row for row, count in enumerate(counts) if count != width)
        raise DataError(
            f"{path}, line {numbers[row]}: {counts[row]} field(s), where most lines have {width}",
            "correct the line; if it is a title, start it with #",
        )
    return width
