"""Text tables: what is read, and the line that an error names."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cgnn_cli.datasets.files.tables import Reading, Table, parse_table
from cgnn_cli.errors import DataError


def table_of(text: str | bytes) -> Table:
    return parse_table(text if isinstance(text, bytes) else text.encode(), Path("t.csv"), Reading())


def columns_of(text: str | bytes) -> list[list[str]]:
    return [list(column) for column in table_of(text).columns]


@pytest.mark.parametrize(
    "text", ["a,b\nc,d\n", "a\tb\nc\td", "a;b\r\nc;d\r\n", " a  b\nc \t d \n", "a, b\rc ,d\r", '"a",b\n"c" , "d"']
)
def test_delimiters_and_line_ends(text: str) -> None:
    assert columns_of(text) == [["a", "c"], ["b", "d"]]


def test_comments_and_empty_lines_are_skipped_but_counted() -> None:
    table = table_of("# title\n\n% more\n  # x\n1 2\n   \n3 4\n")
    assert [list(column) for column in table.columns] == [["1", "3"], ["2", "4"]]
    assert list(table.lines) == [5, 7]
    assert table.where(1) == "t.csv, line 7"


@pytest.mark.parametrize("sign", ["#", "%"])
@pytest.mark.parametrize("delimiter", ["\t", ",", ";", " "])
def test_f02_a_sign_below_the_first_row_begins_an_id(sign: str, delimiter: str) -> None:
    rows = [["c", f"{sign}a"], [f"{sign}a", f"{sign}b"], [f"{sign}b", "c"]]
    reading = Reading()
    table = parse_table("\n".join(map(delimiter.join, rows)).encode(), Path("t.csv"), reading)
    assert [table.row(row) for row in range(table.row_count)] == rows
    assert reading.comment_lines == 0 and "2 row(s) that start with # or % are rows" in reading.notes[0]


def test_f02_comments_are_counted_and_said() -> None:
    reading = Reading()
    parse_table(b"# made by x\n\n% 2 3\n1,2\n3,4\n", Path("t.csv"), reading)
    assert (reading.comment_lines, reading.notes) == (2, ["t.csv: 2 comment line(s) skipped, the first is line 1"])
    reading = Reading(comment="!")
    table = parse_table(b"!a,b\n1,2\n  !\n#3,4\n\n!5,6\n", Path("t.csv"), reading)
    assert columns_of(b"x\n") == [["x"]] and table.row(1) == ["#3", "4"]
    assert (reading.comment_lines, reading.notes) == (3, ["t.csv: 3 comment line(s) skipped, the first is line 1"])


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("#a,b\nb,c\nc,b\n", True),
        ("#a,b\n#b,c\nd,e\n", False),
        ("#a,b\nc,#d\nd,e\n", True),
        ('#a,"b"\nb,c\n', True),
        ("%1 2\n2 3\n", True),
        ("#source,target\n1,2\n", False),
        ("# from\tto\n1\t2\n", False),
        ("# 1,2\n1,2\n", False),
        ("% 5 5 7\n5 5 1 2\n", False),
    ],
)
def test_f02_a_comment_that_may_be_the_first_row(text: str, refused: bool) -> None:
    reading = Reading()
    if refused:
        with pytest.raises(DataError, match=r"t\.csv, line 1: it starts with ., but may be a row") as caught:
            parse_table(text.encode(), Path("t.csv"), reading)
        assert "--comment none" in caught.value.hint
    else:
        parse_table(text.encode(), Path("t.csv"), reading)
        assert "comment line(s) skipped" in reading.notes[0] and "has as many fields as a row" in reading.notes[0]
    taken = parse_table(text.encode(), Path("t.csv"), Reading(comment="none"))
    assert taken.row(0)[0].startswith(text[0]) and next(iter(taken.lines)) == 1
    assert parse_table(text.encode(), Path("t.csv"), Reading(comment=text[0])).lines[0] != 1


def test_f02_what_is_quoted_is_never_a_comment() -> None:
    text = '"#a",b\n"#b",c\n'
    for sign in (None, "#", "none"):
        reading = Reading(comment=sign)
        table = parse_table(text.encode(), Path("t.csv"), reading)
        assert list(table.columns[0]) == ["#a", "#b"] and not reading.notes


def test_tab_wins_over_commas_inside_fields() -> None:
    assert columns_of("0\t1,0,1\t3\n1\t0,0,1\t4\n") == [["0", "1"], ["1,0,1", "0,0,1"], ["3", "4"]]


def test_empty_fields_are_kept() -> None:
    assert columns_of("a,\nb,x\n,") == [["a", "b", ""], ["", "x", ""]]
    assert columns_of("a\t\nb\tx\n") == [["a", "b"], ["", "x"]]


def test_quotes_protect_the_delimiter_and_double_inside() -> None:
    assert columns_of('"a, b",c\n"say ""hi""",d\n') == [["a, b", 'say "hi"'], ["c", "d"]]
    assert columns_of('"a b" c\nd "e f"\n') == [["a b", "d"], ["c", "e f"]]


