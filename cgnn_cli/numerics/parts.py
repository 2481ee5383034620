"""What a commute time is made of, with Z = (I - P + 1 pi^T)^-1:

    popularity = Z_ii/pi_i + Z_jj/pi_j
    direct     = P_ij/pi_j + P_ji/pi_i - 2                   the edge itself
    indirect   = Z_ij/pi_j + Z_ji/pi_i - direct              c = popularity - direct - indirect

Where P is aperiodic, indirect is the sum over t >= 2 of (P^t_ij - pi_j)/pi_j + (P^t_ji - pi_i)/pi_i: by how much i
and j meet sooner than strangers would, on other ways than their edge. It is a small part of c.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cgnn_cli import scratch
from cgnn_cli.numerics.walk import Walk


@dataclass(frozen=True)
class Parts:
    """The parts of each pair's commute time; NaN where they are not known."""

    popularity: np.ndarray
    direct: np.ndarray
    indirect: np.ndarray


def direct_part(walk: Walk, perron: np.ndarray, source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """P_ij/pi_j + P_ji/pi_i - 2 of pairs of different states."""
    there, back = walk.chances(source, target), walk.chances(target, source)
    return scratch.computed(
        len(source), lambda part: there[part] / perron[target[part]] + back[part] / perron[source[part]] - 2
    )
