"""The floors: linear layers of the features, whatever the edges are."""

import torch

from tests.models.samples import build, features_of, logits, random_graph, randomised, without_edges


def test_mlp_is_the_equation() -> None:
    graph = random_graph()
    network = randomised(build(graph, None, model="mlp", layers=3, hidden=5, activation="tanh"))
    w = network.state_dict()
    state = features_of(graph)
    for number in range(3):
        state = state @ w[f"linears.{number}.weight"].T + w[f"linears.{number}.bias"]
        state = torch.tanh(state) if number < 2 else state
    torch.testing.assert_close(logits(network, graph), state, rtol=1e-5, atol=1e-5)


def test_linear_is_one_layer_and_mlp_of_one_layer_the_same() -> None:
    graph = random_graph()
    linear = build(graph, None, model="linear", layers=5)
    w = linear.state_dict()
    assert set(w) == {"linears.0.weight", "linears.0.bias"}
    expected = features_of(graph) @ w["linears.0.weight"].T + w["linears.0.bias"]
    torch.testing.assert_close(logits(linear, graph), expected)
    assert torch.equal(logits(build(graph, None, model="mlp", layers=1), graph), logits(linear, graph))


def test_edges_are_not_read() -> None:
    graph = random_graph()
    for model in ("mlp", "linear"):
        network, lonely = build(graph, None, model=model), build(without_edges(graph), None, model=model)
        assert torch.equal(logits(network, graph), logits(lonely, graph))
