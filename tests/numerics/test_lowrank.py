"""The truncated SVD and the paper's scores against dense linear algebra."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.linalg import LinearOperator

from cgnn_cli.configs import DilapConfig, RewireConfig
from cgnn_cli.graph import Dilap
from cgnn_cli.numerics import lowrank, threads
from cgnn_cli.numerics.lowrank import DENSE_STATES, RESIDUAL_GOAL, TruncatedSvd, svd_times, truncated_svd
from cgnn_cli.numerics.transition import sparse_laplacian, transition_matrix
from cgnn_cli.numerics.walk import Walk
from cgnn_cli.stages.dilap import dilap
from cgnn_cli.stages.rewire import rewire
from tests.graphs import FAMILIES, all_pairs, graph_of, random_edges, sparse

pytestmark = pytest.mark.filterwarnings("error")

FORMS: dict[str, DilapConfig] = {"incidence": DilapConfig(form="incidence"), "rw": DilapConfig(form="random-walk")}
BOTH_FORMS = pytest.mark.parametrize("form", FORMS)


def dilap_of(family: str, count: int, form: str) -> Dilap:
    return dilap(rewire(graph_of(count, FAMILIES[family](count)), RewireConfig()), FORMS[form])


def weighted_hubs(count: int, form: str) -> Dilap:
    """Hubs of very different size, so that the singular values fall quickly as they do on web graphs."""
    edges = set(random_edges(count, 1, seed=0))
    for hub in range(5):
        edges |= {(node, hub) for node in range(5, count, hub + 1)}
    return dilap(rewire(graph_of(count, sorted(edges)), RewireConfig()), FORMS[form])


def reconstruct(factors: TruncatedSvd) -> np.ndarray:
    product: np.ndarray = factors.left * factors.singular @ factors.right.T
    return product


def dense_truncation(matrix: csr_array, rank: int) -> tuple[np.ndarray, np.ndarray]:
    left, singular, right = np.linalg.svd(matrix.toarray())
    return singular[:rank], left[:, :rank] * singular[:rank] @ right[:rank]


def dense_residual(matrix: csr_array, factors: TruncatedSvd) -> float:
    defect = matrix @ factors.right - factors.left * factors.singular
    return float(np.linalg.norm(defect, axis=0).max() / factors.singular[0])


def pinv_times(inverse: np.ndarray, perron: np.ndarray) -> np.ndarray:
    """The paper's Eq. 9 for all pairs: h(i, j) = T^+_jj/pi_j - T^+_ij/sqrt(pi_i pi_j)."""
    times: np.ndarray = np.diag(inverse) / perron - inverse / np.sqrt(np.outer(perron, perron))
    return times


@BOTH_FORMS
@pytest.mark.parametrize("family", ["random", "hubs", "sinks", "two cliques"])
@pytest.mark.parametrize(("count", "rank"), [(15, 5), (40, 30)])
def test_equals_the_dense_svd_where_the_matrix_is_small(family: str, count: int, rank: int, form: str) -> None:
    walk = dilap_of(family, count, form)
    singular, truncation = dense_truncation(walk.laplacian, count - 1)
    factors = truncated_svd(walk.laplacian, rank, 0, symmetric=walk.summary["symmetric"])
    np.testing.assert_allclose(factors.singular, singular[:rank], rtol=1e-10)
    assert dense_residual(walk.laplacian, factors) <= 1e-12
    if singular[rank - 1] > singular[rank] * 1.001:  # otherwise T_q is not unique
        truncation = dense_truncation(walk.laplacian, rank)[1]
        np.testing.assert_allclose(reconstruct(factors), truncation, atol=1e-9)


