"""GAT and DirGNN's attention: the equations node by node, and torch-geometric."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from cgnn_cli.graph import Graph
from tests.models.samples import (
    FEATURES,
    build,
    edge_index,
    features_of,
    logits,
    neighbours,
    random_graph,
    randomised,
)

HEADS, WIDTH = 3, 4


def attention(graph: Graph, direction: str, layer: Any, x: Tensor) -> Tensor:
    """The heads side by side, one node after the other."""
    panel = (x @ layer.linear.weight.T).reshape(len(x), layer.heads, -1)
    rows = []
    for node, row in enumerate(neighbours(graph, direction)):
        taken = sorted({node, *(int(j) for j in row.nonzero()[0])})
        parts = []
        for head in range(layer.heads):
            own = panel[node, head] @ layer.of_node[head]
            scores = [F.leaky_relu(panel[j, head] @ layer.of_neighbour[head] + own, 0.2) for j in taken]
            share = torch.softmax(torch.stack(scores), dim=0)
            parts.append(sum(share[number] * panel[j, head] for number, j in enumerate(taken)))
        rows.append(torch.cat(parts))
    return torch.stack(rows) + layer.bias


@pytest.mark.parametrize("direction", ["out", "in", "undirected"])
def test_two_layers_and_a_head_are_the_equation(direction: str) -> None:
    graph = random_graph()
    network: Any = randomised(build(graph, None, model="gat", direction=direction, hidden=WIDTH, heads=HEADS))
    state = features_of(graph)
    with torch.no_grad():
        for layer in network.layers:
            state = torch.relu(attention(graph, direction, layer, state))
        torch.testing.assert_close(logits(network, graph), network.head[0](state), rtol=1e-5, atol=1e-5)


def test_heads_of_the_last_layer_are_averaged() -> None:
    graph = random_graph()
    network: Any = randomised(build(graph, None, model="gat", layers=1, head_layers=0, heads=HEADS))
    with torch.no_grad():
        heads = attention(graph, "out", network.layers[0], features_of(graph)).split(graph.class_count, dim=1)
    assert len(heads) == HEADS
    torch.testing.assert_close(logits(network, graph), sum(heads) / HEADS, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("direction", ["out", "in", "undirected"])
@pytest.mark.parametrize("concatenated", [True, False])
def test_a_layer_equals_torch_geometric(direction: str, concatenated: bool) -> None:
    from torch_geometric.nn import GATConv

    graph = random_graph()
    network: Any = randomised(build(graph, None, model="gat", direction=direction, hidden=WIDTH, heads=HEADS))
    layer = network.layers[0]
    conv = GATConv(FEATURES, WIDTH, heads=HEADS, concat=concatenated, bias=False)
    with torch.no_grad():
        conv.lin.weight.copy_(layer.linear.weight)
        conv.att_src.copy_(layer.of_neighbour[None])
        conv.att_dst.copy_(layer.of_node[None])
        ours = layer(features_of(graph)) - layer.bias
        ours = ours if concatenated else ours.unflatten(1, (HEADS, WIDTH)).mean(dim=1)
        torch.testing.assert_close(ours, conv(features_of(graph), edge_index(graph, direction)), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("direction", "ways"),
    [
        ("both", {"out": ("out", 0.3), "in": ("in", 0.7)}),
        ("out", {"out": ("out", 1.0)}),
        ("in", {"in": ("in", 1.0)}),
        ("undirected", {"out": ("undirected", 1.0)}),
    ],
)
def test_directed_attention_is_the_equation(direction: str, ways: dict[str, tuple[str, float]]) -> None:
    graph = random_graph()
    options = {"model": "dirgnn", "variant": "gat", "alpha": 0.3, "heads": 2, "hidden": WIDTH, "layers": 1}
    network: Any = randomised(build(graph, None, direction=direction, **options))
    layer = network.layers[0]
    assert set(layer.ways) == set(ways)
    with torch.no_grad():
        parts = [
            share * attention(graph, way, layer.ways[name], features_of(graph)) for name, (way, share) in ways.items()
        ]
        expected = network.head[0](torch.relu(torch.stack(parts).sum(dim=0)))
    torch.testing.assert_close(logits(network, graph), expected, rtol=1e-5, atol=1e-5)


def test_dropout_of_the_attention_hides_whole_messages() -> None:
    graph = random_graph()
    network: Any = build(graph, None, model="gat", layers=1, hidden=WIDTH, attention_dropout=0.5)
    layer, x = network.layers[0], features_of(graph)
    with torch.no_grad():
        calm = layer(x)
        layer.train()
        torch.manual_seed(0)
        drawn = torch.stack([layer(x) for _ in range(1000)])
    # The isolated node has only itself: its message is there, doubled, or not.
    seen = (drawn[:, 0] / calm[0]).mean(dim=1)
    assert set(seen.round(decimals=3).tolist()) == {0.0, 2.0}
    torch.testing.assert_close(drawn.mean(dim=0), calm, rtol=0.2, atol=0.1)
