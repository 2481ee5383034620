"""DUPLEX's Hermitian adjacency, for attention over the edges both ways and the node itself (Ke et al., ICML 2024).

Three matrices on one pattern, S + I. `copies`: how often a pair is in the list of edges and their reversals: twice for
a mutual pair, once otherwise; the softmax counts them all. `amplitude` and `phase` are the mean of the weights of the
copies: amplitude 1 from a neighbour, 0 at its second copy; phase 1 from an in-neighbour and -1 from an out-neighbour,
which cancel in a mutual pair. The node itself is in the softmax, with weight 0.
"""

from scipy.sparse import csr_array, eye_array

from cgnn_cli.configs import TrainConfig
from cgnn_cli.graph import CommuteTimes, Graph
from cgnn_cli.numerics.csr import ones_on
from cgnn_cli.operators.normalise import edges_of, transposed, with_self_loops


def make(graph: Graph, times: CommuteTimes | None, config: TrainConfig) -> dict[str, csr_array]:
    """The matrices `copies`, `amplitude` and `phase`; zeros on the pattern are kept."""
    pattern = edges_of(graph, config)
    back = transposed(pattern)
    copies = with_self_loops(csr_array(pattern + back))
    copies.sort_indices()
    support = ones_on(copies)
    amplitude, phase = (csr_array(matrix) for matrix in (support - eye_array(pattern.shape[0]), back - pattern))
    return {"copies": copies, "amplitude": _mean(amplitude, copies), "phase": _mean(phase, copies)}


def _mean(weight: csr_array, copies: csr_array) -> csr_array:
    """weight / copies on the pattern of the copies, with zeros: a sum drops them, so 2 is added for the while."""
    shifted = csr_array(2 * ones_on(copies) + weight)
    shifted.sort_indices()
    return csr_array(((shifted.data - 2) / copies.data, copies.indices, copies.indptr), shape=copies.shape)


def entries(graph: Graph, config: TrainConfig) -> int:
    """An upper bound of the entries of the three matrices."""
    return 3 * (2 * int(graph.adjacency.nnz) + graph.node_count)
