"""Ids of nodes as Arrow holds them: each different one once, and a code a row; none becomes an object of Python.

Ids that are all whole numbers as they are written (no sign, no leading zero, below 2^63) are numbers, all others text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from cgnn_cli import mapped
from cgnn_cli.resources import allowed_memory, check_memory

ID_MEMORY = 100  # a different id takes about so many bytes, in the tables that find it
BATCH_ROWS = 1 << 24  # of ids that are looked up at a time
DENSE_NUMBERS = 1 << 24  # below it, or below the number of rows, numbers are found by their place in an array
NUMBER = re.compile(r"0|[1-9][0-9]{0,18}")
LARGEST = (1 << 63) - 1
HINT = "leave out what is not needed"


class Coded(NamedTuple):
    """Different ids, and for each column a code a row: the place of its id among them."""

    names: Any
    codes: list[np.ndarray]


class _NoNumbers(Exception):
    """An id that is no whole number."""


def encode(columns: Sequence[Any]) -> Coded:
    """The ids in columns, which are Arrow's chunked arrays of text or numbers."""
    try:
        return _encode_dense(columns) or _encode(columns, _as_numbers)
    except _NoNumbers:
        return _encode(columns, as_text)


def as_text(array: Any) -> Any:
    """Ids as text; nulls are empty."""
    import pyarrow as pa

    text = array if array.type == pa.large_string() else array.cast(pa.large_string())
    return text.fill_null("") if text.null_count else text


def joined(*names: Any) -> Any:
    """The different ids of several arrays of them: numbers, if all are."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if any(array.type != pa.int64() for array in names):
        names = tuple(map(as_text, names))
    return names[0] if len(names) == 1 else pc.unique(pa.chunked_array(names))


def in_order(names: Any) -> Any:
    """Different ids in the order of nodes: whole numbers by their size, else by the bytes of UTF-8."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if names.type == pa.int64():
        return pa.array(np.sort(names.to_numpy(zero_copy_only=False)))
    if pc.all(pc.match_substring_regex(names, "^(0|[1-9][0-9]*)$")).as_py():
        table = pa.table({"length": pc.binary_length(names), "name": names})
        order = pc.sort_indices(table, [("length", "ascending"), ("name", "ascending")])
    else:
        order = pc.array_sort_indices(names)
    return names.take(order)


def places(names: Any, among: Any) -> np.ndarray:
    """Where ids stand among others, -1 where they do not."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if names.type != among.type:
        if among.type == pa.int64():
            return _places_of_text(names, among)
        names = as_text(names)
    found = pc.index_in(names, value_set=among)
    return found.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)


def _places_of_text(names: Any, among: Any) -> np.ndarray:
    """Of texts, among numbers: few of them are none."""
    import pyarrow as pa

    numbers = [int(name) if NUMBER.fullmatch(name) and int(name) <= LARGEST else -1 for name in names.to_pylist()]
    return places(pa.array(numbers, pa.int64()), among)


def lookup(table: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """table[codes], a batch at a time, in a file if it is large."""
    found = mapped.empty(len(codes), table.dtype)
    for start in range(0, len(codes), BATCH_ROWS):
        found[start : start + BATCH_ROWS] = table[codes[start : start + BATCH_ROWS]]
    return found


def _as_numbers(array: Any) -> Any:
    """Ids as int64; _NoNumbers if one of them is none, or is written in another way."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if array.null_count or pa.types.is_floating(array.type):
        raise _NoNumbers
    try:
        numbers = array.cast(pa.int64())
    except pa.ArrowInvalid as error:
        raise _NoNumbers from error
    least = pc.min(numbers).as_py()
    if least is not None and least < 0:
        raise _NoNumbers
    if not pa.types.is_integer(array.type) and pc.any(pc.not_equal(numbers.cast(array.type), array)).as_py():
        raise _NoNumbers  # as 07 is
    return numbers


def _encode_dense(columns: Sequence[Any]) -> Coded | None:
    """Numbers that are about as small as they are many, found by their place in an array; None for others."""
    import pyarrow as pa

    limit = max(DENSE_NUMBERS, sum(map(len, columns)))
    seen = np.zeros(0, dtype=bool)
    for _, part in (batch for column in columns for batch in _batches(column)):
        numbers = _as_numbers(part).to_numpy()
        largest = int(numbers.max(initial=0))
        if largest >= limit:
            return None
        if largest >= len(seen):
            seen = np.concatenate([seen, np.zeros(max(largest + 1, 2 * len(seen)) - len(seen), dtype=bool)])
        seen[numbers] = True
    names = np.flatnonzero(seen)
    rank = mapped.full(len(seen), -1, np.int32)
    rank[names] = np.arange(len(names))
    return Coded(pa.array(names), _fill(columns, lambda part: rank[_as_numbers(part).to_numpy()]))


def _encode(columns: Sequence[Any], as_kind: Callable[[Any], Any]) -> Coded:
    """Ids found in one table, which grows: what is known stands before each batch, and so keeps its codes."""
    import pyarrow as pa

    known, limit = as_kind(pa.array([], pa.string())), allowed_memory()

    def codes_of(part: Any) -> np.ndarray:
        nonlocal known
        found = pa.chunked_array([known, *as_kind(part).chunks]).dictionary_encode()
        known = found.chunk(0).dictionary
        check_memory("finding all different ids", ID_MEMORY * len(known), limit, HINT)
        return np.concatenate([chunk.indices.to_numpy() for chunk in found.chunks])[-len(part) :]

    codes = _fill(columns, codes_of)
    return Coded(known, codes)


def _fill(columns: Sequence[Any], codes_of: Callable[[Any], np.ndarray]) -> list[np.ndarray]:
    """The codes of each column, batch by batch."""
    filled = []
    for column in columns:
        codes = mapped.empty(len(column), np.int32)
        for start, part in _batches(column):
            codes[start : start + len(part)] = codes_of(part)
        filled.append(codes)
    return filled


def _batches(column: Any) -> Iterator[tuple[int, Any]]:
    """Some rows at a time, and the first of them."""
    for start in range(0, len(column), BATCH_ROWS):
        yield start, column.slice(start, BATCH_ROWS)
