"""Which class of known nodes a walk meets first, for all nodes at once (Zhu, Ghahramani and Lafferty, ICML 2003).

A walk with the chances P, which dies with probability 1 - g before each step and where P has no way on, ends at the
first known node. With Q = g P among the other nodes u and R = g P from these to the known ones, whose classes Y are
0/1 columns:

    F_u = (I - Q)^-1 R Y        solved for all classes at once by F <- Q F + R Y

Every term of that sum is a walk that has met a node after so many steps: F grows from below, and no entry is negative.
Certificate: rows of Q sum up to g at most, so a residual r leaves an error of at most max |r| / (1 - g).
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from cgnn_cli.numerics.csr import row_of_entries, without_self_loops
from cgnn_cli.numerics.distributed import multiply

GOAL = 1e-10  # of residuals


@dataclass(frozen=True)
class FirstMet:
    """Chances to meet each class first, a row a node, which sum up to 1 at most; the largest residual; the steps."""

    chances: np.ndarray
    residual: float
    steps: int


def walk_along(edges: csr_array, direction: str) -> csr_array:
    """D^-1 A without self-loops: along edges (`out`), against them (`in`) or both (`undirected`); sinks have no row."""
    towards = without_self_loops(edges)
    if direction != "out":
        back = csr_array(towards.T.tocsr())
        towards = back if direction == "in" else csr_array(towards + back)
    totals = np.asarray(towards.sum(axis=1), dtype=np.float64).ravel()
    return csr_array(
        (towards.data / totals[row_of_entries(towards)], towards.indices, towards.indptr), shape=towards.shape
    )


def first_met(walk: csr_array, known: np.ndarray, classes: int, death: float) -> FirstMet:
    """The chances for each node; `known` has the class of a node, or -1. A known node has met its own class."""
    free, met = np.flatnonzero(known < 0), np.flatnonzero(known >= 0)
    chances = np.zeros((len(known), classes))
    chances[met, known[met]] = 1
    rows = walk[free]
    start = (1 - death) * (rows @ chances)
    within = (1 - death) * csr_array(rows[:, free])
    found, moved, steps = start.copy(), start, 0
    while moved.max(initial=0) > GOAL / 2:
        moved = multiply(within, moved)  # what is left of the right-hand side: Q^k R Y
        found += moved
        steps += 1
    residual = float(np.abs(start - found + multiply(within, found)).max(initial=0))
    chances[free] = found
    return FirstMet(chances, residual, steps)


def class_probabilities(chances: np.ndarray, known: np.ndarray) -> np.ndarray:
    """The chances with class masses in the shares of the known labels, rows that sum up to 1.

    The mass of a class is its sum over the nodes that are not known; one of mass 0 is left alone. A node from where no
    class is met has the shares themselves.
    """
    free = known < 0
    shares = np.bincount(known[~free], minlength=chances.shape[1]) / max(int((~free).sum()), 1)
    mass = chances[free].sum(axis=0)
    scaled = chances[free] * np.divide(shares, mass, out=np.ones_like(mass), where=mass > 0)
    total = scaled.sum(axis=1, keepdims=True)
    made = chances.copy()
    made[free] = np.divide(scaled, total, out=np.tile(shares, (len(scaled), 1)), where=total > 0)
    return made
