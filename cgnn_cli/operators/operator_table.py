"""The table of operators: sparse matrices that models propagate over, made once and cached, away from training.

Each lives in a module with `make(graph, times, config) -> matrices by name`, or `Operators` where there are figures to
tell, and, where they are more than the edges,
`entries(graph, config)`, an upper bound of their entries, or near it where bounds would be far too high, by which a
graph with hubs is refused before memory runs out.
Nothing here imports scipy until an operator is made.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from cgnn_cli.configs import TrainConfig
from cgnn_cli.models.model_table import config_class

if TYPE_CHECKING:
    from cgnn_cli.graph import CommuteTimes, Graph, Operators


@dataclass(frozen=True)
class Operator:
    """A kind of operator: its module in this folder, its options, and whether it reads commute weights or an encoding.

    relief: what to do where it would be too large.
    """

    module: str
    options: tuple[str, ...] = ("direction",)
    uses_weights: bool = False
    uses_encoding: bool = False
    relief: str = "use a machine with more memory"

    def options_read(self, config: TrainConfig) -> dict[str, Any]:
        """The values of its options: all that the matrices depend on beside the graph and its weights."""
        values = {name: getattr(config, name) for name in self.options}
        if self.uses_encoding:
            values |= {name: value for name, value in config.to_dict().items() if name in ENCODING_OPTIONS}
        return {**values, "direction": config.resolved_direction} if "direction" in values else values

    def make(self, graph: Graph, times: CommuteTimes | None, config: TrainConfig) -> dict[str, Any] | Operators:
        made: dict[str, Any] | Operators = import_module(f"cgnn_cli.operators.{self.module}").make(graph, times, config)
        return made

    def entries(self, graph: Graph, config: TrainConfig) -> int:
        from cgnn_cli.operators.normalise import edge_entries

        own = getattr(import_module(f"cgnn_cli.operators.{self.module}"), "entries", edge_entries)
        return int(own(graph, config))


ENCODING_OPTIONS = ("encoding", "encoding_size")
SECOND_ORDER_RELIEF = "a product of adjacencies joins all neighbours of a hub; this model is not for this graph"

OPERATORS: dict[str, Operator] = {
    "commute": Operator("weighted", ("direction", "aggregation", "propagation"), uses_weights=True),
    "directed": Operator("directed", ("direction", "variant")),
    "convolution": Operator("convolution"),
    "mean": Operator("mean"),
    "pattern": Operator("pattern"),
    "second-order": Operator("second_order", ("direction", "dgcn_degree", "dgcn_max_degree")),
    "pagerank": Operator("pagerank", ("direction", "teleport")),
    "inception": Operator(
        "inception", ("direction", "teleport"), relief=f"--model digcn has no products; {SECOND_ORDER_RELIEF}"
    ),
    "magnetic": Operator("magnetic", ("direction", "charge")),
    "views": Operator("views"),
    "hermitian": Operator("hermitian"),
    "encoding": Operator("encoding", (), uses_encoding=True, relief="use a smaller --encoding-size"),
    "knn": Operator("similar", ("knn",), uses_encoding=True),
    "twins": Operator("twins", (), relief=f"leave --label-input out; {SECOND_ORDER_RELIEF}"),
    "degrees": Operator("degree_features", ()),
}


def uses_weights(model: str) -> bool:
    """Whether a model reads commute weights."""
    own = config_class(model).operator
    return own is not None and OPERATORS[own].uses_weights
