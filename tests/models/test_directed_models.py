"""CGNN and DirGNN: dense oracles, their equality with all weights 1, torch-geometric, and corner cases."""

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from torch import nn

from cgnn_cli.configs import CommuteConfig, DilapConfig, RewireConfig, TrainConfig
from cgnn_cli.graph import CommuteTimes, Graph
from cgnn_cli.models.network import Network
from cgnn_cli.models.propagate import as_input
from cgnn_cli.models.table import MODELS, Shape
from cgnn_cli.numerics.transition import canonical_csr, row_of_entries
from cgnn_cli.operators import commute as commute_operator
from cgnn_cli.operators import directed
from cgnn_cli.stages.commute import commute
from cgnn_cli.stages.dilap import dilap
from cgnn_cli.stages.operators import make_operators
from cgnn_cli.stages.rewire import rewire

CPU = torch.device("cpu")
FEATURES = 6


def random_graph(seed: int = 0, count: int = 25) -> Graph:
    """A digraph with an isolated node, a sink, a source and a self-loop."""
    rng = np.random.default_rng(seed)
    dense = (rng.random((count, count)) < 0.15).astype(float)
    np.fill_diagonal(dense, 0)
    dense[0, :] = dense[:, 0] = dense[1, :] = dense[:, 2] = 0
    dense[1, 1] = 1
    return Graph(
        adjacency=canonical_csr(csr_array(dense)),
        features=rng.standard_normal((count, FEATURES)).astype(np.float32),
        labels=rng.integers(3, size=count),
        class_names=np.array([b"a", b"b", b"c"]),
    )


def times_of(graph: Graph, **options: Any) -> CommuteTimes:
    return commute(graph, dilap(rewire(graph, RewireConfig()), DilapConfig()), CommuteConfig(**options))


def build(graph: Graph, times: CommuteTimes | None, **options: Any) -> Network:
    torch.manual_seed(0)
    config = TrainConfig(**options)
    matrices = make_operators(graph, times, config).matrices
    network = MODELS[config.model].build(matrices, Shape(FEATURES, graph.class_count), config, CPU)
    assert isinstance(network, Network)
    return network.eval()


def operators(graph: Graph, times: CommuteTimes, aggregation: Any) -> tuple[csr_array, csr_array]:
    made = commute_operator.make(graph, times, TrainConfig(aggregation=aggregation))
    return made["out"], made["in"]


def logits(network: Network, graph: Graph) -> torch.Tensor:
    assert graph.features is not None
    with torch.no_grad():
        return network(as_input(graph.features, CPU)).logits


def dense_operators(graph: Graph, times: CommuteTimes, aggregation: str) -> tuple[np.ndarray, np.ndarray]:
    """Both aggregations by loops over the edges, from their definitions."""
    count = graph.node_count
    weight_out, weight_in = np.zeros((count, count)), np.zeros((count, count))
    out, into = np.zeros(count), np.zeros(count)
    for i, j, a, b in zip(times.source, times.target, times.weight_out, times.weight_in, strict=True):
        weight_out[i, j], weight_in[j, i] = a, b
        out[i] += 1
        into[j] += 1
    for i in range(count):
        for j in range(count):
            if aggregation == "mean":
                divide_out, divide_in = out[i], into[i]
            elif aggregation == "weighted-mean":
                divide_out, divide_in = weight_out[i].sum(), weight_in[i].sum()
            elif aggregation == "sym":
                divide_out, divide_in = np.sqrt(out[i] * into[j]), np.sqrt(into[i] * out[j])
            else:
                divide_out, divide_in = np.sqrt(out[i] * out[j]), np.sqrt(into[i] * into[j])
            if weight_out[i, j]:
                weight_out[i, j] = weight_out[i, j] / divide_out if divide_out else 0
            if weight_in[i, j]:
                weight_in[i, j] = weight_in[i, j] / divide_in if divide_in else 0
        if aggregation == "weighted-mean":
            continue
    return weight_out, weight_in


