"""Columns that Arrow holds: sequences of strings, with the numbers that Python would read."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cgnn_cli.datasets.files.columns import Column, parse_number


@given(st.lists(st.text(max_size=3), min_size=1), st.integers(1, 4))
def test_a_column_is_a_sequence(fields: list[str], pieces: int) -> None:
    parts = [part.tolist() for part in np.array_split(np.array(fields, dtype=object), pieces)]
    column = Column.of(pa.chunked_array(parts, type=pa.string()))
    assert (len(column), list(column), list(column[1:])) == (len(fields), fields, fields[1:])
    assert [column[row] for row in range(len(fields))] == fields
    codes, texts = column.encoded
    assert [texts[code] for code in codes] == fields
    assert len(texts) == len(set(fields))
    with pytest.raises(IndexError):
        column[len(fields)]


def test_whole_numbers_are_their_text() -> None:
    column = Column.from_numbers(np.array([7, -1, 2**62]), empty=np.array([False, True, False]))
    assert list(column) == ["7", "", str(2**62)]
    codes, texts = column.encoded
    assert [texts[code] for code in codes] == list(column)
    assert column.numbers() is None


NUMBER = st.one_of(
    st.floats().map(repr),
    st.integers().map(str),
    st.sampled_from(
        ["1_0", "+1", "", ".5", "5.", "1e999", "-1e-999", "nan(1)", "-nan", "Infinity", "0x1", "\u0661", "1e"]
    ),
)


@given(st.lists(NUMBER, min_size=1, max_size=4))
def test_numbers_are_those_of_python(fields: list[str]) -> None:
    found = Column.of(pa.chunked_array([fields])).numbers()
    try:
        expected = [parse_number(field) for field in fields]
    except ValueError:
        assert found is None
    else:
        assert found is not None
        np.testing.assert_array_equal(found, expected)
