"""Position encodings: the largest eigenvectors of M = D^-1/2 (A + A^T) D^-1/2, less the known ones of eigenvalue 1.

Each component has one vector of eigenvalue 1, D^1/2 1 on its nodes, which tells no more than the degree; all others are
orthogonal to these. Nodes without edges have zeros. Small graphs are solved densely, others by subspace iteration with
Chebyshev polynomials: a block of vectors is multiplied by the polynomial of M that is at most 1 in size on [-1, cut]
and grows fastest above it, cut being the least Ritz value of the block (Zhou, Saad, Tiago and Chelikowsky, 2006). A
block finds every copy of a repeated value, where a single Krylov sequence finds one. BLAS and LAPACK have one thread:
with several their sums run in another order, and bits would depend on the number.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array
from scipy.sparse.csgraph import connected_components

from cgnn_cli.errors import NumericalError
from cgnn_cli.numerics.csr import canonical_csr
from cgnn_cli.numerics.distributed import multiply
from cgnn_cli.numerics.lowrank import signs_of
from cgnn_cli.numerics.threads import with_one_blas_thread

RESIDUAL_GOAL = 1e-4  # of the largest, with vectors of length 1
DENSE_NODES = 1200
MOST_DEGREE = 40  # of a polynomial
COLUMNS = 16  # that are multiplied at a time: their panels stay in the cache
MOST_GROWTH = 12.0  # its logarithm at the top: more would drown the other vectors of the block
MORE = 0.5  # vectors beside the wanted ones, as a share of them
LEAST_MORE = 16
MOST_ROUNDS = 200
REPEATED = 1e-6  # eigenvalues this close count as one


@dataclass(frozen=True)
class Spectrum:
    """Eigenvectors as columns, the largest eigenvalue first, with the largest residual |M v - w v| of the columns."""

    values: np.ndarray
    vectors: np.ndarray
    residual: float
    products: int
    components: int
    isolated: int

    def figures(self) -> dict[str, Any]:
        """What the summary of an artifact says."""
        kept = {"largest_residual": self.residual, "products": self.products, "components": self.components}
        ends = {"largest_eigenvalue": self.values[0], "least_eigenvalue": self.values[-1]} if len(self.values) else {}
        return {**{name: float(value) for name, value in ends.items()}, **kept, "isolated": self.isolated}


@with_one_blas_thread
def laplacian_vectors(edges: csr_array, count: int) -> Spectrum:
    """The first `count` vectors, or all there are, over all nodes; a column of zeros where there is none."""
    symmetric = canonical_csr(edges / edges.data.max(initial=1))  # weights may be as large as numbers get
    symmetric = canonical_csr(symmetric + symmetric.T)
    degree = np.asarray(symmetric.sum(axis=1)).ravel()
    joined = np.flatnonzero(degree > 0)
    scale = diags_array(1 / np.sqrt(degree[joined]))
    matrix = canonical_csr(scale @ symmetric[joined][:, joined] @ scale)
    parts = Components.of(matrix, np.sqrt(degree[joined]))
    wanted = min(count, len(joined) - parts.count)
    values, found, products = (
        _leading(matrix, parts, wanted) if wanted else (np.zeros(0), np.zeros((len(joined), 0)), 0)
    )
    defect = np.linalg.norm(multiply(matrix, found) - found * values, axis=0).max(initial=0)
    if defect > RESIDUAL_GOAL:
        raise NumericalError(
            f"eigenvectors of the graph stopped at a residual of {defect:.1e} (goal {RESIDUAL_GOAL:.0e})",
            "use a smaller --encoding-size, or another --encoding",
        )
    vectors = np.zeros((edges.shape[0], max(wanted, 1)))
    if wanted:
        vectors[joined] = found * signs_of(found)
    return Spectrum(values, vectors, float(defect), products, parts.count, edges.shape[0] - len(joined))


@dataclass(frozen=True)
class Components:
    """The connected components of the nodes that have edges, and the trivial vector of each, of length 1."""

    count: int
    of_node: np.ndarray
    trivial: np.ndarray

    @classmethod
    def of(cls, matrix: csr_array, root: np.ndarray) -> Components:
        count, of_node = connected_components(matrix, directed=False)
        length = np.sqrt(np.bincount(of_node, np.square(root), minlength=count))
        return cls(int(count), of_node, root / length[of_node])

    def take_out(self, block: np.ndarray) -> None:
        """Remove from each column its part in the trivial vectors."""
        rows = np.arange(len(self.of_node))
        known = csr_array((self.trivial, (self.of_node, rows)), shape=(self.count, len(rows)))
        shares = known @ block
        block -= self.trivial[:, None] * shares[self.of_node]


def _leading(matrix: csr_array, parts: Components, wanted: int) -> tuple[np.ndarray, np.ndarray, int]:
    """The leading nontrivial eigenvalues and vectors, and the products with M that they took."""
    size = matrix.shape[0]
    block = min(wanted + max(LEAST_MORE, int(MORE * wanted)), size - parts.count)
    if size <= DENSE_NODES or 2 * block >= size:
        dense = matrix.toarray()
        for each in range(parts.count):  # to eigenvalue -2, below all others
            nodes = np.flatnonzero(parts.of_node == each)
            dense[np.ix_(nodes, nodes)] -= 3 * np.multiply.outer(parts.trivial[nodes], parts.trivial[nodes])
        values, vectors = (part[..., ::-1] for part in np.linalg.eigh(dense))
        values, vectors, products = values[: size - parts.count], vectors[:, : size - parts.count], 0
    else:
        values, vectors, products = _filtered(matrix, parts, wanted, block)
    vectors = _settled(values, vectors, wanted)
    return np.einsum("nk,nk->k", vectors, multiply(matrix, vectors)), vectors, products


def _filtered(matrix: csr_array, parts: Components, wanted: int, block: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Ritz values and vectors: those that are wanted, and what more of the last value was found with them.

    The residuals of all vectors of one value together are within half the goal. Vectors that are, before any that is
    not, are left as they are. Where a value has more copies than the block has vectors, the least Ritz value tends to
    it, and a polynomial cut there would tell it from nothing: the cut stays below it by the residual.
    Polynomials are multiplied in float32 for as long as each round makes the residual smaller.
    """
    x = np.random.default_rng(0).standard_normal((matrix.shape[0], block))
    multiplied, residual, products = matrix.astype(np.float32), np.inf, 0
    for _ in range(MOST_ROUNDS):
        parts.take_out(x)
        x = _orthonormal(x)
        image = multiply(matrix, x)
        products += block
        values, turn = np.linalg.eigh(x.T @ image)
        values, turn = values[::-1], turn[:, ::-1]
        x, image = x @ turn, image @ turn
        image -= x * values
        squares, first = _squares(image), 0
        for part in _groups(values, wanted):
            within = np.cumsum(squares[part]) <= (RESIDUAL_GOAL / 2) ** 2
            first += int(within.sum())
            if first < min(part.stop, wanted):
                break
        if first >= wanted:
            return values[:first], x[:, :first], products
        before, residual = residual, float(np.sqrt(squares[:wanted].max()))
        if residual > before:  # what rounding added has drowned vectors of the block
            multiplied = matrix
        cut = min(float(values[-1]), float(values[wanted - 1]) - residual)
        centre, half = (cut - 1) / 2, max((cut + 1) / 2, 1e-3)
        growth = np.arccosh(max((values[0] - centre) / half, 1 + 1e-6))  # its logarithm a degree
        degree = int(np.clip(MOST_GROWTH / growth, 2, MOST_DEGREE))
        for start in range(first, block, COLUMNS):
            columns = slice(start, start + COLUMNS)
            x[:, columns] = _polynomial(multiplied, x[:, columns], centre, half, float(values[0]), degree)
        products += degree * (block - first)
    return values, x, products  # whose residual the caller finds too large