def test_a_quote_inside_a_bare_field_is_text() -> None:
    assert columns_of('5" pipe,a\n6" pipe,b\n') == [['5" pipe', '6" pipe'], ["a", "b"]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"1,2\n3\n4,5\n", "t.csv, line 2: 1 field(s), where most lines have 2"),
        (b"62 147\n0\t1\n0\t2\n", "t.csv, line 1: 1 field(s), where most lines have 2"),
        (b'1,2\n"3,4\n5,6\n', "t.csv, line 2: the double quotes do not match"),
        (b"1,2\n\xe9,3\n", "t.csv, line 2: the file is not UTF-8"),
        ("1,2\n".encode("utf-16"), "UTF-16"),
        (b"1,2\n3,\0\n", "t.csv, line 2: a NUL byte"),
        (b"# only\n\n", "holds no rows"),
        (gzip.compress(b"1,2\n" * 50, mtime=0)[:-9], "damaged gzip"),
        (gzip.compress(b"", mtime=0), "holds no rows"),
        (b"\x1f\x8bnonsense", "damaged gzip"),
    ],
)
def test_errors_name_file_and_line(content: bytes, message: str) -> None:
    with pytest.raises(DataError) as caught:
        table_of(content)
    assert message in caught.value.message
    assert "t.csv" in caught.value.message
    assert caught.value.hint
    assert "\n" not in caught.value.message


def test_numbers_name_the_line_of_the_first_bad_field() -> None:
    table = table_of("a,1.5\nb,-2e3\n\nc,1_0\nd,x\n")
    with pytest.raises(DataError, match=r"t\.csv, line 4: column 2 holds '1_0', which is not a number"):
        table.numbers(1)
    assert table_of("a,1.5\nb,-2e3\n").numbers(1).tolist() == [1.5, -2000]


def test_with_header_takes_the_first_row() -> None:
    table = table_of("#\nid,w\na,1\n").with_header()
    assert (table.header, table.row(0), list(table.lines)) == (["id", "w"], ["a", "1"], [3])


FIELD = (
    st.text(st.characters(codec="utf-8", exclude_characters='\0\n\r"\t,;#%'), min_size=1)
    .filter(str.strip)
    .map(str.strip)
)


@given(st.lists(st.tuples(FIELD, FIELD, FIELD), min_size=1), st.sampled_from("\t,;"), st.booleans())
def test_fields_come_back_exactly(rows: list[tuple[str, str, str]], delimiter: str, quoted: bool) -> None:
    fields = [[f'"{field}"' if quoted else field for field in row] for row in rows]
    table = table_of("\n".join(delimiter.join(row) for row in fields))
    assert list(zip(*table.columns, strict=True)) == rows


@given(st.binary(max_size=300) | st.text('ab1,;\t "\n\r#%', max_size=100).map(str.encode))
def test_any_bytes_give_a_table_or_a_data_error(content: bytes) -> None:
    try:
        table = table_of(content)
    except DataError:
        return
    assert {len(column) for column in table.columns} == {table.row_count}
