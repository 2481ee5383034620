"""Delimited text through Arrow: the same as a parser finds character by character, and wrong lines."""

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cgnn_cli.datasets.files import delimited, text_files
from cgnn_cli.datasets.files.delimited import SPACES, find_delimiter, split_text
from cgnn_cli.datasets.files.text_files import plain_text
from cgnn_cli.errors import DataError

PATH = Path("t.csv")


def read(text: str, sign: str | None = None) -> tuple[list[list[str]], list[int]]:
    columns, lines, _ = split_text(plain_text(text.encode(), PATH), PATH, sign)
    return [list(column) for column in columns], list(lines)


def read_by_line(text: str, sign: str | None = None) -> tuple[list[list[str]], list[int]] | str:
    """The columns and their lines as a slow and simple parser finds them, or the kind of error."""
    rows: dict[int, str] = {}
    for number, line in enumerate(text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n"), 1):
        signs = ("" if rows else "#%") if sign is None else sign.removeprefix("none")
        if line.strip() and line.strip()[0] not in signs:
            rows[number] = line
    if not rows:
        return "no rows"
    sample = list(rows.values())[:100]
    delimiter = find_delimiter(sample)
    try:
        fields = [fields_by_character(row, delimiter) for row in rows.values()]
    except ValueError:
        return "quotes do not match"
    if len({len(row) for row in fields}) > 1:
        return "where most lines have"
    return [list(column) for column in zip(*fields, strict=True)], list(rows)


def fields_by_character(row: str, delimiter: str | None) -> list[str]:
    """The fields of a row: whitespace around a field is dropped, inside quotes it is kept."""

    def skip_spaces(place: int) -> int:
        while place < len(row) and row[place].isspace() and row[place] != delimiter:
            place += 1
        return place

    def ends(place: int) -> bool:
        return place == len(row) or (row[place].isspace() if delimiter is None else row[place] == delimiter)

    fields, place = [], skip_spaces(0)
    while True:
        text, quoted = "", row[place : place + 1] == '"'
        place += quoted
        while not ends(place) if not quoted else row[place : place + 1] != '"' or row[place : place + 2] == '""':
            place += quoted and row[place : place + 2] == '""'
            if place >= len(row):
                raise ValueError("a quote is not closed")
            text += row[place]
            place += 1
        after = place + quoted if delimiter is None else skip_spaces(place + quoted)
        if not ends(after):
            raise ValueError("text after a quoted field")
        fields.append(text if quoted else text.rstrip())
        place = skip_spaces(after + (delimiter is not None))
        if after == len(row) or (delimiter is None and place == len(row)):
            return fields


def check_against_lines(text: str, sign: str | None = None) -> None:
    expected = read_by_line(text, sign)
    if isinstance(expected, str):
        with pytest.raises(DataError, match=expected):
            read(text, sign)
    else:
        assert read(text, sign) == expected


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
        ("#\na,b\n\nc\nd,e\n", "t.csv, line 4: 1 field(s), where most lines have 2"),
        ("a b\nc d e\n\nf g\n", "t.csv, line 2: 3 field(s), where most lines have 2"),
        ("a\nb,c\nd,e\n", "t.csv, line 1: 1 field(s), where most lines have 2"),
        ('"a ""b",c\n"d"\n"e",f', "t.csv, line 2: 1 field(s), where most lines have 2"),
        ('#\na,b\n\nc,"d\n', "t.csv, line 4: the double quotes do not match"),
        ('a,b\n"c" d,e\n', "t.csv, line 2: the double quotes do not match"),
        ("#\n\n", "t.csv holds no rows"),
    ],
)
def test_errors_name_the_line(text: str, message: str) -> None:
    with pytest.raises(DataError) as caught:
        read(text)
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ('"a "" ,b",1\n"a "",b",2\n', ['a " ,b', 'a ",b']),
        ('" a",1\n"a ",2\na,3\n', [" a", "a ", "a"]),
        ('" a"\t1\n\u00a0" a\t" \t2\n', [" a", " a\t"]),
        ('"\u00a0a" 1\n"a\tb"  2\n"a b" 3\na 4', ["\u00a0a", "a\tb", "a b", "a"]),
        ('" a""" ; 1\n "" ;2\n', [' a"', ""]),
    ],
)
def test_f03_whitespace_in_quotes_is_kept_and_around_them_dropped(text: str, fields: list[str]) -> None:
    assert read(text)[0][0] == fields


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
    columns, lines, _ = split_text("".join(f"{name},{part}\n" for name, part in rows).encode(), PATH)
    assert columns[0].array.num_chunks > 1
    assert list(zip(*columns, strict=True)) == rows
    assert np.array_equal(lines, np.arange(1, len(rows) + 1))


FIELD = st.text('ab1é"\u00a0 #', max_size=4)
QUOTED = st.text('a é\u00a0\t,;"#', max_size=4).map(lambda text: '"' + text.replace('"', '""') + '"')
SPACED = st.builds("{}{}{}".format, st.sampled_from(["", " ", "\u00a0"]), FIELD | QUOTED, st.sampled_from(["", "  "]))
LINE = st.one_of(
    st.builds("{}{}{}".format, SPACED, st.sampled_from(",,,;\t "), SPACED),
    st.sampled_from(["", "  ", "# x", " % y", "\t", "\u00a0"]),
)
TEXT = st.one_of(
    st.lists(LINE, min_size=1).map("\n".join),
    st.text('ab1,;\t "\n\r#%\u00a0\x0b\x1cé', min_size=1, max_size=60),
    st.lists(st.sampled_from(["a b", " c\td", "e  f ", '"g h" i', "#", ""]), min_size=1).map("\n".join),
)


@pytest.mark.parametrize("block", [4, 1 << 24])
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=TEXT, sign=st.sampled_from([None, None, "#", "none", "é", "a"]))
def test_f03_any_text_is_the_same_as_character_by_character(
    monkeypatch: pytest.MonkeyPatch, block: int, text: str, sign: str | None
) -> None:
    monkeypatch.setattr(text_files, "BLOCK_BYTES", block)
    check_against_lines(text, sign)


def test_the_comma_of_a_decimal_fraction_delimits_nothing() -> None:
    rows = [("amount", "payer", "payee"), ("12,5", "a", "b"), ("0,75", "b", "c"), ("3,0", "c", "a")]
    columns, _, _ = split_text("".join(";".join(row) + "\n" for row in rows).encode(), PATH)
    assert list(zip(*columns, strict=True)) == rows
    assert find_delimiter(["0;1;1,5", "1;2;2,5"]) == ";"
    assert find_delimiter(["1;2,5", "2;1,5"]) == ","  # where both are everywhere as often, the first
    assert find_delimiter(["1,2,a;b;c;x", "2,3,b;c;d;y"]) == ","
    assert find_delimiter(["Last, First\tOther, One", "Other, One\tLast, First"]) == "\t"
    assert find_delimiter(["a,b", "b;c,d", "c,a"]) == ","
    assert find_delimiter(["a b", "b c"]) is None
