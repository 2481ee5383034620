"""The check of commute times on a few pairs: what its residual promises, what it costs, and what it leaves open."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, diags_array

from cgnn_cli.errors import NumericalError
from cgnn_cli.numerics import self_check as module
from cgnn_cli.numerics.krylov import solve
from cgnn_cli.numerics.perron import perron_vector
from cgnn_cli.numerics.self_check import self_check
from cgnn_cli.numerics.transition import transition_matrix
from cgnn_cli.numerics.walk import Walk
from tests.graphs import absorbing_hitting, all_pairs, sparse
from tests.numerics.test_elimination import rugged_walk
from tests.numerics.test_krylov import family_walk, jumping_walk, stationary

pytestmark = pytest.mark.filterwarnings("error")


@pytest.fixture
def by_solves(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No walk is small enough for elimination."""
    with monkeypatch.context() as patch:
        patch.setattr(module, "MOST_ELIMINATED", 0)
        yield


@settings(max_examples=40, deadline=None, database=None, derandomize=True)
@given(st.integers(4, 20), st.floats(0, 6), st.integers(0, 1000), st.integers(1, 12))
def test_the_residual_bounds_the_error_however_slowly_the_walk_mixes(
    count: int, decades: float, seed: int, iterations: int
) -> None:
    """Also of a solve that was ended early."""
    walk = rugged_walk(count, decades, seed)
    try:
        perron = perron_vector(walk, np.ones(count)).vector
    except NumericalError:
        assume(False)
    times = absorbing_hitting(walk.sparse)
    i, j = np.random.default_rng(seed).permutation(count)[:2]
    rhs = np.zeros(count)
    rhs[i], rhs[j] = 1 / perron[i], -1 / perron[j]
    found = solve(
        walk, rhs, tolerance=1e-3, enough=np.inf, most=iterations, measure=lambda r: float(perron @ np.abs(r))
    )
    right = times[i, j] + times[j, i]
    assert abs(found.x[i] - found.x[j] - right) <= (found.residual + 1e-5) * right


@pytest.mark.parametrize("factor", [1.0, 1.3, 0.5])
@pytest.mark.parametrize("how", ["elimination", "solves"])
def test_known_errors_are_found(how: str, factor: float, monkeypatch: pytest.MonkeyPatch) -> None:
    if how == "solves":
        monkeypatch.setattr(module, "MOST_ELIMINATED", 0)
    source, target = all_pairs(30)
    for walk in (family_walk("random", 30), family_walk("chain", 30), jumping_walk(30)):
        times = absorbing_hitting(sparse(walk.to_dense()))
        commute = factor * (times + times.T)[source, target]
        found = self_check(walk, stationary(walk), source, target, commute, 0)
        assert (found["edges"], found["checked"], found["slow"]) == (8, 8, False)
        assert found["median_relative_error"] == pytest.approx(abs(factor - 1), abs=2e-3)
        assert found["largest_relative_error"] == pytest.approx(abs(factor - 1), abs=2e-3)
        assert (found["products"] > 0) == (how == "solves")


class Counted(Walk):
    """Counts its products."""

    made = 0

    def apply(self, x: np.ndarray) -> np.ndarray:
        Counted.made += 1
        return super().apply(x)


def slow_path(count: int) -> tuple[Walk, np.ndarray]:
    """A path with a loop in every state, and its Perron vector."""
    adjacency = csr_array(diags_array([1.0, 1.0, 1.0], offsets=[-1, 0, 1], shape=(count, count)))
    degrees = np.asarray(adjacency.sum(axis=1)).ravel()
    return Walk(transition_matrix(adjacency)), degrees / degrees.sum()


@pytest.mark.usefixtures("by_solves")
def test_the_work_is_bounded_and_never_by_the_clock() -> None:
    """Solves on a long path get nowhere: the check ends after the products that are allowed, and says so."""
    walk, perron = slow_path(2000)
    counted, source = Counted(walk.sparse), np.arange(1999)
    for work in (2e7, 6e7):
        Counted.made = 0
        found = self_check(counted, perron, source, source + 1, np.full(1999, 5998.0), work)
        iteration = 2 * walk.sparse.nnz + module.STATE_COST * 2000 + module.CALL_COST
        assert 0.9 * work <= found["products"] / 2 * iteration <= work
        assert Counted.made <= 1.1 * found["products"]  # and those of the true residuals
        assert found["checked"] < 8 and found["slow"] and found["residual"] > 1e-3
        assert found == self_check(walk, perron, source, source + 1, np.full(1999, 5998.0), work)


@pytest.mark.usefixtures("by_solves")
def test_no_more_than_the_limits_is_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    walk, perron = slow_path(500)
    source = np.arange(499)
    monkeypatch.setattr(module, "LEAST_WORK", 1e6)
    least, more = (self_check(walk, perron, source, source + 1, np.ones(499), work) for work in (0, 3e6))
    assert least["products"] < more["products"]
    monkeypatch.setattr(module, "MOST_WORK", 1e6)
    assert self_check(walk, perron, source, source + 1, np.ones(499), 3e6) == least


def test_pairs_of_one_state_are_skipped_and_no_pairs_need_no_check() -> None:
    walk = family_walk("random", 10)
    none = np.zeros(0, np.int64)
    assert self_check(walk, stationary(walk), none, none, np.zeros(0), 0)["edges"] == 0
    same = np.arange(3)
    found = self_check(walk, stationary(walk), same, same, np.zeros(3), 0)
    assert (found["edges"], found["checked"], found["median_relative_error"]) == (0, 0, None)
