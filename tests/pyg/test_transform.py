"""AddCommuteTimes gives each edge what the stages give it."""

from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform, Compose, NormalizeFeatures

from cgnn_cli import api
from cgnn_cli.errors import UsageError
from cgnn_cli.pyg import AddCommuteTimes, graph_from_pyg
from tests.pyg.test_conversion import EDGES

OPTIONS: list[dict[str, Any]] = [
    {},
    {"solver": "exact", "proximity": "ratio", "scale": "0.5"},
    {"solver": "exact", "method": "none", "proximity": "inverse"},
    {"method": "teleport", "gamma": 0.8, "form": "random-walk", "rank": 3},
]


def two_way_data() -> Data:
    """A shuffled edge list with a repeat and a self-loop; node 4 is outside the largest component."""
    edges = [*EDGES, (0, 2), (0, 1), (1, 4), (2, 1)]
    order = np.random.default_rng(0).permutation(len(edges))
    edge_index = torch.tensor(edges)[torch.from_numpy(order)].t().contiguous()
    x = torch.from_numpy(np.random.default_rng(1).standard_normal((5, 3)).astype(np.float32))
    return Data(x=x, edge_index=edge_index)


@pytest.mark.parametrize("options", OPTIONS)
def test_values_are_those_of_the_stages(options: dict[str, Any]) -> None:
    data = two_way_data()
    graph = graph_from_pyg(data)
    of: dict[str, dict[str, Any]] = {name: {} for name in ("rewire", "dilap", "commute")}
    for name, value in options.items():
        of["rewire" if name in ("method", "gamma") else "dilap" if name == "form" else "commute"][name] = value
    walk = api.dilap(api.rewire(graph, api.RewireConfig(**of["rewire"])), api.DilapConfig(**of["dilap"]))
    times = api.commute(graph, walk, api.CommuteConfig(**of["commute"]))
    expected = {(int(i), int(j)): number for number, (i, j) in enumerate(zip(times.source, times.target, strict=True))}
    made = AddCommuteTimes(**options)(data)
    for place, (i, j) in enumerate(made.edge_index.t().tolist()):
        for name in ("hitting", "hitting_back", "commute", "weight_out", "weight_in"):
            value = made[f"edge_{name}"][place].item()
            if i == j:
                assert value == 0 if name.startswith("weight") else np.isnan(value)
            else:
                np.testing.assert_allclose(value, getattr(times, name)[expected[i, j]], rtol=1e-6)


def test_it_is_a_transform_like_others() -> None:
    data = two_way_data()
    transform = AddCommuteTimes(solver="exact", proximity="ratio")
    assert isinstance(transform, BaseTransform)
    assert repr(transform) == "AddCommuteTimes(solver='exact', proximity='ratio')"
    made = Compose([NormalizeFeatures(), transform])(data)
    assert "edge_commute" not in data  # the data that was given stays as it was
    assert made.edge_commute.dtype == torch.float64 and made.edge_weight_out.dtype == torch.float32
    assert set(made.edge_attrs()) == {
        "edge_index",
        *(f"edge_{name}" for name in ("hitting", "hitting_back", "commute", "weight_out", "weight_in")),
    }
    best = torch.zeros(5).scatter_reduce(0, made.edge_index[0], made.edge_weight_out, "amax")
    assert set(best[torch.unique(made.edge_index[0])].tolist()) == {1.0}


def test_unknown_and_wrong_options_are_errors() -> None:
    with pytest.raises(UsageError) as unknown:
        AddCommuteTimes(proximty="ratio")
    assert "proximty" in unknown.value.message and "proximity" in unknown.value.hint
    with pytest.raises(UsageError, match="--rank must be at least 1"):
        AddCommuteTimes(rank=0)


@pytest.mark.parametrize(
    "y",
    [torch.tensor([1]), torch.rand(5), torch.eye(5), torch.full((5,), -1), torch.arange(5)],
    ids=["of the graph", "numbers", "one-hot", "unknown", "too few a class to split"],
)
def test_labels_of_any_kind_are_left_alone(y: torch.Tensor) -> None:
    data = two_way_data()
    expected = AddCommuteTimes()(data).edge_commute
    data.y = y
    made = AddCommuteTimes()(data)
    torch.testing.assert_close(made.edge_commute, expected, equal_nan=True)
    assert torch.equal(made.y, y)
