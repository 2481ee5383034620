"""The nodes of the user's graph: all of them in their order, and their features, labels and times in that order."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from cgnn_cli import mapped
from cgnn_cli.datasets.files.edges import EdgeList, Ids
from cgnn_cli.datasets.files.ids import in_order, joined, lookup, places
from cgnn_cli.datasets.files.node_values import NodeValues
from cgnn_cli.datasets.files.tables import IDS_HINT, NODE_NUMBER
from cgnn_cli.datasets.wording import shorten
from cgnn_cli.errors import DataError

CLASS_NUMBER = re.compile(r"-?[0-9]{1,18}")
MANY_NODES, MANY_PER_ID = 10_000_000, 100
PLACED_ROWS = 1 << 14


@dataclass(frozen=True)
class Nodes:
    """All nodes in their order; `names` holds their ids as Arrow has them, and is None where they are just numbered."""

    count: int
    names: Any = None

    def positions(self, ids: Ids) -> np.ndarray:
        """The position of each id, -1 where there is no such node."""
        if isinstance(ids, np.ndarray):
            return ids
        return lookup(self.places(ids.ids.names), ids.ids.codes[0])

    def ends(self, edges: EdgeList) -> tuple[np.ndarray, np.ndarray]:
        """The positions of the sources and the targets of edges."""
        table, codes = self.places(edges.ends.names), iter(edges.ends.codes)
        source, target = (
            ends if isinstance(ends, np.ndarray) else lookup(table, next(codes))
            for ends in (edges.source, edges.target)
        )
        return source, target

    def places(self, names: Any) -> np.ndarray:
        """The position of each of some different ids, as Arrow has them."""
        import pyarrow as pa

        return places(names, pa.array(np.arange(self.count)) if self.names is None else self.names)

    def has(self, name: str) -> bool:
        import pyarrow as pa

        return bool(self.places(pa.array([name], pa.large_string()))[0] >= 0)

    def name(self, position: int) -> str:
        return str(position if self.names is None else self.names[int(position)].as_py())


def collect_nodes(edges: EdgeList, values: list[NodeValues], earlier: Any = None) -> Nodes:
    """The union of all ids: numbers in their order where all are whole numbers, else in the order of UTF-8.

    earlier: ids, as Arrow has them, that are nodes anyway, for edges with ids in text.
    """
    import pyarrow as pa

    text = [(item.path, item.ids.ids.names) for item in values if item.ids is not None]
    rows = {item.path: item.row_count for item in values if item.ids is None}
    if edges.number_count:
        rows[edges.path] = edges.number_count
    else:
        text += [(edges.path, edges.ends.names)] + ([] if earlier is None else [(edges.path, earlier)])
    if rows:
        return _numbered_nodes(edges, rows, text)
    names = in_order(joined(*(found for _, found in text)))
    last, count = names[len(names) - 1].as_py(), len(names)
    plain = names.type == pa.int64() and last == count - 1
    return Nodes(count, None if plain else names)


def _numbered_nodes(edges: EdgeList, rows: dict[Path, int], text: list[tuple[Path, Any]]) -> Nodes:
    import pyarrow as pa

    array_path, count = next(iter(rows)), max(rows.values())
    for path, found in text:
        if not len(found):
            continue
        numbers = found.type == pa.int64()
        names = [str(max(found.to_numpy()))] if numbers else found.to_pylist()
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
    missing = np.flatnonzero(np.bincount(positions, minlength=nodes.count) == 0)
    if len(missing):
        names = ", ".join(shorten(nodes.name(position)) for position in missing[:5])
        hint = "add a row for every node"
        raise DataError(f"{features.path} has no row for {len(missing)} node(s), first {names}", hint)
    placed = mapped.empty(features.values.shape, features.values.dtype)
    for start in range(0, len(positions), PLACED_ROWS):
        rows = slice(start, start + PLACED_ROWS)
        placed[positions[rows]] = features.values[rows]
    return placed


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
    placed = mapped.full(nodes.count, -1, np.int64)
    placed[positions[::-1]] = codes[::-1]  # of several rows the first
    conflicts = np.flatnonzero(placed[positions] != codes)
    if len(conflicts):
        row = int(conflicts[0])
        other = labels.table.lines[int(np.argmax(positions == positions[row]))]
        message = (
            f"{labels.table.where(row)}: node {shorten(nodes.name(positions[row]))} "
            f"has another label on {labels.table.unit} {other}"
        )
        raise DataError(message, "keep one label a node")
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
