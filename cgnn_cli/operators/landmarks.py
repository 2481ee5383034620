"""How a node lies to some landmarks: the nodes with the most edges, in and out, the first of equal ones.

head-start: Z_il/pi_l and Z_li/pi_i of the walk that follows an edge with probability 0.9 and jumps anywhere otherwise:
how much sooner than a stranger i meets l, and l meets i, each column mapped to the quantiles of a normal distribution.
adjacency: log(1 + the number of ways from i to l of one or two steps), and from l to i, columns of variance 1.
"""

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from cgnn_cli.numerics.csr import ones_on
from cgnn_cli.numerics.transition import teleporting_walk
from cgnn_cli.operators.degree_features import as_quantiles
from cgnn_cli.operators.normalise import degrees, transposed

GAMMA = 0.9
DECIMALS = 6  # of columns of variance 1: what differs by less is equal but for rounding


def landmarks_of(edges: csr_array, count: int) -> np.ndarray:
    """The nodes with the most edges, in and out together; of equal ones the first."""
    out, into = degrees(ones_on(edges))
    return np.argsort(-(out + into), kind="stable")[:count]


def head_start(edges: csr_array, count: int) -> tuple[np.ndarray, dict[str, Any]]:
    """Columns towards the landmarks, then from them, and the largest residual of a solve."""
    from cgnn_cli.numerics.fundamental_columns import fundamental_columns

    chosen = landmarks_of(edges, count)
    found = fundamental_columns(teleporting_walk(edges, GAMMA), chosen)
    towards, away = found.columns / found.perron[chosen], found.rows / found.perron[:, None]
    columns = np.round(standardised(np.hstack([towards, away])), DECIMALS)
    ranked = as_quantiles(columns.T)
    return ranked, {"landmarks": len(chosen), "largest_residual": found.residual}


def adjacency_to(edges: csr_array, count: int) -> np.ndarray:
    """Columns towards the landmarks, then from them."""
    pattern, chosen = ones_on(edges), landmarks_of(edges, count)
    steps = [(matrix, matrix[:, chosen].toarray()) for matrix in (pattern, transposed(pattern))]
    return standardised(np.hstack([np.log1p(one + matrix @ one) for matrix, one in steps]))


def standardised(columns: np.ndarray) -> np.ndarray:
    """Mean 0 and variance 1; a constant column is all 0."""
    centred = columns - columns.mean(axis=0)
    deviation = centred.std(axis=0)
    kept = deviation > 1e-9 * np.abs(columns).max(axis=0, initial=0)
    return np.where(kept, centred / np.where(kept, deviation, 1), 0.0)
