"""Columns of fields: plain lists for small tables, and Arrow's arrays, which hold 10 million ids in little memory."""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, overload

import numpy as np


class TextColumn(Sequence[str]):
    """A column that Arrow holds, as a sequence of strings; of a Parquet file it may hold numbers, and is loaded late.

    Nulls are empty fields.
    """

    def __init__(self, load: Callable[[], Any], count: int) -> None:
        self._load, self._count = load, count

    @classmethod
    def of(cls, array: Any) -> "TextColumn":
        return cls(lambda: array, len(array))

    @cached_property
    def array(self) -> Any:
        """Arrow's chunked array of strings, integers or floats."""
        return self._load()

    @cached_property
    def encoded(self) -> tuple[np.ndarray, list[str]]:
        """A code a row, and the text that each code stands for."""
        if not self._count:
            return np.zeros(0, dtype=np.int32), []
        array = self.array.dictionary_encode()
        if len({chunk.dictionary.buffers()[-1].address for chunk in array.chunks}) > 1:
            array = array.unify_dictionaries()  # seldom needed, and slow with many chunks
        values = _as_text(array.chunk(0).dictionary).to_pylist()
        codes = np.concatenate([chunk.indices.fill_null(len(values)).to_numpy() for chunk in array.chunks])
        return codes, [*values, ""] if array.null_count else values

    @property
    def float_type(self) -> str | None:
        """The type of a column of floating-point numbers; None for text and whole numbers."""
        from pyarrow import types

        return str(self.array.type) if types.is_floating(self.array.type) else None

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice) -> "TextColumn": ...
    def __getitem__(self, row: int | slice) -> "str | TextColumn":
        if isinstance(row, slice):
            start, stop, step = row.indices(self._count)
            assert step == 1, "only whole ranges of rows are taken"
            return TextColumn.of(self.array.slice(start, max(stop - start, 0)))
        if not -self._count <= row < self._count:
            raise IndexError(row)
        return _as_text(self.array.slice(row % self._count, 1)).to_pylist()[0] or ""

    def __iter__(self) -> Iterator[str]:
        for part in self.parts():
            yield from part

    def parts(self) -> Iterator[list[str]]:
        """The fields, a list for each of Arrow's chunks."""
        for chunk in self.array.chunks:
            yield [text or "" for text in _as_text(chunk).to_pylist()]


Fields = Sequence[str]


def _as_text(array: Any) -> Any:
    import pyarrow as pa

    return array if array.type == pa.string() else array.cast(pa.string())


def encode(fields: Fields) -> tuple[np.ndarray, list[str]]:
    """A code a row, and the text that each code stands for; no text has two codes that rows use."""
    if isinstance(fields, TextColumn):
        return fields.encoded
    index: dict[str, int] = {}
    codes = np.fromiter((index.setdefault(text, len(index)) for text in fields), dtype=np.int64, count=len(fields))
    return codes, list(index)


def as_numbers(fields: Fields) -> np.ndarray | None:
    """The fields as float64; None if one of them is no number. Python's 1_000 is not."""
    if not isinstance(fields, TextColumn):
        return _parse_numbers(fields)
    import pyarrow as pa

    if fields.array.null_count:
        return None
    try:
        numbers = fields.array.cast(pa.float64()).to_numpy()
    except pa.ArrowException:
        numbers = None
    if numbers is not None and (fields.float_type or not np.isnan(numbers).any()):
        return numbers
    parts = []  # Arrow knows fewer forms of numbers than Python, and other forms of NaN
    for part in fields.parts():
        parsed = _parse_numbers(part)
        if parsed is None:
            return None
        parts.append(parsed)
    return np.concatenate(parts) if parts else np.zeros(0)


def _parse_numbers(fields: Fields) -> np.ndarray | None:
    try:
        numbers = np.fromiter(map(float, fields), dtype=np.float64, count=len(fields))
    except ValueError:
        return None
    return None if any("_" in text for text in fields) else numbers
