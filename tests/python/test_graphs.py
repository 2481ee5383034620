"""Graphs of Python programs: the same rows make the same graph, however they come; ids and labels return as given."""

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from scipy.sparse import coo_array, csr_array
from torch_geometric.data import Data

from cgnn_cli.datasets.files.import_options import ImportOptions
from cgnn_cli.datasets.files.importing import import_graph
from cgnn_cli.datasets.registry import graph_step
from cgnn_cli.errors import CgnnError, DataError, UsageError
from cgnn_cli.python.graphs import Given, given_graph
from tests.python.frames import payments

WEIGHTED = {"weight": "amount"}


def key(given: Given) -> str:
    return graph_step(given.graph).key


@pytest.fixture
def as_files(tmp_path: Path) -> str:
    """The key of the graph of the frames as CSV files."""
    frames = dict(zip(("edges", "labels", "features"), payments(), strict=True))
    for name, frame in frames.items():
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    files: dict[str, Any] = {name: tmp_path / f"{name}.csv" for name in frames}
    options = ImportOptions(**files, weight_column="amount")
    return graph_step(import_graph(options)).key


@pytest.mark.parametrize("make", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas])
def test_tables_make_the_graph_of_their_files(make: Any, as_files: str) -> None:
    edges, labels, features = map(make, payments())
    given = given_graph(edges, labels, features, options=WEIGHTED)
    assert key(given) == as_files
    assert given.library == type(edges).__module__.partition(".")[0]
    assert given.ids.tolist() == given.graph.ids().tolist() and given.classes.tolist() == ["person", "shop"]


def test_files_series_dictionaries_and_networkx_make_it_too(as_files: str, tmp_path: Path) -> None:
    edges, labels, features = payments()
    by_id = labels.set_index("account")["status"]
    rows = {row[0]: row[1:] for row in features.itertuples(index=False)}
    network = nx.MultiDiGraph()
    network.add_weighted_edges_from(edges.itertuples(index=False), weight="amount")
    nx.set_node_attributes(network, by_id.to_dict(), "status")
    nx.set_node_attributes(network, {node: list(row) for node, row in rows.items()}, "place")
    for given in (
        given_graph(tmp_path / "edges.csv", tmp_path / "labels.csv", tmp_path / "features.csv", options=WEIGHTED),
        given_graph(edges, by_id, rows, options=WEIGHTED),
        given_graph(edges, by_id.to_dict(), features, options={"weight_column": 3, "source": "payer"}),
        given_graph(network, "status", ["place"], options=WEIGHTED),
    ):
        assert key(given) == as_files


def test_matrices_arrays_and_data_make_one_graph() -> None:
    rng = np.random.default_rng(1)
    pairs = np.unique(rng.integers(30, size=(150, 2)), axis=0)
    labels, features = np.arange(30) % 3, rng.standard_normal((30, 4)).astype(np.float32)
    labels[4] = -1
    matrix = coo_array((np.ones(len(pairs)), pairs.T), shape=(30, 30))
    data = Data(edge_index=torch.from_numpy(pairs.T), y=torch.from_numpy(labels), x=torch.from_numpy(features))
    found = [
        given_graph(pairs, labels, features),
        given_graph(pairs.T, labels.astype(float), csr_array(features)),
        given_graph(csr_array(matrix), torch.from_numpy(labels), torch.from_numpy(features)),
        given_graph(matrix, [None if one < 0 else str(one) for one in labels], features),
        given_graph(data),
    ]
    dense = [given for given in found if isinstance(given.graph.features, np.ndarray)]
    assert len({key(given) for given in dense}) == 1 and len(dense) == 4
    assert all(given.ids.tolist() == list(range(30)) for given in found)
    kinds = [given.classes.tolist() for given in found]
    assert kinds == [[0, 1, 2], [0, 1, 2], [0, 1, 2], ["0", "1", "2"], [0, 1, 2]]


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        ([True, False, None, True], [False, True]),
        (pd.Series([1.0, 0.0, np.nan, 1.0]), [0, 1]),
        ([7, 5, None, 5], [5, 7]),
        (["7", "5", "", "5"], ["5", "7"]),
    ],
)
def test_labels_return_as_they_were_given(labels: Any, classes: list[Any]) -> None:
    table = pd.DataFrame({"id": [10, 20, 30, 40], "label": labels})
    edges = pd.DataFrame({"source": [10, 20, 30, 40], "target": [20, 30, 40, 10], "amount": [1, 2, 3, 4]})
    given = given_graph(edges, table, splits=pd.DataFrame({"id": [10, 20, 40], "part": ["train", "val", "test"]}))
    assert given.classes.tolist() == classes and given.ids.tolist() == [10, 20, 30, 40]
    assert given.graph.labels is not None and (given.graph.labels >= 0).tolist() == [True, True, False, True]


