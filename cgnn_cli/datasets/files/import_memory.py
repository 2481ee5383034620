"""How much memory an import needs, told before anything is parsed: by the sizes of the files and a few of their lines.

Columns stay as they were read until the graph is made; edges become an adjacency matrix beside them, and features
become arrays in the order of the nodes. How many nodes there are is known only where a file has a row for each. The
figures are bytes of all that lives at the moment of the peak; benchmarks/memory.py compares the sums with it.
"""

import os
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from scipy.sparse import issparse

from cgnn_cli import estimates
from cgnn_cli.datasets.files.arrays import NPY_MAGIC, ZIP_MAGIC
from cgnn_cli.datasets.files.delimited import SAMPLE_LINES, find_delimiter, split_row
from cgnn_cli.datasets.files.folders import IGNORED
from cgnn_cli.datasets.files.import_options import ImportOptions
from cgnn_cli.datasets.files.tables import PARQUET_MAGIC
from cgnn_cli.datasets.files.text_files import GZIP_MAGIC
from cgnn_cli.graph import Graph
from cgnn_cli.store.disk import entries

PARSED = 4  # copies of a text while it becomes columns
JOINED, PLACED = 120, 40  # of an edge, while it becomes an entry of the adjacency matrix, and afterwards
VALUE, PLACED_VALUE = 12, 20  # of a value of a node: its place in the text and a float64, later in the nodes' order
ID, ID_AGAIN = 215, 135  # of a different id in the edges, and in a file of nodes
NODES_AN_EDGE = 0.4  # where no file has a row for each node; from none to one an edge is a factor of 1.6
POINTER = 8  # of an end of an edge of an earlier graph, beside its text
SAMPLED_FILES = 8
STREAMED_ROWS, STREAMED_ROW, STREAMED_NODE = 1 << 22, 64, 110
BLOCK, UNPACKED = 1 << 16, 1 << 22
READERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


@dataclass(frozen=True)
class Size:
    """About how many rows and columns a file has, and how many bytes these take as columns; 0: it is not known."""

    rows: float = 0
    columns: int = 0
    text: float = 0

    @property
    def values(self) -> float:
        return self.rows * self.columns


def import_memory(options: ImportOptions, before: Graph | None = None) -> int:
    """The peak of an import, or of an update of an earlier graph; at least what a process takes by itself."""
    edges = size_of(options.edges)
    paths = [path for path in (options.features, options.labels, options.splits) if path is not None]
    given = [size_of(path) for path in paths]
    if options.edges is not None and options.edges.is_dir() and before is None:
        on_disk = [replace(size, text=0) if path.is_dir() else size for path, size in zip(paths, given, strict=True)]
        return _streamed_memory(edges, on_disk)
    nodes = max((size.rows for size in given), default=NODES_AN_EDGE * edges.rows)
    text, values = sum(size.text for size in given), sum(size.values for size in given)
    rows, loaded, again = edges.rows, 0, bool(given)
    if before is not None:
        rows, nodes, again = rows + before.adjacency.nnz, nodes + before.node_count, True
        values += 0 if before.features is None else before.features.size
        loaded = sum(map(_bytes_of, before.to_elements().values()))
        text += before.adjacency.nnz * 2 * (POINTER + _id_length(before))
    held = edges.text + text + loaded + (ID + ID_AGAIN * again) * nodes
    parsing = PARSED * max([edges.text, *(edges.text + size.text for size in given)]) + loaded
    joining, placing = JOINED * rows + VALUE * values, PLACED * rows + PLACED_VALUE * values
    return max(estimates.LEAST, int(max(parsing, held + max(joining, placing))) + estimates.SMALL)


def _streamed_memory(edges: Size, given: list[Size]) -> int:
    """Of a folder of edges: the table of ids, what is done at a time, and the text of single files of nodes."""
    nodes = max((size.rows for size in given), default=NODES_AN_EDGE * edges.rows)
    at_a_time = min(edges.rows, STREAMED_ROWS) * STREAMED_ROW + PARSED * sum(size.text for size in given)
    return estimates.LEAST + estimates.SMALL + int(STREAMED_NODE * nodes + at_a_time)


