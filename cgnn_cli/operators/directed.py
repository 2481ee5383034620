"""DirGNN's operators: `out` and `in` neighbours apart, without weights.

sage: the mean of each direction. gcn: P = D_out^-1/2 A D_in^-1/2 and its transpose. gat: the bare neighbours, and the
node itself.
"""

from scipy.sparse import csr_array

from cgnn_cli.graph import CommuteTimes, Graph
from cgnn_cli.models.dirgnn import DirgnnConfig
from cgnn_cli.operators.normalise import degree_root, degrees, edges_of, row_mean, transposed, with_self_loops


def make(graph: Graph, times: CommuteTimes | None, config: DirgnnConfig) -> dict[str, csr_array]:
    """The matrices of the directions that are asked for; `undirected` is `out` over edges both ways."""
    pattern, direction = edges_of(graph, config), config.resolved_direction
    if config.variant == "gcn":
        normalised = degree_root(pattern, *degrees(pattern))
        both = {"out": normalised, "in": transposed(normalised)}
    else:
        finish = row_mean if config.variant == "sage" else with_self_loops
        both = {"out": finish(pattern), "in": finish(transposed(pattern))}
    names = {"both": ("out", "in"), "in": ("in",)}.get(direction, ("out",))
    return {name: both[name] for name in names}
