"""Artifacts as CSV or Parquet tables, with the user's own node ids and class names."""

import dataclasses
import io
import re
import zipfile
from collections.abc import Iterable
from typing import Any

import numpy as np

from cgnn_cli.errors import DataError
from cgnn_cli.graph import SPLIT_PARTS, Graph
from cgnn_cli.pipeline import STAGES
from cgnn_cli.solver_table import SOLVERS
from cgnn_cli.store.artifact import Artifact, write_npz
from cgnn_cli.store.lineage import load_graph, walk
from cgnn_cli.store.provenance import shareable
from cgnn_cli.store.store import Store

Columns = dict[str, Iterable[Any]]
PLAIN = re.compile(r'[^\s"#%,;\0](?:[^"\n\r\t,;\0]*[^\s",;\0])?')  # what every reader takes for itself without quotes
NEVER_IN_CSV = re.compile(r"[\n\r\0]")
ROWS_AT_ONCE = 1 << 16
PARTS = ("popularity", "direct", "indirect")  # of commute times, where they are known


def export_artifact(store: Store, artifact: Artifact, kind: str) -> bytes:
    """An artifact as the content of a file of the kind `npz`, with all its elements, or `csv` or `parquet`, one table.

    The table has edges, states, edges with times, epochs, or predictions, as `columns` of its stage says.
    """
    if kind == "npz":
        buffer = io.BytesIO()
        provenance = shareable(artifact.header.provenance)
        write_npz(buffer, Artifact(dataclasses.replace(artifact.header, provenance=provenance), artifact.elements))
        return buffer.getvalue()
    found = load_graph(store, artifact.header)
    make = COLUMNS[STAGES[artifact.header.stage].columns]
    columns = make(artifact.elements, Graph.from_elements(found.elements, found.header.summary))
    return write_table({**columns, **_resistances(store, artifact, columns)}, kind)


def _resistances(store: Store, artifact: Artifact, columns: Columns) -> Columns:
    """Beside the commute times of an undirected walk without jumps, the effective resistances: c / (sum of weights).

    They are known where the solver gives true times and the store has the graph that was walked.
    """
    header = artifact.header
    if header.stage != "commute" or not SOLVERS[header.config["solver"]].true_times:
        return {}
    made = {part.stage: part for _, part in walk(header, store.find)}
    rewired, dilap = made.get("rewire"), made.get("dilap")
    if rewired is None or dilap is None or rewired.config.get("walk") != "symmetric":
        return {}
    adjacency = store.load(rewired.stage, rewired.key).elements["adjacency"]
    if "jump" in store.load(dilap.stage, dilap.key).elements:
        return {}
    return {"resistance": np.asarray(columns["commute"]) / adjacency.sum()}


def write_table(columns: Columns, kind: str) -> bytes:
    """Columns as the content of a file of the kind `parquet` or `csv`."""
    return write_parquet(columns) if kind == "parquet" else write_csv(columns)


def write_csv(columns: Columns) -> bytes:
    """Columns as UTF-8 CSV with a header line; numbers in full precision.

    Texts that a reader might take for something else are quoted, so that `data import` reads every id as it was.
    """
    buffer = io.BytesIO((",".join(map(_csv_field, columns)) + "\n").encode())
    buffer.seek(0, io.SEEK_END)
    arrays = [values if isinstance(values, np.ndarray) else list(values) for values in columns.values()]
    for start in range(0, max(map(len, arrays)), ROWS_AT_ONCE):
        parts = [values[start : start + ROWS_AT_ONCE] for values in arrays]
        fields = [map(_csv_field, part.tolist() if isinstance(part, np.ndarray) else part) for part in parts]
        buffer.write("".join(",".join(row) + "\n" for row in zip(*fields, strict=True)).encode())
    return buffer.getvalue()


def _csv_field(value: Any) -> str:
    if not isinstance(value, str):
        return "" if value is None else str(value)
    if not value or value.isalnum() or PLAIN.fullmatch(value):
        return value
    if NEVER_IN_CSV.search(value):
        message = f"{value[:40]!r} holds a line break or a NUL, which a field of a CSV file cannot be read with again"
        raise DataError(message, "write Parquet or .npz")
    return '"' + value.replace('"', '""') + '"'


