"""A transform that adds hitting times, commute times and weights to the edges of a `Data`."""

from __future__ import annotations

import dataclasses
import difflib
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform

from cgnn_cli.configs import CommuteConfig, DilapConfig, RewireConfig, StageConfig
from cgnn_cli.errors import UsageError
from cgnn_cli.graph import CommuteTimes
from cgnn_cli.pyg.conversion import unlabelled_graph_of
from cgnn_cli.stages.commute import commute
from cgnn_cli.stages.dilap import dilap
from cgnn_cli.stages.rewire import rewire

TIMES = ("hitting", "hitting_back", "commute")
WEIGHTS = ("weight_out", "weight_in")


class AddCommuteTimes(BaseTransform):
    """Adds the times and weights of every edge to a `Data`, in the order of its edge_index.

    edge_hitting is h(source, target), edge_hitting_back h(target, source), edge_commute their sum, in expected steps
    (float64); edge_weight_out and edge_weight_in are what `CGNNConv` takes (float32). Self-loops have no times (NaN)
    and weight 0, as have edges that the walk does not reach. The options are those of the stages rewire, dilap and
    commute: `AddCommuteTimes(solver="series", proximity="ratio", scale="0.1")`.
    """

    def __init__(self, **options: Any) -> None:
        self.options = options
        self.rewire, self.dilap, self.commute = _configs(options)

    def forward(self, data: Data) -> Data:
        graph = unlabelled_graph_of(data)
        times = commute(graph, dilap(rewire(graph, self.rewire), self.dilap), self.commute)
        place = _places(data.edge_index, times, graph.node_count)
        for name in (*TIMES, *WEIGHTS):
            absent, dtype = (np.nan, np.float64) if name in TIMES else (0.0, np.float32)
            values = np.append(getattr(times, name), absent).astype(dtype)
            data[f"edge_{name}"] = torch.from_numpy(values[place]).to(data.edge_index.device)
        return data

    def __repr__(self) -> str:
        return f"AddCommuteTimes({', '.join(f'{name}={value!r}' for name, value in self.options.items())})"


def _configs(options: dict[str, Any]) -> tuple[RewireConfig, DilapConfig, CommuteConfig]:
    """Options by name, each to the stage that has it."""
    kinds: tuple[type[StageConfig], ...] = (RewireConfig, DilapConfig, CommuteConfig)
    names = {field.name: kind for kind in kinds for field in dataclasses.fields(kind)}
    for name in options:
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1)
            hint = f"did you mean {near[0]!r}?" if near else ", ".join(names)
            raise UsageError(f"AddCommuteTimes has no option {name!r}", hint)
    made = [kind(**{name: value for name, value in options.items() if names[name] is kind}) for kind in kinds]
    return tuple(made)  # type: ignore[return-value]


def _places(edge_index: Tensor, times: CommuteTimes, count: int) -> np.ndarray:
    """Where the edges of a `Data` stand among the times; -1 for self-loops."""
    source, target = edge_index.cpu().numpy()
    known = times.source.astype(np.int64) * count + times.target
    return np.where(source == target, -1, np.searchsorted(known, source * count + target))
