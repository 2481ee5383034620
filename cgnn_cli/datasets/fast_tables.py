"""Large text tables through Arrow's CSV reader, with the same result as line by line.

Lines are found and checked here. What Arrow would take otherwise (quotes inside fields, rare kinds of whitespace) is
left to the reader of lines.
"""

import re
from pathlib import Path
from typing import Any

import numpy as np

from cgnn_cli.datasets.fields import SAMPLE_LINES, Lines, check_widths, find_delimiter, split_columns
from cgnn_cli.datasets.tables import Table, is_row, no_rows
from cgnn_cli.datasets.text_columns import TextColumn
from cgnn_cli.datasets.text_files import COMMENT_MARKS, UTF8_MARK, line_blocks

WHITESPACE = "".join(filter(str.isspace, map(chr, range(0x3001))))
NEWLINE, QUOTE = ord("\n"), ord('"')
UNEVEN = (b"\t", b"  ", b" \n", b"\n ")


def fast_table(content: bytes, path: Path) -> Table | None:
    """The table in a checked text; None where it takes the reader of lines to get it right."""
    starts, ends = _find_lines(content)
    keep = _find_rows(content, starts, ends)
    numbers = _line_numbers(keep)
    if not len(numbers):
        raise no_rows(path)
    rows = np.flatnonzero(keep[: numbers[min(SAMPLE_LINES, len(numbers)) - 1]])
    sample = [content[starts[row] : ends[row]].decode() for row in rows]
    content = _without_lines(content, starts, ends, ~keep & (starts < ends))
    del starts, ends, keep
    delimiter, quoted = find_delimiter(sample), b'"' in content
    if content.startswith(UTF8_MARK) or (quoted and not _quotes_are_plain(content, delimiter)):
        return None
    spaced = _whitespace_in(content, delimiter)
    if delimiter is None:
        if not spaced <= {" ", "\t"}:
            return None
        content, spaced = _squeeze(content), set()
    width = len(split_columns(sample[:1], delimiter, numbers[:1], path))
    columns = _read_csv(content, delimiter or " ", width, quoted)
    if columns is None and not quoted:
        _check_every_width(content, delimiter, numbers, path)
    if columns is None or len(columns[0]) != len(numbers):
        return None
    return Table(path, [TextColumn.of(_strip(column) if spaced else column) for column in columns], numbers)


def _find_lines(content: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Where each line starts and ends."""
    ends, offset = [], 0
    for block in line_blocks(content):
        ends.append(np.flatnonzero(np.frombuffer(block, dtype=np.uint8) == NEWLINE) + offset)
        offset += len(block)
    if not content.endswith(b"\n"):
        ends.append(np.array([len(content)]))
    stops = np.concatenate(ends)
    return np.concatenate([[0], stops[:-1] + 1]), stops


def _find_rows(content: bytes, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Which lines are rows, told by their first byte; by all of the line where that may be a space."""
    keep = starts < ends
    first = np.frombuffer(content, dtype=np.uint8)[np.where(keep, starts, 0)]
    keep &= ~np.isin(first, [ord(mark) for mark in COMMENT_MARKS])
    spaces = np.unique([character.encode()[0] for character in WHITESPACE])
    for line in np.flatnonzero(keep & np.isin(first, spaces)):
        keep[line] = is_row(content[starts[line] : ends[line]].decode())
    return keep


def _line_numbers(keep: np.ndarray) -> Lines:
    count, first = int(np.count_nonzero(keep)), int(np.argmax(keep)) + 1
    whole = keep[first - 1 : first - 1 + count].all()
    return range(first, first + count) if whole else np.flatnonzero(keep) + 1


def _without_lines(content: bytes, starts: np.ndarray, ends: np.ndarray, drop: np.ndarray) -> bytes:
    lines = np.flatnonzero(drop)
    if not len(lines):
        return content
    bounds = zip([0, *(ends[lines] + 1).tolist()], [*starts[lines].tolist(), len(content)], strict=True)
    return b"".join(content[start:stop] for start, stop in bounds)


def _quotes_are_plain(content: bytes, delimiter: str | None) -> bool:
    """Whether quotes are nothing but the first and last bytes of fields that end on their line."""
    if delimiter is None:
        return False
    for block in line_blocks(content):
        padded = np.frombuffer(b"\n" + block + b"\n", dtype=np.uint8)
        quotes = np.flatnonzero(padded == QUOTE)
        opening, closing = quotes[0::2], quotes[1::2]
        if len(opening) != len(closing):
            return False
        edges = [NEWLINE, ord(delimiter)]
        if not (np.isin(padded[opening - 1], edges).all() and np.isin(padded[closing + 1], edges).all()):
            return False
        newlines = np.flatnonzero(padded == NEWLINE)
        if not np.array_equal(np.searchsorted(newlines, opening), np.searchsorted(newlines, closing)):
            return False
    return True


def _whitespace_in(content: bytes, delimiter: str | None) -> set[str]:
    """The kinds of whitespace that the content holds, apart from line ends and the delimiter."""
    ascii_only = content.isascii()
    kinds = set(WHITESPACE) - {"\n", delimiter}
    return {kind for kind in kinds if not (ascii_only and not kind.isascii()) and kind.encode() in content}


def _squeeze(content: bytes) -> bytes:
    """Fields separated by one space, with none at the ends of lines."""
    if not (content[:1] + content[-1:]).count(b" ") and not any(odd in content for odd in UNEVEN):
        return content
    blocks = (re.sub(rb"[ \t]+", b" ", block) for block in line_blocks(content))
    return b"".join(block.replace(b"\n ", b"\n").replace(b" \n", b"\n").strip(b" ") for block in blocks)


def _read_csv(content: bytes, delimiter: str, width: int, quoted: bool) -> list[Any] | None:
    """The columns as Arrow's arrays of strings; None where Arrow cannot read them."""
    import pyarrow as pa
    from pyarrow import csv

    names = [str(column) for column in range(width)]
    try:
        table = csv.read_csv(
            pa.BufferReader(content),
            csv.ReadOptions(column_names=names),
            csv.ParseOptions(delimiter=delimiter, quote_char='"' if quoted else False, escape_char=False),
            csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False),
        )
    except pa.ArrowException:
        return None
    return table.columns


def _strip(column: Any) -> Any:
    import pyarrow.compute as pc

    return pc.utf8_trim(column, characters=WHITESPACE)


def _check_every_width(content: bytes, delimiter: str | None, numbers: Lines, path: Path) -> None:
    lines = (line for block in line_blocks(content) for line in block.decode().split("\n"))
    counts = np.fromiter((len(line.split(delimiter)) for line in lines if line), dtype=np.int32)
    check_widths(counts, numbers, path)
