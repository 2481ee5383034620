"""MagNet's operator: the magnetic Laplacian of a digraph (Zhang et al., NeurIPS 2021).

    A_s = (A + A^T) / 2,   H = D_s^-1/2 A_s D_s^-1/2 * exp(i 2 pi q (A - A^T))   entry by entry

H is Hermitian. The Chebyshev polynomials are those of L - I = -H (the largest eigenvalue of L = I - H is taken as 2);
`real` and `imaginary` are the parts of -H. A one-way edge turns the phase by 2 pi q, a mutual pair not at all.
"""

import numpy as np
from scipy.sparse import csr_array

from cgnn_cli.graph import CommuteTimes, Graph
from cgnn_cli.models.magnet import MagnetConfig
from cgnn_cli.operators.normalise import edge_entries, edges_of, symmetric_root, transposed

ROUNDING = 1e-15


def make(graph: Graph, times: CommuteTimes | None, config: MagnetConfig) -> dict[str, csr_array]:
    """The matrices `real` and `imaginary`; entries that the phase makes zero are left out."""
    pattern = edges_of(graph, config)
    back = transposed(pattern)
    weight = symmetric_root(csr_array((pattern + back) / 2))
    phase = 2 * np.pi * config.charge
    one_way = csr_array(pattern - back)  # 1 along an edge, -1 against it, 0 for a mutual pair
    mutual = csr_array(pattern.multiply(back))
    real = csr_array(weight.multiply(mutual)) + np.cos(phase) * csr_array(weight.multiply(abs(one_way)))
    imaginary = np.sin(phase) * csr_array(weight.multiply(one_way))
    return {"real": _without_zeros(-csr_array(real)), "imaginary": _without_zeros(-csr_array(imaginary))}


def entries(graph: Graph, config: MagnetConfig) -> int:
    """An upper bound of the entries of both matrices."""
    return 2 * edge_entries(graph, config)


def _without_zeros(matrix: csr_array) -> csr_array:
    """The cosine of a quarter turn is not quite 0 in floating point."""
    matrix.data[np.abs(matrix.data) < ROUNDING] = 0
    matrix.eliminate_zeros()
    return matrix
