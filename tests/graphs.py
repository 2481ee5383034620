"""Small graphs shared by the tests, and independent answers about the walks on them."""

from collections.abc import Callable, Iterable
from fractions import Fraction

import numpy as np
from scipy.sparse import csr_array

from cgnn_cli.graph import Graph
from cgnn_cli.numerics.csr import canonical_csr
from cgnn_cli.numerics.exact import exact_times
from cgnn_cli.numerics.walk import Walk
from cgnn_cli.watch import Watch

Edges = list[tuple[int, int]]


def sparse(dense: Iterable[Iterable[float]] | np.ndarray) -> csr_array:
    """A dense matrix as the package's CSR."""
    return canonical_csr(csr_array(np.asarray(dense, dtype=np.float64)))


def graph_of(
    count: int,
    edges: Iterable[tuple[int, int]],
    *,
    features: np.ndarray | csr_array | None = None,
    weights: Iterable[float] | None = None,
) -> Graph:
    """A graph of `count` nodes; without `features` they are random, so that all cosines differ."""
    pairs = np.array(list(edges), dtype=np.int64).reshape(-1, 2)
    values = np.ones(len(pairs)) if weights is None else np.asarray(list(weights), dtype=np.float64)
    if features is None:
        features = np.random.default_rng(count).standard_normal((count, 4))
    adjacency = canonical_csr(csr_array((values, (pairs[:, 0], pairs[:, 1])), shape=(count, count)))
    return Graph(adjacency=adjacency, features=features)


def random_edges(count: int, mean_degree: float, seed: int) -> Edges:
    """Each ordered pair of different nodes with equal probability."""
    drawn = np.random.default_rng(seed).random((count, count)) < mean_degree / count
    return [(int(i), int(j)) for i, j in np.argwhere(drawn) if i != j]


def chain_edges(count: int) -> Edges:
    return [(i, i + 1) for i in range(count - 1)]


def star_edges(count: int) -> Edges:
    """Every leaf points at node 0."""
    return [(i, 0) for i in range(1, count)]


def clique_edges(nodes: Iterable[int]) -> Edges:
    members = list(nodes)
    return [(i, j) for i in members for j in members if i != j]


def two_cliques_edges(count: int) -> Edges:
    """Two cliques, with one edge from the first to the second."""
    half = count // 2
    return [*clique_edges(range(half)), *clique_edges(range(half, count)), (half - 1, half)]


def both_ways(edges: Edges) -> Edges:
    """The edges and their reversals, each once."""
    return sorted({*edges, *((j, i) for i, j in edges)})


def hub_edges(count: int) -> Edges:
    """A random graph with three hubs: one that all point at, one that points at all, one of both kinds."""
    edges = set(random_edges(count, 1.5, seed=1))
    for node in range(3, count):
        edges |= {(node, 0), (1, node), (node, 2), (2, node)}
    return sorted(edges)