def write_parquet(columns: Columns) -> bytes:
    """Columns as Parquet: text as strings, numbers as numbers."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    lists = {name: values if isinstance(values, np.ndarray) else list(values) for name, values in columns.items()}
    text = {name for name, values in lists.items() if isinstance(values, np.ndarray) and values.dtype.kind == "O"}
    arrays = {name: pa.array(values, pa.string() if name in text else None) for name, values in lists.items()}
    pq.write_table(pa.table(arrays), buffer)
    return buffer.getvalue()


def write_named_rows(names: np.ndarray, rows: np.ndarray) -> bytes:
    """A row of numbers for each name as the content of an .npz file: `id` and `embeddings`.

    The names are written a few at a time: all of them take as much as the longest one there.
    """
    buffer, width = io.BytesIO(), max(map(len, names), default=1) or 1
    at_once = max(1, ROWS_AT_ONCE // width)
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open("id.npy", "w", force_zip64=True) as file:
            head = {"descr": f"<U{width}", "fortran_order": False, "shape": names.shape}
            np.lib.format.write_array_header_1_0(file, head)
            for start in range(0, len(names), at_once):
                file.write(names[start : start + at_once].astype(f"<U{width}").tobytes())
        with archive.open("embeddings.npy", "w", force_zip64=True) as file:
            np.lib.format.write_array(file, np.asanyarray(rows), allow_pickle=False)
    return buffer.getvalue()


def _matrix(matrix: Any, ids: np.ndarray, value: str) -> Columns:
    from cgnn_cli.numerics.csr import row_of_entries

    return {"source": ids[row_of_entries(matrix)], "target": ids[matrix.indices], value: matrix.data}


def edge_columns(elements: dict[str, Any], graph: Graph) -> Columns:
    nodes = elements.get("nodes")
    ids = graph.ids() if nodes is None else graph.ids()[nodes]
    return _matrix(elements["adjacency"], ids, "weight")


def state_columns(elements: dict[str, Any], graph: Graph) -> Columns:
    return {"id": graph.ids()[elements["nodes"]], "perron": elements["perron"]}


def time_columns(elements: dict[str, Any], graph: Graph) -> Columns:
    ids = graph.ids()
    names = ["hitting", "hitting_back", "commute", "weight_out", "weight_in"]
    names += [name for name in PARTS if name in elements]
    ends = {"source": ids[elements["source"]], "target": ids[elements["target"]]}
    return {**ends, **{name: elements[name] for name in names}}


def operator_columns(elements: dict[str, Any], graph: Graph) -> Columns:
    """All matrices below each other: the node that takes, the node it takes from, and how much."""
    from scipy.sparse import csr_array

    ids = graph.ids()
    parts = {name: _matrix(csr_array(matrix), ids, "weight") for name, matrix in elements["matrices"].items()}
    names = np.repeat(list(parts), [len(part["weight"]) for part in parts.values()])  # type: ignore[arg-type]
    columns = zip(("node", "neighbour", "weight"), ("source", "target", "weight"), strict=True)
    return {"matrix": names, **{new: np.concatenate([part[old] for part in parts.values()]) for new, old in columns}}


def history_columns(elements: dict[str, Any], graph: Graph) -> Columns:
    history = elements["history"]
    return {"epoch": range(len(history["validation_accuracy"])), **{name: history[name] for name in sorted(history)}}


def train_columns(elements: dict[str, Any], graph: Graph) -> Columns:
    """The histories of all splits, one below the other."""
    tables = {int(split): history_columns(fit, graph) for split, fit in elements["fits"].items()}
    columns: dict[str, list[Any]] = {"split": []}
    for split in sorted(tables):
        rows = {name: list(values) for name, values in tables[split].items()}
        columns["split"] += [split] * len(rows["epoch"])
        for name, values in rows.items():
            columns.setdefault(name, []).extend(values)
    return dict(columns)


def score_columns(elements: dict[str, Any], graph: Graph) -> Columns:
    """The prediction of every split's model for every node, beside the label and the node's part in the split."""
    assert graph.labels is not None and graph.splits is not None
    names, parts = np.array([*graph.class_labels(), ""], dtype=object), np.array(["", *SPLIT_PARTS])
    splits = elements["splits"]
    return {
        "split": np.repeat(splits, graph.node_count),
        "id": np.tile(graph.ids(), len(splits)),
        "part": parts[graph.splits[splits]].ravel(),
        "label": np.tile(names[graph.labels], len(splits)),
        "predicted": names[elements["predictions"]].ravel(),
    }


TABLES = (edge_columns, state_columns, time_columns, operator_columns, history_columns, train_columns, score_columns)
COLUMNS = {function.__name__: function for function in TABLES}
