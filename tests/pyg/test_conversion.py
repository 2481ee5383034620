"""Graphs to torch-geometric and back."""

import dataclasses

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from torch_geometric.data import Data

from cgnn_cli.datasets.demo import demo_graph
from cgnn_cli.errors import DataError
from cgnn_cli.graph import Graph
from cgnn_cli.numerics.csr import canonical_csr
from cgnn_cli.pyg import graph_from_pyg, graph_to_pyg

EDGES = [(0, 1), (1, 2), (2, 0), (2, 2), (3, 0)]


def small_graph(*, weighted: bool = False, sparse: bool = False, splits: int = 2) -> Graph:
    """Five nodes, the last of them isolated, with a self-loop, ids, an unknown label and an unused node."""
    data = np.array([0.5, 2.0, 1.0, 3.0, 0.25]) if weighted else np.ones(len(EDGES))
    source, target = np.array(EDGES).T
    features = np.array([[0.0, 1.5], [0.0, 0.0], [2.0, 0.0], [0.0, 0.0], [0.0, -1.0]], dtype=np.float32)
    parts = np.array([[1, 2, 3, 0, 1], [3, 1, 2, 1, 0]], dtype=np.uint8)[:splits]
    return Graph(
        adjacency=canonical_csr(csr_array((data, (source, target)), shape=(5, 5))),
        features=csr_array(features) if sparse else features,
        labels=np.array([0, 1, 1, -1, 0]),
        class_names=np.array([b"left", "r\u00e9al".encode()]),
        node_ids=np.array([f"n\u00f6de {number}".encode() for number in range(5)]),
        splits=parts,
    )


def same(a: Graph, b: Graph) -> None:
    for name, value in a.to_elements().items():
        other = getattr(b, name)
        assert type(value) is type(other), name
        dense = [item.toarray() if isinstance(item, csr_array) else item for item in (value, other)]
        np.testing.assert_array_equal(dense[0], dense[1], err_msg=name)
    assert a.to_elements().keys() == b.to_elements().keys()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("splits", [1, 2])
def test_there_and_back(weighted: bool, sparse: bool, splits: int) -> None:
    graph = small_graph(weighted=weighted, sparse=sparse, splits=splits)
    data = graph_to_pyg(graph, sparse_features=sparse)
    assert data.validate()
    same(graph, graph_from_pyg(data))


def test_the_demo_graph_there_and_back() -> None:
    graph = demo_graph()
    same(graph, graph_from_pyg(graph_to_pyg(graph, sparse_features=True)))


def test_edges_go_from_the_first_row_to_the_second() -> None:
    data = graph_to_pyg(small_graph(weighted=True))
    assert list(map(tuple, data.edge_index.t().tolist())) == sorted(EDGES)
    assert data.edge_weight.tolist() == [0.5, 2.0, 1.0, 3.0, 0.25]
    assert data.x.dtype == torch.float32 and data.y.tolist() == [0, 1, 1, -1, 0]
    assert data.train_mask.shape == (5, 2) and data.train_mask[:, 1].tolist() == [False, True, False, True, False]
    assert data.num_nodes == 5 and data.class_names == ["left", "réal"] and data.node_ids[3] == "nöde 3"
    one = graph_to_pyg(small_graph(splits=1))
    assert one.val_mask.tolist() == [False, True, False, False, False] and "edge_weight" not in one


def test_sparse_features_become_dense_unless_they_are_asked_for() -> None:
    graph = small_graph(sparse=True)
    dense, sparse = graph_to_pyg(graph).x, graph_to_pyg(graph, sparse_features=True).x
    assert sparse.layout == torch.sparse_csr and dense.layout == torch.strided
    assert torch.equal(sparse.to_dense(), dense)


def test_repeated_edges_count_once_or_are_summed() -> None:
    edge_index = torch.tensor([[0, 0, 1, 0], [1, 1, 2, 1]])
    x = torch.eye(3)
    assert graph_from_pyg(Data(x=x, edge_index=edge_index)).adjacency.toarray().tolist() == [
        [0, 1, 0],
        [0, 0, 1],
        [0, 0, 0],
    ]
    weighted = Data(x=x, edge_index=edge_index, edge_attr=torch.tensor([[1.0], [2.0], [5.0], [3.0]]))
    assert graph_from_pyg(weighted).adjacency.toarray().tolist() == [[0, 6, 0], [0, 0, 5], [0, 0, 0]]


def test_splits_that_are_missing_are_made_and_features_are_not() -> None:
    ring = torch.stack([torch.arange(20), (torch.arange(20) + 1) % 20])
    graph = graph_from_pyg(Data(edge_index=ring, y=torch.arange(20) % 2, num_nodes=20))
    assert graph.features is None and graph_to_pyg(graph).x is None
    assert graph_to_pyg(graph, encoding="laplacian", encoding_size=3).x.shape == (20, 3)
    given = graph_to_pyg(dataclasses.replace(graph, features=np.eye(20)), encoding="degrees", sparse_features=True)
    assert given.x.shape == (20, 28)
    assert graph.split_count == 10 and graph.class_labels() == ["0", "1"]
    bare = graph_from_pyg(Data(edge_index=ring, num_nodes=21))
    assert bare.labels is None and bare.splits is None and bare.node_count == 21


def test_a_mask_for_all_splits_beside_masks_for_each() -> None:
    data = graph_to_pyg(dataclasses.replace(small_graph()))
    data.test_mask = torch.tensor([False, False, False, False, False])
    splits = graph_from_pyg(data).splits
    assert splits is not None and splits.tolist() == [[1, 2, 0, 0, 1], [0, 1, 2, 1, 0]]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"edge_index": None}, "no edge_index"),
        ({"edge_index": torch.tensor([[0], [7]])}, r"not in 0\.\.2"),
        ({"edge_weight": torch.tensor([-1.0])}, "between 1e-150 and"),
        ({"y": torch.tensor([0.5, 1.0, 2.0])}, "class number"),
        ({"y": torch.tensor([[0, 1, 1], [0, 0, 1]])}, "class number"),
        ({"x": torch.tensor([[1.0], [float("nan")], [2.0]])}, "finite"),
    ],
)
def test_what_is_no_graph_is_refused(parts: dict[str, torch.Tensor], message: str) -> None:
    data = Data(**{"x": torch.eye(3), "edge_index": torch.tensor([[0], [1]]), "num_nodes": 3, **parts})
    with pytest.raises(DataError, match=message):
        graph_from_pyg(data)
