"""Payments and accounts as rows, as files and as tables of a database."""

import csv
import random
from pathlib import Path
from typing import Any

ACCOUNTS, PAYMENTS = 60, 300
EDGE_TITLES, NODE_TITLES = ("source", "target", "amount"), ("id", "label", "age", "posts")
COLUMNS = (
    *("--weight-column", "amount", "--label-column", "label", "--feature-columns", "age,posts"),
    *("--split-count", 2),
)
QUERIES = ("--edges", "select * from payments", "--labels", "select * from accounts")


def payments() -> list[tuple[str, str, float]]:
    draw = random.Random(1)
    ends = range(ACCOUNTS)
    return [(f"a{draw.choice(ends)}", f"a{draw.choice(ends)}", draw.randrange(1, 9) / 2) for _ in range(PAYMENTS)]


def accounts() -> list[tuple[str, str | None, float, int]]:
    """A quarter of the accounts have no label."""
    return [(f"a{i}", ("x", "y")[i % 3 % 2] if i % 4 else None, 1.5 * i, i % 7) for i in range(ACCOUNTS)]


def fill(connection: Any) -> None:
    """Both tables into a database, over its SQLAlchemy connection."""
    import sqlalchemy as sa

    tables = sa.MetaData()
    text, number = sa.Text, sa.Double
    of_edges: list[Any] = [
        sa.Column(title, kind) for title, kind in zip(EDGE_TITLES, (text, text, number), strict=True)
    ]
    of_nodes: list[Any] = [
        sa.Column(t, kind) for t, kind in zip(NODE_TITLES, (text, text, number, sa.Integer), strict=True)
    ]
    for name, columns, rows in (("payments", of_edges, payments()), ("accounts", of_nodes, accounts())):
        table = sa.Table(name, tables, *columns)
        table.create(connection)
        connection.execute(table.insert(), [dict(zip(table.columns.keys(), row, strict=True)) for row in rows])


def write_files(folder: Path) -> tuple[str, ...]:
    """The same rows as CSV; the options that name them."""
    for name, titles, rows in (("e.csv", EDGE_TITLES, payments()), ("l.csv", NODE_TITLES, accounts())):
        with open(folder / name, "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([titles, *rows])
    return ("--edges", str(folder / "e.csv"), "--labels", str(folder / "l.csv"))
