"""The table of operators: sparse matrices that models propagate over, made once and cached, away from training.

Each lives in a module with `make(graph, times, config) -> matrices by name`, and `entries(graph, config)`, an upper
bound of the entries of those matrices, by which a graph with hubs is refused before memory runs out.
Nothing here imports scipy until an operator is made.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from cgnn_cli.configs import TrainConfig
from cgnn_cli.models.table import MODELS, direction_of

if TYPE_CHECKING:
    from cgnn_cli.graph import CommuteTimes, Graph


@dataclass(frozen=True)
class Operator:
    """A kind of operator: what it is, its module in this folder, whether it reads commute weights, and its options.

    relief: what to do where it would be too large.
    """

    title: str
    module: str
    options: tuple[str, ...] = ("direction",)
    uses_weights: bool = False
    relief: str = "use a machine with more memory"

    def options_read(self, config: TrainConfig) -> dict[str, Any]:
        """The values of its options: all that the matrices depend on beside the graph and its weights."""
        values = {name: getattr(config, name) for name in self.options}
        return {**values, "direction": direction_of(config)} if "direction" in values else values

    def make(self, graph: Graph, times: CommuteTimes | None, config: TrainConfig) -> dict[str, Any]:
        matrices: dict[str, Any] = import_module(f"cgnn_cli.operators.{self.module}").make(graph, times, config)
        return matrices

    def entries(self, graph: Graph, config: TrainConfig) -> int:
        return int(import_module(f"cgnn_cli.operators.{self.module}").entries(graph, config))


SECOND_ORDER_RELIEF = "a product of adjacencies joins all neighbours of a hub; this model is not for this graph"

OPERATORS: dict[str, Operator] = {
    "commute": Operator(
        "neighbours weighed by commute times", "commute", ("direction", "aggregation", "propagation"), uses_weights=True
    ),
    "directed": Operator("out- and in-neighbours apart", "directed", ("direction", "variant")),
    "convolution": Operator("symmetric normalisation", "convolution"),
    "mean": Operator("mean of the neighbours", "mean"),
    "pattern": Operator("neighbours and the node itself", "pattern"),
    "second-order": Operator(
        "first- and second-order proximities",
        "second_order",
        ("direction", "dgcn_degree", "dgcn_max_degree"),
    ),
    "pagerank": Operator("PageRank operator", "pagerank", ("direction", "teleport")),
    "inception": Operator(
        "PageRank operator and common neighbours",
        "inception",
        ("direction", "teleport"),
        relief=f"--model digcn has no products; {SECOND_ORDER_RELIEF}",
    ),
    "magnetic": Operator("magnetic Laplacian", "magnetic", ("direction", "charge")),
    "views": Operator("PageRank operators over a range of teleports", "views"),
    "hermitian": Operator("Hermitian adjacency", "hermitian"),
    "knn": Operator("most similar nodes by features", "similar", ("knn",)),
    "twins": Operator(
        "similarity of out-neighbours", "twins", (), relief=f"leave --label-input out; {SECOND_ORDER_RELIEF}"
    ),
    "degrees": Operator("degrees of nodes and neighbours", "degree_features", ()),
}


def operators_of(config: TrainConfig) -> tuple[str, ...]:
    """The kinds of operators that a training reads: the model's own, then those of its options."""
    own = MODELS[config.model].operator
    kinds = [own] if own else []
    kinds += ["knn"] if config.knn else []
    kinds += ["twins"] if config.label_input else []
    kinds += ["degrees"] if config.degree_features else []
    return tuple(kinds)


def uses_weights(model: str) -> bool:
    """Whether a model reads commute weights."""
    own = MODELS[model].operator
    return own is not None and OPERATORS[own].uses_weights
