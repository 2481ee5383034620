"""How much memory and disk a stage needs, from the sizes of its inputs: rough upper bounds.

They count the arrays that live at the same time, and tests/test_resources.py compares them with measured peaks. A
training counts two to four times what lives: glibc keeps freed blocks of up to 32 MiB for later ones, and how much of
that adds up differs from run to run. To return them at once would make a training 2.4 times as slow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cgnn_cli.configs import CommuteConfig, TrainConfig
from cgnn_cli.models.option_groups import SamplingOptions
from cgnn_cli.operators.operator_table import OPERATORS
from cgnn_cli.solver_table import SOLVERS, WalkSize

if TYPE_CHECKING:
    from cgnn_cli.graph import Graph

CSR_ENTRY = 12  # a float64 and an int32
OPERATOR_ENTRY = 40  # in float64 with its row and column, a copy of it, and the float32 that is kept
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
    """Two dozen arrays over the edges, and what the solver needs."""
    dilap, edges = inputs["dilap"], int(inputs["graph"].adjacency.nnz)
    size = WalkSize(len(dilap.perron), int(dilap.transition.nnz), edges)
    return BASE + 24 * 8 * edges + SOLVERS[config.solver].memory(size, config)


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
    kept = sum(int(data.summary["entries"]) for data in inputs.values() if "entries" in data.summary)
    operators = 2 * 20 * kept + 2 * 20 * (_feature_bytes(graph, 4) // 4)
    numbers = nodes * train.numbers_a_node()
    if isinstance(train, SamplingOptions) and train.batch_nodes:
        reached = min(nodes, train.batch_nodes * (1 + 2 * train.fanout) ** train.layers)
        numbers = reached * train.numbers_a_node() + nodes * train.width * (train.layers + 2)
    numbers += kept * train.numbers_an_entry()
    return 8 * BASE + operators + 4 * numbers + 2 * CSR_ENTRY * int(graph.adjacency.nnz)


def commute_disk(inputs: dict[str, Any], config: Any) -> int:
    return 48 * int(inputs["graph"].adjacency.nnz)


def rewire_disk(inputs: dict[str, Any], config: Any) -> int:
    return CSR_ENTRY * _entries(inputs["graph"])


def dilap_disk(inputs: dict[str, Any], config: Any) -> int:
    return 3 * CSR_ENTRY * int(inputs["rewire"].adjacency.nnz) + 16 * int(inputs["rewire"].adjacency.shape[0])
