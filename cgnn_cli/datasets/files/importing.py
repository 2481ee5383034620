"""Import of the user's own graph: edges, features, labels and splits from text, Parquet, .npy and .npz files.

Tables name their nodes; the rows and numbers of arrays are nodes 0..N-1. Kinds of files are told by their content.
"""

import numpy as np
from scipy.sparse import csr_array

from cgnn_cli.configs import FEATURE_NAMES
from cgnn_cli.datasets.adjacency import SILENT, Tell, edge_counts, unit_adjacency, weighted_adjacency
from cgnn_cli.datasets.files.edges import EdgeColumns, EdgeList, read_edges, relabelled
from cgnn_cli.datasets.files.import_memory import import_memory
from cgnn_cli.datasets.files.import_options import ImportOptions
from cgnn_cli.datasets.files.node_values import NodeColumns, NodeValues, read_features, read_labels
from cgnn_cli.datasets.files.nodes import Nodes, collect_nodes, place_features, place_labels, place_times
from cgnn_cli.datasets.files.queried import Queries
from cgnn_cli.datasets.files.split_rule import RULE, TIMELESS, SplitRule
from cgnn_cli.datasets.files.stored_splits import check_splits, read_splits
from cgnn_cli.datasets.files.tables import Reading
from cgnn_cli.datasets.files.times import first_times
from cgnn_cli.datasets.files.updating import (
    WEIGHTED,
    ids_before,
    joined_times,
    keep_splits,
    no_edges,
    with_edges_before,
    with_features_before,
    with_labels_before,
)
from cgnn_cli.datasets.splits import thin_classes
from cgnn_cli.errors import DataError, UsageError
from cgnn_cli.graph import Graph, byte_strings, packed_strings
from cgnn_cli.resources import allowed_memory, check_memory

RELIEF = "leave out what is not needed, or use a machine with more memory"

COMBINED = {
    "sum": "have their weights summed",
    "count": "are counted, and their number is the weight",
    "max": "have the largest of their weights",
    "last": "have the last of their weights",
}


def import_graph(
    options: ImportOptions,
    before: Graph | None = None,
    *,
    keep_parts: bool = True,
    tell: Tell = SILENT,
    queries: Queries | None = None,
) -> Graph:
    """Read the files and join them into a graph; `summary` holds counts and notes on what was taken how.

    before: an earlier graph, to which the files add; its nodes keep their parts of the splits, unless others are asked.
    tell: hears how far it is. queries: of a database, by what stands in the place of their files.
    """
    check_memory("the import", import_memory(options, before), allowed_memory(), RELIEF)
    reading = Reading(options.header, options.comment, drop_invalid=options.drop_invalid, tell=tell, queries=queries)
    asked = SplitRule.of(options)
    known = None if before is None else SplitRule.kept(before)
    kept = known if keep_parts and asked == SplitRule() else None
    again = known.drawn_anew(asked) if known is not None and kept is None else None
    rule = kept or again or asked
    edges, labels, features = _read_files(options, rule, reading, before)
    combine: str | None = options.combine
    earlier = None
    if before is not None:
        labels = with_labels_before(before, labels, reading)
        features = with_features_before(before, features, edges, reading)
        combine, earlier = "sum" if combine == "count" else combine, ids_before(before)
    nodes = collect_nodes(edges, [values for values in (features, labels) if values is not None], earlier)
    source, target = nodes.ends(edges)
    adjacency = _adjacency(source, target, edges, nodes.count, combine, reading)
    codes, class_names = (None, None) if labels is None else place_labels(labels, nodes)
    splits = times = None
    if labels is not None and codes is not None:
        if rule.train_before is not None:
            first = None if edges.time is None else first_times(source, target, edges.time, nodes.count)
            times = joined_times(before, nodes, place_times(labels, nodes), first)
        if before is not None and kept is not None:
            splits = keep_splits(before, nodes, codes, kept, times, reading)
        else:
            splits = _make_splits(options, rule, codes, class_names or [], nodes, reading, times)
            if before is not None and before.splits is not None:
                how = "the splits are made anew" + (", by the rule of the import and" if again else ",")
                reading.notes.append(f"{how} as the options say: nodes may change their part")
        reading.warnings += thin_classes(splits, codes, class_names or [])
    graph = Graph(
        adjacency=adjacency,
        features=None if features is None else place_features(features, nodes),
        labels=codes,
        class_names=None if class_names is None else byte_strings(class_names),
        node_ids=None if nodes.names is None else packed_strings(nodes.names),
        splits=splits,
        times=times,
    )
    graph.summary.update(
        edge_counts(len(source), adjacency),
        unlabelled=graph.node_count if codes is None else int((codes < 0).sum()),
        comment_lines=reading.comment_lines,
        **({"dropped": reading.dropped} if reading.dropped else {}),
        **({WEIGHTED: True} if edges.weight is not None or combine == "count" else {}),
        **({RULE: rule.told()} if splits is not None else {}),
        **({FEATURE_NAMES: features.names} if features is not None and features.names else {}),
        notes=list(dict.fromkeys(reading.notes)),
        **({"warnings": reading.warnings} if reading.warnings else {}),
    )
    return graph