def _polynomial(matrix: csr_array, x: np.ndarray, centre: float, half: float, top: float, degree: int) -> np.ndarray:
    """The Chebyshev polynomial of the interval centre -+ half at M times x, scaled to about 1 at the top.

    As exact as the matrix. In float32 what rounding adds is mostly less than what the polynomial leaves over, and the
    next round takes it out.
    """
    before, number = x.astype(matrix.dtype), matrix.dtype.type
    first = ratio = number(half / (top - centre))
    middle, scale = number(centre), number(1 / half)
    now = (multiply(matrix, before) - middle * before) * (first * scale)
    for _ in range(2, degree + 1):
        following = 1 / (2 / first - ratio)
        after = multiply(matrix, now)
        after -= middle * now
        after *= 2 * following * scale
        before *= ratio * following
        after -= before
        before, now, ratio = now, after, following
    return now


def _settled(values: np.ndarray, vectors: np.ndarray, wanted: int) -> np.ndarray:
    """The first vectors, with a basis of their own for the vectors of one eigenvalue.

    Any rotation of these would do. The first is the projection of the node that lies furthest in their space, the
    lowest of equal ones, the next that of the node furthest in what is left, and so on.
    """
    settled = []
    for part in _groups(values, wanted):
        group = vectors[:, part].copy()
        if group.shape[1] == 1:
            settled.append(group[:, 0])
            continue
        for _ in range(part.start, min(part.stop, wanted)):
            lengths = np.einsum("nk,nk->n", group, group)
            node = int(np.argmax(lengths >= lengths.max() * (1 - 1e-6)))
            direction = group[node] / np.sqrt(lengths[node])
            settled.append(group @ direction)
            group -= np.multiply.outer(settled[-1], direction)
    return np.column_stack(settled)


def _groups(values: np.ndarray, wanted: int) -> list[slice]:
    """The vectors of each eigenvalue that is wanted, also those of the last one that are not."""
    ends = [0, *(np.flatnonzero(-np.diff(values) > REPEATED) + 1).tolist(), len(values)]
    return [slice(start, stop) for start, stop in pairwise(ends) if start < wanted]


def _orthonormal(x: np.ndarray) -> np.ndarray:
    """An orthonormal basis of the columns, by their Gram matrix, twice, since the first time is inexact."""
    for _ in range(2):
        x /= np.sqrt(_squares(x))
        values, turn = np.linalg.eigh(x.T @ x)
        x = x @ (turn / np.sqrt(np.maximum(values, np.finfo(float).eps * values[-1])))
    return x


def _squares(x: np.ndarray) -> np.ndarray:
    """The squared lengths of the columns."""
    return np.einsum("nk,nk->k", x, x)
