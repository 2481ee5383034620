"""The other ways to the same numbers: scikit-learn, NetworKit, and the dense method of the paper's code."""

from __future__ import annotations

import multiprocessing
from dataclasses import dataclass
from importlib.util import find_spec
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
import scipy.linalg
from graphs import Undirected
from scipy.sparse import csr_array
from timing import once

OVERSAMPLING = 10
MOST_ITERATIONS = 128


def installed(name: str) -> bool:
    """Whether a peer is there; NetworKit takes seconds to import, so it is not tried."""
    return find_spec(name) is not None


def randomized_svd(matrix: csr_array, rank: int, iterations: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """scikit-learn's, with its own choice of how to keep the basis apart."""
    from sklearn.utils import extmath

    left, singular, right = extmath.randomized_svd(
        matrix, rank, n_oversamples=OVERSAMPLING, n_iter=iterations, random_state=0
    )
    return left, singular, right.T


def residual(matrix: csr_array, factors: tuple[np.ndarray, np.ndarray, np.ndarray]) -> float:
    """The larger of ||T v - s u|| and ||T^T u - s v||, relative to the largest s; one of them is 0 by construction."""
    left, singular, right = factors
    defects = [matrix @ right - left * singular, matrix.T @ left - right * singular]
    return float(max(np.linalg.norm(defect, axis=0).max() for defect in defects) / singular[0])


def iterations_for(matrix: csr_array, rank: int, goal: float) -> int:
    """The power iterations (4, 8, 16, ...) after which scikit-learn's residual is within the goal."""
    iterations = 4
    while iterations < MOST_ITERATIONS and residual(matrix, randomized_svd(matrix, rank, iterations)) > goal:
        iterations *= 2
    return iterations


def dense_times(transition: csr_array) -> np.ndarray:
    """All commute times: every left eigenvector of P, the pseudo-inverse of diag(pi) (I - P), an N x N matrix c."""
    dense = transition.toarray()
    values, left = scipy.linalg.eig(dense, left=True, right=False)
    perron = np.abs(left[:, np.argmax(values.real)].real)
    perron /= perron.sum()
    inverse = np.linalg.pinv(perron[:, None] * (np.eye(len(dense)) - dense))
    diagonal = np.diagonal(inverse)
    times: np.ndarray = diagonal[:, None] + diagonal[None, :] - inverse - inverse.T
    return times


@dataclass(frozen=True)
class Distances:
    """Commute times of some pairs by NetworKit, and the seconds that its preparation took."""

    seconds: float
    times: np.ndarray


def networkit_times(graph: Undirected, source: np.ndarray, target: np.ndarray, tolerance: float) -> Distances:
    """NetworKit's CommuteTimeDistance, whose distance is the square root of c; only its preparation is timed.

    It gets one thread: with more, its short parallel loops wait for each other, and it is slower on a busy machine.
    """
    import networkit

    networkit.setNumberOfThreads(1)
    _, _, rows, columns = graph.system
    made = networkit.GraphFromCoo((np.ones(len(rows)), (rows, columns)), n=graph.walk.size, directed=False)
    algorithm = networkit.distance.CommuteTimeDistance(made, tolerance)
    seconds = once(algorithm.runApproximation).seconds
    distances = [algorithm.distance(int(i), int(j)) for i, j in zip(source, target, strict=True)]
    return Distances(seconds, np.square(distances))


def networkit_within(
    limit: float, graph: Undirected, source: np.ndarray, target: np.ndarray, tolerance: float
) -> Distances | None:
    """The same in a process of its own, or None if it takes more than `limit` seconds."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(sender, graph, source, target, tolerance))
    process.start()
    found: Distances | None = receiver.recv() if receiver.poll(limit) else None
    process.terminate()
    process.join()
    return found


def _send(sender: Connection, *arguments: Any) -> None:
    sender.send(networkit_times(*arguments))
