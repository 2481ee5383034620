"""GraphML as tables: edges with `source`, `target` and their attributes, nodes with `id` and theirs.

The file is read as a stream. A document type or an entity, with which a small file can become a huge one, is refused.
"""

import gzip
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Literal
from xml.parsers import expat

from cgnn_cli.datasets.files.rows import table_of
from cgnn_cli.datasets.files.tables import Reading, Table
from cgnn_cli.datasets.files.text_files import GZIP_MAGIC
from cgnn_cli.datasets.wording import shorten
from cgnn_cli.errors import DataError
from cgnn_cli.resources import READING_HINT, allowed_memory, check_memory

HEAD = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*<(?:\?xml[\s\S]{0,400}?<)?(?:!--[\s\S]*?-->\s*<)?(?:!DOCTYPE|(?:\w+:)?graphml\b)"
)
HEAD_BYTES, BLOCK, BATCH_ROWS = 1 << 12, 1 << 18, 1 << 16
ENDS = {"edge": ("source", "target"), "node": ("id",)}
Part = Literal["edge", "node"]


def is_graphml(path: Path) -> bool:
    """Whether a regular file, packed or not, begins as GraphML."""
    if not path.is_file():
        return False
    try:
        with _opened(path) as file:
            return HEAD.match(file.read(HEAD_BYTES)) is not None
    except (OSError, EOFError, zlib.error):  # whoever reads the file says what is wrong with it
        return False


def graphml_table(path: Path, part: Part, reading: Reading) -> Table:
    """The edges or the nodes of a GraphML file, their attributes by their names."""
    names = [*ENDS[part], *_Parser(path, part).titles()]
    if repeated := next((name for name in names if names.count(name) > 1), None):
        raise DataError(f"{path} has several attributes of {part}s called {shorten(repeated)}", "rename one")
    parser = _Parser(path, part, reading)
    table = table_of(path, names, parser.batches(len(names)), unit=part)
    if parser.both_ways:
        reading.notes.append(f"{path}: {parser.both_ways:,} edge(s) are undirected, and taken both ways")
    return table


def _opened(path: Path) -> Any:
    with open(path, "rb") as file:
        packed = file.read(len(GZIP_MAGIC)) == GZIP_MAGIC
    return gzip.open(path) if packed else open(path, "rb")


@dataclass
class _Parser:
    """What expat tells of a file, as rows of one part of the graph."""

    path: Path
    part: Part
    reading: Reading | None = None
    keys: dict[str, str] = field(default_factory=dict)
    defaults: dict[str, str] = field(default_factory=dict)
    rows: list[list[str]] = field(default_factory=list)
    both_ways: int = 0
    _elements: list[str] = field(default_factory=list)
    _row: dict[str, str] | None = None
    _texts: list[str] | None = None
    _key: str = ""
    _undirected: bool = False
    _graphs: int = 0
    _is_undirected: bool = False

    def titles(self) -> list[str]:
        """The names of the attributes, which stand before the graph."""
        for _ in self._blocks():
            if self._graphs:
                break
        return list(self.keys.values())

    def batches(self, width: int) -> Iterator[Any]:
        """The rows, some at a time."""
        import pyarrow as pa

        names = [str(place) for place in range(width)]
        for last in self._blocks():
            if len(self.rows) >= BATCH_ROWS or (last and self.rows):
                columns = [pa.array(column, pa.string()) for column in zip(*self.rows, strict=True)]
                self.rows.clear()
                yield pa.record_batch(columns, names)

    def _blocks(self) -> Iterator[bool]:
        """Parse block by block; whether it was the last one."""
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler = self._text
        parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = self._refuse
        read, limit, size = 0, allowed_memory(), max(self.path.stat().st_size, 1)
        try:
            with _opened(self.path) as file:
                while True:
                    block = file.read(BLOCK)
                    read += len(block)
                    check_memory(f"reading {self.path}", read, limit, READING_HINT)
                    parser.Parse(block, not block)
                    if self.reading is not None:
                        self.reading.tell(min(_place(file), size), size, f"bytes of {self.path.name}")
                    yield not block
                    if not block:
                        return
        except expat.ExpatError as error:
            what = expat.errors.messages.get(error.code, str(error.code))
            message = f"{self.path}, line {error.lineno}: it is no well-formed XML: {what}"
            raise DataError(message, "check how the file was made or copied") from None
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"{self.path} cannot be read: {error}", "check how the file was made or copied") from error

    def _refuse(self, *declared: object) -> None:
        raise DataError(f"{self.path} declares a document type or an entity", "GraphML needs none: leave it out")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        name = name.rpartition(":")[2]
        self._elements.append(name)
        if name == "key" and attributes.get("for", "all") in (self.part, "all"):
            self._key = self._needed(attributes, "id", name)
            self.keys[self._key] = attributes.get("attr.name", self._key)
        elif name == "default" and self._elements[-2:-1] == ["key"]:
            self._texts = []
        elif name == "graph":
            self._begin_graph(attributes)
        elif name == "hyperedge":
            raise DataError(f"{self.path} has hyperedges", "write each as edges between two nodes")
        elif name == self.part:
            self._row = {end: self._needed(attributes, end, name) for end in ENDS[name]}
            self._is_undirected = attributes.get("directed", "false" if self._undirected else "true") == "false"
        elif name == "data" and self._row is not None and self._elements[-2:-1] == [self.part]:
            self._key, self._texts = self._needed(attributes, "key", name), []

    def _begin_graph(self, attributes: dict[str, str]) -> None:
        self._graphs += 1
        self._undirected = attributes.get("edgedefault", "directed") == "undirected"
        if self._graphs > 1:
            raise DataError(f"{self.path} holds several graphs, or one inside another", "keep one of them")

    def _text(self, text: str) -> None:
        if self._texts is not None:
            self._texts.append(text)

    def _end(self, name: str) -> None:
        name = name.rpartition(":")[2]
        self._elements.pop()
        if name == "default" and self._texts is not None:
            self.defaults[self._key], self._texts = "".join(self._texts).strip(), None
        elif name == "key":
            self._key = ""
        elif name == "data" and self._texts is not None and self._row is not None:
            if self._key in self.keys:
                self._row[f"={self._key}"] = "".join(self._texts).strip()
            self._texts = None
        elif name == self.part and self._row is not None:
            self._add(self._row)
            self._row = None

    def _add(self, row: dict[str, str]) -> None:
        ends = [row[end] for end in ENDS[self.part]]
        values = [row.get(f"={key}", self.defaults.get(key, "")) for key in self.keys]
        self.rows.append([*ends, *values])
        if self.part == "edge" and self._is_undirected and ends[0] != ends[1]:
            self.both_ways += 1
            self.rows.append([*reversed(ends), *values])

    def _needed(self, attributes: dict[str, str], wanted: str, element: str) -> str:
        if wanted not in attributes:
            raise DataError(f"{self.path}: a <{element}> has no {wanted}", "check how the file was made")
        return attributes[wanted]


def _place(file: BinaryIO) -> int:
    """How many bytes of the file on disk are read."""
    packed = getattr(file, "fileobj", None)
    return int((packed or file).tell())
