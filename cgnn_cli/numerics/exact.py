"""True hitting times by the dense fundamental matrix: the oracle that the other solvers are measured against."""

import warnings

import numpy as np
import scipy.linalg
from scipy.sparse import csr_array

from cgnn_cli.errors import NumericalError


def fundamental_matrix(transition: csr_array, perron: np.ndarray) -> np.ndarray:
    """Z = (I - P + 1 pi^T)^-1."""
    system = -transition.toarray()
    system[np.diag_indices_from(system)] += 1
    system += perron
    try:
        with warnings.catch_warnings():
            # Newer releases of scipy only warn of a matrix that is singular to working precision.
            warnings.simplefilter("error", scipy.linalg.LinAlgWarning)
            inverse: np.ndarray = scipy.linalg.inv(system, overwrite_a=True, check_finite=False)
    except (scipy.linalg.LinAlgError, scipy.linalg.LinAlgWarning) as error:
        raise NumericalError(f"the fundamental matrix cannot be computed: {error}") from error
    return inverse


def exact_hitting(
    transition: csr_array, perron: np.ndarray, source: np.ndarray, target: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """h(source, target) and h(target, source) in expected steps: h(i, j) = (Z_jj - Z_ij) / pi_j."""
    matrix = fundamental_matrix(transition, perron)
    diagonal = np.diagonal(matrix)
    there = (diagonal[target] - matrix[source, target]) / perron[target]
    back = (diagonal[source] - matrix[target, source]) / perron[source]
    return there, back
