"""Artifacts as CSV or Parquet tables, with the user's own node ids and class names."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from typing import Any

import numpy as np

from cgnn_cli.graph import SPLIT_PARTS, Graph
from cgnn_cli.store.artifact import Artifact

Columns = dict[str, Iterable[Any]]


def table_bytes(artifact: Artifact, graph_artifact: Artifact, kind: str) -> bytes:
    """One table for each kind of artifact: edges, states, edges with times, epochs, or scores."""
    graph = Graph.from_elements(graph_artifact.elements, graph_artifact.header.summary)
    columns = TABLES[artifact.header.stage](artifact.elements, graph)
    return write_table(columns, kind)


def write_table(columns: Columns, kind: str) -> bytes:
    """Columns as the content of a file of the kind `parquet` or `csv`."""
    return write_parquet(columns) if kind == "parquet" else write_csv(columns)


def write_csv(columns: Columns) -> bytes:
    """Columns as UTF-8 CSV with a header line; numbers in full precision."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    lists = [values.tolist() if isinstance(values, np.ndarray) else list(values) for values in columns.values()]
    writer.writerows(zip(*lists, strict=True))
    return text.getvalue().encode()


def write_parquet(columns: Columns) -> bytes:
    """Columns as Parquet: text as strings, numbers as numbers."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    lists = {name: values if isinstance(values, np.ndarray) else list(values) for name, values in columns.items()}
    pq.write_table(pa.table({name: pa.array(values) for name, values in lists.items()}), buffer)
    return buffer.getvalue()


def _matrix(matrix: Any, ids: np.ndarray, value: str) -> Columns:
    from cgnn_cli.numerics.transition import row_of_entries

    return {"source": ids[row_of_entries(matrix)], "target": ids[matrix.indices], value: matrix.data}


def _edges(elements: dict[str, Any], graph: Graph) -> Columns:
    nodes = elements.get("nodes")
    ids = graph.ids() if nodes is None else graph.ids()[nodes]
    return _matrix(elements["adjacency"], ids, "weight")


def _states(elements: dict[str, Any], graph: Graph) -> Columns:
    return {"id": graph.ids()[elements["nodes"]], "perron": elements["perron"]}


def _commute(elements: dict[str, Any], graph: Graph) -> Columns:
    ids = graph.ids()
    names = ("hitting", "hitting_back", "commute", "weight_out", "weight_in")
    ends = {"source": ids[elements["source"]], "target": ids[elements["target"]]}
    return {**ends, **{name: elements[name] for name in names}}


def _operators(elements: dict[str, Any], graph: Graph) -> Columns:
    """All matrices below each other: the node that takes, the node it takes from, and how much."""
    from scipy.sparse import csr_array

    ids = graph.ids()
    parts = {name: _matrix(csr_array(matrix), ids, "weight") for name, matrix in elements["matrices"].items()}
    names = np.repeat(list(parts), [len(part["weight"]) for part in parts.values()])  # type: ignore[arg-type]
    columns = {"node": "source", "neighbour": "target", "weight": "weight"}
    return {
        "matrix": names,
        **{new: np.concatenate([part[old] for part in parts.values()]) for new, old in columns.items()},
    }


def _history(history: dict[str, np.ndarray]) -> Columns:
    return {"epoch": range(len(history["loss"])), **{name: history[name] for name in sorted(history)}}


def _fit(elements: dict[str, Any], graph: Graph) -> Columns:
    return _history(elements["history"])


def _checkpoint(elements: dict[str, Any], graph: Graph) -> Columns:
    """The histories of all splits, one below the other."""
    tables = {int(split): _history(fit["history"]) for split, fit in elements["fits"].items()}
    columns: dict[str, list[Any]] = {"split": []}
    for split in sorted(tables):
        rows = {name: list(values) for name, values in tables[split].items()}
        columns["split"] += [split] * len(rows["epoch"])
        for name, values in rows.items():
            columns.setdefault(name, []).extend(values)
    return dict(columns)


def _scores(elements: dict[str, Any], graph: Graph) -> Columns:
    """The prediction of every split's model for every node, beside the label and the node's part in the split."""
    names = np.array([*graph.class_labels(), ""])
    parts = np.array(["", *SPLIT_PARTS])
    assert graph.labels is not None and graph.splits is not None
    splits, predictions = elements["splits"], elements["predictions"]
    count = graph.node_count
    return {
        "split": np.repeat(splits, count),
        "id": np.tile(graph.ids(), len(splits)),
        "part": parts[graph.splits[splits]].ravel(),
        "label": np.tile(names[graph.labels], len(splits)),
        "predicted": names[predictions].ravel(),
    }


TABLES = {
    "graph": _edges,
    "rewire": _edges,
    "dilap": _states,
    "commute": _commute,
    "operators": _operators,
    "fit": _fit,
    "train": _checkpoint,
    "eval": _scores,
}