@pytest.mark.parametrize("aggregation", ["mean", "sym", "sym-out"])
def test_operators_against_loops(aggregation: str) -> None:
    graph = random_graph()
    times = times_of(graph, solver="exact", proximity="inverse")
    for sparse, dense in zip(
        operators(graph, times, aggregation), dense_operators(graph, times, aggregation), strict=True
    ):
        np.testing.assert_allclose(sparse.toarray(), dense, atol=1e-14)


def test_weighted_mean_rows_sum_to_one() -> None:
    graph = random_graph()
    times = times_of(graph, solver="exact", proximity="inverse")
    mean_out, _ = operators(graph, times, "mean")
    weighted_out, weighted_in = operators(graph, times, "weighted-mean")
    for matrix in (weighted_out, weighted_in):
        totals = matrix.toarray().sum(axis=1)
        np.testing.assert_allclose(totals[totals > 0], 1)
    ratio = mean_out.toarray()[weighted_out.toarray() > 0] / weighted_out.toarray()[weighted_out.toarray() > 0]
    assert ratio.max() <= 1 + 1e-12  # dividing by the number of neighbours, whose weights are at most 1


@pytest.mark.parametrize(("combine", "share"), [("mean", 1 / 3), ("mean", 0.0), ("mean", 0.8), ("sum", 1.0)])
@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
def test_layer_is_the_equation(combine: str, share: float, alpha: float) -> None:
    graph = random_graph()
    times = times_of(graph, solver="exact", proximity="inverse")
    network = build(graph, times, layers=1, head_layers=0, combine=combine, self_share=min(share, 1.0), alpha=alpha)
    layer: Any = network.layers[0]
    nn.init.normal_(layer.bias_out)
    nn.init.normal_(layer.bias_in)
    out_op, in_op = (torch.from_numpy(m).float() for m in dense_operators(graph, times, "mean"))
    x = torch.from_numpy(np.asarray(graph.features))
    with torch.no_grad():
        message_out = out_op @ (x @ layer.from_out.weight.T) + layer.bias_out
        message_in = in_op @ (x @ layer.from_in.weight.T) + layer.bias_in
        message = alpha * message_out + (1 - alpha) * message_in
        own = layer.from_self(x) if layer.from_self is not None else torch.zeros_like(message)
        expected = own + message if combine == "sum" else share * own + (1 - share) * message
    torch.testing.assert_close(logits(network, graph), expected, rtol=1e-5, atol=1e-5)
    assert (layer.from_self is None) == (share == 0)


@pytest.mark.parametrize(
    ("variant", "options"),
    [
        ("sage", {"aggregation": "mean", "combine": "sum"}),
        ("gcn", {"aggregation": "sym", "combine": "mean", "self_share": 0.0}),
    ],
)
def test_cgnn_with_all_weights_one_is_dirgnn(variant: str, options: dict[str, Any]) -> None:
    graph = random_graph()
    shape: dict[str, Any] = {"layers": 3, "hidden": 8, "jumping_knowledge": "cat", "l2_norm": True, "alpha": 0.3}
    ours = build(graph, times_of(graph, solver="pi-only", proximity="none"), **shape, **options)
    theirs = build(graph, None, model="dirgnn", variant=variant, **shape)
    theirs.load_state_dict(ours.state_dict())
    torch.testing.assert_close(logits(ours, graph), logits(theirs, graph), rtol=1e-6, atol=1e-6)


