"""Columns of fields, held by Arrow: 10 million ids take little memory there."""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, overload

import numpy as np

from cgnn_cli import mapped
from cgnn_cli.datasets.files.ids import Coded, encode
from cgnn_cli.resources import allowed_memory, check_memory

ID_MEMORY = 200  # a different text takes about so many bytes, in the sets and tables of names that are made of it
HINT = "leave out what is not needed"


class Column(Sequence[str]):
    """A column as a sequence of strings; of a Parquet file it may hold numbers, and is loaded late.

    Nulls are empty fields.
    """

    def __init__(self, load: Callable[[], Any], count: int) -> None:
        self._load, self._count = load, count

    @classmethod
    def of(cls, array: Any) -> "Column":
        return cls(lambda: array, len(array))

    @classmethod
    def from_numbers(cls, numbers: np.ndarray, *, empty: np.ndarray | None = None) -> "Column":
        """Whole numbers, with empty fields where `empty` is true."""
        import pyarrow as pa

        return cls.of(pa.chunked_array([pa.array(numbers, mask=empty)]))

    @cached_property
    def array(self) -> Any:
        """Arrow's chunked array of strings, integers or floats."""
        return self._load()

    @cached_property
    def encoded(self) -> tuple[np.ndarray, list[str]]:
        """A code a row, and the text that each code stands for; no text has two codes that rows use."""
        if not self._count:
            return np.zeros(0, dtype=np.int32), []
        array = self.array.dictionary_encode()
        if len({chunk.dictionary.buffers()[-1].address for chunk in array.chunks}) > 1:
            array = array.unify_dictionaries()  # seldom needed, and slow with many chunks
        check_memory("keeping all different values", ID_MEMORY * len(array.chunk(0).dictionary), allowed_memory(), HINT)
        values = _as_text(array.chunk(0).dictionary).to_pylist()
        codes = np.concatenate([chunk.indices.fill_null(len(values)).to_numpy() for chunk in array.chunks])
        return codes, [*values, ""] if array.null_count else values

    @property
    def float_type(self) -> str | None:
        """The type of a column of floating-point numbers; None for text and whole numbers."""
        from pyarrow import types

        return str(self.array.type) if types.is_floating(self.array.type) else None

    @cached_property
    def ids(self) -> Coded:
        """The fields as ids of nodes."""
        return encode([self.array])

    def numbers(self) -> np.ndarray | None:
        """The fields as float64; None if one of them is no number."""
        import pyarrow as pa

        if self.array.null_count:
            return None
        numbers, start = mapped.empty(self._count, np.float64), 0
        try:
            for chunk in self.array.chunks:
                part = numbers[start : start + len(chunk)]
                part[:] = chunk.cast(pa.float64()).to_numpy(zero_copy_only=False)
                if not self.float_type and np.isnan(part).any():
                    break
                start += len(chunk)
            else:
                return numbers
        except pa.ArrowException:
            pass
        try:  # Arrow knows fewer forms of numbers than Python, and other forms of NaN
            return np.fromiter(map(parse_number, self), dtype=np.float64, count=self._count)
        except ValueError:
            return None

    def parsed(self) -> np.ndarray:
        """The fields as float64, NaN where one is no number."""
        numbers = self.numbers()
        if numbers is None:
            parsed = (float(text) if is_number(text) else np.nan for text in self)
            numbers = np.fromiter(parsed, dtype=np.float64, count=self._count)
        return numbers

    @property
    def empty_count(self) -> int:
        """How many fields are empty."""
        import pyarrow as pa
        import pyarrow.compute as pc

        empty = pc.sum(pc.equal(self.array, "")).as_py() if self.array.type == pa.string() else 0
        return int(empty or 0) + self.array.null_count

    def sizes(self) -> np.ndarray:
        """How many characters each field has; 1 stands for those of a number."""
        sizes, start = mapped.empty(self._count, np.int32), 0
        for part in self._sizes():
            sizes[start : start + len(part)] = part
            start += len(part)
        return sizes

    @cached_property
    def lengths(self) -> tuple[int, int]:
        """The characters of the shortest field, and of the longest."""
        ends = [(int(part.min()), int(part.max())) for part in self._sizes() if len(part)]
        return min((least for least, _ in ends), default=1), max((most for _, most in ends), default=0)

    def _sizes(self) -> Iterator[np.ndarray]:
        import pyarrow as pa
        import pyarrow.compute as pc

        for chunk in self.array.chunks:
            sizes = pc.utf8_length(chunk) if chunk.type == pa.string() else pc.is_valid(chunk).cast(pa.int32())
            yield sizes.fill_null(0).to_numpy(zero_copy_only=False)

    def without(self, words: Sequence[str]) -> "Column":
        """The fields, empty where they are one of some words."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if not words:
            return self
        texts = _as_text(self.array)
        return Column.of(pc.if_else(pc.is_in(texts, pa.array(words)), "", texts))

    def keep(self, rows: np.ndarray) -> "Column":
        """The fields of some rows, given by a mask."""
        return Column(lambda: self._kept(rows), int(np.count_nonzero(rows)))

    def _kept(self, rows: np.ndarray) -> Any:
        import pyarrow as pa

        if self.array.nbytes < mapped.MAPPED_FROM:
            return self.array.filter(rows)
        stops = np.cumsum([len(chunk) for chunk in self.array.chunks])
        parts = zip(self.array.chunks, np.split(rows, stops[:-1]), strict=True)
        return mapped.spooled(chunk.filter(pa.array(mask)) for chunk, mask in parts)

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice) -> "Column": ...
    def __getitem__(self, row: int | slice) -> "str | Column":
        if isinstance(row, slice):
            start, stop, step = row.indices(self._count)
            assert step == 1, "only whole ranges of rows are taken"
            return Column.of(self.array.slice(start, max(stop - start, 0)))
        if not -self._count <= row < self._count:
            raise IndexError(row)
        return _as_text(self.array.slice(row % self._count, 1)).to_pylist()[0] or ""

    def __iter__(self) -> Iterator[str]:
        for chunk in self.array.chunks:
            yield from (text or "" for text in _as_text(chunk).to_pylist())


def _as_text(array: Any) -> Any:
    import pyarrow as pa

    return array if array.type == pa.string() else array.cast(pa.string())


def parse_number(text: str) -> float:
    """A field as a number, or a ValueError; Python's 1_000 is none."""
    if "_" in text:
        raise ValueError(text)
    return float(text)


def is_number(field: str) -> bool:
    try:
        parse_number(field)
    except ValueError:
        return False
    return True
