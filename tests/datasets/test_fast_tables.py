"""Large tables through Arrow: the same as line by line, and the same words where they are wrong."""

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cgnn_cli.datasets import fast_tables, tables, text_files
from cgnn_cli.datasets.fast_tables import WHITESPACE, fast_table
from cgnn_cli.datasets.tables import Table, line_table, parse_table
from cgnn_cli.datasets.text_columns import TextColumn, as_numbers, encode
from cgnn_cli.datasets.text_files import plain_text
from cgnn_cli.errors import DataError

PATH = Path("t.csv")


def content_of(table: Table) -> tuple[list[list[str]], list[int]]:
    return [list(column) for column in table.columns], list(table.lines)


def both(text: str) -> tuple[Table | None, Table]:
    content = plain_text(text.encode(), PATH)
    return fast_table(content, PATH), line_table(content, PATH)


def test_whitespace_is_what_python_strips() -> None:
    assert set(WHITESPACE) == set(filter(str.isspace, map(chr, range(sys.maxunicode + 1))))


@pytest.mark.parametrize(
    "text",
    [
        "a,b\nc,d\n",
        "# title\n\nsource\ttarget\na\tb\n\n# more\n  % x\n \t \nc\td",
        "\ufeffa;b\r\nc;d\r\n",
        " a  b\nc \t d \n\n  e f",
        "a b\nc d\n",
        'id,name\n1,"a, b"\n2,"c"\n"3",d\n"",\n',
        " a , b\u00a0\n\u3000c,d \n",
        "é,ü\n\u00a0# comment\nñ,ß\n",
        "a,\n,b\n,\n",
    ],
)
def test_the_fast_way_is_taken_and_gives_the_same(text: str) -> None:
    fast, slow = both(text)
    assert fast is not None
    assert content_of(fast) == content_of(slow)


@pytest.mark.parametrize("text", ['5" pipe,a\n', '"say ""hi""",d\n', '"a b" c\n', "a\x0bb\n", 'a, "b"\n', '"a"b,c\n'])
def test_odd_files_are_left_to_the_reader_of_lines(text: str) -> None:
    assert fast_table(text.encode(), PATH) is None


@pytest.mark.parametrize(
    "text", ["a,b\n#\nc\nd,e\n", "a b\nc d e\n\nf g\n", "a\nb,c\nd,e\n", "#\n\n", "a,b\nc,d\n\te\n"]
)
def test_errors_are_the_same(text: str) -> None:
    with pytest.raises(DataError) as fast:
        fast_table(text.encode(), PATH)
    with pytest.raises(DataError) as slow:
        line_table(text.encode(), PATH)
    assert fast.value.message == slow.value.message


FIELD = st.text('ab1é"\u00a0 #', max_size=4)
LINE = st.one_of(
    st.tuples(FIELD, FIELD).map(",".join),
    st.tuples(st.sampled_from(["a", " b", '"c,"', "é ", ""]), st.sampled_from(["1", '"2 "', " 3\t"])).map(",".join),
    st.sampled_from(["", "  ", "# x", " % y", "\t", "\u00a0"]),
)
TEXT = st.one_of(
    st.lists(LINE, min_size=1).map("\n".join),
    st.text('ab1,;\t "\n\r#%\u00a0\x0bé', min_size=1, max_size=60),
    st.lists(st.sampled_from(["a b", " c\td", "e  f ", "#", ""]), min_size=1).map("\n".join),
)


@pytest.mark.parametrize("block", [4, 1 << 24])
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=TEXT)
def test_any_text_gives_the_same_both_ways(monkeypatch: pytest.MonkeyPatch, block: int, text: str) -> None:
    monkeypatch.setattr(text_files, "BLOCK_BYTES", block)
    content = plain_text(text.encode(), PATH) or b"\n"
    outcomes = []
    for reader in (fast_table, line_table):
        try:
            table = reader(content, PATH)
        except DataError as error:
            outcomes.append(error.message)
            continue
        if table is None:
            return
        outcomes.append(content_of(table))  # type: ignore[arg-type]
    assert outcomes[0] == outcomes[1]


def test_large_files_take_the_fast_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "FAST_BYTES", 1)
    assert isinstance(parse_table(b"a,b\n", PATH).columns[0], TextColumn)
    assert isinstance(parse_table(b'5",b\n', PATH).columns[0], list)
    monkeypatch.setattr(fast_tables, "_read_csv", lambda *_: None)
    assert isinstance(parse_table(b"a,b\n", PATH).columns[0], list)


@given(st.lists(st.text(max_size=3), min_size=1), st.integers(1, 4))
def test_a_column_is_a_sequence(fields: list[str], pieces: int) -> None:
    import pyarrow as pa

    parts = [part.tolist() for part in np.array_split(np.array(fields, dtype=object), pieces)]
    column = TextColumn.of(pa.chunked_array(parts, type=pa.string()))
    assert (len(column), list(column), list(column[1:])) == (len(fields), fields, fields[1:])
    assert [column[row] for row in range(len(fields))] == fields
    for same in (column, fields):
        codes, texts = encode(same)
        assert [texts[code] for code in codes] == fields
        assert len(texts) == len(set(fields))
    with pytest.raises(IndexError):
        column[len(fields)]


NUMBER = st.one_of(
    st.floats().map(repr),
    st.integers().map(str),
    st.sampled_from(
        ["1_0", "+1", "", ".5", "5.", "1e999", "-1e-999", "nan(1)", "-nan", "Infinity", "0x1", "\u0661", "1e"]
    ),
)


@given(st.lists(NUMBER, min_size=1, max_size=4))
def test_numbers_are_those_of_python(fields: list[str]) -> None:
    import pyarrow as pa

    fast, slow = as_numbers(TextColumn.of(pa.chunked_array([fields]))), as_numbers(fields)
    assert (fast is None) == (slow is None)
    if fast is not None and slow is not None:
        np.testing.assert_array_equal(fast, slow)
