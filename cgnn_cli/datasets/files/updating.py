"""More edges, labels and features for a graph that was imported before: what it has, as if it were in the files too."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse

from cgnn_cli.configs import FEATURE_NAMES
from cgnn_cli.datasets.files.columns import Column
from cgnn_cli.datasets.files.edges import EdgeList, Ids
from cgnn_cli.datasets.files.ids import encode, places
from cgnn_cli.datasets.files.node_values import NodeValues
from cgnn_cli.datasets.files.nodes import Nodes
from cgnn_cli.datasets.files.split_rule import RULE, TIMELESS, SplitRule
from cgnn_cli.datasets.files.tables import Reading, Table
from cgnn_cli.errors import DataError, UsageError
from cgnn_cli.graph import UNUSED, Graph, column_order

BEFORE = Path("the graph so far")
ASKED = "asked"  # in the summary of an import: what it was told of edges
EDGE_OPTIONS = ("source_column", "target_column", "weight_column", "combine")
WEIGHTED = "weighted"  # in the summary of an import: whether it took weights, which may all be 1


def asked_of(given: dict[str, Any], earlier: dict[str, Any]) -> dict[str, str]:
    """What an import, or an update of an earlier graph with a summary, was told of edges, for later updates."""
    return {**_asked_before(earlier), **{name: str(given[name]) for name in EDGE_OPTIONS if given.get(name)}}


def as_imported(given: dict[str, Any], earlier: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """The options of an update, and where it has edges those of the import that it does not give; what these are."""
    if given.get("edges") is None:
        return given, ""
    kept = {name: value for name, value in _asked_before(earlier).items() if name not in given}
    if given.get("combine") == "count":
        kept.pop("weight_column", None)
    if given.get("weight_column") and kept.get("combine") == "count":
        del kept["combine"]
    told = ", ".join(f"--{name.replace('_', '-')} {value}" for name, value in kept.items())
    return {**given, **kept}, told


def _asked_before(earlier: dict[str, Any]) -> dict[str, str]:
    """From a summary, which may come from elsewhere."""
    asked = earlier.get(ASKED)
    if not isinstance(asked, dict):
        return {}
    return {name: value for name, value in asked.items() if name in EDGE_OPTIONS and isinstance(value, str)}


def ids_before(before: Graph) -> Any:
    """The ids of the earlier graph, as Arrow has them."""
    import pyarrow as pa

    if before.node_ids is None:
        return pa.array(np.arange(before.node_count))
    return encode([pa.chunked_array([pa.array(before.node_ids, pa.binary()).cast(pa.string())])]).names


def no_edges() -> EdgeList:
    """The edges of an update that adds only labels or features."""
    return EdgeList(BEFORE, _column([]), _column([]))


def with_edges_before(before: Graph, edges: EdgeList, combine: str | None) -> EdgeList:
    """The edges of both; each edge of the earlier graph is one row. New rows weigh 1 where they are counted."""
    weighted, counted = before.is_weighted or before.summary.get(WEIGHTED, False), combine == "count"
    if weighted and edges.weight is None and not counted and len(edges.source):
        hint = "name those of the new ones with --weight-column, or count rows with --combine count"
        raise UsageError("the edges of the graph so far have weights", hint)
    if edges.time is not None and (before.times is None or combine == "last"):
        raise UsageError("the times of the edges so far are not kept", "import all edges together for --time-column")
    ids, (source, target) = before.ids(), before.adjacency.nonzero()
    weight, time = None, None
    if edges.time is not None:
        time = np.concatenate([np.full(len(source), np.nan), edges.time])
    if weighted or edges.weight is not None or counted:
        more = np.ones(len(edges.source)) if edges.weight is None else edges.weight
        weight = np.concatenate([before.adjacency.data, more])
    return replace(
        edges,
        source=_joined(ids[source], edges.source),
        target=_joined(ids[target], edges.target),
        weight=weight,
        time=time,
        node_count=0,
    )


def with_labels_before(before: Graph, labels: NodeValues | None, reading: Reading) -> NodeValues | None:
    """The labels of both; a new one takes the place of an earlier one, and an empty one says nothing."""
    if before.labels is None:
        return labels
    known = np.flatnonzero(before.labels >= 0)
    names = np.array(before.class_labels(), dtype=object)
    earlier = dict(zip(before.ids()[known].tolist(), names[before.labels[known]].tolist(), strict=True))
    nodes, values, lines, time = [], [], [], None
    if labels is not None:
        if labels.table is None or labels.ids is None:
            raise UsageError("an array of labels does not tell its nodes", "give a table with their ids")
        nodes, lines = list(labels.ids), list(labels.table.lines)
        values = [label or earlier.get(node, "") for node, label in zip(nodes, labels.values, strict=True)]
    changed = {node for node, label in zip(nodes, values, strict=True) if earlier.get(node, label) != label}
    if changed:
        reading.notes.append(f"{len(changed):,} node(s) have another label than before")
    new = set(nodes)
    kept = [node for node in earlier if node not in new]
    nodes, values = [*kept, *nodes], [*map(earlier.__getitem__, kept), *values]
    lines = [*[0] * len(kept), *lines]
    if labels is not None and labels.time is not None:
        time = np.concatenate([np.full(len(kept), np.nan), labels.time])
    path = BEFORE if labels is None else labels.path
    table = Table(path, [_column(nodes), _column(values)], np.array(lines))
    return NodeValues(path, table.columns[1], table, time=time)


def with_features_before(
    before: Graph, features: NodeValues | None, edges: EdgeList, reading: Reading
) -> NodeValues | None:
    """The features of both, in the earlier order of columns; a new row takes the place of an earlier one."""
    names = before.summary.get(FEATURE_NAMES)
    if before.features is None:
        if features is not None:
            raise UsageError("the graph so far has no features", "import it again with them, or leave --features out")
        return None
    ids = before.ids()
    if features is None:
        if lacking := int((places(edges.ends.names, ids_before(before)) < 0).sum()):
            message = f"{lacking:,} node(s) are new, and the graph so far has features"
            raise UsageError(message, "give theirs with --features")
        table = Table(BEFORE, [_column(ids.tolist())], range(len(ids)))
        return NodeValues(BEFORE, before.features, table, names=names)
    if issparse(before.features) or features.ids is None:
        raise UsageError("sparse features and arrays cannot be added to", "import old and new files together")
    if features.values.shape[1] != before.features.shape[1]:
        message = (
            f"{features.path} has {features.values.shape[1]} features a node, and the graph {before.features.shape[1]}"
        )
        raise DataError(message, "choose the same ones with --feature-columns")
    order = column_order(names, features.names, str(features.path))
    more = features.values
    if order is not None:
        reading.notes.append(f"{features.path}: features are matched by their titles, which stand in another order")
        more = more[:, order]
    new = set(features.ids)
    kept = np.array([node not in new for node in ids.tolist()], dtype=bool)
    values = np.concatenate([np.asarray(before.features)[kept], more])
    lines = np.concatenate(
        [np.zeros(int(kept.sum()), np.int64), np.array(features.table.lines if features.table else ())]
    )
    table = Table(features.path, [_column([*ids[kept].tolist(), *features.ids])], lines)
    return NodeValues(features.path, values, table, names=names or features.names)


def joined_times(before: Graph | None, nodes: Nodes, own: np.ndarray, first: np.ndarray | None) -> np.ndarray:
    """When each node was there first: what the table of labels says, else its first edge."""
    earlier = np.full(nodes.count, np.nan)
    if before is not None and before.times is not None:
        earlier[_places(before, nodes)] = before.times
    return np.where(np.isnan(own), earlier if first is None else np.fmin(first, earlier), own)


def keep_splits(
    before: Graph, nodes: Nodes, labels: np.ndarray, rule: SplitRule, time: np.ndarray | None, reading: Reading
) -> np.ndarray:
    """The splits of the earlier graph, with parts by its rule for nodes that had no label, or no time until now."""
    assert before.splits is not None and before.labels is not None
    places = _places(before, nodes)
    splits = np.full((before.split_count, nodes.count), UNUSED, dtype=np.uint8)
    splits[:, places] = before.splits
    settled = before.labels >= 0
    if before.times is not None and time is not None:
        settled &= ~np.isnan(before.times) | np.isnan(time[places])
    fresh = labels >= 0
    fresh[places[settled]] = False
    if (count := int(fresh.sum())) and rule.from_file:
        reading.warnings.append(
            f"{count:,} newly labelled node(s) are in no split, since the splits came from a file; "
            "--splits with --labels gives new ones"
        )
    elif count:
        how = "as the import drew them" if RULE in before.summary else "by 48/32/20, as the import's rule is not known"
        reading.notes.append(f"{count:,} newly labelled node(s) get parts of the splits {how}; all others keep theirs")
    if time is not None and (lost := int((fresh & np.isnan(time)).sum())):
        reading.warnings.append(f"{lost:,} newly {TIMELESS}")
    return rule.fill(splits, fresh, labels, time)


def _places(before: Graph, nodes: Nodes) -> np.ndarray:
    """Where the nodes of the earlier graph are now."""
    return nodes.positions(_column(before.ids().tolist()))


def _joined(before: Any, more: Ids) -> Column:
    import pyarrow as pa

    texts = Column.from_numbers(more) if isinstance(more, np.ndarray) else more
    return Column.of(pa.chunked_array([pa.array(before, pa.string()), *texts.array.cast(pa.string()).chunks]))


def _column(texts: list[str]) -> Column:
    import pyarrow as pa

    return Column.of(pa.chunked_array([pa.array(texts, pa.string())]))
