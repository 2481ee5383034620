"""How much memory and disk a stage needs, from the sizes of its inputs: rough upper bounds.

They count the arrays that live at the same time. tests/test_resources.py compares those of the graph stages with
measured peaks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cgnn_cli.configs import CommuteConfig, TrainConfig
from cgnn_cli.operators.table import OPERATORS

if TYPE_CHECKING:
    from cgnn_cli.graph import Graph

CSR_ENTRY = 12  # a float64 and an int32
OPERATOR_ENTRY = 40  # in float64 with its row and column, a copy of it, and the float32 that is kept
SERIES_PAIR = 176  # what the series holds for a pair while it works
BASE = 64 << 20


def _feature_bytes(graph: Graph, item: int) -> int:
    if graph.features is None:
        return 0
    index = 4 if hasattr(graph.features, "nnz") else 0
    return int(graph.features.size * (item + index))  # the size of a sparse matrix is its number of entries


def _entries(graph: Graph) -> int:
    return int(graph.adjacency.nnz) + 3 * graph.node_count


def rewire_memory(inputs: dict[str, Any], config: Any) -> int:
    graph: Graph = inputs["graph"]
    return BASE + 2 * _feature_bytes(graph, 8) + 8 * CSR_ENTRY * _entries(graph)


def dilap_memory(inputs: dict[str, Any], config: Any) -> int:
    rewired = inputs["rewire"]
    return BASE + 12 * CSR_ENTRY * int(rewired.adjacency.nnz) + 200 * int(rewired.adjacency.shape[0])


def commute_memory(inputs: dict[str, Any], config: CommuteConfig) -> int:
    """`exact` judges by itself whether its matrix fits, and tries a sparse factorisation where it does not."""
    states, edges = len(inputs["dilap"].perron), int(inputs["graph"].adjacency.nnz)
    per_edge = 8 * 24
    if config.solver == "svd":
        lanczos = max(2 * config.rank + 1, 20)
        return BASE + 2 * 8 * states * (config.rank + lanczos) + per_edge * edges
    if config.solver in ("series", "sketch"):
        walk = 2 * CSR_ENTRY * int(inputs["dilap"].transition.nnz)
        return BASE + walk + (per_edge + SERIES_PAIR) * edges + 20 * 8 * states
    return BASE + per_edge * edges


def operators_memory(inputs: dict[str, Any], config: Any) -> int:
    """A few copies of each matrix while it is put together."""
    return BASE + OPERATOR_ENTRY * OPERATORS[config.kind].entries(inputs["graph"], config.train)


def fit_memory(inputs: dict[str, Any], config: Any) -> int:
    """The operators with their transposes, features, and a panel a layer with its gradients.

    In batches the panels with gradients are those of the nodes that a batch reaches, two operators a layer; the whole
    graph has a panel a layer without them, for the validation.
    """
    graph: Graph = inputs["graph"]
    train: TrainConfig = config.train
    nodes = graph.node_count
    kept = sum(int(data.summary["entries"]) for role, data in inputs.items() if role.startswith("operators-"))
    operators = 2 * 20 * kept + 2 * 20 * (_feature_bytes(graph, 4) // 4)
    width = train.hidden * _widening(train)
    with_gradients, without = nodes, 0
    if train.batch_nodes:
        with_gradients = min(nodes, train.batch_nodes * (1 + 2 * train.fanout) ** train.layers)
        without = nodes * (train.layers + 2)
    panels = 4 * width * (with_gradients * _panels(train) + without)
    attention = _attention_bytes(train, kept)
    return 8 * BASE + operators + panels + attention + 2 * CSR_ENTRY * int(graph.adjacency.nnz)


def _panels(train: TrainConfig) -> int:
    """Panels of nodes times width that a training holds at its peak: what layers keep, and what a gradient needs."""
    a_layer = 10 + 2 * train.l2_norm + 2 * train.batch_norm + 2 * (train.jumping_knowledge != "none")
    return a_layer * train.layers + 4 * train.head_layers + 6


def _widening(train: TrainConfig) -> int:
    """How many panels a model has where others have one: parts side by side, orders, views or branches."""
    wide = {"dgcn": 3, "digcn-ib": 2, "magnet": train.order + 1, "digcl": 2, "duplex": 2 * train.heads}
    wide |= {"gat": train.heads, "mixhop": train.hops + 1}
    if train.model == "dirgnn" and train.variant == "gat":
        return train.heads
    return wide.get(train.model, 1)


def _attention_bytes(train: TrainConfig, entries: int) -> int:
    """A weight an entry, head and layer, its dropout, and what the gradient of one layer needs."""
    if train.model not in ("gat", "duplex") and (train.model, train.variant) != ("dirgnn", "gat"):
        return 0
    return 4 * train.heads * entries * (3 * train.layers + 8)


def commute_disk(inputs: dict[str, Any], config: Any) -> int:
    return 48 * int(inputs["graph"].adjacency.nnz)


def rewire_disk(inputs: dict[str, Any], config: Any) -> int:
    return CSR_ENTRY * _entries(inputs["graph"])


def dilap_disk(inputs: dict[str, Any], config: Any) -> int:
    return 3 * CSR_ENTRY * int(inputs["rewire"].adjacency.nnz) + 16 * int(inputs["rewire"].adjacency.shape[0])
