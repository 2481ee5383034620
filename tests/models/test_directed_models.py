"""CGNN and DirGNN: dense oracles, their equality with all weights 1, torch-geometric, and corner cases."""

from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from torch import nn

from cgnn_cli.graph import CommuteTimes, Graph
from cgnn_cli.models.cgnn import CgnnConfig
from cgnn_cli.models.parts.classifier import Network
from cgnn_cli.models.parts.propagate import as_input
from cgnn_cli.operators import weighted as commute_operator
from tests.models import samples
from tests.models.samples import CPU, FEATURES, edge_index, logits, random_graph, times_of


def build(graph: Graph, times: CommuteTimes | None, **options: Any) -> Network:
    network = samples.build(graph, times, **options)
    assert isinstance(network, Network)
    return network


def operators(graph: Graph, times: CommuteTimes, aggregation: Any) -> tuple[csr_array, csr_array]:
    made = commute_operator.make(graph, times, CgnnConfig(aggregation=aggregation))
    return made["out"], made["in"]


def dense_operators(graph: Graph, times: CommuteTimes) -> tuple[np.ndarray, np.ndarray]:
    """Both directions by loops over the edges: weights divided by the number of neighbours."""
    count = graph.node_count
    weight_out, weight_in = np.zeros((count, count)), np.zeros((count, count))
    for i, j, a, b in zip(times.source, times.target, times.weight_out, times.weight_in, strict=True):
        weight_out[i, j] = a / (times.source == i).sum()
        weight_in[j, i] = b / (times.target == j).sum()
    return weight_out, weight_in


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
    out_op, in_op = (torch.from_numpy(m).float() for m in dense_operators(graph, times))
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
        # Its edges go from source to target: those along which a node collects from its in-neighbours.
        expected = conv(torch.from_numpy(np.asarray(graph.features)), edge_index(graph, "in"))
    torch.testing.assert_close(logits(network, graph), expected, rtol=1e-5, atol=1e-5)


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