def _bytes_of(element: Any) -> int:
    """Of an array, or of a sparse matrix."""
    parts = (element.data, element.indices, element.indptr) if issparse(element) else (element,)
    return sum(int(part.nbytes) for part in parts)


def _id_length(graph: Graph) -> float:
    """Bytes of an id on average, as text."""
    if graph.node_ids is None:
        return len(str(graph.node_count))
    return sum(map(len, graph.node_ids.tolist())) / graph.node_count


def size_of(path: Path | None) -> Size:
    """The size of a regular file, or of all in a folder; pipes and damaged files are left to those who read them."""
    if path is not None and path.is_dir():
        return _folder_size(path)
    if path is None or not os.path.isfile(path):
        return Size()
    try:
        with open(path, "rb") as file:
            head, size = file.read(BLOCK), os.fstat(file.fileno()).st_size
            file.seek(0)
            if head.startswith(NPY_MAGIC):
                return _array_size(file)
            if head.startswith(ZIP_MAGIC):
                return _archive_size(file)
            if PARQUET_MAGIC.match(head):
                return _parquet_size(path, size)
            if head.startswith(GZIP_MAGIC):
                return _packed_size(file, size)
            return _text_size([head, *_later_blocks(file, size)], size)
    except Exception:  # whoever reads the file says what is wrong with it
        return Size()


def _folder_size(folder: Path) -> Size:
    """From a few of the files, and the bytes of all."""
    files = [path for path in entries(folder) if path.is_file() and not path.name.startswith(IGNORED)]
    sampled = files[:: max(1, len(files) // SAMPLED_FILES)]
    sizes = [size_of(path) for path in sampled]
    share = sum(path.stat().st_size for path in files) / max(1, sum(path.stat().st_size for path in sampled))
    columns = max((size.columns for size in sizes), default=0)
    return Size(share * sum(size.rows for size in sizes), columns, share * sum(size.text for size in sizes))


def _later_blocks(file: BinaryIO, size: int) -> Iterator[bytes]:
    """Of the middle and the end: in a sorted file ids grow longer."""
    for place in (size // 2, size - BLOCK):
        if place >= BLOCK:
            file.seek(place)
            yield file.read(BLOCK)


def _text_size(blocks: list[bytes], size: float) -> Size:
    text = b"".join(blocks)
    sample = [line for line in text.decode(errors="replace").splitlines()[1 : SAMPLE_LINES + 1] if line.strip()]
    if not sample:
        return Size(1, 1, size)
    columns = max(len(split_row(line, find_delimiter(sample))) for line in sample)
    return Size(size * (text.count(b"\n") + 1) / len(text), columns, size)


def _packed_size(file: BinaryIO, size: int) -> Size:
    """From how much the first megabytes unpack to."""
    unpacking, packed = zlib.decompressobj(wbits=31), file.read(UNPACKED)
    text = unpacking.decompress(packed, UNPACKED)
    taken = len(packed) - len(unpacking.unconsumed_tail) - len(unpacking.unused_data)
    return _text_size([text], size * len(text) / taken)


def _parquet_size(path: Path, size: int) -> Size:
    """From what the file declares; text in a dictionary takes more when it is unpacked."""
    import pyarrow.parquet as pq

    about = pq.read_metadata(path)
    declared = sum(about.row_group(number).total_byte_size for number in range(about.num_row_groups))
    return Size(about.num_rows, about.num_columns, size + max(declared, 8 * about.num_rows * about.num_columns))


def _array_size(file: BinaryIO) -> Size:
    version = np.lib.format.read_magic(file)
    shape, _, kind = READERS[version](file)
    rows, *columns = sorted(shape, reverse=True) if len(shape) == 2 and min(shape) == 2 else [*shape, 1]
    return Size(rows, int(np.prod(columns)), float(np.prod(shape)) * kind.itemsize)


def _archive_size(file: BinaryIO) -> Size:
    """A sparse matrix has a value, a row and a column an entry."""
    with zipfile.ZipFile(file) as archive:
        parts = [member.file_size for member in archive.infolist()]
    return Size(max(parts) / 8, 1, sum(parts))
