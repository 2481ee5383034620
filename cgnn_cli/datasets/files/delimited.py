"""Delimited text as columns, read by Arrow: CSV, TSV, semicolons or whitespace.

Empty lines are no rows, nor are comments: lines at the head that start with # or %, or all lines that start with a sign
that was asked for. Fields lose the whitespace around them and CSV double quotes; what is inside quotes is kept as it
is. A quoted field ends on its own line. Where Arrow would take quotes or whitespace in another way, the rows are
written anew before it reads them.
"""

import io
import re
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cgnn_cli.datasets.files.columns import Column
from cgnn_cli.datasets.files.places import Places
from cgnn_cli.datasets.files.text_files import line_blocks
from cgnn_cli.datasets.wording import one_line
from cgnn_cli.errors import DataError

NO_FRACTION = re.compile(r"(?<![0-9]),|,(?![0-9])")  # a comma that stands elsewhere than between digits
DELIMITERS = ("\t", ",", ";")
HEAD_SIGNS, NO_SIGN = "#%", "none"
SAMPLE_LINES = 100
ARROW_BLOCK, LARGEST_BLOCK = 1 << 20, (1 << 31) - 1
NEWLINE, QUOTE = ord("\n"), ord('"')
SPACES = [character.encode() for character in map(chr, range(0x3001)) if character.isspace() and character != "\n"]
FIRST_BYTES = {space[:1] for space in SPACES}  # a text without them holds no spaces, and is searched fast
QUOTED = r'"[^"]*(?:""[^"]*)*"'
FIELD = {
    mark: re.compile(rf"[^\S{mark}]*({QUOTED})[^\S{mark}]*{mark}|([^{mark}]*){mark}") for mark in DELIMITERS
}  # quoted or bare, with the delimiter after it
QUOTED_FIELD = re.compile(rf"(?<![^\s\t,;]){QUOTED}(?![^\s\t,;])")
SPACED_FIELD = re.compile(rf"({QUOTED})\s+|(\S+)\s+")
TextLines = np.ndarray | range
Lines = TextLines | Places


class Comments(NamedTuple):
    """The comment lines of a text, and where there is doubt unless a sign was asked for.

    `row` has the fields of the last comment if they are as many as those of a row; `rows` counts the rows that start
    with # or %.
    """

    lines: list[int]
    row: list[str] | None = None
    rows: int = 0


class Layout(NamedTuple):
    """How a text is divided: its delimiter, None for whitespace, and the fields of a row, 0 if that is not known."""

    delimiter: str | None
    width: int


def split_text(content: bytes, path: Path, sign: str | None = None) -> tuple[list[Column], TextLines, Comments]:
    """The columns of a checked text, the line of each row, counted from 1, and its comments.

    `sign` is what comment lines start with anywhere, `none` for no comments; without it, # or % at the head.
    """
    _, arrays, lines, comments = split_block(content, path, sign)
    return [Column.of(array) for array in arrays], lines, comments


def split_block(
    content: bytes, path: Path, sign: str | None = None, layout: Layout | None = None, *, head: bool = True
) -> tuple[Layout, list[Any], TextLines, Comments]:
    """The same of whole lines of a text, with its layout, where that is not known yet; the columns are Arrow's.

    head: whether no row stands before. Where the layout is known there may be no rows, and then there are no columns.
    """
    import pyarrow.compute as pc

    content, lines, comments, last = _keep_rows(b"\n" + content, sign if sign or head else NO_SIGN)
    if not len(lines):
        if layout is not None:
            return layout, [], lines, Comments(comments)
        hint = "empty lines and comments do not count; quote an id that starts with #, or give --comment none"
        raise DataError(f"{path} holds no rows", hint)
    sample = [line.decode().rstrip("\n") for line in islice(io.BytesIO(content), 1, SAMPLE_LINES + 1)]
    delimiter = find_delimiter(sample) if layout is None else layout.delimiter
    quoted, signed = b'"' in content, sum(content.count(f"\n{mark}".encode()) for mark in HEAD_SIGNS)
    if not _is_plain(content, delimiter):
        content = _rewrite(content, delimiter, lines, path)
    if layout is None or not layout.width:
        layout = Layout(delimiter, len(split_row(sample[0], delimiter)))
    arrays = _read_arrays(content, delimiter, layout.width, lines, path)
    if not quoted and any(byte in content for byte in FIRST_BYTES - {(delimiter or " ").encode()}):
        arrays = [pc.utf8_trim_whitespace(array) for array in arrays]
    row = None if sign or not head else _row_in_disguise(last, delimiter, layout.width)
    return layout, arrays, lines, Comments(comments, row, 0 if sign else signed)


def _keep_rows(content: bytes, sign: str | None) -> tuple[bytes, TextLines, list[int], str]:
    """The rows alone, their line numbers, those of comments, and the last comment; line n follows the n-th line end."""
    kept, skipped, comments, line, start, last = [], [], [], 0, 0, b""
    for match in _lines_without_row(content, sign):
        kept.append(content[start : match.start()])
        line += kept[-1].count(b"\n") + 1
        start = match.end()
        skipped.append(line)
        if match[1] is not None:
            comments.append(line)
            last = match[1]
    lines = range(1, content.count(b"\n") + (not content.endswith(b"\n")))
    if not skipped:
        return content, lines, [], ""
    rows = np.delete(np.array(lines), np.array(skipped) - 1)
    return b"".join([*kept, content[start:]]), rows, comments, last.decode()


