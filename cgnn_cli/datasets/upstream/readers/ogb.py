"""The archive of ogbn-arxiv with the years of its papers as classes, and the splits that are published for them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np

from cgnn_cli.datasets.files.archives import ARRAY_MEMORY, open_archive, open_gzip, open_member
from cgnn_cli.datasets.upstream.readers import assembly
from cgnn_cli.errors import DataError
from cgnn_cli.graph import Graph
from cgnn_cli.resources import check_reading

ARCHIVE, SPLITS = "arxiv.zip", "arxiv-year-splits.npy"
FOLDER = "arxiv/raw"
WIDTH = 128
LARGEST_TEXT = 1 << 30


def read(files: dict[str, Path]) -> Graph:
    """The graph with five classes of years."""
    path = files[ARCHIVE]
    years = _column(path, "node_year.csv.gz")
    count = len(years)
    stated = _column(path, "num-node-list.csv.gz")
    if stated.tolist() != [count]:
        raise DataError(f"{path} has {count} years, but states {stated[:3].tolist()} nodes", assembly.FETCH_AGAIN)
    labels, class_names = assembly.year_classes(years, path)
    with _text(path, "edge.csv.gz") as (stream, what):
        source, target = assembly.number_columns(stream, ["int64", "int64"], what)
    return assembly.build_graph(
        assembly.checked_edges(source, target, count, path),
        assembly.dense_features(_features(path, count), count, path),
        labels,
        class_names=class_names,
        splits=assembly.read_index_splits(files[SPLITS], labels),
    )


@contextmanager
def _text(path: Path, name: str) -> Iterator[tuple[BinaryIO, str]]:
    """The unpacked text of a member of the archive, and its name for messages."""
    what = f"{path}: {FOLDER}/{name}"
    with (
        open_archive(path) as archive,
        open_member(archive, f"{FOLDER}/{name}", path) as member,
        open_gzip(member, LARGEST_TEXT, what) as stream,
    ):
        yield stream, what


def _column(path: Path, name: str) -> np.ndarray:
    with _text(path, name) as (stream, what):
        return assembly.number_columns(stream, ["int64"], what)[0]


def _features(path: Path, count: int) -> np.ndarray:
    """The features, filled in a block at a time so that their text is never in memory."""
    check_reading(path, ARRAY_MEMORY * 4 * WIDTH * count)
    features = np.empty((count, WIDTH), dtype=np.float32)
    filled = 0
    with _text(path, "node-feat.csv.gz") as (stream, what):
        for block in assembly.number_blocks(stream, ["float"] * WIDTH, what):
            rows = block.shape[1]
            if filled + rows > count:
                raise DataError(f"{what} has more than {count} rows", assembly.FETCH_AGAIN)
            features[filled : filled + rows] = block.T
            filled += rows
    if filled < count:
        raise DataError(f"{what} has {filled} rows, but the graph has {count} nodes", assembly.FETCH_AGAIN)
    return features