@BOTH_FORMS
@pytest.mark.parametrize("make", [weighted_hubs, lambda count, form: dilap_of("random", count, form)])
def test_lanczos_reaches_the_dense_svd(make: Callable[[int, str], Dilap], form: str) -> None:
    walk = make(120, form)
    singular, truncation = dense_truncation(walk.laplacian, 5)
    factors = truncated_svd(walk.laplacian, 5, 0, symmetric=walk.summary["symmetric"])
    assert factors.residual <= RESIDUAL_GOAL
    assert dense_residual(walk.laplacian, factors) <= 10 * RESIDUAL_GOAL
    np.testing.assert_allclose(factors.singular, singular, rtol=1e-12)
    np.testing.assert_allclose(reconstruct(factors), truncation, atol=1e-5 * singular[0])


@BOTH_FORMS
def test_scores_do_not_depend_on_the_seed(form: str) -> None:
    walk = dilap_of("random", 150, form)
    pairs = all_pairs(150)
    first, other = (
        svd_times(truncated_svd(walk.laplacian, 5, seed, symmetric=walk.summary["symmetric"]), walk.perron, *pairs)[2]
        for seed in (1, 2)
    )
    np.testing.assert_allclose(first, other, atol=1e-4 * np.abs(first).max())


@BOTH_FORMS
def test_too_few_steps_show_in_the_residual(monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    walk = dilap_of("random", 200, form)
    symmetric = form == "incidence"
    monkeypatch.setattr(lowrank, "MOST_RESTARTS", 1)
    factors = truncated_svd(walk.laplacian, 5, 0, symmetric=symmetric)
    assert factors.residual > RESIDUAL_GOAL
    transposed_defect = walk.laplacian.T @ factors.left - factors.right * factors.singular
    assert factors.residual == pytest.approx(np.linalg.norm(transposed_defect, axis=0).max() / factors.singular[0])
    singular, _ = dense_truncation(walk.laplacian, 5)
    assert (factors.singular <= singular * (1 + 1e-12)).all()  # a projection never overestimates
    np.testing.assert_allclose(factors.singular, singular, rtol=1e-3)


@BOTH_FORMS
def test_products_are_counted(form: str) -> None:
    walk = dilap_of("random", 120, form)
    counted = CountedOperator(walk.laplacian)
    factors = truncated_svd(counted, 5, 0, symmetric=form == "incidence")
    assert factors.iterations == counted.products > 20


class CountedOperator(LinearOperator):
    def __init__(self, matrix: csr_array) -> None:
        super().__init__(np.dtype(np.float64), matrix.shape)
        self.matrix, self.products = matrix, 0

    def _matmat(self, x: np.ndarray) -> np.ndarray:
        self.products += 1
        return self.matrix @ x

    def _matvec(self, x: np.ndarray) -> np.ndarray:
        return self._matmat(x)

    def _rmatmat(self, x: np.ndarray) -> np.ndarray:
        self.products += 1
        return self.matrix.T @ x

    def _rmatvec(self, x: np.ndarray) -> np.ndarray:
        return self._rmatmat(x)


def star_laplacian(leaves: int) -> np.ndarray:
    dense = np.zeros((leaves + 1, leaves + 1))
    dense[0, 1:] = dense[1:, 0] = -1
    return dense - np.diag(dense.sum(axis=1))


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_repeated_singular_values_are_all_found(symmetric: bool, seed: int) -> None:
    """Six equal components: every value of one occurs six times."""
    matrix = sparse(np.kron(np.diag([1, 1, 1, 1, 0.9, 0.5]), star_laplacian(20)))
    factors = truncated_svd(matrix, 5, seed, symmetric=symmetric)
    np.testing.assert_allclose(factors.singular, [21, 21, 21, 21, 18.9], rtol=1e-10)
    assert factors.residual <= RESIDUAL_GOAL
    np.testing.assert_allclose(reconstruct(factors), dense_truncation(matrix, 5)[1], atol=1e-6)


@pytest.mark.parametrize("symmetric", [True, False])
def test_repeats_that_the_krylov_space_missed_are_looked_for(monkeypatch: pytest.MonkeyPatch, symmetric: bool) -> None:
    """The start has no part in three of the four equal components, so that only a second search can find them."""
    matrix = sparse(np.kron(np.diag([1, 1, 1, 1, 0.9, 0.8]), star_laplacian(20)))
    real, calls = lowrank.eigsh, []

    def one_copy_at_first(operator: LinearOperator, rank: int, **options: Any) -> tuple[np.ndarray, np.ndarray]:
        calls.append(rank)
        if len(calls) == 1:
            values, vectors = np.linalg.eigh(matrix.toarray() if symmetric else (matrix.T @ matrix).toarray())
            chosen = [-1, -5, -6, -7, -8]
            return values[chosen], vectors[:, chosen]
        return real(operator, rank, **options)

    monkeypatch.setattr(lowrank, "eigsh", one_copy_at_first)
    factors = truncated_svd(matrix, 5, 0, symmetric=symmetric)
    np.testing.assert_allclose(factors.singular, [21, 21, 21, 21, 18.9], rtol=1e-10)
    assert factors.residual <= RESIDUAL_GOAL


def dense_gap(matrix: csr_array, rank: int) -> float:
    singular = np.linalg.svd(matrix.toarray(), compute_uv=False)
    return float((singular[rank - 1] - singular[rank]) / singular[0])


@BOTH_FORMS
@pytest.mark.parametrize("count", [40, 120])
@pytest.mark.parametrize("rank", [2, 5])
def test_the_gap_after_the_last_value(count: int, rank: int, form: str) -> None:
    """The first value that is cut off is known to about 1 %."""
    for walk in (weighted_hubs(count, form), dilap_of("random", count, form)):
        factors = truncated_svd(walk.laplacian, rank, 0, symmetric=walk.summary["symmetric"])
        assert factors.gap == pytest.approx(dense_gap(walk.laplacian, rank), abs=0.01)
        assert factors.gap > 1e-4


@BOTH_FORMS
@pytest.mark.parametrize("count", [40, 60, 200])
@pytest.mark.parametrize(
    ("adjacency", "rank"),
    [
        (lambda count: np.ones((count, count)) - np.eye(count), 5),
        (lambda count: np.pad(np.ones((1, count - 1)), ((0, count - 1), (1, 0))), 5),
        (lambda count: np.roll(np.eye(count), 1, axis=1), 4),
        (lambda count: np.kron(np.eye(count // 5), np.ones((5, 5)) - np.eye(5)), 5),
    ],
    ids=["complete", "star", "cycle", "blocks"],
)
def test_a_cut_among_equal_values_has_no_gap(
    adjacency: Callable[[int], np.ndarray], rank: int, count: int, form: str
) -> None:
    dense = adjacency(count)
    transition = transition_matrix(sparse(dense + dense.T))
    laplacian = sparse_laplacian(Walk(transition), incidence=form == "incidence")
    assert dense_gap(laplacian, rank) <= 1e-12
    assert 0 <= truncated_svd(laplacian, rank, 0, symmetric=form == "incidence").gap <= 1e-9


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("factor", [1e-2, 1e-4, 1e-6])
def test_a_narrow_gap_is_told_from_none(symmetric: bool, factor: float) -> None:
    matrix = sparse(np.kron(np.diag([1, 1, 1, 1 - factor, 0.5, 0.4]), star_laplacian(20)))
    assert truncated_svd(matrix, 3, 0, symmetric=symmetric).gap == pytest.approx(factor, rel=0.01)


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize(("count", "rank"), [(12, 12), (12, 20), (120, 120)])
def test_where_nothing_is_cut_off_the_gap_is_one(symmetric: bool, count: int, rank: int) -> None:
    assert truncated_svd(sparse(np.eye(count)), rank, 0, symmetric=symmetric).gap == 1


@pytest.mark.parametrize("symmetric", [True, False])
def test_where_the_last_kept_value_is_zero_the_gap_is_one(symmetric: bool) -> None:
    """It has no part in the scores, so it does not matter which vector is kept."""
    matrix = sparse(np.kron(np.diag([1, 0, 0, 0, 0]), star_laplacian(2)))
    assert truncated_svd(matrix, 3, 0, symmetric=symmetric).gap == 1


@BOTH_FORMS
@pytest.mark.parametrize("count", [15, 150])
def test_the_largest_entry_of_a_right_vector_is_positive(form: str, count: int) -> None:
    walk = dilap_of("random", count, form)
    right = truncated_svd(walk.laplacian, 5, 0, symmetric=form == "incidence").right
    assert (right[np.abs(right).argmax(axis=0), np.arange(5)] > 0).all()


@BOTH_FORMS
@pytest.mark.parametrize("count", [20, 120])
def test_a_teleporting_laplacian_is_decomposed_as_an_operator(form: str, count: int) -> None:
    config = RewireConfig(method="teleport", gamma=0.8)
    walk = dilap(rewire(graph_of(count, FAMILIES["sinks"](count)), config), FORMS[form])
    operator = walk.laplacian_operator()
    dense = csr_array(operator @ np.eye(count))
    factors = truncated_svd(operator, 5, 0, symmetric=walk.summary["symmetric"])
    np.testing.assert_allclose(factors.singular, dense_truncation(dense, 5)[0], rtol=1e-10)
    assert dense_residual(dense, factors) <= 10 * RESIDUAL_GOAL


@BOTH_FORMS
def test_factors_are_orthonormal_and_sorted(form: str) -> None:
    walk = weighted_hubs(120, form)
    factors = truncated_svd(walk.laplacian, 6, 3, symmetric=walk.summary["symmetric"])
    for vectors in (factors.left, factors.right):
        assert vectors.shape == (120, 6)
        np.testing.assert_allclose(vectors.T @ vectors, np.eye(6), atol=1e-12)
    assert (np.diff(factors.singular) <= 0).all()
    assert (factors.singular > 0).all()


@BOTH_FORMS
def test_equal_seeds_give_equal_bits_and_other_seeds_other_starts(form: str) -> None:
    walk = dilap_of("random", 120, form)
    first, again, other = (
        truncated_svd(walk.laplacian, 5, seed, symmetric=walk.summary["symmetric"]) for seed in (7, 7, 8)
    )
    for name in ("left", "singular", "right"):
        np.testing.assert_array_equal(getattr(first, name), getattr(again, name))
    assert not np.array_equal(first.left, other.left)


@BOTH_FORMS
def test_the_same_bits_with_threads(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    walk = weighted_hubs(120, form)
    pairs, symmetric = all_pairs(120), walk.summary["symmetric"]
    alone = svd_times(truncated_svd(walk.laplacian, 5, 0, symmetric=symmetric), walk.perron, *pairs)
    monkeypatch.setattr(threads, "WORTH_THREADS", 0)
    monkeypatch.setattr(threads, "CACHED_STATES", 50)
    monkeypatch.setattr(lowrank, "PAIRS_AT_A_TIME", 1000)
    factors = truncated_svd(walk.laplacian, 5, 0, symmetric=symmetric, jobs=3)
    np.testing.assert_array_equal(svd_times(factors, walk.perron, *pairs, jobs=3), alone)


@BOTH_FORMS
@pytest.mark.parametrize("family", ["random", "hubs", "sinks", "isolated", "mutual"])
def test_full_rank_scores_are_the_papers_formula(family: str, form: str) -> None:
    walk = dilap_of(family, 20, form)
    expected = pinv_times(np.linalg.pinv(walk.laplacian.toarray()), walk.perron)
    factors = truncated_svd(walk.laplacian, 19, 0, symmetric=walk.summary["symmetric"])
    source, target = all_pairs(20)
    there, back, times = svd_times(factors, walk.perron, source, target)
    limits = {"rtol": 1e-8, "atol": 1e-10 * np.abs(expected).max()}
    np.testing.assert_allclose(there, expected[source, target], **limits)
    np.testing.assert_allclose(back, expected[target, source], **limits)
    np.testing.assert_allclose(times, (expected + expected.T)[source, target], **limits)


@BOTH_FORMS
def test_truncated_scores_are_the_papers_formula_with_the_truncated_inverse(form: str) -> None:
    walk = dilap_of("hubs", 15, form)
    left, singular, right = np.linalg.svd(walk.laplacian.toarray())
    expected = pinv_times(right[:5].T / singular[:5] @ left[:, :5].T, walk.perron)
    factors = truncated_svd(walk.laplacian, 5, 0, symmetric=walk.summary["symmetric"])
    source, target = all_pairs(15)
    there, back, times = svd_times(factors, walk.perron, source, target)
    limit = 1e-9 * np.abs(expected).max()
    np.testing.assert_allclose(there, expected[source, target], atol=limit)
    np.testing.assert_allclose(times, (expected + expected.T)[source, target], atol=limit)
    np.testing.assert_allclose(there + back, times, atol=limit)


def test_full_rank_scores_are_not_the_transposed_inverse() -> None:
    """V S^-1 U^T, not the paper's U S^-1 V^T: they differ where T is not symmetric."""
    walk = dilap_of("random", 12, "rw")
    transposed = pinv_times(np.linalg.pinv(walk.laplacian.toarray()).T, walk.perron)
    source, target = all_pairs(12)
    there = svd_times(truncated_svd(walk.laplacian, 11, 0), walk.perron, source, target)[0]
    assert np.abs(there - transposed[source, target]).max() > 0.01 * np.abs(there).max()


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("rank", [1, 5, 29])
def test_commute_scores_are_never_negative_in_the_incidence_form(family: str, rank: int) -> None:
    walk = dilap_of(family, 30, "incidence")
    factors = truncated_svd(walk.laplacian, rank, 0, symmetric=True)
    times = svd_times(factors, walk.perron, *all_pairs(30))[2]
    assert np.isfinite(times).all()
    assert times.min() >= 0
    assert times.max() > 0


@pytest.mark.parametrize("symmetric", [True, False])
def test_singular_values_at_rounding_level_are_left_out(symmetric: bool) -> None:
    """Two components: rank 2 of 4, and the pseudo-inverse must not divide by what is left."""
    edge = np.array([[1.0, -1.0], [-1.0, 1.0]])
    matrix = sparse(np.kron(np.diag([1.0, 3.0]), edge))
    perron = np.array([0.1, 0.2, 0.3, 0.4])
    source, target = all_pairs(4)
    there, back, times = svd_times(truncated_svd(matrix, 4, 0, symmetric=symmetric), perron, source, target)
    expected = pinv_times(np.linalg.pinv(matrix.toarray()), perron)
    np.testing.assert_allclose(there, expected[source, target], atol=1e-13)
    np.testing.assert_allclose(back, expected[target, source], atol=1e-13)
    np.testing.assert_allclose(times, (expected + expected.T)[source, target], atol=1e-13)


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("count", [3, DENSE_STATES + 10])
def test_an_empty_laplacian_scores_nothing(symmetric: bool, count: int) -> None:
    matrix = sparse(np.zeros((count, count)))
    factors = truncated_svd(matrix, 2, 0, symmetric=symmetric)
    assert factors.residual == 0
    np.testing.assert_array_equal(svd_times(factors, np.full(count, 1 / count), *all_pairs(count)), 0)


def test_no_pairs_no_scores() -> None:
    walk = dilap_of("hubs", 12, "incidence")
    none = np.array([], dtype=np.int64)
    factors = truncated_svd(walk.laplacian, 3, 0, symmetric=True)
    assert [len(scores) for scores in svd_times(factors, walk.perron, none, none)] == [0, 0, 0]


@pytest.mark.parametrize(("count", "kept"), [(2, 2), (5, 5), (14, 5)])
def test_a_small_matrix_limits_the_rank(count: int, kept: int) -> None:
    factors = truncated_svd(dilap_of("chain", count, "rw").laplacian, 5, 0)
    assert factors.left.shape == factors.right.shape == (count, kept)
