"""Graphs from what Python programs hold: written as the files of `cgnn data import`, and read by the same code.

So the same rows make the same graph with the same key, in whichever way they come. Ids and labels are returned as they
were given: whole numbers as such, nodes of networkx as they are, all else as text.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scipy.sparse import issparse, save_npz

from cgnn_cli.datasets.files.import_options import ImportOptions
from cgnn_cli.datasets.files.importing import import_graph
from cgnn_cli.errors import CgnnError, DataError, UsageError
from cgnn_cli.graph import SPLIT_PARTS, Graph
from cgnn_cli.python.tables import (
    arrow_table,
    is_series,
    is_table,
    libraries_of,
    library_like,
    whole_where_possible,
    with_words,
    without_nulls,
)

ROLES = ("edges", "features", "labels", "splits")
OPTIONS = [item.name for item in dataclasses.fields(ImportOptions) if item.name not in ROLES]
SHORT = {name.removesuffix("_column"): name for name in OPTIONS if name.endswith("_column")}
SAMPLE = 1000
WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,17})")
TRUTH = {"False": False, "True": True}
Restore = Callable[[str], Any]


@dataclass(frozen=True)
class Given:
    """A graph, its ids and the names of its classes as they were given, and the library whose tables are returned."""

    graph: Graph
    ids: np.ndarray
    classes: np.ndarray
    library: str


def given_graph(
    edges: Any, labels: Any = None, features: Any = None, splits: Any = None, options: Mapping[str, Any] | None = None
) -> Given:
    """The graph of edges, labels, features and splits of any kind that is known; options are those of an import."""
    library = library_like(edges, labels, features)
    if hasattr(edges, "edge_index"):
        if any(each is not None for each in (labels, features, splits)) or options:
            hint = "put them into its x, y, train_mask, val_mask and test_mask"
            raise UsageError("a torch-geometric Data has features, labels and masks of its own", hint)
        from cgnn_cli.pyg.conversion import graph_from_pyg

        graph = graph_from_pyg(edges)
        return Given(graph, _own_ids(graph, int), _own_classes(graph, int), library)
    asked = import_options(options or {})
    with TemporaryDirectory(prefix="cgnn-") as folder:
        files = _Files(Path(folder), edges)
        try:
            given = files.write(edges, labels, features, splits, asked)
            graph = import_graph(ImportOptions(**{**asked, **given}))
        except CgnnError as error:
            raise type(error)(_in_python(error.message, folder), _in_python(error.hint, folder)) from error
        for told in ("notes", "warnings"):
            if told in graph.summary:
                graph.summary[told] = [_in_python(message, folder) for message in graph.summary[told]]
    return Given(graph, _own_ids(graph, files.id_of(graph)), _own_classes(graph, files.label_of(graph)), library)


def found_graph(graph: Graph) -> Given:
    """A graph of the store: its ids and classes are whole numbers where they all look like such."""
    classes = int if _are_numbers(graph.class_labels()) else str
    return Given(graph, _own_ids(graph, _told_by_content(graph)), _own_classes(graph, classes), library_like())


def texts_of(nodes: Any) -> list[str]:
    """The ids of nodes as text; a single one is a list of one."""
    if isinstance(nodes, str) or not hasattr(nodes, "__iter__"):
        return [str(nodes)]
    return [str(node) for node in nodes]


def import_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of an import by their names, of columns also without the end: `weight` is `weight_column`."""
    known = [*OPTIONS, *SHORT]
    for name in options:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            meant = f"; did you mean {near[0]}?" if near else ""
            raise UsageError(f"unknown option {name}{meant}", f"known: {', '.join(known)}")
    found = {SHORT.get(name, name): value for name, value in options.items() if value is not None}
    return {name: str(value) if name.endswith("_column") else value for name, value in found.items()}


def _in_python(message: str, folder: str) -> str:
    """What an import says of files and flags, said of arguments."""
    message = re.sub(rf"{re.escape(folder)}/(\w+)\.\w+", r"\1", message)
    flags = {"--" + name.replace("_", "-"): name.removesuffix("_column") for name in (*OPTIONS, *ROLES)}
    return re.sub(r"--[a-z][a-z-]*", lambda flag: f"{flags[flag[0]]}=" if flag[0] in flags else flag[0], message)


def _own_ids(graph: Graph, restore: Restore) -> np.ndarray:
    return _array([restore(text) for text in graph.ids().tolist()])


def _own_classes(graph: Graph, restore: Restore) -> np.ndarray:
    return _array([restore(name) for name in graph.class_labels()])