def test_nodes_of_networkx_return_as_they_are_and_both_ways_where_undirected() -> None:
    grid = nx.grid_2d_graph(3, 3)
    nx.set_node_attributes(grid, {node: "ab"[node[0] % 2] for node in grid if node != (1, 1)}, "kind")
    grid.add_node("alone")
    given = given_graph(grid, "kind", options={"split_count": 1})
    assert set(given.ids) == set(grid.nodes)
    assert given.graph.adjacency.nnz == 2 * grid.number_of_edges() and given.graph.split_count == 1


def test_masks_are_splits() -> None:
    labels = np.arange(12) % 2
    masks = [np.arange(12) % 3 == part for part in range(3)]
    pairs = np.stack([np.arange(12), (np.arange(12) + 1) % 12], axis=1)
    expected = given_graph(pairs, labels, splits=dict(zip(("train", "val", "test"), masks, strict=True)))
    assert expected.graph.splits is not None and expected.graph.splits.tolist() == [[1, 2, 3] * 4]
    for splits in (masks, {f"{name}_mask": mask for name, mask in zip(("train", "val", "test"), masks, strict=True)}):
        assert key(given_graph(pairs, labels, splits=splits)) == key(expected)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"edges": pd.DataFrame({"a": ["x"]})}, "edges has one column"),
        ({"edges": pd.DataFrame([[1, 2]], columns=["a", "a"])}, "edges has several columns called a"),
        ({"edges": np.ones((3, 4), dtype=int)}, "edges has shape (3, 4)"),
        ({"edges": {1: 2}}, "edges are a dict, which is not known here"),
        ({"edges": np.ones((3, 2), dtype=complex)}, "edges are numbers of the type complex128"),
        ({"edges": [("a", "b")], "labels": "kind"}, "labels='kind' names an attribute"),
        ({"edges": nx.DiGraph([("a", "b")]), "labels": "kind"}, "no node has the attribute 'kind'"),
        ({"edges": [("a", "b")], "features": {"a": [1], "b": [1, 2]}}, "features are rows of different lengths"),
        ({"edges": [("a", "b")], "features": np.ones((2, 3))}, "features has rows for nodes 0..N-1, but edges names"),
        ({"edges": [("a", "b")], "splits": 3, "labels": {"a": 1}}, "splits are neither a table nor masks"),
        ({"edges": [("a", "b")], "options": {"wieght": "x"}}, "unknown option wieght; did you mean weight?"),
        (
            {"edges": pd.DataFrame({"a": [1], "b": [2]}), "options": WEIGHTED},
            "weight= amount: edges has no such column",
        ),
        ({"edges": Data(edge_index=torch.ones(2, 2, dtype=torch.int64)), "labels": [1]}, "a torch-geometric Data has"),
    ],
)
def test_bad_input_is_told_in_the_words_of_python(given: dict[str, Any], said: str) -> None:
    with pytest.raises(CgnnError) as error:
        given_graph(**given)
    assert isinstance(error.value, DataError | UsageError) and said in error.value.message
    assert "--" not in error.value.message + error.value.hint and "/cgnn-" not in error.value.message
