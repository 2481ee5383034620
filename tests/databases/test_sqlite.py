"""Imports from SQLite and tables written to it, through the front door."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from cgnn_cli.databases.connection import Database
from cgnn_cli.databases.writing import write_rows
from cgnn_cli.errors import UsageError
from tests.databases.tables import ACCOUNTS, COLUMNS, QUERIES, fill, write_files
from tests.front_door import FrontDoor

sa = pytest.importorskip("sqlalchemy", reason='needs pip install "cgnn[sql]"')
TRAINING = ("--dataset", "mine", "--model", "gcn", "--epochs", 3, "--split", 0)


@pytest.fixture
def database(tmp_path: Path) -> str:
    engine = sa.create_engine(f"sqlite:///{tmp_path}/payments.db")
    with engine.begin() as connection:
        fill(connection)
    return "sqlite:///payments.db"


def rows(query: str) -> list[Any]:
    with sqlite3.connect("payments.db") as connection:
        return connection.execute(query).fetchall()


def test_queries_make_the_graph_that_files_make(cgnn: FrontDoor, database: str, tmp_path: Path) -> None:
    by_files = cgnn.ok("data", "import", "files", *write_files(tmp_path), *COLUMNS, "--json").json
    by_query = cgnn.ok("data", "import", "mine", "--sql", database, *QUERIES, *COLUMNS, "--json").json
    assert by_query["key"] == by_files["key"]
    record = json.loads(Path(".cgnn/datasets/mine.json").read_text())
    assert record["source"] == {"sql": {"database": database, "edges": QUERIES[1], "labels": QUERIES[3]}}
    assert any("the query of --edges" not in note and "source -> target" in note for note in by_query["warnings"])


def _sql(value: object) -> str:
    return "null" if value is None else repr(value)


def test_values_are_those_of_a_csv(cgnn: FrontDoor, database: str, tmp_path: Path) -> None:
    """Numbers as ids, dates, NULLs and repeated rows; and a query with signs that drivers take for parameters."""
    edges = [(node, node % 7 + 1, None if node == 3 else f"2024-01-0{node}") for node in range(1, 8)]
    labels = [(node, None if node == 7 else ("0", "5%")[node % 2]) for node in range(1, 8)]
    (tmp_path / "e.csv").write_text("source,target,time\n" + "".join(f"{a},{b},{t or ''}\n" for a, b, t in edges))
    (tmp_path / "l.csv").write_text("id,label\n" + "".join(f"{a},{b or ''}\n" for a, b in labels))
    queries = [
        " union all ".join(
            f"select {', '.join(f'{_sql(v)} as {name}' for name, v in zip(names, row, strict=True))}" for row in of
        )
        for names, of in ((("source", "target", "time"), edges), (("id", "label"), labels))
    ]
    queries[1] += " where ':x' like '%x'"
    by_files = cgnn.ok("data", "import", "a", "--edges", "e.csv", "--labels", "l.csv", "--json").json["key"]
    got = cgnn.ok("data", "import", "b", "--sql", database, "--edges", queries[0], "--labels", queries[1], "--json")
    assert got.json["key"] == by_files


def test_a_dataset_takes_more_from_a_database(cgnn: FrontDoor, database: str) -> None:
    cgnn.ok("data", "import", "mine", "--sql", database, *QUERIES, *COLUMNS)
    more = "select 'a1' as source, 'a2' as target, 7.5 as amount"
    cgnn.ok("data", "update", "mine", "--sql", database, "--edges", more, "--weight-column", "amount")
    assert cgnn.ok("data", "show", "mine@1", "--json").json["summary"]["nodes"] == ACCOUNTS


@pytest.mark.parametrize(
    ("code", "said", "options"),
    [
        (2, "is not a query", ("--edges", "delete from payments returning *")),
        (2, "is not a query", ("--edges", "/* select */ -- select\n drop table payments")),
        (3, "readonly", ("--edges", "with a as (select 1) delete from payments returning *")),
        (3, "no such table", ("--edges", "select * from nix")),
        (3, "several columns called 'source'", ("--edges", "select source, source from payments")),
        (3, "holds no rows", ("--edges", "select * from payments where source = 'nix'")),
        (3, "type bytes", ("--edges", "select x'00' as source, target from payments")),
        (3, "the query of --edges, row 1", ("--edges", "select '' as source, target from payments")),
    ],
)
def test_what_cannot_be_imported(
    cgnn: FrontDoor, database: str, code: int, said: str, options: tuple[str, ...]
) -> None:
    before = rows("select count(*) from payments")
    assert said in cgnn.fails(code, "data", "import", "mine", "--sql", database, *options)
    assert rows("select count(*) from payments") == before
    assert not Path(".cgnn/datasets").exists()


def test_a_file_that_is_not_there_is_not_made(cgnn: FrontDoor) -> None:
    cgnn.fails(3, "data", "import", "mine", "--sql", "sqlite:///nix.db", "--edges", "select 1, 2")
    assert not Path("nix.db").exists()


@pytest.mark.parametrize(
    "address",
    ["postgresql://ann:s3cret@127.0.0.1:1/x?token=s3cret", "postgres//ann:s3cret@h", "s3cret", "nix://a:s3cret@h"],
)
def test_no_message_has_the_password(cgnn: FrontDoor, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for options in (("--sql", address), ("--sql", "${PLACE}"), ("--debug", "--sql", address)):
        monkeypatch.setenv("PLACE", address)
        result = cgnn("data", "import", "mine", *options, "--edges", "select 1, 2")
        assert result.code in (2, 3) and "s3cret" not in result.out + result.err


def test_the_address_may_come_from_the_environment(
    cgnn: FrontDoor, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    message = cgnn.fails(2, "data", "import", "mine", "--sql", "sqlite:///${FILE}", *QUERIES)
    assert "${FILE}, which is not set" in message
    monkeypatch.setenv("FILE", "payments.db")
    cgnn.ok("data", "import", "mine", "--sql", "sqlite:///${FILE}", *QUERIES, *COLUMNS)
    monkeypatch.setenv("PLACE", database)
    cgnn.ok("data", "import", "mine", "--sql", "${PLACE}", *QUERIES, *COLUMNS)
    assert json.loads(Path(".cgnn/datasets/mine.json").read_text())["source"]["sql"]["database"] == "${PLACE}"


def test_a_pack_tells_no_place(cgnn: FrontDoor, database: str, tmp_path: Path) -> None:
    cgnn.ok("data", "import", "mine", "--sql", f"sqlite:///{tmp_path}/payments.db", *QUERIES, *COLUMNS)
    key = cgnn.ok("rewire", "--dataset", "mine", "--json").json["key"]
    cgnn.ok("cache", "pack", key, "--output", "mine.tar")
    assert str(tmp_path).encode() not in Path("mine.tar").read_bytes()


def test_without_the_package_it_says_what_to_install(cgnn: FrontDoor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cgnn_cli.databases.connection.find_spec", lambda name: None)
    message = cgnn.fails(2, "data", "import", "mine", "--sql", "sqlite:///x.db", "--edges", "select 1, 2")
    assert 'pip install "cgnn[sql]"' in message


def test_predictions_and_scores_go_into_tables(cgnn: FrontDoor, database: str) -> None:
    cgnn.ok("data", "import", "mine", "--sql", database, *QUERIES, *COLUMNS)
    name = 'pre"d; drop'
    told = cgnn.ok("eval", *TRAINING, "--to-sql", database, "scores", "--json").json
    assert told["table"] == {"database": database, "name": "scores", "rows": len(rows("select * from scores"))}
    found = rows("select score from scores where metric = 'accuracy'")
    assert found == [(told["summary"]["test_accuracy"]["mean"],)]
    every = cgnn.ok("report", "--format", "csv", "--to-sql", database, "every run", "--json").json
    assert every["table"]["rows"] == told["table"]["rows"]
    assert rows('select * from "every run"') == rows("select * from scores")
    cgnn.fails(2, "report", "--to-sql", database, "scores")
    cgnn.ok("predict", "--to-sql", database, name, "--output", "p.csv")
    quoted = '"pre""d; drop"'
    written = rows(f"select * from {quoted}")
    lines = Path("p.csv").read_text().splitlines()
    assert [",".join(map(str, row)) for row in written] == lines[1:]
    message = cgnn.fails(2, "predict", "--to-sql", database, name)
    assert "has a table" in message and "--existing replace" in message
    cgnn.ok("predict", "--to-sql", database, name, "--existing", "append")
    assert len(rows(f"select * from {quoted}")) == 2 * ACCOUNTS
    cgnn.ok("predict", "--to-sql", database, name, "--existing", "replace", "--class", "x", "--top", 3)
    assert len(rows(f"select * from {quoted}")) == 3
    assert "no column 'id'" in cgnn.fails(2, "predict", "--to-sql", database, "payments", "--existing", "replace")
    for wrong in ("", "a.b.c", ".x", "x" * 64):
        cgnn.fails(2, "predict", "--to-sql", database, wrong)
    cgnn.fails(2, "predict", "--existing", "append")


@pytest.mark.parametrize("existing", ["refuse", "replace"])
def test_a_failure_leaves_the_tables_as_they_were(database: str, existing: Any) -> None:
    place, heard = Database(database), iter([None, KeyboardInterrupt()])
    if existing == "replace":
        write_rows(place, "found", {"id": ["1"], "p": [0.5]})

    def hear() -> None:
        if error := next(heard):
            raise error

    before = rows("select name from sqlite_master"), existing == "replace" and rows("select * from found")
    many = {"id": list(map(str, range(6000))), "p": [0.5] * 6000}
    with pytest.raises(KeyboardInterrupt):
        write_rows(place, "found", many, existing, hear)
    after = rows("select name from sqlite_master"), existing == "replace" and rows("select * from found")
    assert after == before
    with pytest.raises(UsageError, match="too long"):
        write_rows(place, "found", {"x" * 64: ["1"]})
