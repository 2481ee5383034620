"""Delimited text through Arrow: the same as Python's own csv module gives line by line, and the line that is wrong."""

import csv
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cgnn_cli.datasets.files import delimited, text_files
from cgnn_cli.datasets.files.delimited import DELIMITERS, SPACES, split_text
from cgnn_cli.datasets.files.text_files import plain_text
from cgnn_cli.errors import DataError

PATH = Path("t.csv")


def read(text: str) -> tuple[list[list[str]], list[int]]:
    columns, lines = split_text(plain_text(text.encode(), PATH), PATH)
    return [list(column) for column in columns], list(lines)


def read_by_line(text: str) -> tuple[list[list[str]], list[int]] | str:
    """The columns and their lines as the csv module finds them, or the kind of error."""
    lines = dict(enumerate(text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n"), start=1))
    rows = {number: line for number, line in lines.items() if line.strip() and line.strip()[0] not in "#%"}
    if not rows:
        return "no rows"
    sample = list(rows.values())[:100]
    delimiter = next((mark for mark in DELIMITERS if 2 * sum(mark in row for row in sample) > len(sample)), " ")
    fields = []
    for row in rows.values():
        spaced = re.sub(r"\s", " ", row).strip() if delimiter == " " else row
        try:
            found = next(csv.reader([spaced], delimiter=delimiter, skipinitialspace=True, strict=True))
        except csv.Error:
            return "quotes do not match"
        fields.append([field.strip() for field in found])
    if len({len(row) for row in fields}) > 1:
        return "where most lines have"
    return [list(column) for column in zip(*fields, strict=True)], list(rows)


def check_against_lines(text: str) -> None:
    expected = read_by_line(text)
    if isinstance(expected, str):
        with pytest.raises(DataError, match=expected):
            read(text)
    else:
        assert read(text) == expected


def test_spaces_are_what_python_strips() -> None:
    import pyarrow as pa
    import pyarrow.compute as pc

    spaces = {space.decode() for space in SPACES} | {"\n"}
    assert spaces == set(filter(str.isspace, map(chr, range(sys.maxunicode + 1))))
    assert pc.utf8_trim_whitespace(pa.array([f"{space}a{space}" for space in spaces])).unique().to_pylist() == ["a"]


@pytest.mark.parametrize(
    "text",
    [
        "a,b\nc,d\n",
        "# title\n\nsource\ttarget\na\tb\n\n# more\n  % x\n \t \nc\td",
        "\ufeffa;b\r\nc;d\r\n",
        "\ufeff\ufeffa;b\n",
        " a  b\nc \t d \n\n  e f",
        "a b\nc d\n",
        "a b \nc d ",
        'id,name\n1,"a, b"\n2,"c"\n"3",d\n"",\n',
        " a , b\u00a0\n\u3000c,d \n",
        "é,ü\n\u00a0# comment\nñ,ß\n",
        "a,\n,b\n,\n",
        '5" pipe,a\n',
        '"say ""hi""",d\n',
        '"a b" c\nd "e  f"',
        "a\x0bb\n",
        'a, "b"\n',
        '"\ta"\tb\n',
        '\u00a0"b",c\n',
        '""\n\na\n',
        'a\n"b\nc d"\n',
        '"a"b,c\n',
        "a,b\nc\n",
        "#\n\n",
        "\x1c\n",
    ],
)
def test_the_same_as_line_by_line(text: str) -> None:
    check_against_lines(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n#\nc\nd,e\n", "t.csv, line 3: 1 field(s), where most lines have 2"),
        ("a b\nc d e\n\nf g\n", "t.csv, line 2: 3 field(s), where most lines have 2"),
        ("a\nb,c\nd,e\n", "t.csv, line 1: 1 field(s), where most lines have 2"),
        ('"a ""b",c\n"d"\n"e",f', "t.csv, line 2: 1 field(s), where most lines have 2"),
        ('a,b\n#\n\nc,"d\n', "t.csv, line 4: the double quotes do not match"),
        ('a,b\n"c" d,e\n', "t.csv, line 2: the double quotes do not match"),
        ("#\n\n", "t.csv holds no rows"),
    ],
)
def test_errors_name_the_line(text: str, message: str) -> None:
    with pytest.raises(DataError) as caught:
        read(text)
    assert caught.value.message == message


def test_doubled_quotes_keep_the_spaces_after_them() -> None:
    assert read('"a "" ,b",1\n"a "",b",2\n')[0] == [['a " ,b', 'a ",b'], ["1", "2"]]


@pytest.mark.parametrize("quote", ["", '"'])
def test_lines_longer_than_a_block_of_arrow(monkeypatch: pytest.MonkeyPatch, quote: str) -> None:
    monkeypatch.setattr(delimited, "ARROW_BLOCK", 1 << 10)
    names = [f"{quote}{letter * 5000}{quote}" for letter in "ab"]
    assert read(",".join(names) + "\nc,d\n")[0] == [["a" * 5000, "c"], ["b" * 5000, "d"]]
    monkeypatch.setattr(delimited, "LARGEST_BLOCK", 1 << 11)
    with pytest.raises(DataError, match=r"t\.csv cannot be read as a table"):
        read(",".join(names) + "\nc,d\n")


def test_many_rows_in_many_blocks() -> None:
    rows = [(f"é{row}", str(row % 7)) for row in range(200_000)]
    columns, lines = split_text("".join(f"{name},{part}\n" for name, part in rows).encode(), PATH)
    assert columns[0].array.num_chunks > 1
    assert list(zip(*columns, strict=True)) == rows
    assert np.array_equal(lines, np.arange(1, len(rows) + 1))


FIELD = st.text('ab1é"\u00a0 #', max_size=4)
LINE = st.one_of(
    st.tuples(FIELD, FIELD).map(",".join),
    st.tuples(st.sampled_from(["a", " b", '"c,"', "é ", ""]), st.sampled_from(["1", '"2 "', " 3\t"])).map(",".join),
    st.sampled_from(["", "  ", "# x", " % y", "\t", "\u00a0"]),
)
TEXT = st.one_of(
    st.lists(LINE, min_size=1).map("\n".join),
    st.text('ab1,;\t "\n\r#%\u00a0\x0b\x1cé', min_size=1, max_size=60),
    st.lists(st.sampled_from(["a b", " c\td", "e  f ", '"g h" i', "#", ""]), min_size=1).map("\n".join),
).filter(lambda text: not re.search('" +([,;\t]|$)', text, re.MULTILINE))  # csv refuses spaces after a closing quote


@pytest.mark.parametrize("block", [4, 1 << 24])
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=TEXT)
def test_any_text_is_the_same_as_line_by_line(monkeypatch: pytest.MonkeyPatch, block: int, text: str) -> None:
    monkeypatch.setattr(text_files, "BLOCK_BYTES", block)
    check_against_lines(text)
