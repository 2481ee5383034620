"""CGNNConv is CGNN's layer, and DirGNN's without weights."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch_geometric.data import Data
from torch_geometric.nn import DirGNNConv, SAGEConv

from cgnn_cli import api
from cgnn_cli.errors import UsageError
from cgnn_cli.models.cgnn import CgnnConfig
from cgnn_cli.models.cgnn.network import build
from cgnn_cli.models.parts.classifier import Shape
from cgnn_cli.pyg import AddCommuteTimes, CGNNConv, graph_to_pyg
from tests.models.test_directed_models import FEATURES, random_graph, times_of

CPU = torch.device("cpu")


def weighted_data() -> Data:
    return AddCommuteTimes(solver="exact", proximity="inverse")(graph_to_pyg(random_graph()))


@pytest.mark.parametrize("aggregation", ["mean", "weighted-mean", "sym", "sym-out"])
@pytest.mark.parametrize(("combine", "share"), [("mean", 1 / 3), ("mean", 0.0), ("sum", 1 / 3)])
def test_it_equals_the_layer_of_the_model(aggregation: Any, combine: Any, share: float) -> None:
    graph, data = random_graph(), weighted_data()
    config = CgnnConfig(layers=1, head_layers=0, aggregation=aggregation, combine=combine, self_share=share, alpha=0.3)
    operators = api.make_operators(graph, times_of(graph, solver="exact", proximity="inverse"), config)
    network: Any = build(operators.matrices, Shape(FEATURES, 3), config, CPU)
    conv = CGNNConv(FEATURES, 3, alpha=0.3, self_share=share, combine=combine, aggregation=aggregation)
    nn.init.normal_(conv.layer.bias_in)
    network.layers[0].load_state_dict(conv.layer.state_dict())
    made = conv(data.x, data.edge_index, data.edge_weight_out, data.edge_weight_in)
    torch.testing.assert_close(made, network.eval()(data.x).logits, rtol=1e-5, atol=1e-6)


def test_without_weights_it_is_torch_geometric_s_directed_sage() -> None:
    data = graph_to_pyg(random_graph())
    ours = CGNNConv(FEATURES, 4, alpha=0.3, combine="sum")
    theirs = DirGNNConv(SAGEConv(FEATURES, 4), alpha=0.3)
    with torch.no_grad():
        # conv_in collects along the edges, from in-neighbours; conv_out against them.
        for conv, linear in ((theirs.conv_in, ours.layer.from_in), (theirs.conv_out, ours.layer.from_out)):
            conv.lin_l.weight.copy_(linear.weight)
            conv.lin_l.bias.zero_()
        assert ours.layer.from_self is not None
        theirs.lin.load_state_dict(ours.layer.from_self.state_dict())
    apart = data.edge_index[:, data.edge_index[0] != data.edge_index[1]]
    torch.testing.assert_close(ours(data.x, data.edge_index), theirs(data.x, apart), rtol=1e-5, atol=1e-5)


def test_order_repeats_and_self_loops_of_the_edges_do_not_matter() -> None:
    data, conv = weighted_data(), CGNNConv(FEATURES, 4)
    edges, weights = data.edge_index, (data.edge_weight_out, data.edge_weight_in)
    order = torch.randperm(edges.shape[1], generator=torch.Generator().manual_seed(0))
    longer = torch.cat([order, order[:5]])
    expected = conv(data.x, edges, *weights)
    made = conv(data.x, edges[:, longer], *(weight[longer] for weight in weights))
    torch.testing.assert_close(made, expected)


def test_a_neighbour_of_weight_zero_still_counts_in_the_mean() -> None:
    conv = CGNNConv(1, 1, self_share=0.0, alpha=1.0)
    nn.init.ones_(conv.layer.from_out.weight)
    edges, weight = torch.tensor([[0, 0], [1, 2]]), torch.tensor([1.0, 0.0])
    made = conv(torch.tensor([[0.0], [4.0], [6.0]]), edges, weight, weight)
    assert made[:, 0].tolist() == [2.0, 0.0, 0.0]


def test_it_learns_and_takes_sparse_features() -> None:
    data = graph_to_pyg(random_graph())
    x = data.x * (data.x > 0.8)
    conv = CGNNConv(FEATURES, 4)
    dense = conv(x, data.edge_index)
    torch.testing.assert_close(conv(x.to_sparse_csr(), data.edge_index), dense)
    dense.square().sum().backward()
    assert all(p.grad is not None and torch.isfinite(p.grad).all() for p in conv.parameters())


def test_a_cached_layer_keeps_the_first_edges_until_it_is_reset() -> None:
    data = graph_to_pyg(random_graph())
    conv = CGNNConv(FEATURES, 4, cached=True)
    first = conv(data.x, data.edge_index)
    flipped = data.edge_index.flip(0)
    assert torch.equal(conv(data.x, flipped), first)
    state = conv.state_dict()
    assert all("ways" not in name for name in state)
    fresh = CGNNConv(FEATURES, 4)
    fresh.load_state_dict(state)
    conv.reset_parameters()
    assert not torch.equal(conv.layer.from_out.weight, fresh.layer.from_out.weight)
    conv.load_state_dict(fresh.state_dict())
    assert torch.equal(conv(data.x, flipped), fresh(data.x, flipped)) and not torch.equal(fresh(data.x, flipped), first)


def test_unknown_ways_to_combine_are_errors() -> None:
    for options in ({"combine": "max"}, {"aggregation": "median"}):
        with pytest.raises(UsageError):
            CGNNConv(2, 2, **options)  # type: ignore[arg-type]


def test_no_gradient_reaches_the_weights_of_edges() -> None:
    data = weighted_data()
    weight = data.edge_weight_out.requires_grad_()
    made = CGNNConv(FEATURES, 2)(data.x, data.edge_index, weight, data.edge_weight_in)
    made.sum().backward()
    assert weight.grad is None and np.isfinite(made.detach().numpy()).all()