def test_dirgnn_sage_equals_torch_geometric() -> None:
    from torch_geometric.nn import DirGNNConv, SAGEConv

    graph = random_graph()
    network = build(graph, None, model="dirgnn", layers=1, head_layers=0, alpha=0.3)
    layer: Any = network.layers[0]
    nn.init.normal_(layer.bias_out)
    nn.init.normal_(layer.bias_in)
    conv = DirGNNConv(SAGEConv(FEATURES, 3), alpha=0.3)
    with torch.no_grad():
        # torch-geometric's conv_in collects along the edges (from in-neighbours), conv_out against them.
        conv.conv_in.lin_l.weight.copy_(layer.from_in.weight)
        conv.conv_in.lin_l.bias.copy_(layer.bias_in)
        conv.conv_out.lin_l.weight.copy_(layer.from_out.weight)
        conv.conv_out.lin_l.bias.copy_(layer.bias_out)
        conv.lin.weight.copy_(layer.from_self.weight)
        conv.lin.bias.copy_(layer.from_self.bias)
        edges = graph.edges
        edge_index = torch.from_numpy(np.stack([row_of_entries(edges), edges.indices]).astype(np.int64))
        expected = conv(torch.from_numpy(np.asarray(graph.features)), edge_index)
    torch.testing.assert_close(logits(network, graph), expected, rtol=1e-5, atol=1e-5)


def test_dirgnn_gcn_operator_is_the_degree_normalised_adjacency() -> None:
    graph = random_graph()
    dense = graph.edges.toarray()
    out, into = dense.sum(axis=1), dense.sum(axis=0)
    scale = np.sqrt(np.outer(np.maximum(out, 1), np.maximum(into, 1)))
    forward, backward = directed.make(graph, None, TrainConfig(model="dirgnn", variant="gcn")).values()
    np.testing.assert_allclose(forward.toarray(), dense / scale)
    np.testing.assert_allclose(backward.toarray(), (dense / scale).T)


@pytest.mark.parametrize("model", ["cgnn", "dirgnn"])
@pytest.mark.parametrize("jumping_knowledge", ["none", "max", "cat"])
@pytest.mark.parametrize("head_layers", [1, 3])
def test_shapes_and_finite_output_with_isolated_nodes(model: str, jumping_knowledge: str, head_layers: int) -> None:
    graph = random_graph()
    times = times_of(graph, solver="exact", proximity="inverse")
    network = build(
        graph, times, model=model, hidden=5, jumping_knowledge=jumping_knowledge, head_layers=head_layers, l2_norm=True
    )
    assert graph.features is not None
    output = network(as_input(graph.features, CPU))
    assert output.logits.shape == (25, 3)
    assert output.hidden.shape == (25, 10 if jumping_knowledge == "cat" and head_layers == 1 else 5)
    assert torch.isfinite(output.logits).all()


def test_one_layer_without_a_head_gives_the_classes() -> None:
    graph = random_graph()
    network = build(graph, times_of(graph), layers=1, head_layers=0)
    assert logits(network, graph).shape == (25, 3)


@pytest.mark.parametrize("model", ["cgnn", "dirgnn"])
def test_permutation_equivariance(model: str) -> None:
    graph = random_graph()
    times = times_of(graph, solver="exact", proximity="inverse")
    order = np.random.default_rng(1).permutation(graph.node_count)
    place = np.argsort(order)
    edges = graph.edges
    permuted = dataclasses.replace(
        graph, adjacency=canonical_csr(graph.adjacency[order][:, order]), features=np.asarray(graph.features)[order]
    )
    values = {}
    for name in ("weight_out", "weight_in"):
        matrix = csr_array((getattr(times, name) + 2.0, edges.indices, edges.indptr), shape=edges.shape)
        values[name] = canonical_csr(matrix[order][:, order]).data - 2.0
    moved = dataclasses.replace(times, **values)
    torch.testing.assert_close(
        logits(build(permuted, moved, model=model), permuted),
        logits(build(graph, times, model=model), graph)[torch.from_numpy(order)],
        rtol=1e-5,
        atol=1e-5,
    )
    assert place[order[0]] == 0


def test_edges_without_a_value_carry_no_message() -> None:
    graph = random_graph()
    times = times_of(graph)
    silent = dataclasses.replace(times, weight_out=np.zeros_like(times.weight_out))
    out_op, _ = operators(graph, silent, "weighted-mean")
    assert not out_op.toarray().any()
