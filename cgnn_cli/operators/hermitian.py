"""DUPLEX's Hermitian adjacency, for attention over the edges both ways and the node itself (Ke et al., ICML 2024).

Three matrices on one pattern, S + I. `copies`: how often a pair is in the list of edges and their reversals: twice for
a mutual pair, once otherwise; the softmax counts them all. `amplitude`: 1 from each neighbour, once.
`phase`: 1 from in-neighbours, -1 from out-neighbours; both at once cancel. The node itself only adds to the softmax.
"""

from scipy.sparse import csr_array, eye_array

from cgnn_cli.configs import TrainConfig
from cgnn_cli.graph import CommuteTimes, Graph
from cgnn_cli.operators.neighbours import edges_of, ones_on, transposed, with_self_loops


def make(graph: Graph, times: CommuteTimes | None, config: TrainConfig) -> dict[str, csr_array]:
    """The matrices `copies`, `amplitude` and `phase`; zeros on the pattern are kept."""
    pattern = edges_of(graph, config)
    back = transposed(pattern)
    copies = with_self_loops(csr_array(pattern + back))
    copies.sort_indices()
    support = ones_on(copies)
    return {
        "copies": copies,
        "amplitude": _on(support, csr_array(support - eye_array(pattern.shape[0]))),
        "phase": _on(support, csr_array(back - pattern)),
    }


def _on(support: csr_array, matrix: csr_array) -> csr_array:
    """The values of a matrix on a pattern, with its zeros: a sum would drop them, so 2 is added for the while."""
    shifted = csr_array(2 * support + matrix)
    shifted.sort_indices()
    return csr_array((shifted.data - 2, support.indices, support.indptr), shape=support.shape)


def entries(graph: Graph, config: TrainConfig) -> int:
    """An upper bound of the entries of the three matrices."""
    return 3 * (2 * int(graph.adjacency.nnz) + graph.node_count)