def _lines_without_row(content: bytes, sign: str | None) -> Iterator[re.Match[bytes]]:
    """Empty lines, and comments as their first group."""
    head = 0
    if sign is None:
        for match in _no_row(HEAD_SIGNS).finditer(content):
            if match.start() != head:
                break
            head = match.end()
            yield match
    yield from _no_row(sign if sign and sign != NO_SIGN else "").finditer(content, head)


@cache
def _no_row(signs: str) -> re.Pattern[bytes]:
    """A line that is empty, or starts with one of some signs."""
    spaces, first = b"|".join(SPACES), re.escape(signs.encode())
    comment = b"|".join(re.escape(sign.encode()) for sign in signs) or b"(?!)"
    return re.compile(rb"\n(?=[%b\s\x1c-\x1f\x80-\xff])(?:%b)*((?:%b)[^\n]*)?(?=\n|\Z)" % (first, spaces, comment))


def _row_in_disguise(comment: str, delimiter: str | None, width: int) -> list[str] | None:
    """The fields of a comment that has as many as the rows; None for any other."""
    try:
        fields = [field.strip() for field in split_row(comment, delimiter)]
    except ValueError:
        return None
    plain = [field[1:-1].replace('""', '"') if field.startswith('"') else field for field in fields]
    return plain if comment and len(fields) == width else None


def find_delimiter(sample: list[str]) -> str | None:
    """The first of tab, comma and semicolon that most lines hold outside of quotes; else None, which is whitespace.

    Semicolons, where all lines hold as many, and commas are those of decimal fractions: each stands between digits, and
    some line has none, or lines have fewer of them.
    """
    bare = [QUOTED_FIELD.sub("", line) for line in sample]
    held = [delimiter for delimiter in DELIMITERS if 2 * sum(delimiter in line for line in bare) > len(sample)]
    commas, semicolons = ({line.count(mark) for line in bare} for mark in ",;")
    are_fractions = not any(NO_FRACTION.search(line) for line in bare) and (
        len(commas) > 1 or max(commas) < max(semicolons)
    )
    if held[:1] == [","] and ";" in held and len(semicolons) == 1 and are_fractions:
        return ";"
    return next(iter(held), None)


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
        if _has_spaces_around_fields(padded, delimiter):
            return False
    return True


def _has_spaces_around_fields(text: np.ndarray, delimiter: str) -> bool:
    """Whether there is whitespace beside a delimiter or line end that is not inside quotes."""
    inside = np.cumsum(text == QUOTE, dtype=np.uint8) & 1  # its overflow keeps what is odd
    bare = np.where(inside, np.uint8(QUOTE), text).tobytes()
    spaces = [space for space in SPACES if space != delimiter.encode() and space in bare]
    return any(mark + space in bare or space + mark in bare for space in spaces for mark in (b"\n", delimiter.encode()))


def _rewrite(content: bytes, delimiter: str | None, lines: TextLines, path: Path) -> bytes:
    """The rows with nothing but the delimiter, or a single space, between their fields."""
    numbers, blocks = iter(lines), [b""]
    for block in line_blocks(content):
        rows = []
        for row, number in zip(_rows(block), numbers, strict=False):
            try:
                rows.append((delimiter or " ").join(split_row(row, delimiter)))
            except ValueError as error:
                hint = 'a quoted field ends on its line, and a quote inside it is doubled ("")'
                raise DataError(f"{path}, line {number}: the double quotes do not match", hint) from error
        blocks.append("\n".join(rows).encode())
    return b"\n".join(blocks)


def _rows(content: bytes) -> Iterator[str]:
    return filter(None, content.decode().split("\n"))


def split_row(row: str, delimiter: str | None) -> list[str]:
    """The fields of a row, quoted ones with their quotes; a ValueError where these do not match."""
    if '"' not in row:
        return [field.strip() for field in row.split(delimiter)]
    found = FIELD[delimiter].findall(row + delimiter) if delimiter else SPACED_FIELD.findall(row.strip() + " ")
    fields = [(quoted, bare.strip()) for quoted, bare in found]
    if any(bare.startswith('"') for _, bare in fields):
        raise ValueError(row)
    return [quoted or bare for quoted, bare in fields]


def _read_arrays(content: bytes, delimiter: str | None, width: int, lines: TextLines, path: Path) -> list[Any]:
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


def _check_widths(content: bytes, delimiter: str | None, lines: TextLines, path: Path) -> None:
    """All rows must have as many fields."""
    rows = (row for block in line_blocks(content) for row in _rows(block))
    counts = np.fromiter((len(split_row(row, delimiter)) for row in rows), dtype=np.int64)
    widths, first, tally = np.unique(counts, return_index=True, return_counts=True)
    most = np.flatnonzero(tally == tally.max())
    width = widths[most[np.argmin(first[most])]]
    if len(widths) > 1:
        row = int(np.argmax(counts != width))
        hint = "correct the line"
        if row == 0:
            hint += "; if it is a title, start it with #"
        elif next(islice(_rows(content), row, None))[0] in HEAD_SIGNS:
            hint += "; comments stand before the first row, or anywhere with --comment"
        raise DataError(f"{path}, line {lines[row]}: {counts[row]} field(s), where most lines have {width}", hint)
