"""svd: the paper's formula at full rank, and what is said of truncated scores."""

import numpy as np
import pytest

from cgnn_cli.configs import CommuteConfig, DilapConfig, RewireConfig
from cgnn_cli.graph import Dilap, Graph
from cgnn_cli.stages.commute import commute
from cgnn_cli.stages.dilap import dilap
from cgnn_cli.stages.rewire import rewire
from tests.graphs import chain_edges, graph_of, random_edges, sparse
from tests.solvers.samples import BOTH_FORMS, walk_on

pytestmark = pytest.mark.filterwarnings("error")


@BOTH_FORMS
def test_full_rank_svd_is_the_papers_formula(graph: Graph, form: DilapConfig) -> None:
    walk = walk_on(graph, form)
    times = commute(graph, walk, CommuteConfig(rank=24))
    inverse, root = np.linalg.pinv(walk.laplacian.toarray()), np.sqrt(walk.perron)
    expected = np.diag(inverse) / walk.perron - inverse / np.outer(root, root)
    limits = {"rtol": 1e-7, "atol": 1e-10 * np.abs(expected).max()}
    np.testing.assert_allclose(times.hitting, expected[times.source, times.target], **limits)
    np.testing.assert_allclose(times.hitting_back, expected[times.target, times.source], **limits)
    np.testing.assert_allclose(times.commute, times.hitting + times.hitting_back, **limits)


def test_svd_of_a_symmetric_form_is_never_negative_and_says_what_it_is(graph: Graph, walk: Dilap) -> None:
    times = commute(graph, walk, CommuteConfig())
    assert times.commute.min() >= 0
    assert times.summary["negative_commute"] == 0
    negative = int((times.hitting < 0).sum() + (times.hitting_back < 0).sum())
    assert times.summary["negative_hitting"] == negative
    assert times.summary["rank"] == 5
    assert len(times.summary["notes"]) == 1
    assert "rank-5 truncation scores, not expected steps" in times.summary["notes"][0]


@pytest.mark.parametrize(("rank", "used"), [(4, 4), (5, 4), (6, 4), (1000, 4)])
def test_rank_is_clamped_with_a_note(rank: int, used: int) -> None:
    graph = graph_of(5, chain_edges(5))
    times = commute(graph, walk_on(graph), CommuteConfig(rank=rank))
    assert times.summary["rank"] == used
    assert [f"--rank {rank} is more than" in note for note in times.summary["notes"][1:]] == [True] * (rank > used)
    np.testing.assert_array_equal(times.commute, commute(graph, walk_on(graph), CommuteConfig(rank=4)).commute)


@BOTH_FORMS
def test_svd_is_reproducible_with_equal_seeds(form: DilapConfig) -> None:
    graph = graph_of(60, random_edges(60, 3, seed=0))
    walk = walk_on(graph, form)
    first, again, other = (commute(graph, walk, CommuteConfig(solver_seed=seed)) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first.commute, again.commute)
    np.testing.assert_array_equal(first.weight_in, again.weight_in)
    assert not np.array_equal(first.commute, other.commute)


def test_a_cut_between_equal_singular_values_is_noted() -> None:
    star = np.zeros((9, 9))
    star[0, 1:] = star[1:, 0] = 1
    graph = Graph(adjacency=sparse(star), features=np.eye(9))
    notes = commute(graph, dilap(rewire(graph, RewireConfig(method="none"))), CommuteConfig(rank=3)).summary["notes"]
    assert any("are equal" in note for note in notes)
