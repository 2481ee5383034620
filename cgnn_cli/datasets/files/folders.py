"""A folder of text or Parquet files that hold the rows of one table, read in the order of their names.

Files are read in batches, and columns lie in files without names: neither the text nor the columns take memory. Text
has the delimiter of the first file, and a header in every file or in none.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from cgnn_cli import mapped
from cgnn_cli.datasets.files.columns import Column
from cgnn_cli.datasets.files.delimited import Comments, Layout, TextLines, split_block
from cgnn_cli.datasets.files.parquet import kind_of, read_column, schema_of
from cgnn_cli.datasets.files.places import Places
from cgnn_cli.datasets.files.tables import PARQUET_MAGIC, Parts, Reading, Table, note_comments
from cgnn_cli.datasets.files.text_files import text_blocks
from cgnn_cli.datasets.wording import shorten
from cgnn_cli.errors import DataError

ARRAY_MAGIC = (b"\x93NUMPY", b"PK\x03\x04")
IGNORED = (".", "_")  # how names begin of files that are no data: .crc, _SUCCESS, _metadata
MAGIC_BYTES = 8
ONE_TABLE = "give files of one table"
ONE_KIND = "a folder holds text files, or Parquet files, of one table"


def folder_table(folder: Path, reading: Reading) -> Table:
    """The table of all rows in the files of a folder; its header, if it is text, is still the first row."""
    files = _data_files(folder, reading)
    kinds = {path: _kind_of(path) for path in files}
    first = files[0]
    for path, kind in kinds.items():
        if kind == "numpy":
            raise DataError(
                f"{path} is a numpy file, and {folder} is a folder", f"{ONE_KIND}; give a numpy file by itself"
            )
        if kind != kinds[first]:
            message = f"{folder} holds files of two kinds: {first.name} is {kinds[first]}, and {path.name} is {kind}"
            raise DataError(message, ONE_KIND)
    reading.notes.append(f"{folder}: {len(files):,} {kinds[first]} file(s), from {first.name} to {files[-1].name}")
    return (_parquet_folder if kinds[first] == "Parquet" else _text_folder)(folder, files, reading)


def _data_files(folder: Path, reading: Reading) -> list[Path]:
    """The files of a folder that hold rows, by name."""
    try:
        found = sorted(folder.iterdir(), key=lambda path: path.name)
    except OSError as error:
        raise DataError(f"{folder} cannot be read: {error.strerror}", "check the path and its permissions") from error
    named = [path for path in found if not path.name.startswith(IGNORED)]
    if ignored := len(found) - len(named):
        reading.notes.append(f"{folder}: {ignored:,} name(s) that begin with a dot or an underscore are ignored")
    for path in named:
        if not path.is_file():
            what = "a folder" if path.is_dir() else "no regular file"
            raise DataError(f"{folder} holds {path.name}, which is {what}", "put all files into one folder")
    files = [path for path in named if path.stat().st_size]
    if not files:
        raise DataError(f"{folder} holds no files with rows in them", ONE_KIND)
    if empty := len(named) - len(files):
        reading.notes.append(f"{folder}: {empty:,} empty file(s) are ignored")
    return files


def _kind_of(path: Path) -> str:
    try:
        with open(path, "rb") as file:
            head = file.read(MAGIC_BYTES)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}", "check the path and its permissions") from error
    if head.startswith(ARRAY_MAGIC):
        return "numpy"
    if PARQUET_MAGIC.match(head):
        return "Parquet"
    if path.suffix.lower() == ".parquet":
        raise DataError(f"{path} is not a Parquet file, in spite of its name", "write it again, or rename it")
    return "text"


def _parquet_folder(folder: Path, files: list[Path], reading: Reading) -> Table:
    """A column is read, from all files, when it is used."""
    first, about = files[0], [schema_of(path) for path in files]
    names, blocks = about[0][0].names, []
    for path, (schema, count) in zip(files, about, strict=True):
        if sorted(schema.names) != sorted(names):
            raise _other_columns(first, names, path, schema.names)
        if count:
            blocks.append((path, range(1, count + 1)))
    if not blocks:
        raise DataError(f"the files of {folder} hold no rows", "check how they were made")
    columns = []
    for name in names:
        kinds = {path: kind_of(schema.field(name).type) for path, (schema, _) in zip(files, about, strict=True)}
        load = partial(_load, [path for path, _ in blocks], name, kinds, reading)
        columns.append(Column(load, sum(len(lines) for _, lines in blocks)))
    return Table(folder, columns, Places(blocks), names, "row")


def _load(files: list[Path], name: str, kinds: dict[Path, Any], reading: Reading) -> Any:
    """A column of all files; whole numbers become fractions where some file has these."""
    import pyarrow as pa

    kind, first = _shared_kind(name, kinds), files[0]

    def arrays() -> Iterator[Any]:
        for number, path in enumerate(files):
            reading.tell(number, len(files), f"files: {name} of {path.name}")
            for array in read_column(path, name):
                try:
                    yield array if array.type == kind else array.cast(kind)
                except pa.ArrowException as error:
                    message = f"{path}: column {shorten(name)} holds numbers that {first} has no type for"
                    raise DataError(message, "write all files with one type") from error

    return mapped.spooled(arrays())


def _shared_kind(name: str, kinds: dict[Path, Any]) -> Any:
    """The type of a column, which is text in all files or in none."""
    import pyarrow as pa

    first = next(iter(kinds))
    for path, kind in kinds.items():
        if (kind == pa.string()) != (kinds[first] == pa.string()):
            message = f"column {shorten(name)} has the type {kinds[first]} in {first}, and {kind} in {path}"
            raise DataError(message, "write all files with one type")
    found = set(kinds.values())
    if len(found) == 1:
        return found.pop()
    return pa.float64() if any(map(pa.types.is_floating, found)) else pa.int64()


def _other_columns(first: Path, names: list[str], path: Path, found: list[str]) -> DataError:
    told = [f"no column {shorten(name)}" for name in names if name not in found][:1]
    told += [f"a column {shorten(name)}" for name in found if name not in names][:1]
    return DataError(f"{path} has {' and '.join(told)}, unlike {first}", ONE_TABLE)


@dataclass
class _Texts:
    """The text files that have been read so far: their rows, where these are, and the first row of each file."""

    spool: mapped.Spool = field(default_factory=mapped.Spool)
    layout: Layout | None = None
    blocks: list[tuple[Path, TextLines]] = field(default_factory=list)
    starts: list[tuple[Path, int, list[str]]] = field(default_factory=list)  # of each file the first block and row
    comments: list[tuple[Path, Comments]] = field(default_factory=list)

    def add(self, path: Path, reading: Reading) -> None:
        """Read a file block by block."""
        import pyarrow as pa

        line, layout = 0, self.layout and self.layout._replace(width=0)
        for text in text_blocks(path):
            head = not (self.starts and self.starts[-1][0] == path)
            layout, arrays, lines, comments = split_block(text, path, reading.comment, layout, head=head)
            self.comments.append((path, _later(comments, line)))
            if arrays:
                if head:
                    self._begin(path, layout, [array[0].as_py() for array in arrays])
                self.blocks.append((path, _later_lines(lines, line)))
                table = pa.table(arrays, [str(place) for place in range(len(arrays))])
                for batch in table.to_batches():
                    self.spool.add(batch)
            line += text.count(b"\n")

    def _begin(self, path: Path, layout: Layout, row: list[str]) -> None:
        if self.layout is None:
            self.layout = layout
        elif layout.width != self.layout.width:
            first, mark = self.starts[0][0], self.layout.delimiter or "whitespace"
            message = f"{path} has {layout.width} column(s) between {mark!r}, and {first} has {self.layout.width}"
            raise DataError(message, ONE_TABLE)
        self.starts.append((path, len(self.blocks), row))

    def table(self, folder: Path) -> Table:
        """All rows, but those first rows that repeat that of the first file: they are headers if it is one."""
        columns, (first, _, row) = self.spool.columns(), self.starts[0]
        whole = Table(folder, [Column.of(column) for column in columns], Places(self.blocks))
        repeats = {block for _, block, other in self.starts[1:] if other == row}
        odd = next(((path, other) for path, _, other in self.starts[1:] if other != row), None)
        if not repeats:
            return replace(whole, parts=Parts(whole, first, odd))
        blocks = [(path, lines[1:] if place in repeats else lines) for place, (path, lines) in enumerate(self.blocks)]
        sizes = [len(lines) for _, lines in self.blocks]
        dropped = np.cumsum([0, *sizes])[sorted(repeats)].tolist()
        left = [Column.of(_without(column, dropped)) for column in columns]
        return Table(folder, left, Places(blocks), parts=Parts(whole, first, odd))


def _text_folder(folder: Path, files: list[Path], reading: Reading) -> Table:
    texts = _Texts()
    for number, path in enumerate(files):
        reading.tell(number, len(files), f"files: {path.name}")
        texts.add(path, reading)
    if not texts.starts:
        raise DataError(f"the files of {folder} hold no rows", "check how they were made")
    table = texts.table(folder)
    noted = [(path, comments) for path, comments in texts.comments if comments.lines]
    rowed = [(path, comments) for path, comments in noted if comments.row] or noted[:1]
    path, found = rowed[0] if rowed else (folder, Comments([]))
    count, rows = (sum(numbers) for numbers in ((len(c.lines) for _, c in noted), (c.rows for _, c in texts.comments)))
    note_comments(table, path, found._replace(rows=rows), count, reading)
    return table


def _later(comments: Comments, lines: int) -> Comments:
    return comments._replace(lines=[line + lines for line in comments.lines])


def _later_lines(lines: TextLines, by: int) -> TextLines:
    return range(lines.start + by, lines.stop + by) if isinstance(lines, range) else lines + by


def _without(column: Any, rows: list[int]) -> Any:
    """A chunked array without some rows, given in order; nothing is copied."""
    import pyarrow as pa

    starts, stops = [0, *(row + 1 for row in rows)], [*rows, len(column)]
    parts = [column.slice(start, stop - start) for start, stop in zip(starts, stops, strict=True)]
    return pa.chunked_array([chunk for part in parts for chunk in part.chunks], column.type)
