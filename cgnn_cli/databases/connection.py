"""Databases by their address: connections that only read, and errors that keep what they must not say.

An address is that of SQLAlchemy, `postgresql://ann:${PGPASSWORD}@host/payments` or `sqlite:///payments.db`. ${NAME} is
the variable of the environment, put in after the address was taken apart; alone it is the whole address.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload
from urllib.parse import quote

from cgnn_cli.errors import CgnnError, DataError, UsageError
from cgnn_cli.redaction import ADDRESS, HIDDEN, redacted_address

if TYPE_CHECKING:
    from sqlalchemy import URL, Connection, Engine

REFERENCE = re.compile(r"\$\{(\w+)\}")
DRIVERS = {"postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg"}
READ_ONLY = {
    "mysql": "SET SESSION TRANSACTION READ ONLY",
    "mariadb": "SET SESSION TRANSACTION READ ONLY",
    "oracle": "SET TRANSACTION READ ONLY",
}
FORM = "write it as postgresql://HOST/NAME or sqlite:///FILE"


@dataclass(frozen=True)
class Database:
    """A database by its address as it was given; it is connected to when it is used."""

    address: str

    def __post_init__(self) -> None:
        if find_spec("sqlalchemy") is None:
            raise UsageError("databases need SQLAlchemy, which is not installed", 'pip install "cgnn[sql]"')

    def __str__(self) -> str:
        """The address without its credentials; of what is no address nothing, for it may be a password."""
        known = REFERENCE.fullmatch(self.address) or ADDRESS.match(self.address)
        return redacted_address(self.address) if known else HIDDEN

    @cached_property
    def _url(self) -> URL:
        from sqlalchemy import make_url
        from sqlalchemy.exc import ArgumentError

        whole = REFERENCE.fullmatch(self.address)
        try:
            url = make_url(_variable(whole[1]) if whole else self.address)
        except (ArgumentError, ValueError):
            raise UsageError(f"{self} is not the address of a database", FORM) from None
        driver = DRIVERS.get(url.drivername, url.drivername)
        return url.set(
            drivername=driver,
            username=_filled(url.username),
            password=_filled(url.password),
            host=_filled(url.host),
            database=_filled(url.database),
            query={name: _filled(value) if isinstance(value, str) else value for name, value in url.query.items()},
        )

    def _engine(self, *, read_only: bool) -> Engine:
        from sqlalchemy import create_engine, event
        from sqlalchemy.exc import ArgumentError, NoSuchModuleError
        from sqlalchemy.pool import NullPool

        url, more = self._url, dict[str, Any]()
        if url.get_backend_name() == "sqlite" and url.database:
            name = f"file:{quote(str(Path(url.database).expanduser().absolute()))}?mode={'ro' if read_only else 'rwc'}"
            more["creator"] = lambda: sqlite3.connect(name, uri=True, isolation_level=None)
        elif url.get_backend_name() == "duckdb" and read_only:
            more["connect_args"] = {"read_only": True}
        try:
            engine = create_engine(url, poolclass=NullPool, hide_parameters=True, **more)
        except ModuleNotFoundError as error:
            raise UsageError(f"{self} needs the package {error.name}", f"pip install {error.name}") from None
        except (NoSuchModuleError, ArgumentError, TypeError):
            raise UsageError(f"{self} is not the address of a database that SQLAlchemy knows", FORM) from None
        if "creator" in more:  # Python's own transactions would leave the creation of a table outside
            event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN"))
        return engine

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection that streams rows and changes nothing: databases that can refuse to are asked to."""
        engine = self._engine(read_only=True)
        with self._told("read"), engine.connect() as connection:
            backend = self._url.get_backend_name()
            if backend == "postgresql":
                connection.execution_options(postgresql_readonly=True)
            elif backend in READ_ONLY:
                connection.exec_driver_sql(READ_ONLY[backend])
            yield connection.execution_options(stream_results=True, no_parameters=True)
            connection.rollback()

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A connection in a transaction, which is undone by any error."""
        engine = self._engine(read_only=False)
        with self._told("written to"), engine.begin() as connection:
            yield connection

    @contextmanager
    def _told(self, done: str) -> Iterator[None]:
        """What fails is told in a line, without what the address hides; not as the cause, which might tell it."""
        try:
            yield
        except (CgnnError, MemoryError):
            raise
        except Exception as error:
            if not _is_of_a_database(error):
                raise
            told = getattr(error, "orig", None) or error
            lines = str(told).strip().splitlines() or [type(told).__name__]
            message = lines[0]
            for secret in self._secrets():
                message = message.replace(secret, HIDDEN)
            raise DataError(f"{self} cannot be {done}: {message[:300]}", "check the address and the query") from None

    def _secrets(self) -> list[str]:
        values = [self._url.password, *(value for value in self._url.query.values() if isinstance(value, str))]
        return [str(value) for value in values if value]


def _is_of_a_database(error: Exception) -> bool:
    from sqlalchemy.exc import SQLAlchemyError

    # A driver raises its own errors while a stream of rows is fetched.
    return isinstance(error, SQLAlchemyError | OSError) or any(kind.__name__ == "Error" for kind in type(error).__mro__)


@overload
def _filled(text: str) -> str: ...
@overload
def _filled(text: None) -> None: ...
def _filled(text: str | None) -> str | None:
    """A part of an address with the values of the variables in it."""
    return text and REFERENCE.sub(lambda found: _variable(found[1]), text)


def _variable(name: str) -> str:
    if not (value := os.environ.get(name)):
        raise UsageError(f"the address of the database names ${{{name}}}, which is not set", f"export {name}=...")
    return value