def sink_edges(count: int) -> Edges:
    """A random graph whose last quarter has no way out."""
    return [(i, j) for i, j in random_edges(count, 3, seed=2) if i < 3 * count // 4]


def isolated_edges(count: int) -> Edges:
    """A random graph whose second half has no edges at all."""
    return random_edges(count // 2, 3, seed=3)


FAMILIES: dict[str, Callable[[int], Edges]] = {
    "random": lambda count: random_edges(count, 3, seed=0),
    "hubs": hub_edges,
    "chain": chain_edges,
    "star": star_edges,
    "sinks": sink_edges,
    "isolated": isolated_edges,
    "two cliques": two_cliques_edges,
    "mutual": lambda count: both_ways(random_edges(count, 2, seed=4)),
    "no edges": lambda count: [],
}


def drifting_chain(count: int, forward: float, backward: float = 1.0) -> csr_array:
    """The adjacency of a chain with self-loops that is walked forwards more often than back: it mixes slowly."""
    dense = np.eye(count) + np.diag(np.full(count - 1, forward), 1) + np.diag(np.full(count - 1, backward), -1)
    return sparse(dense)


def directed_cycle(count: int, loop: float = 0.0) -> csr_array:
    """The walk on a directed cycle that stays with probability `loop`."""
    return sparse(loop * np.eye(count) + (1 - loop) * np.roll(np.eye(count), 1, axis=1))


def all_pairs(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Source and target of every ordered pair of different nodes."""
    source, target = np.nonzero(~np.eye(count, dtype=bool))
    return source, target


def exact_hitting(
    walk: Walk, perron: np.ndarray, source: np.ndarray, target: np.ndarray, *, memory: int, watch: Watch | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """h(source, target) and h(target, source) of `--solver exact`."""
    found = exact_times(walk, perron, source, target, memory=memory, watch=watch)
    return found.there, found.back


def absorbing_hitting(transition: csr_array) -> np.ndarray:
    """All hitting times: the absorbing system (I - P without row and column j) h = 1 for each target j.

    Solved for all targets at once by GTH elimination, without a subtraction: `numpy.linalg.solve` loses every digit
    of this system where a target is rarely visited (pi_j below 1e-16).
    """
    count = transition.shape[0]
    # The states of system j: the target j first, then the others, which are eliminated from the last on.
    states = np.array([[j, *(i for i in range(count) if i != j)] for j in range(count)])
    moves = transition.toarray()[states[:, :, None], states[:, None, :]]
    times = np.ones((count, count))
    for last in range(count - 1, 0, -1):
        leaving = moves[:, last, :last].sum(axis=1)
        moves[:, last, :last] /= leaving[:, None]
        times[:, last] /= leaving
        moves[:, :last, :last] += moves[:, :last, last, None] * moves[:, None, last, :last]
        times[:, :last] += moves[:, :last, last] * times[:, last, None]
    times[:, 0] = 0
    for state in range(1, count):
        times[:, state] += (moves[:, state, :state] * times[:, :state]).sum(axis=1)
    hitting = np.empty((count, count))
    hitting[states, np.arange(count)[:, None]] = times
    return hitting


def rational_absorption(walk: np.ndarray, sets: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Expected steps to the nearest of some sets from every state, and the chance that each is met first.

    By Gaussian elimination in rational numbers, which rounds nothing. What leaves a state is all that counts: its
    chance to stay is what the others leave of 1.
    """
    goal = {int(state): place for place, members in enumerate(sets) for state in members}
    others = [state for state in range(len(walk)) if state not in goal]
    chance = [[Fraction(float(value)) for value in row] for row in walk]
    rows = []
    for i in others:
        leaving = sum((chance[i][j] for j in range(len(walk)) if j != i), Fraction(0))
        ends = [sum((chance[i][int(j)] for j in members), Fraction(0)) for members in sets]
        rows.append([leaving if i == j else -chance[i][j] for j in others] + [Fraction(1), *ends])
    for pivot in range(len(rows)):
        rows[pivot] = [value / rows[pivot][pivot] for value in rows[pivot]]
        for other in range(len(rows)):
            if other != pivot and (factor := rows[other][pivot]):
                rows[other] = [a - factor * b for a, b in zip(rows[other], rows[pivot], strict=True)]
    times, chances = np.zeros(len(walk)), np.zeros((len(walk), len(sets)))
    for state, place in goal.items():
        chances[state, place] = 1
    for state, row in zip(others, rows, strict=True):
        times[state], chances[state] = float(row[len(others)]), [float(value) for value in row[len(others) + 1 :]]
    return times, chances


def gth_perron(transition: csr_array) -> np.ndarray:
    """Stationary distribution by GTH elimination (Grassmann, Taksar and Heyman, 1985), which never subtracts."""
    matrix = transition.toarray()
    count = len(matrix)
    for last in range(count - 1, 0, -1):
        matrix[:last, last] /= matrix[last, :last].sum()
        matrix[:last, :last] += np.outer(matrix[:last, last], matrix[last, :last])
    vector = np.ones(count)
    for state in range(1, count):
        vector[state] = vector[:state] @ matrix[:state, state]
    return vector / vector.sum()


def dense_tolerance(perron: np.ndarray) -> float:
    """How well two dense methods must agree, relatively: 1e-8, or about 1e-16/min(pi) for a very uneven walk."""
    return 1e-8 if perron.min() >= 1e-6 else 1e-15 / float(perron.min())


def toy_arrays(*, shift: int = 0) -> dict[str, np.ndarray]:
    """A graph of 60 nodes and 3 classes in the heterophilous layout; `shift` changes its features."""
    rng = np.random.default_rng(1)
    nodes = 60
    labels = np.arange(nodes) % 3
    masks = rng.permutation(nodes) % 3
    return {
        "node_features": np.round(rng.standard_normal((nodes, 4)), 2) + shift,
        "node_labels": labels,
        "edges": rng.integers(0, nodes, (200, 2)),
        **{
            f"{part}_masks": np.stack([masks % 3 == number] * 2) for number, part in enumerate(("train", "val", "test"))
        },
    }
