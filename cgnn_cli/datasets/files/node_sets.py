"""Sets of nodes from a table: a column of node ids and, where there are several sets, one of their names."""

from collections.abc import Set
from dataclasses import dataclass
from pathlib import Path

from cgnn_cli.datasets.files.invalid_rows import Faults
from cgnn_cli.datasets.files.reading import read_array_or_table
from cgnn_cli.datasets.files.tables import Reading, Table
from cgnn_cli.errors import DataError

NODE_WORDS = ("node", "nodes", "id", "ids", "node_id", "nodeid", "vertex")
SET_WORDS = ("set", "sets", "set_name", "group", "class", "label", "name", "category")
ONLY = "set"  # the name of a set without one
HINT = "give a CSV, TSV or Parquet file with the columns node,set; or node alone, for one set"


@dataclass(frozen=True)
class Member:
    """A node in a set, and where that stands."""

    set_name: str
    node: str
    where: str = ""


def read_members(path: Path, known: Set[str], reading: Reading) -> list[Member]:
    """The rows of a file; without a column of names all are in the set ONLY.

    The first row of a text is a header where it names a column of nodes and is no known node itself.
    """
    table = read_array_or_table(path, reading)
    if not isinstance(table, Table):
        raise DataError(f"{path} is a numpy file, and sets of nodes are a table", HINT)
    if table.header is None and not known & set(titles := table.row(0)):
        named = any(title.strip().lower() in NODE_WORDS for title in titles)
        table = table.take_header(True, reading) if named else table
    if not table.row_count:
        raise DataError(f"{path} names no node", HINT)
    node = _titled(table, NODE_WORDS, 0)
    name = _titled(table, SET_WORDS, 1 - node if node < 2 else 0) if len(table.columns) > 1 else None
    if name == node:
        raise DataError(f"{path}: column {table.title(node)} cannot hold both nodes and sets", HINT)
    for column in sorted(set(range(len(table.columns))) - {node, name}):
        reading.notes.append(f"{path}: column {table.title(column)} is ignored")
    faults = Faults.of(table)
    faults.add_ids(table, node)
    faults.settle(reading)
    if name is not None:
        table.check_exact(name, "names of sets")
    return [_member(table, row, node, name) for row in range(table.row_count)]


def _titled(table: Table, words: tuple[str, ...], default: int) -> int:
    """The only column that has one of the words as its title."""
    found = [column for column, title in enumerate(table.header or ()) if title.lower() in words]
    return found[0] if len(found) == 1 else default


def _member(table: Table, row: int, node: int, name: int | None) -> Member:
    where = table.where(row)
    named = ONLY if name is None else table.columns[name][row]
    if not named:
        raise DataError(f"{where}: the node has no set", "give every node the name of its set")
    return Member(named, table.columns[node][row], f"{where}: ")
