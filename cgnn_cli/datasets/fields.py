"""Lines of text as columns of fields, one line at a time: any table that can be read is read here.

Fields lose surrounding whitespace and CSV double quotes, and are otherwise kept as they are. A quoted field ends on
its own line.
"""

import csv
import re
from pathlib import Path

import numpy as np

from cgnn_cli.errors import DataError

DELIMITERS = ("\t", ",", ";")
SAMPLE_LINES = 100
Lines = np.ndarray | range


def find_delimiter(lines: list[str]) -> str | None:
    """The first of tab, comma and semicolon that most lines hold; else None, which is whitespace."""
    sample = lines[:SAMPLE_LINES]
    for delimiter in DELIMITERS:
        if 2 * sum(delimiter in line for line in sample) > len(sample):
            return delimiter
    return None


def split_columns(lines: list[str], delimiter: str | None, numbers: Lines, path: Path) -> list[list[str]]:
    """The columns of lines, which must all have as many fields; `numbers` are the lines' numbers in the file."""
    joined = (delimiter or " ").join(lines)
    if '"' in joined:
        rows = _split_quoted(lines, delimiter, numbers, path)
        check_widths(np.array([len(row) for row in rows]), numbers, path)
        return [list(map(str.strip, column)) for column in zip(*rows, strict=True)]
    width = check_widths(np.array([len(line.split(delimiter)) for line in lines]), numbers, path)
    fields = list(map(str.strip, joined.split(delimiter)))
    return [fields[column::width] for column in range(width)]


def check_widths(counts: np.ndarray, numbers: Lines, path: Path) -> int:
    """The number of fields, which must be the same on every line."""
    widths, first, tally = np.unique(counts, return_index=True, return_counts=True)
    most = np.flatnonzero(tally == tally.max())
    width = int(widths[most[np.argmin(first[most])]])
    if len(widths) > 1:
        row = int(np.argmax(counts != width))
        raise DataError(
            f"{path}, line {numbers[row]}: {counts[row]} field(s), where most lines have {width}",
            "correct the line; if it is a title, start it with #",
        )
    return width


def _split_quoted(lines: list[str], delimiter: str | None, numbers: Lines, path: Path) -> list[list[str]]:
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
