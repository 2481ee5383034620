"""Results into a table of a database: the options `--to-sql`, `--replace` and `--append`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cgnn_cli.commands.options import OUTPUT_PANEL, option
from cgnn_cli.commands.session import Session
from cgnn_cli.errors import UsageError
from cgnn_cli.signals import STOPPER

if TYPE_CHECKING:
    from cgnn_cli.databases.connection import Database

TO_SQL_HELP = "Also write the rows into a new table of a database of SQLAlchemy, all or none; as SCHEMA.TABLE too."
ToSql = Annotated[tuple[str, str] | None, option("--to-sql", TO_SQL_HELP, OUTPUT_PANEL, metavar="URL TABLE")]
EXISTING_HELP = "With --to-sql and a table that is there: write in the place of its rows, or below them."
Existing = Annotated[Literal["replace", "append"] | None, option("--existing", EXISTING_HELP, OUTPUT_PANEL)]


@dataclass(frozen=True)
class TablePlace:
    """A table to write to."""

    database: Database
    name: str
    existing: Literal["refuse", "replace", "append"]

    def write(self, session: Session, columns: Mapping[str, Any]) -> dict[str, Any]:
        """Write the columns; what `--json` says of it."""
        from cgnn_cli.databases.writing import write_rows

        session.talker.begins(f"writing the table {self.name} of {self.database}")
        rows = write_rows(self.database, self.name, columns, self.existing, STOPPER.hear)
        session.talker.say(f"wrote {rows:,} rows into the table {self.name} of {self.database}")
        return {"database": str(self.database), "name": self.name, "rows": rows}


def table_place(to_sql: tuple[str, str] | None, existing: Literal["replace", "append"] | None) -> TablePlace | None:
    """Where the options say to write to; a package that is missing is told before anything is computed."""
    if to_sql is None:
        if existing is not None:
            raise UsageError("--existing is for --to-sql", "add it, or leave --existing out")
        return None
    address, name = to_sql
    parts = name.split(".")
    if len(parts) > 2 or not all(parts):
        raise UsageError(f"--to-sql: {name!r} is no name of a table", "write TABLE or SCHEMA.TABLE")
    from cgnn_cli.databases.connection import Database

    return TablePlace(Database(address), name, existing or "refuse")