def _array(values: list[Any]) -> np.ndarray:
    """Whole numbers and truth values as such, all else as objects."""
    if values and (all(type(value) is int for value in values) or all(type(value) is bool for value in values)):
        return np.array(values)
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


class _Files:
    """The files of an import, written from what a program holds."""

    def __init__(self, folder: Path, edges: Any) -> None:
        self.folder = folder
        self.network = edges if "networkx" in libraries_of(edges) else None
        self.id_of: Callable[[Graph], Restore] = lambda graph: int
        self.label_of: Callable[[Graph], Restore] = lambda graph: str

    def write(self, edges: Any, labels: Any, features: Any, splits: Any, asked: dict[str, Any]) -> dict[str, Path]:
        """The file of each role that is given."""
        found = {"edges": self._edges(edges, asked)}
        if labels is not None:
            found["labels"] = self._labels(labels)
        if features is not None:
            found["features"] = self._features(features)
        if splits is not None:
            found["splits"] = self._splits(splits)
        return found

    def _edges(self, edges: Any, asked: dict[str, Any]) -> Path:
        if isinstance(edges, Path):
            self.id_of = _told_by_content
            return edges
        if self.network is not None:
            nodes = {str(node): node for node in self.network}
            self.id_of = lambda graph: nodes.__getitem__
            return self._network(asked.get("weight_column"))
        if is_table(edges):
            table = arrow_table(edges, "edges")
            self.id_of = lambda graph: _kind_of_ids(table, graph)
            return self._save(table, "edges")
        if issparse(edges):
            path = self.folder / "edges.npz"
            save_npz(path, edges)
            return path
        array = _plain_array(edges, "edges")
        if array.dtype.kind in "iuf":
            return self._save_array(array, "edges")
        if array.ndim != 2 or array.shape[1] != 2:
            hint = "give M x 2 of them, or a data frame with named columns"
            raise DataError(f"edges have shape {array.shape}, which is not an array of pairs of ids", hint)
        self.id_of = lambda graph: str
        return self._columns({"source": array[:, 0], "target": array[:, 1]}, "edges")

    def _network(self, weight: str | None) -> Path:
        """The edges of a networkx graph; those of an undirected one go both ways, and a self-loop is one edge."""
        network = self.network
        assert network is not None
        ends = list(network.edges(data=True))
        if not network.is_directed():
            ends += [(v, u, attributes) for u, v, attributes in ends if u != v]
        columns: dict[str, Any] = {"source": [u for u, _, _ in ends], "target": [v for _, v, _ in ends]}
        if weight is not None:
            columns[weight] = np.array([float(attributes.get(weight, 1)) for *_, attributes in ends])
        return self._columns(columns, "edges")

    def _labels(self, labels: Any) -> Path:
        if isinstance(labels, Path):
            return labels
        if isinstance(labels, str):
            labels = self._attribute(labels)
        if is_series(labels) and "pandas" in libraries_of(labels):
            labels = labels.reset_index().set_axis(["id", "label"], axis=1)
        if isinstance(labels, Mapping):
            labels = _table_of({"id": list(labels), "label": list(labels.values())})
        elif not is_table(labels):
            array = _plain_array(labels, "labels")
            if array.dtype.kind in "iuf":
                self.label_of = lambda graph: int
                return self._save_array(array, "labels")
            labels = _table_of({"id": range(len(array)), "label": array.tolist()})
        table = whole_where_possible(arrow_table(labels, "labels"))
        self.label_of = lambda graph: _kind_of_labels(table, graph)
        return self._save(table, "labels")

    def _attribute(self, name: str) -> dict[Any, Any]:
        if self.network is None:
            raise UsageError(f"labels={name!r} names an attribute, which only nodes of networkx have", "give a table")
        found = {node: attributes.get(name) for node, attributes in self.network.nodes(data=True)}
        if all(value is None for value in found.values()):
            raise DataError(f"no node has the attribute {name!r}", "name the attribute that holds the labels")
        return found

    def _features(self, features: Any) -> Path:
        if isinstance(features, Path):
            return features
        if self.network is not None and isinstance(features, Sequence) and all(isinstance(x, str) for x in features):
            features = {node: _row(node, values, features) for node, values in self.network.nodes(data=True)}
        if is_table(features):
            return self._save(without_nulls(arrow_table(features, "features")), "features")
        if issparse(features):
            path = self.folder / "features.npz"
            save_npz(path, features)
            return path
        if isinstance(features, Mapping):
            rows = _plain_array(list(features.values()), "features")
            if rows.ndim != 2:
                raise DataError("the features of some nodes are more than those of others", "give each as many")
            names = {f"x{place}": rows[:, place] for place in range(rows.shape[1])}
            return self._columns({"id": list(features), **names}, "features")
        return self._save_array(_plain_array(features, "features"), "features")

    def _splits(self, splits: Any) -> Path:
        if isinstance(splits, Path):
            return splits
        if is_table(splits):
            return self._save(arrow_table(splits, "splits"), "splits")
        if isinstance(splits, Sequence) and len(splits) == len(SPLIT_PARTS):
            splits = dict(zip(SPLIT_PARTS, splits, strict=True))
        if not isinstance(splits, Mapping):
            hint = "give a table of ids and parts, or a mask for each of train, val and test"
            raise UsageError("splits are neither a table nor masks", hint)
        masks = {f"{name.removesuffix('_mask')}_mask": _plain_array(mask, "splits") for name, mask in splits.items()}
        path = self.folder / "splits.npz"
        np.savez(path, **masks)  # type: ignore[arg-type]
        return path

    def _columns(self, columns: Mapping[str, Any], role: str) -> Path:
        return self._save(_table_of(columns), role)

    def _save(self, table: Any, role: str) -> Path:
        import pyarrow.parquet as pq

        path = self.folder / f"{role}.parquet"
        pq.write_table(with_words(table), path)
        return path

    def _save_array(self, array: np.ndarray, role: str) -> Path:
        path = self.folder / f"{role}.npy"
        np.save(path, array, allow_pickle=False)
        return path


