"""Imports from a PostgreSQL server and tables written to it: `make postgres` installs what they need."""

import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.databases.server import PASSWORD, Server, programs, running
from tests.databases.tables import ACCOUNTS, COLUMNS, QUERIES, fill, write_files
from tests.faults.processes import finish, start, wait_for
from tests.front_door import FrontDoor

sa = pytest.importorskip("sqlalchemy", reason='needs pip install "cgnn[sql]"')
pytest.importorskip("psycopg", reason='needs pip install "cgnn[sql]"')
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(programs() is None, reason="PostgreSQL's server is not installed; `make postgres` does it"),
]
MANY, WIDE = 300_000, 1000
# Between the third part and the fourth it waits for the signal, which it notes by itself.
WAITING = """
import time
from pathlib import Path
import cgnn_cli.databases.writing as writing
from cgnn_cli.signals import STOPPER
writing.ROWS_AT_ONCE, write, parts = 7, writing.write_rows, []
def waiting():
    parts.append(1)
    if len(parts) == 4:
        Path("begun").touch()
        while not STOPPER.requested():
            time.sleep(0.01)
    STOPPER.hear()
writing.write_rows = lambda *values: write(*values[:4], waiting)
"""
# Memory of its own beyond what it has when all is loaded: what the rows are as text. A result that a client holds
# is several times that; pages of files do not count.
LIMITED = f"""
import resource
import h5py, numpy, pyarrow, pyarrow.compute, scipy.sparse, psycopg, sqlalchemy.dialects.postgresql.psycopg
import cgnn_cli.databases.queries as queries
queries.BATCH_ROWS = 1 << 12
held = next(line for line in open("/proc/self/status") if line.startswith("VmData"))
limit = 1024 * int(held.split()[1]) + {MANY * WIDE}
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
"""
TRAINING = ("--dataset", "mine", "--model", "gcn", "--epochs", 3, "--split", 0)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with tempfile.TemporaryDirectory(prefix="cgnn-") as folder:
        Path(folder).chmod(0o755)
        with running(Path(folder)) as found:
            yield found


