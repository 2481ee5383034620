"""DirGNN's operators: `out` and `in` neighbours apart, without weights.

sage: the mean of each direction. gcn: P = D_out^-1/2 A D_in^-1/2 and its transpose. gat: the bare neighbours, and the
node itself.
"""

from scipy.sparse import csr_array

from cgnn_cli.configs import TrainConfig
from cgnn_cli.graph import CommuteTimes, Graph
from cgnn_cli.models.table import direction_of
from cgnn_cli.operators.neighbours import edge_entries as entries
from cgnn_cli.operators.neighbours import edges_of, transposed, with_self_loops
from cgnn_cli.operators.normalise import degree_root, degrees, row_mean

__all__ = ["entries", "make"]


def make(graph: Graph, times: CommuteTimes | None, config: TrainConfig) -> dict[str, csr_array]:
    """The matrices of the directions that are asked for; `undirected` is `out` over edges both ways."""
    pattern, direction = edges_of(graph, config), direction_of(config)
    if config.variant == "gcn":
        normalised = degree_root(pattern, *degrees(pattern))
        both = {"out": normalised, "in": transposed(normalised)}
    else:
        finish = row_mean if config.variant == "sage" else with_self_loops
        both = {"out": finish(pattern), "in": finish(transposed(pattern))}
    names = {"both": ("out", "in"), "in": ("in",)}.get(direction, ("out",))
    return {name: both[name] for name in names}