def _table_of(columns: Mapping[str, Any]) -> Any:
    """Columns as an Arrow table; what is neither all numbers nor all truth values is text."""
    import pyarrow as pa

    arrays = {}
    for name, values in columns.items():
        listed = values.tolist() if isinstance(values, np.ndarray) else list(values)
        known = [value for value in listed if value is not None]
        simple = all(isinstance(value, int | float | np.number) for value in known)
        texts = [None if value is None else str(value) for value in listed]
        arrays[name] = pa.array(listed) if simple else pa.array(texts, pa.string())
    return pa.table(arrays)


def _plain_array(values: Any, role: str) -> np.ndarray:
    """An array of numbers or text, also of a tensor."""
    if "torch" in libraries_of(values):
        values = values.detach().cpu().numpy()
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise DataError(f"{role} are rows of different lengths", "give each row as many entries") from error
    if array.dtype.kind not in "biufUO" or not array.ndim:
        hint = "give a data frame, an array, a scipy matrix, or a graph of networkx or torch-geometric"
        kind = f"numbers of the type {array.dtype}" if array.dtype.kind == "c" else f"a {type(values).__name__}"
        raise UsageError(f"{role} are {kind}, which is not known here", hint)
    return array


def _row(node: Any, attributes: Mapping[str, Any], names: Sequence[str]) -> np.ndarray:
    """The attributes of a node of networkx as a row of numbers."""
    if missing := [name for name in names if name not in attributes]:
        raise DataError(f"node {node} has no attribute {missing[0]!r}", "every node needs every feature")
    return np.concatenate([np.atleast_1d(np.asarray(attributes[name], dtype=np.float64)) for name in names])


def _kind_of_ids(table: Any, graph: Graph) -> Restore:
    """Ids are text where a column of text holds nothing but ids, and else whole numbers, if they can be."""
    known = graph.ids().tolist()
    return int if _are_numbers(known) and not _has_texts(table, set(known)) else str


def _told_by_content(graph: Graph) -> Restore:
    return int if _are_numbers(graph.ids().tolist()) else str


def _kind_of_labels(table: Any, graph: Graph) -> Restore:
    """Class names are truth values or whole numbers where the table has these, and no column of text has the same."""
    import pyarrow as pa

    names = set(graph.class_labels())
    if names <= set(TRUTH) and any(pa.types.is_boolean(column.type) for column in table.columns):
        return TRUTH.__getitem__
    return int if _are_numbers(names) and not _has_texts(table, names) else str


def _are_numbers(names: Iterable[str]) -> bool:
    return all(WHOLE.fullmatch(name) for name in names)


def _has_texts(table: Any, known: set[str]) -> bool:
    """Whether a column of text holds nothing but known ones, as far as is looked."""
    import pyarrow as pa

    texts = [column for column in table.columns if pa.types.is_string(column.type)]
    samples = [set(column.slice(0, SAMPLE).to_pylist()) - {None, ""} for column in texts]
    return any(sample and sample <= known for sample in samples)
