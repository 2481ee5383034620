"""The nodes of the user's graph: all that its files name or number, in order, and their values put in that order."""

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from cgnn_cli.datasets.columns import IDS_HINT, NODE_NUMBER, check_single_rows
from cgnn_cli.datasets.edges import EdgeList, Ids
from cgnn_cli.datasets.node_files import NodeValues
from cgnn_cli.datasets.tables import shorten
from cgnn_cli.datasets.text_columns import encode
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
        codes, names = encode(ids)
        places = np.fromiter((self._index.get(name, -1) for name in names), dtype=np.int64, count=len(names))
        return places[codes]

    def name(self, position: int) -> str:
        return str(position) if self.names is None else self.names[position]


def collect_nodes(edges: EdgeList, values: list[NodeValues]) -> Nodes:
    """The union of all ids: numbers in their order where all are whole numbers, else in the order of UTF-8."""
    text = {item.path: set(encode(item.ids)[1]) for item in values if item.ids is not None}
    rows = {item.path: item.row_count for item in values if item.ids is None}
    if isinstance(edges.source, np.ndarray) and isinstance(edges.target, np.ndarray):
        rows[edges.path] = max(int(edges.source.max()) + 1, int(edges.target.max()) + 1, edges.node_count)
    for ends in (edges.source, edges.target):
        if not isinstance(ends, np.ndarray):
            text[edges.path] = text.get(edges.path, set()).union(encode(ends)[1])
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
        raise DataError(
            f"{count} nodes for {len(edges.source)} edges: the node numbers of {edges.path} are not 0..N-1",
            "take the numbers as ids with --relabel, or give the edges as text",
        )
    return Nodes(count)


def place_features(features: NodeValues, nodes: Nodes) -> np.ndarray | csr_array:
    """The features in the order of the nodes, all of which must have some."""
    if features.table is None:
        _check_rows(features, nodes)
        return features.values
    positions = nodes.positions(features.table.columns[0])
    check_single_rows(features.table, positions)
    missing = np.setdiff1d(np.arange(nodes.count), positions)
    if len(missing):
        names = ", ".join(shorten(nodes.name(position)) for position in missing[:5])
        raise DataError(
            f"{features.path} has no row for {len(missing)} node(s), first {names}", "add a row for every node"
        )
    placed = np.empty_like(features.values)
    placed[positions] = features.values
    return placed


def place_labels(labels: NodeValues, nodes: Nodes) -> tuple[np.ndarray, list[str]]:
    """The class number of each node, -1 where it has no label, and the names of the classes."""
    codes, texts = encode(labels.values)
    names = _sort_classes(set(texts) - {""})
    if not names:
        raise DataError(f"{labels.path} gives no node a label", "leave --labels out, or fill in some labels")
    index = {"": -1, **{name: code for code, name in enumerate(names)}}
    codes = np.array([index[text] for text in texts], dtype=np.int64)[codes]
    if labels.table is None:
        _check_rows(labels, nodes)
        return codes, names
    positions = nodes.positions(labels.table.columns[0])
    _, first, inverse = np.unique(positions, return_index=True, return_inverse=True)
    conflicts = np.flatnonzero(codes[first][inverse] != codes)
    if len(conflicts):
        row = int(conflicts[0])
        name, other = shorten(nodes.name(positions[row])), labels.table.lines[first[inverse[row]]]
        raise DataError(
            f"{labels.table.where(row)}: node {name} has another label on {labels.table.unit} {other}",
            "keep one label a node",
        )
    placed = np.full(nodes.count, -1, dtype=np.int64)
    placed[positions] = codes
    return placed, names


def _check_rows(values: NodeValues, nodes: Nodes) -> None:
    if values.row_count != nodes.count:
        raise DataError(f"{values.path} has {values.row_count} rows, but the graph has {nodes.count} nodes", IDS_HINT)


def _sort_classes(names: set[str]) -> list[str]:
    if all(map(CLASS_NUMBER.fullmatch, names)):
        return sorted(names, key=lambda name: (int(name), name))
    return sorted(names)
