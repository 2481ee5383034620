"""Sets of nodes from files."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cgnn_cli.datasets.files.node_sets import read_members
from cgnn_cli.datasets.files.tables import Reading
from cgnn_cli.errors import DataError

KNOWN = {"a", "b", "c", "x,y", "p=q"}


def read(path: Path, text: str, known: set[str] = KNOWN) -> list[tuple[str, str]]:
    path.write_text(text)
    return [(member.set_name, member.node) for member in read_members(path, known, Reading())]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("node,set\na,one\nb,two\n", [("one", "a"), ("two", "b")]),
        ("set\tnode\none\ta\ntwo\tb\n", [("one", "a"), ("two", "b")]),
        ("a,one\nb,two\n", [("one", "a"), ("two", "b")]),
        ("node\na\nb\n", [("set", "a"), ("set", "b")]),
        ("a\n", [("set", "a")]),
        ('id,group\n"x,y",r=1\np=q,r=1\n', [("r=1", "x,y"), ("r=1", "p=q")]),
        ("set,id\nnode,a\n", [("node", "a")]),
        ("nope,one\n", [("one", "nope")]),
    ],
)
def test_forms_of_files(tmp_path: Path, text: str, expected: list[tuple[str, str]]) -> None:
    assert read(tmp_path / "sets.csv", text) == expected


def test_a_node_with_the_name_of_a_header_is_a_node(tmp_path: Path) -> None:
    assert read(tmp_path / "sets.csv", "node,set\na,one\n", {"node", "a"}) == [("set", "node"), ("one", "a")]


def test_further_columns_are_ignored_and_said(tmp_path: Path) -> None:
    path, reading = tmp_path / "sets.csv", Reading()
    path.write_text("node,weight,set\na,3,one\n")
    (member,) = read_members(path, KNOWN, reading)
    assert (member.set_name, member.node, member.where) == ("one", "a", f"{path}, line 2: ")
    assert any("column 2 (weight) is ignored" in note for note in reading.notes)


def test_parquet(tmp_path: Path) -> None:
    path = tmp_path / "sets.parquet"
    pq.write_table(pa.table({"node": ["a", "b"], "set": [1, 2]}), path)
    found = read_members(path, KNOWN, Reading())
    assert [(member.set_name, member.node) for member in found] == [("1", "a"), ("2", "b")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("node,set\n", "a header and no rows"),
        ("node,set\na,\n", "line 2: the node has no set"),
        ("node,set\n,one\n", "line 2: the node id in column 1 is empty"),
    ],
)
def test_what_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(DataError, match=said):
        read(tmp_path / "sets.csv", text)
