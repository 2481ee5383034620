"""Delimited text as columns, read by Arrow: CSV, TSV, semicolons or whitespace.

Empty lines and lines that start with # or % are no rows. Fields lose surrounding whitespace and CSV double quotes, and
are otherwise kept as they are. A quoted field ends on its own line. Where Arrow would take quotes or whitespace in
another way, the rows are written anew before it reads them.
"""

import io
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from cgnn_cli.datasets.files.columns import Column
from cgnn_cli.datasets.files.text_files import line_blocks
from cgnn_cli.datasets.wording import one_line
from cgnn_cli.errors import DataError

DELIMITERS = ("\t", ",", ";")
SAMPLE_LINES = 100
ARROW_BLOCK, LARGEST_BLOCK = 1 << 20, (1 << 31) - 1
NEWLINE, QUOTE = ord("\n"), ord('"')
SPACES = [character.encode() for character in map(chr, range(0x3001)) if character.isspace() and character != "\n"]
FIRST_BYTES = {space[:1] for space in SPACES}  # a text without them holds no spaces, and is searched fast
NO_ROW = re.compile(rb"\n(?=[#%%\s\x1c-\x1f\x80-\xff])(?:%b)*(?:[#%%][^\n]*)?(?=\n|\Z)" % b"|".join(SPACES))
FIELD = {
    mark: re.compile(rf' *("[^"]*(?:""[^"]*)*") *{mark}|([^{mark[0]}]*){mark}') for mark in (*DELIMITERS, " +")
}  # quoted or bare, with the delimiter after it
Lines = np.ndarray | range


def split_text(content: bytes, path: Path) -> tuple[list[Column], Lines]:
    """The columns of a checked text, and the line of each row, counted from 1."""
    import pyarrow.compute as pc

    content, lines = _keep_rows(b"\n" + content)
    if not len(lines):
        raise DataError(f"{path} holds no rows", "empty lines and lines that start with # or % do not count")
    sample = [line.decode().rstrip("\n") for line in islice(io.BytesIO(content), 1, SAMPLE_LINES + 1)]
    delimiter = _find_delimiter(sample)
    if not _is_plain(content, delimiter):
        content = _rewrite(content, delimiter, lines, path)
    arrays = _read_arrays(content, delimiter, len(_split_row(sample[0], delimiter)), lines, path)
    between = set() if b'"' in content else {(delimiter or " ").encode()}
    if any(byte in content for byte in FIRST_BYTES - between):
        arrays = [pc.utf8_trim_whitespace(array) for array in arrays]
    return [Column.of(array) for array in arrays], lines


def _keep_rows(content: bytes) -> tuple[bytes, Lines]:
    """The rows alone, and their line numbers; line n follows the n-th line end."""
    kept, skipped, line, start = [], [], 0, 0
    for match in NO_ROW.finditer(content):
        kept.append(content[start : match.start()])
        line += kept[-1].count(b"\n") + 1
        start = match.end()
        skipped.append(line)
    lines = range(1, content.count(b"\n") + (not content.endswith(b"\n")))
    if not skipped:
        return content, lines
    return b"".join([*kept, content[start:]]), np.delete(np.array(lines), np.array(skipped) - 1)


def _find_delimiter(sample: list[str]) -> str | None:
    """The first of tab, comma and semicolon that most lines hold; else None, which is whitespace."""
    for delimiter in DELIMITERS:
        if 2 * sum(delimiter in line for line in sample) > len(sample):
            return delimiter
    return None


def _is_plain(content: bytes, delimiter: str | None) -> bool:
    """Whether Arrow reads the rows as they are.

    Whitespace is then single spaces between fields, or quotes are nothing but the first and last bytes of fields that
    end on their line.
    """
    if delimiter is None:
        odd = {b'"', b"  ", b" \n", b"\n "} | FIRST_BYTES - {b" "}
        return not content.endswith(b" ") and not any(sign in content for sign in odd)
    for block in line_blocks(content) if b'"' in content else ():
        padded = np.frombuffer(b"\n" + block + b"\n", dtype=np.uint8)
        quotes = np.flatnonzero(padded == QUOTE)
        opening, closing = quotes[0::2], quotes[1::2]
        if len(quotes) % 2 or not all(
            ((beside == NEWLINE) | (beside == ord(delimiter))).all()
            for beside in (padded[opening - 1], padded[closing + 1])
        ):
            return False
        newlines = np.flatnonzero(padded == NEWLINE)
        if (np.searchsorted(newlines, opening) != np.searchsorted(newlines, closing)).any():
            return False
    return True


def _rewrite(content: bytes, delimiter: str | None, lines: Lines, path: Path) -> bytes:
    """The rows with nothing but the delimiter, or a single space, between their fields."""
    numbers, blocks = iter(lines), [b""]
    for block in line_blocks(content):
        rows = []
        for row, number in zip(_rows(block), numbers, strict=False):
            try:
                rows.append((delimiter or " ").join(_split_row(row, delimiter)))
            except ValueError as error:
                hint = 'a quoted field ends on its line, and a quote inside it is doubled ("")'
                raise DataError(f"{path}, line {number}: the double quotes do not match", hint) from error
        blocks.append("\n".join(rows).encode())
    return b"\n".join(blocks)


def _rows(content: bytes) -> Iterator[str]:
    return filter(None, content.decode().split("\n"))


def _split_row(row: str, delimiter: str | None) -> list[str]:
    """The fields of a row, quoted ones with their quotes; a ValueError where these do not match."""
    if '"' not in row:
        return row.split(delimiter)
    if delimiter is None:
        row = re.sub(r"\s", " ", row).strip()
    fields = FIELD[delimiter or " +"].findall(row + (delimiter or " "))
    if any(bare.lstrip(" ").startswith('"') for _, bare in fields):
        raise ValueError(row)
    return [quoted or bare for quoted, bare in fields]


def _read_arrays(content: bytes, delimiter: str | None, width: int, lines: Lines, path: Path) -> list[Any]:
    """The columns as Arrow's arrays of strings."""
    import pyarrow as pa
    from pyarrow import csv

    names = [str(column) for column in range(width)]
    quote = '"' if b'"' in content else False
    parse = csv.ParseOptions(delimiter=delimiter or " ", quote_char=quote, escape_char=False)
    convert = csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False)
    for block_size in (ARROW_BLOCK, min(len(content), LARGEST_BLOCK)):  # the second for lines longer than a block
        try:
            options = csv.ReadOptions(column_names=names, block_size=block_size)
            return csv.read_csv(pa.BufferReader(content), options, parse, convert).columns
        except pa.ArrowException as error:
            fault = one_line(error)
            _check_widths(content, delimiter, lines, path)
    raise DataError(f"{path} cannot be read as a table: {fault}", "check how the file was made")


def _check_widths(content: bytes, delimiter: str | None, lines: Lines, path: Path) -> None:
    """All rows must have as many fields."""
    rows = (row for block in line_blocks(content) for row in _rows(block))
    counts = np.fromiter((len(_split_row(row, delimiter)) for row in rows), dtype=np.int64)
    widths, first, tally = np.unique(counts, return_index=True, return_counts=True)
    most = np.flatnonzero(tally == tally.max())
    width = widths[most[np.argmin(first[most])]]
    if len(widths) > 1:
        row = int(np.argmax(counts != width))
        hint = "correct the line; if it is a title, start it with #"
        raise DataError(f"{path}, line {lines[row]}: {counts[row]} field(s), where most lines have {width}", hint)