def _read_files(
    options: ImportOptions, rule: SplitRule, reading: Reading, before: Graph | None
) -> tuple[EdgeList, NodeValues | None, NodeValues | None]:
    """Edges, labels and features as they are in the files."""
    time = options.time_column or rule.time_column
    columns_of_edges = EdgeColumns(
        options.source_column, options.target_column, options.weight_column, time, rule.train_before
    )
    edges = no_edges() if options.edges is None else read_edges(options.edges, columns_of_edges, reading)
    if options.relabel:
        edges = relabelled(edges)
    if before is not None:
        edges = with_edges_before(before, edges, options.combine)
    columns = NodeColumns(options.id_column, options.label_column, options.feature_columns, time, rule.train_before)
    labels = None
    if options.labels is not None:
        labels = read_labels(options.labels, edges, columns, reading, options.unknown_label or ())
    _check_time(options, edges, labels)
    path, features = options.features or (options.labels if options.feature_columns else None), None
    if path is not None:
        beside = options.labels is not None and path.absolute() == options.labels.absolute()
        features = read_features(path, edges, columns, reading, beside_labels=beside, impute=options.impute)
    elif before is None or before.features is None:
        reading.notes.append("no features given: a training takes an encoding of the graph in their place (--encoding)")
    return edges, labels, features


def _check_time(options: ImportOptions, edges: EdgeList, labels: NodeValues | None) -> None:
    """The column of times is in one of the two tables."""
    asked, beside = options.time_column, labels is not None and labels.time is not None
    if asked is None:
        return
    if edges.time is not None and beside:
        message = f"--time-column {asked}: {options.edges} and {options.labels} both have such a column"
        raise DataError(message, "give the number of the edges' column, or rename one")
    if edges.time is None and (not beside or options.train_before is None):
        where = f"{options.edges} has no such column" + ("" if labels is None else f", nor has {options.labels}")
        raise UsageError(f"--time-column {asked}: {where}", "check its name, or give the number of the edges' column")


def _adjacency(
    source: np.ndarray, target: np.ndarray, edges: EdgeList, count: int, asked: str | None, reading: Reading
) -> csr_array:
    """Repeats count once, or have their weights combined."""
    combine = asked or "sum"
    if edges.weight is None and combine != "count":
        adjacency, done = (
            unit_adjacency(source, target, count, reading.tell),
            "count once (--combine count makes their number the weight)",
        )
    else:
        weight = np.ones(len(source)) if edges.weight is None else edges.weight
        adjacency = weighted_adjacency(source, target, weight, count, combine, edges.time, reading.tell)
        done = COMBINED[combine] + ("" if asked else " (--combine chooses another way)")
    if repeats := len(source) - adjacency.nnz:
        reading.notes.append(f"{repeats:,} row(s) repeat an edge of another row: they {done}")
    return adjacency


def _make_splits(
    options: ImportOptions,
    rule: SplitRule,
    labels: np.ndarray,
    class_names: list[str],
    nodes: Nodes,
    reading: Reading,
    time: np.ndarray | None,
) -> np.ndarray:
    """Splits from a file, or drawn by a rule."""
    if options.splits is not None:
        splits = read_splits(options.splits, nodes, reading, options.id_column)
        check_splits(splits, labels, options.splits, None if nodes.names is None else nodes.name)
        return splits
    splits = rule.draw(labels, class_names, time)
    if time is not None and (lost := int(((labels >= 0) & np.isnan(time)).sum())):
        reading.warnings.append(f"{lost:,} {TIMELESS}")
    if rule.per_class is None and time is None and rule.split_ratio is None:
        count = rule.split_count
        used = f"{count} random splits of 48/32/20 are used" if count != 1 else "1 random split of 48/32/20 is used"
        reading.notes.append(f"no split option given: {used}")
    return splits
