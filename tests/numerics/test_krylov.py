"""Solves with I - P against dense ones: convergence, breakdown, standstill, and honest failure."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cgnn_cli.errors import NumericalError
from cgnn_cli.numerics import krylov
from cgnn_cli.numerics.krylov import solve
from cgnn_cli.numerics.transition import transition_matrix
from cgnn_cli.numerics.walk import Walk
from tests.graphs import FAMILIES, directed_cycle, gth_perron, sparse

pytestmark = pytest.mark.filterwarnings("error")


def family_walk(family: str, count: int) -> Walk:
    """The walk on a graph of a family, with a loop in each state and a path through all in both directions."""
    dense = np.eye(count) + np.eye(count, k=1) + np.eye(count, k=-1)
    for i, j in FAMILIES[family](count):
        dense[i, j] = 1
    return Walk(transition_matrix(sparse(dense)))


def jumping_walk(count: int, gamma: float = 0.9) -> Walk:
    """A walk along random edges that jumps anywhere at times, and always from a sink."""
    dense = np.zeros((count, count))
    for i, j in FAMILIES["sinks"](count):
        dense[i, j] = 1
    degree = dense.sum(axis=1, keepdims=True)
    dense = gamma * np.divide(dense, degree, out=np.zeros_like(dense), where=degree > 0)
    return Walk(sparse(dense), 1 - dense.sum(axis=1))


def stationary(walk: Walk) -> np.ndarray:
    return gth_perron(sparse(walk.to_dense()))


def consistent(walk: Walk, seed: int = 0) -> np.ndarray:
    """A right-hand side with pi^T rhs = 0."""
    rhs = np.random.default_rng(seed).standard_normal(walk.size)
    return rhs - stationary(walk) @ rhs


def dense_solution(walk: Walk, rhs: np.ndarray) -> np.ndarray:
    """The solution of least norm."""
    return np.asarray(np.linalg.lstsq(np.eye(walk.size) - walk.to_dense(), rhs, rcond=None)[0])


def assert_solves(walk: Walk, rhs: np.ndarray, tolerance: float = 1e-10) -> krylov.Solved:
    solved = solve(walk, rhs, tolerance=tolerance)
    left = rhs - solved.x + walk.to_dense() @ solved.x
    rounding = walk.size * np.finfo(float).eps  # of two orders of summation
    np.testing.assert_allclose(solved.residual, np.linalg.norm(left) / np.linalg.norm(rhs), rtol=0.5, atol=rounding)
    assert solved.residual <= tolerance
    expected = dense_solution(walk, rhs)
    np.testing.assert_allclose(solved.x - solved.x[0], expected - expected[0], atol=1e-5 * np.abs(expected).max())
    return solved


@pytest.mark.parametrize("family", FAMILIES)
def test_solutions_are_those_of_a_dense_solve(family: str) -> None:
    walk = family_walk(family, 40)
    assert_solves(walk, consistent(walk))


def test_a_walk_that_jumps() -> None:
    walk = jumping_walk(40)
    assert assert_solves(walk, consistent(walk)).iterations < 40


@given(st.integers(2, 30), st.floats(0, 4), st.integers(0, 1000))
@settings(max_examples=40, deadline=None)
def test_random_walks(count: int, degree: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    dense = (rng.random((count, count)) < degree / count) * rng.random((count, count))
    dense += np.eye(count) + np.eye(count, k=1) + np.eye(count, k=-1)
    walk = Walk(transition_matrix(sparse(dense)))
    assert_solves(walk, consistent(walk, seed), tolerance=1e-9)


def test_the_same_bits_every_time() -> None:
    walk = family_walk("random", 40)
    rhs = consistent(walk)
    np.testing.assert_array_equal(solve(walk, rhs).x, solve(walk, rhs).x)


def test_nothing_to_solve() -> None:
    solved = solve(family_walk("random", 10), np.zeros(10))
    np.testing.assert_array_equal(solved.x, 0)
    assert (solved.iterations, solved.residual) == (0, 0)


@pytest.mark.parametrize("count", [2, 4, 51])
def test_a_periodic_walk_breaks_bicgstab_down_and_is_solved_all_the_same(count: int) -> None:
    """On two states (I - P) rhs = 2 rhs ends at once; on a longer cycle the shadow meets an orthogonal residual."""
    walk = Walk(directed_cycle(count))
    rhs = np.zeros(count)
    rhs[[0, count // 2]] = 1, -1
    assert_solves(walk, rhs)


def test_a_breakdown_restarts_with_another_shadow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shadow orthogonal to the residual ends the first attempt before it begins."""
    walk = family_walk("random", 40)
    rhs = consistent(walk)
    attempts: list[np.ndarray] = []
    improve = krylov._bicgstab

    def sabotaged(walk: Walk, rhs: np.ndarray, best: krylov._Best, goal: float, most: int, shadow: np.ndarray) -> None:
        attempts.append(shadow)
        blocked = np.zeros_like(shadow)
        improve(walk, rhs, best, goal, most, blocked if len(attempts) == 1 else shadow)

    monkeypatch.setattr(krylov, "_bicgstab", sabotaged)
    monkeypatch.setattr(krylov, "_gmres", lambda *_: pytest.fail("BiCGSTAB was to do it"))
    assert_solves(walk, rhs)
    assert len(attempts) > 1


def test_gmres_takes_over_where_bicgstab_gets_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(krylov, "_bicgstab", lambda *_: None)
    walk = family_walk("two cliques", 40)
    assert assert_solves(walk, consistent(walk)).iterations > 1


def test_standstill_ends_an_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    """An inconsistent system has no solution: the residual stays at the mean of the right-hand side."""
    monkeypatch.setattr(krylov, "STAGNATION", 20)
    monkeypatch.setattr(krylov, "MOST_RESTARTS", 1)
    with pytest.raises(NumericalError, match=r"residual of .* \(goal 1e-10\) after \d+ iterations") as caught:
        solve(family_walk("random", 40), np.ones(40), most=10_000)
    assert "\n" not in caught.value.message and caught.value.hint
    assert int(caught.value.message.split()[-2]) < 1000


def test_too_few_iterations_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(krylov, "_gmres", lambda *_: None)
    walk = family_walk("chain", 300)
    with pytest.raises(NumericalError, match="after 3 iterations"):
        solve(walk, consistent(walk), most=3)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_right_hand_side_that_is_not_finite_is_refused(bad: float) -> None:
    with pytest.raises(NumericalError, match="not finite"):
        solve(family_walk("random", 5), np.array([bad, 0, 0, 0, 0]))


def test_enough_is_accepted_below_the_tolerance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(krylov, "_gmres", lambda *_: None)
    walk = family_walk("chain", 300)
    rhs = consistent(walk)
    solved = solve(walk, rhs, most=3, enough=np.inf)
    assert solved.residual > 1e-10
    with pytest.raises(NumericalError, match="after 3 iterations"):
        solve(walk, rhs, most=3, enough=solved.residual / 2)
