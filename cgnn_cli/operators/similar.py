"""The nodes with the most similar features (`--knn k`): D^-1/2 K D^-1/2, D the row sums of K.

K_ij = cos(x_i, x_j) where j is among the k most similar nodes of i, or i among those of j; 0 elsewhere. Only similar
nodes count: a cosine of 0 or below joins nothing, and a node without features has no neighbours here. x_i are the
graph's own features, or the encoding where it has none.
"""

import numpy as np
from scipy.sparse import csr_array, vstack

from cgnn_cli.errors import DataError
from cgnn_cli.graph import CommuteTimes, Graph
from cgnn_cli.models.option_groups import SimilarityOptions
from cgnn_cli.operators import encoding
from cgnn_cli.operators.normalise import inverse_or_zero, scaled, symmetric_root, transposed

CELLS = 1 << 20  # of a block of cosines: 8 MiB
DECIMALS = 12  # beyond them cosines are noise of the summation, and ties would depend on the machine


def make(graph: Graph, times: CommuteTimes | None, config: SimilarityOptions) -> dict[str, csr_array]:
    """One matrix, `knn`."""
    features = graph.features
    if features is None and not config.has_encoding:
        raise DataError("--knn needs features, and this graph has none", "leave --knn out, or name an --encoding")
    if features is None:
        features = encoding.make(graph, times, config).matrices["encoding"]
    nearest = nearest_by_cosine(features, config.knn)
    return {"knn": symmetric_root(csr_array(nearest.maximum(transposed(nearest))))}


def entries(graph: Graph, config: SimilarityOptions) -> int:
    """Each node's k both ways, and the features while they are scaled."""
    filled = encoding.entries(graph, config) if graph.features is None else int(graph.features.size)
    return 2 * graph.node_count * min(config.knn, graph.node_count) + filled


def nearest_by_cosine(features: np.ndarray | csr_array, count: int) -> csr_array:
    """Row i holds the `count` largest positive cosines of node i to others; among equals the lower node wins."""
    directions = unit_rows(features)
    nodes = directions.shape[0]
    size = max(1, CELLS // nodes)
    columns = directions.T if isinstance(directions, np.ndarray) else transposed(directions)
    blocks = []
    for start in range(0, nodes, size):
        product = directions[start : start + size] @ columns
        cosines = np.round(product if isinstance(product, np.ndarray) else product.toarray(), DECIMALS)
        own = np.arange(len(cosines))
        cosines[own, start + own] = 0  # a node is no neighbour of its own
        blocks.append(_largest(cosines, min(count, nodes)))
    return csr_array(vstack(blocks, format="csr"))


def unit_rows(features: np.ndarray | csr_array) -> np.ndarray | csr_array:
    """Rows scaled to length 1 in float64; rows of zeros stay."""
    if isinstance(features, np.ndarray):
        dense = features.astype(np.float64)
        return dense * inverse_or_zero(np.linalg.norm(dense, axis=1))[:, None]
    sparse = csr_array(features, dtype=np.float64)
    return scaled(sparse, inverse_or_zero(np.sqrt(np.asarray(sparse.multiply(sparse).sum(axis=1)).ravel())))


def _largest(cosines: np.ndarray, count: int) -> csr_array:
    """The `count` largest positive entries of each row; of those that tie for the last place, the first ones."""
    least = np.partition(cosines, -count, axis=1)[:, -count, None]
    kept = cosines > least
    tied = cosines == least
    free = count - kept.sum(axis=1, keepdims=True)
    kept |= tied & (np.cumsum(tied, axis=1, dtype=np.int32) <= free)
    kept &= cosines > 0
    row, column = np.nonzero(kept)
    return csr_array((cosines[row, column], (row, column)), shape=cosines.shape)
