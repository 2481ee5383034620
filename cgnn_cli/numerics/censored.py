"""The censored walk: the states on chains are eliminated, and the rest is watched only when it is visited.

With F the states on chains and C the others, the walk censored on C is P_CC + P_CF (I - P_FF)^-1 P_FC. What is
eliminated is the slow part of many walks: former sinks of a rewired graph have no way but along the path.
"""

from collections.abc import Callable

import numpy as np
from scipy.sparse import csc_array, csr_array, eye_array
from scipy.sparse.linalg import LinearOperator, bicgstab, splu

from cgnn_cli.numerics.csr import blocks_of_rows, chosen_rows, row_of_entries, rows_of
from cgnn_cli.numerics.distributed import multiply
from cgnn_cli.numerics.walk import Walk

MOST_ENTRIES = 3
SOLVE_GOAL = 1e-6
MOST_SOLVE_STEPS = 1000


def chain_states(walk: Walk, anchor: int) -> np.ndarray:
    """A mask of states that form disjoint paths and cycles among themselves, so that their elimination is cheap.

    Candidates have at most three ways to go, staying included; of these, whoever has more than two neighbours among
    the candidates is left out. So is the anchor: at least one state must be left.
    """
    matrix = walk.sparse
    candidate = np.diff(matrix.indptr) <= MOST_ENTRIES
    candidate[anchor] = False
    found = []
    for block in blocks_of_rows(matrix):
        part = rows_of(matrix, block)
        rows, columns = row_of_entries(part) + block.start, part.indices
        inside = candidate[rows] & candidate[columns] & (rows != columns)
        found.append((rows[inside], columns[inside]))
    rows, columns = (np.concatenate(ends) for ends in zip(*found, strict=True))
    # Each neighbour once, whichever way the step goes.
    low, high = np.minimum(rows, columns).astype(np.int64), np.maximum(rows, columns)
    pairs = np.unique(low * walk.size + high)
    neighbours = np.bincount(pairs // walk.size, minlength=walk.size)
    neighbours += np.bincount(pairs % walk.size, minlength=walk.size)
    return candidate & (neighbours <= 2)


def regular_solve(
    reversed_step: Callable[[np.ndarray], np.ndarray], share: np.ndarray, right: np.ndarray
) -> np.ndarray | None:
    """y with y - R y = right by BiCGSTAB, for a reversed walk R that is stationary at `share`; None if it fails.

    The constant is in the kernel; adding share @ y makes the system regular, and `right` loses what R cannot reach.
    """
    goal = right - share @ right
    scale = np.max(np.abs(goal))
    if scale == 0:
        return np.zeros_like(goal)
    operator = LinearOperator(
        (len(share), len(share)), matvec=lambda y: y - reversed_step(y) + share @ y, dtype=np.float64
    )
    with np.errstate(over="ignore", invalid="ignore"):
        found, failed = bicgstab(operator, goal / scale, rtol=SOLVE_GOAL, atol=0, maxiter=MOST_SOLVE_STEPS)
    return found * scale if not failed and np.isfinite(found).all() else None


class Censored:
    """The walk censored on the states outside `chain`, with the factors of I - P_FF."""

    def __init__(self, walk: Walk, chain: np.ndarray) -> None:
        """Raises RuntimeError where the walk on the chain is so hard to leave that I - P_FF is singular."""
        self.chain, self.rest = np.flatnonzero(chain), np.flatnonzero(~chain)
        from_chain, from_rest = chosen_rows(walk.sparse, self.chain), chosen_rows(walk.sparse, self.rest)
        stay = eye_array(len(self.chain), format="csr") - from_chain[:, self.chain]
        self._factors = splu(
            csc_array(stay), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
        )
        self._chain_to_rest = csr_array(from_chain[:, self.rest].T.tocsr())
        self._rest_to_chain = csr_array(from_rest[:, self.chain].T.tocsr())
        self._rest_to_rest = csr_array(from_rest[:, self.rest].T.tocsr())

    def step(self, mass: np.ndarray) -> np.ndarray:
        """Where a distribution over the rest goes in one step of the censored walk."""
        through = self._through_chain(self._rest_to_chain @ mass)
        return multiply(self._rest_to_rest, mass) + self._chain_to_rest @ through

    def extend(self, mass: np.ndarray) -> np.ndarray:
        """The stationary distribution over all states, up to its sum, from that over the rest."""
        vector = np.empty(len(self.chain) + len(self.rest))
        vector[self.rest], vector[self.chain] = mass, self._through_chain(self._rest_to_chain @ mass)
        return vector

    def solve(self, vector: np.ndarray, right: np.ndarray) -> np.ndarray | None:
        """y with (I - R) y = right for the reversed walk R = diag(pi)^-1 P^T diag(pi), up to a constant.

        The unknowns of the chain are eliminated by the factors, those of the rest found by BiCGSTAB.
        """
        on_rest, on_chain = vector[self.rest], vector[self.chain]
        entering = on_chain * right[self.chain]
        reduced = right[self.rest] + self._chain_to_rest @ self._through_chain(entering) / on_rest
        share = on_rest / on_rest.sum()
        found = regular_solve(lambda y: self.step(on_rest * y) / on_rest, share, reduced)
        if found is None:
            return None
        y = np.empty(len(vector))
        y[self.rest] = found
        y[self.chain] = self._through_chain(entering + self._rest_to_chain @ (on_rest * found)) / on_chain
        return y

    def _through_chain(self, mass: np.ndarray) -> np.ndarray:
        """Expected visits to the states of the chain when `mass` enters it."""
        return self._factors.solve(mass, trans="T")
