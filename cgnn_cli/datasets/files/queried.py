"""Tables that are queries of a database: streamed rows, under names that stand for them in messages."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cgnn_cli.databases.connection import Database
from cgnn_cli.databases.queries import BATCH_ROWS, selected
from cgnn_cli.datasets.files.rows import table_of
from cgnn_cli.datasets.files.tables import Reading, Table
from cgnn_cli.datasets.wording import shorten
from cgnn_cli.errors import DataError


@dataclass(frozen=True)
class Queries:
    """The queries of an import by what stands in the place of their files."""

    database: Database
    texts: Mapping[Path, str]

    def table(self, path: Path, reading: Reading) -> Table:
        """The rows of a query."""
        with selected(self.database, self.texts[path]) as (names, batches):
            if repeated := next((name for name in names if names.count(name) > 1), None):
                raise DataError(f"{path} gives several columns called {shorten(repeated)}", "name one with `as`")
            return table_of(path, names, _told(batches, reading))


def _told(batches: Iterable[Any], reading: Reading) -> Iterator[Any]:
    for number, batch in enumerate(batches):
        reading.tell(BATCH_ROWS * number, BATCH_ROWS * (number + 1), "rows of a query")
        yield batch
