"""Which class a walk meets first, against a dense inverse and walks that are counted."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from cgnn_cli.numerics.csr import canonical_csr
from cgnn_cli.numerics.first_met import class_probabilities, first_met, walk_along

CLASSES = 3


def random_edges(seed: int, size: int) -> np.ndarray:
    """Weighted edges with loops, sinks and isolated nodes."""
    rng = np.random.default_rng(seed)
    dense = rng.exponential(size=(size, size)) * (rng.random((size, size)) < 3 / size)
    dense[rng.random(size) < 0.2] = 0
    return dense


def random_labels(seed: int, size: int) -> np.ndarray:
    """Every class is known somewhere, and most nodes are not."""
    rng = np.random.default_rng(seed + 1)
    known = np.where(rng.random(size) < 0.3, rng.integers(CLASSES, size=size), -1)
    known[:CLASSES] = np.arange(CLASSES)
    return known


def dense_walk(edges: np.ndarray, direction: str) -> np.ndarray:
    towards = {"out": edges, "in": edges.T, "undirected": edges + edges.T}[direction].copy()
    np.fill_diagonal(towards, 0)
    total = towards.sum(axis=1, keepdims=True)
    return np.divide(towards, total, out=np.zeros_like(towards), where=total > 0)


def dense_chances(walk: np.ndarray, known: np.ndarray, death: float) -> np.ndarray:
    """The absorbing chain of the textbook: an inverse over the nodes that are not known."""
    free, met = known < 0, known >= 0
    one_hot = np.eye(CLASSES)[known[met]]
    chances = np.zeros((len(known), CLASSES))
    chances[met] = one_hot
    within, into = (1 - death) * walk[np.ix_(free, free)], (1 - death) * walk[np.ix_(free, met)]
    chances[free] = np.linalg.inv(np.eye(free.sum()) - within) @ into @ one_hot
    return chances


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**20),
    size=st.integers(CLASSES, 40),
    direction=st.sampled_from(["out", "in", "undirected"]),
    death=st.sampled_from([0.2, 0.05, 0.01, 0.001]),
)
def test_against_a_dense_inverse(seed: int, size: int, direction: str, death: float) -> None:
    edges, known = random_edges(seed, size), random_labels(seed, size)
    walk = walk_along(canonical_csr(csr_array(edges)), direction)
    np.testing.assert_allclose(walk.toarray(), dense_walk(edges, direction), rtol=1e-12)
    found = first_met(walk, known, CLASSES, death)
    expected = dense_chances(dense_walk(edges, direction), known, death)
    assert found.residual <= 1e-10
    np.testing.assert_allclose(found.chances, expected, rtol=0, atol=found.residual / death + 1e-13)
    assert (found.chances >= 0).all() and (found.chances.sum(axis=1) <= 1 + 1e-12).all()


def test_a_line_by_hand() -> None:
    """a - b - c - d with a and d known: from b the chance of a is g/2 + (g/2)^2 of it again, and so on."""
    edges = np.diag(np.ones(3), 1)
    known = np.array([0, -1, -1, 1])
    found = first_met(walk_along(csr_array(edges), "undirected"), known, 2, 0.2).chances
    half = 0.8 / 2
    np.testing.assert_allclose(found[1], [half / (1 - half**2), half**2 / (1 - half**2)], rtol=1e-9)
    np.testing.assert_allclose(found[2], found[1][::-1], rtol=1e-9)
    np.testing.assert_array_equal(found[[0, 3]], np.eye(2))


def test_a_walk_that_cannot_go_on_dies() -> None:
    edges = np.zeros((4, 4))
    edges[0, 1] = edges[2, 0] = 1
    found = first_met(walk_along(csr_array(edges), "out"), np.array([-1, -1, -1, 0]), 2, 0.1)
    assert not found.chances[:3].any() and found.steps == 0


@pytest.mark.parametrize("seed", range(5))
def test_masses_have_the_shares_of_the_labels(seed: int) -> None:
    """Before rows are scaled to 1; the textbook, node by node."""
    edges, known = random_edges(seed, 30), random_labels(seed, 30)
    known[known == 2] = 1  # class 2 is not known anywhere: its mass is 0, and stays so
    chances = first_met(walk_along(csr_array(edges), "undirected"), known, CLASSES, 0.05).chances
    found = class_probabilities(chances, known)
    shares = [(known == number).sum() / (known >= 0).sum() for number in range(CLASSES)]
    mass = [sum(chances[node, number] for node in range(30) if known[node] < 0) for number in range(CLASSES)]
    for node in range(30):
        if known[node] >= 0:
            expected = np.eye(CLASSES)[known[node]]
        elif not chances[node].any():
            expected = np.array(shares)
        else:
            row = [chances[node, k] * (shares[k] / mass[k] if mass[k] else 1) for k in range(CLASSES)]
            expected = np.array(row) / sum(row)
        np.testing.assert_allclose(found[node], expected, rtol=1e-10)
    np.testing.assert_allclose(found.sum(axis=1), 1)


def test_the_order_of_the_nodes_changes_nothing() -> None:
    edges, known = random_edges(7, 30), random_labels(7, 30)
    order = np.random.default_rng(0).permutation(30)
    here = first_met(walk_along(csr_array(edges), "out"), known, CLASSES, 0.05).chances
    moved = csr_array(edges[np.ix_(order, order)])
    there = first_met(walk_along(moved, "out"), known[order], CLASSES, 0.05).chances
    np.testing.assert_allclose(there, here[order], atol=1e-12)
