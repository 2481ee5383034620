"""The table of models. Nothing here imports torch until a model is built."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

    from cgnn_cli.configs import TrainConfig
    from cgnn_cli.graph import CommuteTimes, Graph
    from cgnn_cli.models.network import Network

Build = Callable[["Graph", "CommuteTimes | None", "TrainConfig", int, "torch.device"], "Network"]


@dataclass(frozen=True)
class Model:
    """A model: what it is, where it comes from, whether it reads commute weights, and how it is built."""

    title: str
    paper: str
    uses_weights: bool
    options: tuple[str, ...]
    build: Build


def _build_cgnn(
    graph: Graph, times: CommuteTimes | None, config: TrainConfig, features: int, device: torch.device
) -> Network:
    from cgnn_cli.models import cgnn

    assert times is not None
    return cgnn.build(graph, times, config, features, device)


def _build_dirgnn(
    graph: Graph, times: CommuteTimes | None, config: TrainConfig, features: int, device: torch.device
) -> Network:
    from cgnn_cli.models import dirgnn

    return dirgnn.build(graph, config, features, device)


MODELS: dict[str, Model] = {
    "cgnn": Model(
        title="Commute Graph Neural Network",
        paper="Commute Graph Neural Networks, ICML 2025",
        uses_weights=True,
        options=("aggregation", "combine", "self_share", "alpha"),
        build=_build_cgnn,
    ),
    "dirgnn": Model(
        title="Directed GNN, the control without weights",
        paper="Rossi et al., Edge Directionality Improves Learning on Heterophilic Graphs, LoG 2023",
        uses_weights=False,
        options=("variant", "alpha"),
        build=_build_dirgnn,
    ),
}
