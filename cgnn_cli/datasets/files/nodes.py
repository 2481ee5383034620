"""The nodes of the user's graph: all of them in their order, and their features, labels and times in that order."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from cgnn_cli.datasets.files.edges import EdgeList, Ids
from cgnn_cli.datasets.files.node_values import NodeValues
from cgnn_cli.datasets.files.tables import IDS_HINT, NODE_NUMBER
from cgnn_cli.datasets.wording import shorten
from cgnn_cli.errors import DataError

WHOLE_NUMBER = re.compile(r"0|[1-9][0-9]*")
CLASS_NUMBER = re.compile(r"-?[0-9]{1,18}")
MANY_NODES, MANY_PER_ID = 10_000_000, 100


@dataclass(frozen=True)
class Nodes:
    """All nodes in their order; `names` is None where they are just numbered."""

    count: int
    names: list[str] | None = None

    @cached_property
    def _index(self) -> dict[str, int]:
        return {name: position for position, name in enumerate(self.names or map(str, range(self.count)))}

    def positions(self, ids: Ids) -> np.ndarray:
        """The position of each id, -1 where there is no such node."""
        if isinstance(ids, np.ndarray):
            return ids
        codes, names = ids.encoded
        places = np.fromiter((self._index.get(name, -1) for name in names), dtype=np.int64, count=len(names))
        return places[codes]

    def has(self, name: str) -> bool:
        return name in self._index

    def name(self, position: int) -> str:
        return str(position) if self.names is None else self.names[position]


def collect_nodes(edges: EdgeList, values: list[NodeValues], earlier: Iterable[str] = ()) -> Nodes:
    """The union of all ids: numbers in their order where all are whole numbers, else in the order of UTF-8.

    earlier: ids that are nodes anyway, for edges with ids in text.
    """
    text = {item.path: set(item.ids.encoded[1]) for item in values if item.ids is not None}
    rows = {item.path: item.row_count for item in values if item.ids is None}
    if edges.number_count:
        rows[edges.path] = edges.number_count
    else:
        text[edges.path] = text.get(edges.path, set()) | edges.names | set(earlier)
    if rows:
        return _numbered_nodes(edges, rows, text)
    names = set().union(*text.values())
    whole = all(map(WHOLE_NUMBER.fullmatch, names))
    ordered = sorted(names, key=lambda name: (len(name), name)) if whole else sorted(names)
    plain = whole and ordered[-1] == str(len(ordered) - 1)
    return Nodes(len(ordered), None if plain else ordered)


def _numbered_nodes(edges: EdgeList, rows: dict[Path, int], text: dict[Path, set[str]]) -> Nodes:
    array_path, count = next(iter(rows)), max(rows.values())
    for path, names in text.items():
        odd = min((name for name in names if not NODE_NUMBER.fullmatch(name)), default=None)
        if odd is not None:
            raise DataError(f"{array_path} has rows for nodes 0..N-1, but {path} names a node {shorten(odd)}", IDS_HINT)
        count = max(count, max(map(int, names)) + 1)
    if count > max(MANY_NODES, MANY_PER_ID * len(edges.source)):
        message = f"{count} nodes for {len(edges.source)} edges: the node numbers of {edges.path} are not 0..N-1"
        raise DataError(message, "take the numbers as ids with --relabel, or give the edges as text")
    return Nodes(count)


def place_features(features: NodeValues, nodes: Nodes) -> np.ndarray | csr_array:
    """The features in the order of the nodes, all of which must have some."""
    if features.table is None:
        _check_rows(features, nodes)
        return features.values
    positions = nodes.positions(features.table.columns[features.id_column])
    features.table.check_single_rows(positions, features.id_column)
    missing = np.setdiff1d(np.arange(nodes.count), positions)
    if len(missing):
        names = ", ".join(shorten(nodes.name(position)) for position in missing[:5])
        hint = "add a row for every node"
        raise DataError(f"{features.path} has no row for {len(missing)} node(s), first {names}", hint)
    return features.values[np.argsort(positions)]


def place_labels(labels: NodeValues, nodes: Nodes) -> tuple[np.ndarray, list[str]]:
    """The class number of each node, -1 where it has no label, and the names of the classes."""
    codes, texts = labels.values.encoded
    names = _sort_classes(set(texts) - {""})
    if not names:
        raise DataError(f"{labels.path} gives no node a label", "leave --labels out, or fill in some labels")
    index = {"": -1, **{name: code for code, name in enumerate(names)}}
    codes = np.array([index[text] for text in texts], dtype=np.int64)[codes]
    if labels.table is None:
        _check_rows(labels, nodes)
        return codes, names
    positions = nodes.positions(labels.table.columns[labels.id_column])
    _, first, inverse = np.unique(positions, return_index=True, return_inverse=True)
    conflicts = np.flatnonzero(codes[first][inverse] != codes)
    if len(conflicts):
        row = int(conflicts[0])
        name, other = shorten(nodes.name(positions[row])), labels.table.lines[first[inverse[row]]]
        message = f"{labels.table.where(row)}: node {name} has another label on {labels.table.unit} {other}"
        raise DataError(message, "keep one label a node")
    placed = np.full(nodes.count, -1, dtype=np.int64)
    placed[positions] = codes
    return placed, names


def place_times(labels: NodeValues, nodes: Nodes) -> np.ndarray:
    """The time of each node as the table of labels has it, NaN where it has none; of several rows the first."""
    placed = np.full(nodes.count, np.nan)
    if labels.time is not None and labels.ids is not None:
        positions = nodes.positions(labels.ids)
        placed[positions[::-1]] = labels.time[::-1]
    return placed


def _check_rows(values: NodeValues, nodes: Nodes) -> None:
    if values.row_count != nodes.count:
        raise DataError(f"{values.path} has {values.row_count} rows, but the graph has {nodes.count} nodes", IDS_HINT)


def _sort_classes(names: set[str]) -> list[str]:
    if all(map(CLASS_NUMBER.fullmatch, names)):
        return sorted(names, key=lambda name: (int(name), name))
    return sorted(names)
