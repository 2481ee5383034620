"""DUPLEX: dual attention over the doubled list of edges, by loops; the phase knows the direction and nothing else."""

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from cgnn_cli.graph import Graph
from cgnn_cli.models.duplex.network import SignedAttention
from cgnn_cli.models.parts.attention import Pattern
from cgnn_cli.numerics.csr import canonical_csr
from tests.graphs import both_ways, graph_of, random_edges
from tests.models.samples import CPU, build, features_of, logits, random_graph, randomised
from tests.operators.test_hermitian import listed


def by_loops(attention: SignedAttention, x: Tensor, graph: Graph, branch: int, way: str) -> Tensor:
    """Attention of one branch (0 amplitude, 1 phase), an entry of the list at a time."""
    entries = listed(graph, way)
    panel = (x @ attention.linear.weight.T).unflatten(1, (attention.heads, -1))
    made = torch.zeros_like(panel)
    for i in range(graph.node_count):
        for head in range(attention.heads):
            sources, scores, weights = [], [], []
            for (node, j), copies in entries.items():
                if node != i:
                    continue
                score = torch.dot(attention.of_neighbour[head], panel[j, head]) + torch.dot(
                    attention.of_node[head], panel[i, head]
                )
                for copy in copies:
                    sources.append(j)
                    scores.append(torch.nn.functional.leaky_relu(score, 0.2))
                    weights.append(copy[branch])
            shares = torch.softmax(torch.stack(scores), dim=0) * torch.tensor(weights)
            made[i, head] = (shares[:, None] * panel[sources, head]).sum(dim=0)
    return (made.mean(dim=1) if attention.average else made.flatten(1)) + attention.bias


def dense_forward(network: Any, graph: Graph, way: str) -> Tensor:
    amplitude = phase = features_of(graph)
    for number, layer in enumerate(network.layers):
        if number:
            amplitude, phase = torch.relu(amplitude), torch.relu(phase)
        made = by_loops(layer.amplitude, amplitude, graph, 0, way)
        turned = by_loops(layer.phase, phase, graph, 1, way)
        if layer.to_amplitude is not None:
            made = made + by_loops(layer.to_amplitude, phase, graph, 0, way)
            turned = turned + by_loops(layer.to_phase, amplitude, graph, 1, way)
        amplitude, phase = made, turned
    return network.head(torch.cat([amplitude, phase], dim=1))


@pytest.mark.parametrize(("heads", "fusion_layer"), [(1, 2), (2, 1), (3, 9)])
@pytest.mark.parametrize(("direction", "way"), [("both", "out"), ("undirected", "undirected")])
def test_the_equations(heads: int, fusion_layer: int, direction: str, way: str) -> None:
    graph = random_graph(count=14, density=0.25)
    options: dict[str, Any] = {"heads": heads, "fusion_layer": fusion_layer, "direction": direction}
    network: Any = randomised(build(graph, None, model="duplex", layers=2, hidden=4, **options))
    assert [layer.to_phase is not None for layer in network.layers] == [fusion_layer == 1, fusion_layer == 2]
    with torch.no_grad():
        expected = dense_forward(network, graph, way)
    torch.testing.assert_close(logits(network, graph), expected, rtol=1e-4, atol=1e-4)


def test_gradients_are_those_of_the_loops() -> None:
    graph = random_graph(count=10, density=0.3)
    network = randomised(build(graph, None, model="duplex", heads=2, hidden=3, layers=2))
    gradients = []
    for run in (lambda: network(features_of(graph)).logits, lambda: dense_forward(network, graph, "out")):
        network.zero_grad()
        run().square().mean().backward()
        gradients.append([parameter.grad for parameter in network.parameters()])
    torch.testing.assert_close(*gradients, rtol=1e-3, atol=1e-3)


def phases(graph: Graph) -> Tensor:
    """The phases after one layer without bias."""
    network: Any = randomised(build(graph, None, model="duplex", layers=1, fusion_layer=1, hidden=4, heads=2))
    with torch.no_grad():
        for attention in (network.layers[0].phase, network.layers[0].to_phase):
            attention.bias.zero_()
        return network(features_of(graph)).hidden[:, 4:]


def test_reversing_all_edges_flips_the_sign_of_the_phase() -> None:
    graph = random_graph()
    reverse = dataclasses.replace(graph, adjacency=canonical_csr(graph.adjacency.T.tocsr()))
    assert phases(graph).abs().max() > 0.1
    torch.testing.assert_close(phases(graph), -phases(reverse))


def test_a_graph_of_mutual_pairs_has_no_phase_but_the_bias() -> None:
    pairs = graph_of(20, both_ways(random_edges(20, 3, seed=0)))
    features = np.random.default_rng(0).standard_normal((20, 6)).astype(np.float32)
    graph = Graph(adjacency=pairs.adjacency, features=features, class_names=np.array([b"a", b"b"]))
    assert not phases(graph).any()
    network: Any = randomised(build(graph, None, model="duplex", layers=1, hidden=4))
    with torch.no_grad():
        phase = network(features_of(graph)).hidden[:, 4:]
    torch.testing.assert_close(phase, network.layers[0].phase.bias.expand(20, 4))


def test_copies_in_the_softmax_are_entries_that_stand_twice() -> None:
    graph = random_graph()
    pattern = Pattern(graph.edges, CPU)
    generator = torch.Generator().manual_seed(0)
    copies = torch.randint(1, 4, (pattern.entries,), generator=generator).double()
    scores = [torch.randn(25, 2, generator=generator, dtype=torch.float64, requires_grad=True) for _ in range(2)]
    weights = pattern.softmax(scores[0], scores[1], copies=copies)
    exponentials = torch.exp(
        torch.nn.functional.leaky_relu(pattern.by_neighbour(scores[0]) + pattern.by_node(scores[1]), 0.2)
    )
    counted = exponentials * copies
    torch.testing.assert_close(weights, counted / pattern.by_node(pattern.row_sums(counted)))
    assert torch.autograd.gradcheck(lambda s, t: pattern.softmax(s, t, copies=copies), tuple(scores))