@pytest.fixture
def database(server: Server, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of the server with both tables and no others, and its password in the environment."""
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    engine = sa.create_engine(_url(server))
    with engine.begin() as connection:
        connection.exec_driver_sql("drop schema public cascade")
        connection.exec_driver_sql("create schema public")
        fill(connection)
    engine.dispose()
    return server.address()


def _url(server: Server) -> Any:
    return sa.make_url(server.address()).set(drivername="postgresql+psycopg", password=PASSWORD)


def rows(server: Server, query: str) -> list[Any]:
    engine = sa.create_engine(_url(server))
    with engine.connect() as connection:
        found = [tuple(row) for row in connection.exec_driver_sql(query)]
    engine.dispose()
    return found


def test_queries_make_the_graph_that_files_make(cgnn: FrontDoor, database: str, tmp_path: Path) -> None:
    by_files = cgnn.ok("data", "import", "files", *write_files(tmp_path), *COLUMNS, "--json").json["key"]
    for address in (database, database.replace(":${PGPASSWORD}", "")):  # libpq reads the variable as well
        done = cgnn.ok("data", "import", "mine", "--sql", address, *QUERIES, *COLUMNS, "--json")
        assert done.json["key"] == by_files
    exact = "select source, target, amount::numeric(8, 2) as amount, now() as told, true as yes from payments"
    done = cgnn.ok("data", "import", "mine", "--sql", database, "--edges", exact, *QUERIES[2:], *COLUMNS, "--json")
    assert done.json["key"] == by_files


@pytest.mark.parametrize(
    "query",
    [
        "with gone as (delete from payments returning *) select * from gone",
        "select source, target from payments where steal() > 0",
        "with a as (select 1) insert into payments values ('a', 'b', 1) returning *",
    ],
)
def test_the_server_refuses_to_change_anything(cgnn: FrontDoor, database: str, server: Server, query: str) -> None:
    engine = sa.create_engine(_url(server))
    with engine.begin() as connection:
        connection.exec_driver_sql(
            "create function steal() returns integer language plpgsql as "
            "$$ begin delete from payments; return 1; end $$"
        )
    engine.dispose()
    before = rows(server, "select count(*) from payments")
    assert "cannot be read" in cgnn.fails(3, "data", "import", "mine", "--sql", database, "--edges", query)
    assert rows(server, "select count(*) from payments") == before


def test_many_rows_are_streamed(cgnn: FrontDoor, database: str) -> None:
    """In batches: with less memory than all of them would take as objects."""
    wide = f"repeat('x', {WIDE}) as told"
    query = f"select i % 5000 as source, (i * 7) % 4999 as target, {wide} from generate_series(1, {MANY}) as i"
    words = ("data", "import", "many", "--sql", database, "--edges", query, "--json")
    done = finish(start(*words, patch=LIMITED, fresh=True))
    assert done.json["summary"]["nodes"] == 5000


def test_a_wrong_password_is_told_without_it(cgnn: FrontDoor, database: str, server: Server) -> None:
    for address in (server.address("n0t-hers"), server.address("n0t-hers") + "?application_name=n0t-hers"):
        for debug in ((), ("--debug",)):
            result = cgnn(*debug, "data", "import", "mine", "--sql", address, *QUERIES)
            assert result.code == 3 and "password authentication failed" in result.err
            assert "n0t-hers" not in result.out + result.err
    assert not Path(".cgnn/datasets/mine.json").exists()


def test_the_password_is_nowhere(cgnn: FrontDoor, database: str, server: Server) -> None:
    address = server.address(PASSWORD.replace("/", "%2F").replace(":", "%3A"))
    for sql in (database, address):
        cgnn.ok("data", "import", "mine", "--sql", sql, *QUERIES, *COLUMNS)
    cgnn.ok("train", *TRAINING)
    cgnn.ok("predict", "--to-sql", address, "found")
    kept = b"".join(path.read_bytes() for path in Path().rglob("*") if path.is_file())
    assert b"s3cret" not in kept and b"postgresql://***@127.0.0.1" in kept


def test_predictions_are_written_and_replaced(cgnn: FrontDoor, database: str, server: Server) -> None:
    cgnn.ok("data", "import", "mine", "--sql", database, *QUERIES, *COLUMNS)
    cgnn.ok("eval", *TRAINING, "--to-sql", database, "public.scores")
    cgnn.ok("eval", *TRAINING, "--to-sql", database, "scores", "--existing", "append")
    assert rows(server, "select count(*), count(distinct metric) from scores where metric = 'accuracy'") == [(2, 1)]
    cgnn.ok("predict", "--to-sql", database, 'Pre"d')
    assert "has a table" in cgnn.fails(2, "predict", "--to-sql", database, 'Pre"d')
    cgnn.ok("predict", "--to-sql", database, 'Pre"d', "--existing", "append")
    assert rows(server, 'select count(*), count(distinct id) from "Pre""d"') == [(2 * ACCOUNTS, ACCOUNTS)]
    cgnn.ok("predict", "--to-sql", database, 'Pre"d', "--existing", "replace")
    assert rows(server, 'select count(*) from "Pre""d"') == [(ACCOUNTS,)]
    assert rows(server, "select count(*) from payments") == [(300,)]


def test_ctrl_c_leaves_no_table(cgnn: FrontDoor, database: str, server: Server) -> None:
    cgnn.ok("data", "import", "mine", "--sql", database, *QUERIES, *COLUMNS)
    cgnn.ok("train", *TRAINING)
    process = start("predict", "--to-sql", database, "found", patch=WAITING)
    wait_for(Path("begun").exists)
    process.send_signal(signal.SIGINT)
    assert finish(process).code == 130
    assert rows(server, "select 1 from pg_tables where tablename = 'found'") == []
    cgnn.ok("predict", "--to-sql", database, "found")


def test_the_server_has_no_rights_of_root(server: Server) -> None:
    import psutil

    (found,) = [c.pid for c in psutil.net_connections("tcp") if c.laddr.port == server.port and c.status == "LISTEN"]
    assert found is not None and psutil.Process(found).uids().real != 0 and os.getpid() != found
